//! A folder in the temporary folder for as long as this process lives: removed when it is dropped, and by the
//! next run of this user where the process was killed.

use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::TempDir;

/// The folder.
pub struct Scratch {
    folder: TempDir,
    // Held: it says that the folder is in use.
    _held: File,
}

impl Scratch {
    /// A new one, whose name begins so.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(prefix: &str) -> io::Result<Self> {
        ranks::stale_files::sweep(&std::env::temp_dir(), prefix);
        let folder = TempDir::with_prefix(prefix)?;
        let held = File::open(folder.path())?;
        ranks::stale_files::hold(&held);
        Ok(Self { folder, _held: held })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}
