//! A file that always holds a whole document: each write replaces the one before in one step.
//!
//! Opening proves, before anything is measured, that a file can be made beside the target; the target itself is not touched
//! until the first write. A write goes to a temporary file in the same folder, is flushed to the disk and renamed over the
//! target, so that a run killed at any moment leaves the last whole document. Standard output is not a sink's business.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::Document;
use crate::render::{JsonError, write_json};

/// The file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The path names a folder.
    #[error("{path} is a folder: name a file in it, e.g. {path}/result.json")]
    IsAFolder {
        /// The path.
        path: String,
    },
    /// The path names a device, a pipe or a socket.
    #[error(
        "{path} is not a regular file, and a document is replaced as a whole: name a file, or `-` for standard output"
    )]
    NotAFile {
        /// The path.
        path: String,
    },
    /// The folder does not exist.
    #[error(
        "{path} cannot be written, because there is no folder {folder}: make it (mkdir -p {folder}) or name another file"
    )]
    NoFolder {
        /// The path.
        path: String,
        /// Its folder.
        folder: String,
    },
    /// The file exists and is write-protected.
    #[error("{path} exists and is write-protected: name another file, or allow it with chmod u+w {path}")]
    ReadOnly {
        /// The path.
        path: String,
    },
    /// The operating system refused.
    #[error("{path} cannot be written: {step} failed ({error}); name a file in a folder that is yours and has room")]
    Io {
        /// The path.
        path: String,
        /// What was tried.
        step: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

/// The document could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// It cannot be written as JSON.
    #[error(transparent)]
    Json(JsonError),
    /// The file cannot be written.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

/// A file that always holds a whole document.
#[derive(Debug)]
pub struct Sink {
    target: PathBuf,
    folder: PathBuf,
}

/// The step that fails on a full disk.
const WRITING: &str = "writing";

impl Sink {
    /// Checks that `target` can be written, without touching it.
    ///
    /// # Errors
    /// [`SinkError`]: what is wrong with the path, and the remedy.
    pub fn open(target: &Path) -> Result<Self, SinkError> {
        let path = target.display().to_string();
        // A link is followed once, here: renaming over it would replace the link and leave the file it names.
        let target = match fs::canonicalize(target) {
            Ok(existing) => existing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => target.to_path_buf(),
            Err(error) => return Err(SinkError::Io { path, step: "looking it up", error }),
        };
        match fs::metadata(&target) {
            Ok(found) if found.is_dir() => return Err(SinkError::IsAFolder { path }),
            Ok(found) if !found.is_file() => return Err(SinkError::NotAFile { path }),
            Ok(found) if found.permissions().readonly() => return Err(SinkError::ReadOnly { path }),
            _ => {}
        }
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        if target.file_name().is_none() {
            return Err(SinkError::NotAFile { path });
        }
        if !folder.is_dir() {
            return Err(SinkError::NoFolder { path, folder: folder.display().to_string() });
        }
        let sink = Self { target, folder };
        // Made and removed again: the one sure answer to "may I write here".
        sink.temporary()?;
        Ok(sink)
    }

    /// Replaces the file's content by `bytes`, whole or not at all.
    ///
    /// # Errors
    /// [`SinkError::Io`]; the file then holds what it held before.
    pub fn write(&self, bytes: &[u8]) -> Result<(), SinkError> {
        self.write_with(|file| file.write_all(bytes).map_err(|error| self.error(WRITING, error)))
    }

    /// Replaces the file's content by the document, whole or not at all, without ever holding its text.
    ///
    /// # Errors
    /// [`KeepError`]; the file then holds what it held before.
    pub fn keep(&self, document: &Document) -> Result<(), KeepError> {
        self.write_with(|file| {
            write_json(document, file).map_err(|error| match error {
                JsonError::Io(error) => KeepError::Sink(self.error(WRITING, error)),
                other => KeepError::Json(other),
            })
        })
    }

    /// Replaces the file's content by what `fill` writes, unless it fails. The writer it gets is a plain file.
    fn write_with<E: From<SinkError>>(&self, fill: impl FnOnce(&mut NamedTempFile) -> Result<(), E>) -> Result<(), E> {
        let mut file = self.temporary()?;
        fill(&mut file)?;
        Ok(self.put(file)?)
    }

    /// Gives a finished file the target's name.
    fn put(&self, file: NamedTempFile) -> Result<(), SinkError> {
        // Before the rename, or a crash of the node could leave an empty file under the final name.
        file.as_file().sync_all().map_err(|error| self.error("flushing it to the disk", error))?;
        file.persist(&self.target).map_err(|error| self.error("renaming the finished file", error.error))?;
        Ok(())
    }

    /// The file that is written, links followed.
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// An empty temporary file in the target's folder, with the target's mode if it exists, else 0666 less the umask.
    fn temporary(&self) -> Result<NamedTempFile, SinkError> {
        let file = Builder::new()
            .prefix(".numabench-")
            .suffix(".tmp")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&self.folder)
            .map_err(|error| self.error("making a file beside it", error))?;
        if let Ok(existing) = fs::metadata(&self.target) {
            let mode = file.as_file().set_permissions(existing.permissions());
            mode.map_err(|error| self.error("giving it the mode of the file it replaces", error))?;
        }
        Ok(file)
    }

    fn error(&self, step: &'static str, error: io::Error) -> SinkError {
        SinkError::Io { path: self.target.display().to_string(), step, error }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    type Done = Result<(), Box<dyn std::error::Error>>;

    fn refusal(path: &Path) -> String {
        Sink::open(path).map_or_else(|error| error.to_string(), |_| "opened".into())
    }

    fn names(folder: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    #[test]
    fn opening_makes_nothing_and_keeps_what_is_there() -> Done {
        let folder = tempfile::tempdir()?;
        let old = folder.path().join("old.json");
        fs::write(&old, "old")?;
        Sink::open(&old)?;
        Sink::open(&folder.path().join("new.json"))?;
        assert_eq!(fs::read_to_string(&old)?, "old");
        assert_eq!(names(folder.path())?, ["old.json"]);
        Ok(())
    }

    #[test]
    fn each_write_replaces_the_whole_file_and_leaves_no_other() -> Done {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("result.json");
        let sink = Sink::open(&path)?;
        sink.write(b"a long first document")?;
        sink.write(b"second")?;
        assert_eq!(fs::read_to_string(&path)?, "second");
        assert_eq!(names(folder.path())?, ["result.json"]);
        Ok(())
    }

    #[test]
    fn a_write_that_fails_half_way_leaves_the_old_document_and_no_other_file() -> Done {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("result.json");
        let sink = Sink::open(&path)?;
        sink.write(b"old")?;
        let failed: Result<(), SinkError> = sink.write_with(|file| {
            file.write_all(b"new, but cut of").map_err(|error| sink.error(WRITING, error))?;
            Err(sink.error(WRITING, io::Error::from(io::ErrorKind::StorageFull)))
        });
        assert!(failed.is_err_and(|error| error.to_string().contains("writing failed (no storage space)")));
        assert_eq!(fs::read_to_string(&path)?, "old");
        assert_eq!(names(folder.path())?, ["result.json"]);
        Ok(())
    }

    #[test]
    fn until_a_write_is_whole_a_reader_sees_the_old_document() -> Done {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("result.json");
        let sink = Sink::open(&path)?;
        sink.write(b"old")?;
        // What a writer killed half-way leaves: bytes in the temporary file, nothing renamed.
        let mut half = sink.temporary()?;
        half.write_all(b"new, but cut of")?;
        let (_, left_behind) = half.keep()?;
        assert_eq!(fs::read_to_string(&path)?, "old");
        assert_ne!(left_behind, path);
        // An open file is the old document to its end, also while the new one takes its name.
        let mut reader = fs::File::open(&path)?;
        sink.write(b"new")?;
        assert_eq!(io::read_to_string(&mut reader)?, "old");
        assert_eq!(fs::read_to_string(&path)?, "new");
        Ok(())
    }

    #[test]
    fn a_new_file_has_the_mode_the_umask_gives_and_an_old_one_keeps_its_own() -> Done {
        let folder = tempfile::tempdir()?;
        let mode = |path: &Path| fs::metadata(path).map(|found| found.permissions().mode() & 0o777);
        let (plain, path) = (folder.path().join("plain"), folder.path().join("result.json"));
        fs::write(&plain, "")?;
        let sink = Sink::open(&path)?;
        sink.write(b"1")?;
        assert_eq!(mode(&path)?, mode(&plain)?, "as any other program's file");
        fs::set_permissions(&path, Permissions::from_mode(0o640))?;
        sink.write(b"2")?;
        assert_eq!(mode(&path)?, 0o640);
        Ok(())
    }

    #[test]
    fn a_link_stays_a_link() -> Done {
        let folder = tempfile::tempdir()?;
        let (file, link) = (folder.path().join("run-1.json"), folder.path().join("latest.json"));
        fs::write(&file, "old")?;
        symlink(&file, &link)?;
        Sink::open(&link)?.write(b"new")?;
        assert_eq!(fs::read_to_string(&file)?, "new");
        assert!(fs::symlink_metadata(&link)?.is_symlink());
        Ok(())
    }

    #[test]
    fn what_cannot_be_written_is_refused_before_the_run_with_the_remedy() -> Done {
        let folder = tempfile::tempdir()?;
        let protected = folder.path().join("protected.json");
        fs::write(&protected, "")?;
        fs::set_permissions(&protected, Permissions::from_mode(0o444))?;
        assert!(refusal(folder.path()).contains("is a folder: name a file in it"));
        assert!(refusal(&folder.path().join("no/such/r.json")).contains("mkdir -p"));
        assert!(refusal(&protected).contains("chmod u+w"));
        assert!(refusal(Path::new("/dev/null")).contains("not a regular file"));
        assert!(refusal(&protected.join("r.json")).contains("cannot be written"));
        assert!(refusal(Path::new("..")).contains("is a folder"));
        assert!(refusal(Path::new("")).contains("name a file"));
        // /proc takes no files from anybody, root included.
        assert!(refusal(Path::new("/proc/numabench.json")).contains("making a file beside it failed"));
        Ok(())
    }

    #[test]
    fn a_plain_file_name_is_written_to_the_working_folder() -> Done {
        let sink = Sink::open(Path::new("no-such-result.json"))?;
        assert_eq!(sink.folder, Path::new("."));
        Ok(())
    }
}
