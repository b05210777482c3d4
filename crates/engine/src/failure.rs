//! Why a rank could not do its part: at which stage, in which call, with which code. A result like any other.

use std::fmt;

use serde::{Deserialize, Serialize};
use stats::stage::Stage;

/// What failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Where.
    pub stage: Stage,
    /// The function that failed, as its manual spells it.
    pub call: Option<String>,
    /// Its result code.
    pub code: Option<i64>,
    /// What, why, and what to do.
    pub message: String,
}

impl Failure {
    /// A failure that is no call's.
    pub fn new(stage: Stage, message: impl Into<String>) -> Self {
        Self { stage, call: None, code: None, message: message.into() }
    }

    /// The same at another stage.
    #[must_use]
    pub fn at(self, stage: Stage) -> Self {
        Self { stage, ..self }
    }

    /// A system call's.
    pub fn system(stage: Stage, call: &str, error: &std::io::Error, remedy: &str) -> Self {
        Self {
            stage,
            call: Some(call.to_owned()),
            code: error.raw_os_error().map(i64::from),
            message: format!("{call} failed: {error}; {remedy}"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.stage.name(), self.message)
    }
}

impl std::error::Error for Failure {}
