//! How a session ended, and the words for why that is not the end of its work.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use signal_hook::consts::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGKILL, SIGSEGV, SIGTERM};

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// It did all that it was to do, and leaves.
    Over,
    /// By itself, with this status.
    Left(ExitStatus),
    /// It said nothing for longer than the limit, and was ended.
    Hung,
    /// The other rank's process is gone, and it waited for that one.
    Partner(usize),
    /// A signal came.
    Signalled,
}

impl SessionEnd {
    /// Why a session is not complete that ended in `doing`, whose limit this option changes.
    pub(super) fn why(&self, doing: &str, limit: &str) -> String {
        match self {
            Self::Hung => format!("{doing} did not come back within {limit}"),
            Self::Partner(rank) => format!("the process of rank {rank} died in {doing}"),
            Self::Left(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("{} in {doing}", signal_name(signal)),
                (None, code) => {
                    format!("the session ended with code {} in {doing}", code.unwrap_or_default())
                }
            },
            Self::Signalled => "a signal came".to_owned(),
            Self::Over => "it was over".to_owned(),
        }
    }

    /// Whether a signal ended its process: a fault of its own, or a launcher that ends all.
    pub(super) fn is_by_signal(&self) -> bool {
        matches!(self, Self::Left(status) if status.signal().is_some())
    }
}

/// A signal's name, for those that a fault brings.
pub fn signal_name(signal: i32) -> String {
    match signal {
        SIGSEGV => "SIGSEGV".to_owned(),
        SIGBUS => "SIGBUS".to_owned(),
        SIGABRT => "SIGABRT".to_owned(),
        SIGFPE => "SIGFPE".to_owned(),
        SIGILL => "SIGILL".to_owned(),
        SIGKILL => "SIGKILL".to_owned(),
        SIGTERM => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}
