//! How a run ended, in a word, and how loud that is.

use super::page::Tone;
use super::words::NEWER;
use crate::document::Status;

/// How a run ended, and how loud that is.
pub(crate) fn status(status: Status) -> (Tone, &'static str) {
    match status {
        Status::Complete => (Tone::Plain, "complete"),
        Status::Running => (Tone::Warning, "STILL RUNNING (or killed)"),
        Status::Partial => (Tone::Warning, "PARTIAL"),
        Status::Failed => (Tone::Bad, "FAILED: no result"),
        Status::Interrupted => (Tone::Bad, "INTERRUPTED"),
        Status::TimedOut => (Tone::Bad, "TIMED OUT"),
        Status::DataCorrupt => (Tone::Bad, "DATA CORRUPT"),
        Status::Newer => (Tone::Warning, NEWER),
    }
}
