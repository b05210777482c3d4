//! The file that a command writes, opened before any work: what cannot be kept is not begun.

use std::path::Path;

use report::sink::Sink;

use crate::fault::Fault;

/// The file at this path.
///
/// # Errors
/// It cannot be written: exit 2 where another path must be named, 1 where the system refuses this one now.
pub fn open(path: &Path) -> Result<Sink, Fault> {
    Ok(Sink::open(path)?)
}

/// The file of a document: none where no path was given, or `-` for standard output.
///
/// # Errors
/// As [`open`].
pub fn of_document(json: Option<&Path>) -> Result<Option<Sink>, Fault> {
    json.filter(|path| *path != Path::new("-")).map(open).transpose()
}
