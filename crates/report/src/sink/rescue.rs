//! The place for a document whose own one could not take it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::Builder;

/// Keeps bytes that standard output did not take in a new file of the temporary folder; its path, unless that
/// fails too.
pub fn rescue_bytes(bytes: &[u8]) -> Option<PathBuf> {
    rescue(&std::env::temp_dir(), "numabench".as_ref(), &|file: &mut File| file.write_all(bytes))
}

/// A new file `NAME-rescued-XXXXXX.json` in this folder with what `fill` writes.
pub(super) fn rescue<E>(
    folder: &Path,
    name: &OsStr,
    fill: &impl Fn(&mut File) -> Result<(), E>,
) -> Option<PathBuf> {
    let mut prefix = name.to_owned();
    prefix.push("-rescued-");
    let mut file = Builder::new().prefix(&prefix).suffix(".json").tempfile_in(folder).ok()?;
    fill(file.as_file_mut()).ok()?;
    file.as_file().sync_all().ok()?;
    Some(file.keep().ok()?.1)
}
