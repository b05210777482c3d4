//! How a run ended, in a word, and how loud that is.

use analysis::words;
use report::document::Status;

use super::page::Tone;

/// How a run ended, and how loud that is.
pub(super) fn status(status: Status) -> (Tone, &'static str) {
    let tone = match status {
        Status::Complete => Tone::Plain,
        Status::Running | Status::Partial | Status::Newer => Tone::Warning,
        Status::Failed | Status::Interrupted | Status::TimedOut | Status::DataCorrupt => Tone::Bad,
    };
    (tone, words::status(status))
}
