//! A value that may not be knowable: the value, or null and why, and in both cases who was asked.
//!
//! One shape for all of them, so that no reader has to guess whether a null is "none", "not asked" or "not
//! allowed".

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value with its source, or null with the reason. Exactly one of `value` and `reason` is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Known_{T}")]
pub struct Known<T> {
    /// The value; null when it could not be known.
    pub value: Option<T>,
    /// Who says so, or who was asked: a file, a call, a tool.
    pub source: String,
    /// Why there is no value; null when there is one.
    pub reason: Option<String>,
}

impl<T> Known<T> {
    /// A value and who says so.
    pub fn value(value: T, source: impl Into<String>) -> Self {
        Self { value: Some(value), source: source.into(), reason: None }
    }

    /// No value: who was asked, and why that gave none.
    pub fn unknown(source: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { value: None, source: source.into(), reason: Some(reason.into()) }
    }

    /// A value from a source that gives either it or a reason.
    pub fn from_result(result: Result<T, impl Into<String>>, source: impl Into<String>) -> Self {
        match result {
            Ok(value) => Self::value(value, source),
            Err(reason) => Self::unknown(source, reason),
        }
    }
}
