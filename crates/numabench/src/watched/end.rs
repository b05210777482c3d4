//! How a session ended, and the words for why that is not the end of its work.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
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

impl End {
    /// Why a session is not complete that ended in `doing`, whose limit this option changes.
    pub fn why(&self, doing: &str, limit: &str) -> String {
        match self {
            Self::Hung => format!("{doing} did not come back within {limit}"),
            Self::Partner(rank) => format!("the process of rank {rank} died in {doing}"),
            Self::Left(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("{} in {doing}", named(signal)),
                (None, code) => format!("the session ended with code {} in {doing}", code.unwrap_or_default()),
            },
            Self::Signalled => "a signal came".to_owned(),
            Self::Over => "it was over".to_owned(),
        }
    }
}

/// A signal's name, for those that a fault brings.
pub fn named(signal: i32) -> String {
    match signal {
        libc::SIGSEGV => "SIGSEGV".to_owned(),
        libc::SIGBUS => "SIGBUS".to_owned(),
        libc::SIGABRT => "SIGABRT".to_owned(),
        libc::SIGFPE => "SIGFPE".to_owned(),
        libc::SIGILL => "SIGILL".to_owned(),
        libc::SIGKILL => "SIGKILL".to_owned(),
        libc::SIGTERM => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}
