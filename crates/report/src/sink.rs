//! A file that always holds a whole document: each write replaces the one before in one step. Some 410
//! lines because half of them are tests, which fill disks and take rights away.
//!
//! Opening proves, before anything is measured, that a file can be made beside the target and that there is
//! room for one; the target itself is not touched until the first write. A write goes to a file without a
//! name (`O_TMPFILE`) in the same folder, is flushed to the disk, and takes the target's name, so that a run
//! killed at any moment leaves the last whole document. Two cases leave one hidden file beside it, which is
//! removed when the target is opened next: a file system that knows no files without a name (NFS, Lustre),
//! and a kill in the moment in which a new document that replaces an old one has a name of its own, because
//! only a rename replaces another file in one step.
//!
//! The room for the next document is reserved while the run goes on, where the file system can. A document
//! that its file cannot take all the same goes beside it or to the temporary folder
//! ([`Sink::keep_or_rescue`]). Standard output is not a sink's business.

mod draft;
mod error;
mod links;
mod rescue;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::json::{JsonError, write_json};
use draft::{Draft, Names};
pub use error::{KeepError, SinkError};
use links::{end_of_links, folder_of};
use rescue::rescue;
pub use rescue::rescue_bytes;

/// What became of a document.
#[derive(Debug)]
pub enum Kept {
    /// It is in its file.
    Here,
    /// It is in another one.
    Elsewhere {
        /// Which.
        path: PathBuf,
        /// Why its own could not take it.
        why: KeepError,
    },
    /// No file took it.
    Nowhere {
        /// Why its own did not.
        why: KeepError,
    },
}

/// A file that always holds a whole document.
#[derive(Debug)]
pub struct Sink {
    target: PathBuf,
    folder: PathBuf,
    names: Names,
    /// A file without a name that has room for the next document.
    reserved: Mutex<Option<File>>,
}

/// The step that fails on a full disk.
const WRITING: &str = "writing";
/// The room a document must find before the run: a run of a few cases writes less.
const ROOM: u64 = 256 << 10;

/// Whether a path ends as that of a folder does; `Path` itself leaves the end out.
fn names_a_folder(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

impl Sink {
    /// Checks that `target` can be written, without touching it.
    ///
    /// # Errors
    /// [`SinkError`]: what is wrong with the path, and the remedy.
    pub fn open(target: &Path) -> Result<Self, SinkError> {
        let path = target.display().to_string();
        if names_a_folder(target) {
            return Err(SinkError::IsAFolder { path });
        }

        // A link of the kernel's (/dev/stdout) leads to a pipe or a terminal, whose name is no path.
        if fs::metadata(target).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(SinkError::NotAFile { path });
        }

        // A link is followed once, here: renaming over it would replace the link and leave the file it names.
        let target = end_of_links(target)?;
        let Some(name) = target.file_name().map(ToOwned::to_owned) else {
            return Err(if target.is_dir() {
                SinkError::IsAFolder { path }
            } else {
                SinkError::NotAFile { path }
            });
        };

        // The folder alone is looked up further: a link that takes the name from now on is replaced, and not
        // followed.
        let target = match fs::canonicalize(folder_of(&target)) {
            Ok(folder) => folder.join(&name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => target,
            Err(error) => return Err(SinkError::Io { path, step: "looking it up", error }),
        };

        match fs::metadata(&target) {
            Ok(found) if found.is_dir() => return Err(SinkError::IsAFolder { path }),
            Ok(found) if !found.is_file() => return Err(SinkError::NotAFile { path }),
            Ok(found) if found.permissions().readonly() => return Err(SinkError::ReadOnly { path }),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(SinkError::Io { path, step: "looking it up", error });
            }
            _ => {}
        }

        let folder = folder_of(&target).to_path_buf();
        if !folder.is_dir() {
            return Err(SinkError::NoFolder { path, folder: folder.display().to_string() });
        }
        let names = Names::of(&name);
        names.sweep(&folder);
        let sink = Self { target, folder, names, reserved: Mutex::new(None) };

        // Made and removed again: the one sure answer to "may I write here, and is there room".
        let draft = sink.draft()?;
        draft.reserve(ROOM).map_err(|error| sink.no_room(ROOM, error))?;
        sink.hold(draft);
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
    pub fn keep<D: Serialize>(&self, document: &D) -> Result<(), KeepError> {
        self.write_with(|file| self.fill(document, file))
    }

    /// The same for the last time: a document that the file cannot take goes into one beside it, or to the
    /// temporary folder.
    pub fn keep_or_rescue<D: Serialize>(&self, document: &D) -> Kept {
        let Err(why) = self.keep(document) else { return Kept::Here };
        let near = [self.folder.clone(), std::env::temp_dir()];
        let name = self.target.file_stem().unwrap_or_default();
        match near.iter().find_map(|folder| rescue(folder, name, &|file| self.fill(document, file))) {
            Some(path) => Kept::Elsewhere { path, why },
            None => Kept::Nowhere { why },
        }
    }

    fn fill<D: Serialize>(&self, document: &D, file: &mut File) -> Result<(), KeepError> {
        write_json(document, file).map_err(|error| match error {
            JsonError::Io(error) => KeepError::Sink(self.error(WRITING, error)),
            other => KeepError::Json(other),
        })
    }

    /// Replaces the file's content by what `fill` writes, unless it fails. The writer it gets is a plain
    /// file.
    fn write_with<E: From<SinkError>>(&self, fill: impl FnOnce(&mut File) -> Result<(), E>) -> Result<(), E> {
        let reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut draft = match reserved {
            Some(file) => Draft::Nameless(file),
            None => self.draft()?,
        };
        fill(draft.file())?;
        let bytes = draft.end().map_err(|error| self.error(WRITING, error))?;
        self.put(draft)?;

        // For the next one, which is larger. Without room for it that one fails and says so; there is nothing
        // to say yet.
        if let Ok(next) = self.draft()
            && next.reserve(ROOM.max(bytes.saturating_add(bytes / 4))).is_ok()
        {
            self.hold(next);
        }
        Ok(())
    }

    /// Gives a finished file the target's name.
    fn put(&self, mut draft: Draft) -> Result<(), SinkError> {
        if let Ok(existing) = fs::metadata(&self.target) {
            let mode = draft.file().set_permissions(existing.permissions());
            mode.map_err(|error| self.error("giving it the mode of the file it replaces", error))?;
        }
        // Before the rename, or a crash of the node could leave an empty file under the final name.
        draft.file().sync_all().map_err(|error| self.error("flushing it to the disk", error))?;
        draft
            .rename(&self.target, &self.folder, &self.names)
            .map_err(|error| self.error("renaming the finished file", error))
    }

    /// The file that is written, links followed.
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// An empty file in the target's folder that is not the target yet.
    fn draft(&self) -> Result<Draft, SinkError> {
        Draft::new(&self.folder, &self.names).map_err(|error| self.error("making a file beside it", error))
    }

    /// Keeps a file with room in it for the next write, unless it has a name that a killed run would leave.
    fn hold(&self, draft: Draft) {
        if let Draft::Nameless(file) = draft {
            *self.reserved.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        }
    }

    fn no_room(&self, bytes: u64, error: io::Error) -> SinkError {
        let (path, folder) = (self.target.display().to_string(), self.folder.display().to_string());
        SinkError::NoRoom { path, folder, bytes, error }
    }

    fn error(&self, step: &'static str, error: io::Error) -> SinkError {
        SinkError::Io { path: self.target.display().to_string(), step, error }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    type Done = Result<(), Box<dyn std::error::Error>>;

    fn names_of(folder: &Path) -> io::Result<Vec<String>> {
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
        assert_eq!(names_of(folder.path())?, ["old.json"]);
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
        assert_eq!(names_of(folder.path())?, ["result.json"]);
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
        let Err(SinkError::Io { step, error, .. }) = &failed else {
            return Err(format!("{failed:?}").into());
        };
        assert_eq!((*step, error.kind()), (WRITING, io::ErrorKind::StorageFull));
        assert_eq!(fs::read_to_string(&path)?, "old");
        assert_eq!(names_of(folder.path())?, ["result.json"]);
        Ok(())
    }

    #[test]
    fn until_a_write_is_whole_a_reader_sees_the_old_document() -> Done {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("result.json");
        let sink = Sink::open(&path)?;
        sink.write(b"old")?;
        // What a writer is killed over: bytes in the draft, nothing renamed.
        let mut half = sink.draft()?;
        half.file().write_all(b"new, but cut of")?;
        assert_eq!(fs::read_to_string(&path)?, "old");
        // An open file is the old document to its end, also while the new one takes its name.
        let mut reader = File::open(&path)?;
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
    fn a_link_to_nothing_stays_a_link_and_the_file_it_names_is_made() -> Done {
        let folder = tempfile::tempdir()?;
        let (middle, link) = (folder.path().join("middle.json"), folder.path().join("latest.json"));
        symlink("run-1.json", &middle)?;
        symlink(&middle, &link)?;
        Sink::open(&link)?.write(b"new")?;
        assert_eq!(fs::read_to_string(folder.path().join("run-1.json"))?, "new");
        assert!(fs::symlink_metadata(&link)?.is_symlink() && fs::symlink_metadata(&middle)?.is_symlink());
        symlink("ring.json", folder.path().join("ring.json"))?;
        let ring = Sink::open(&folder.path().join("ring.json")).err();
        assert!(matches!(ring, Some(SinkError::Io { .. })), "{ring:?}");
        Ok(())
    }

    #[test]
    fn what_its_file_cannot_take_is_kept_beside_it_or_in_the_temporary_folder() -> Done {
        let folder = tempfile::tempdir()?;
        let within = folder.path().join("within");
        fs::create_dir(&within)?;
        let path = within.join("result.json");
        let sink = Sink::open(&path)?;
        assert!(matches!(sink.keep_or_rescue(&1), Kept::Here));

        // The file has become a folder: what is beside it can be written.
        fs::remove_file(&path)?;
        fs::create_dir(&path)?;
        let Kept::Elsewhere { path: beside, why } = sink.keep_or_rescue(&2) else {
            return Err("lost".into());
        };
        assert_eq!((beside.parent(), fs::read_to_string(&beside)?.as_str()), (Some(within.as_path()), "2\n"));
        let KeepError::Sink(SinkError::Io { path: named, .. }) = &why else { return Err(why.into()) };
        assert_eq!(*named, path.display().to_string());

        // The folder is gone.
        fs::remove_dir_all(&within)?;
        let Kept::Elsewhere { path: elsewhere, .. } = sink.keep_or_rescue(&3) else {
            return Err("lost".into());
        };
        let text = fs::read_to_string(&elsewhere)?;
        fs::remove_file(&elsewhere)?;
        assert_eq!((elsewhere.parent(), text.as_str()), (Some(std::env::temp_dir().as_path()), "3\n"));
        Ok(())
    }

    #[test]
    fn what_a_killed_run_left_beside_its_target_is_removed_by_the_next_one() -> Done {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("result.json");
        let half = |target: &str| -> io::Result<PathBuf> {
            let made = Names::of(target.as_ref()).make(folder.path(), |path| fs::write(path, "half"))?;
            Ok(made.into_temp_path().keep()?)
        };
        let (left, other) = (half("result.json")?, half("other.json")?);
        Sink::open(&path)?;
        assert!(!left.exists() && other.exists(), "another target's are not touched");
        Ok(())
    }

    #[test]
    fn what_cannot_be_written_is_refused_before_the_run_with_the_remedy() -> Done {
        let folder = tempfile::tempdir()?;
        let protected = folder.path().join("protected.json");
        fs::write(&protected, "")?;
        fs::set_permissions(&protected, Permissions::from_mode(0o444))?;
        let refused = |path: &Path| Sink::open(path).err();
        for folder in [folder.path(), Path::new("..")] {
            assert!(matches!(refused(folder), Some(SinkError::IsAFolder { .. })), "{:?}", refused(folder));
        }
        let nowhere = folder.path().join("no/such");
        let Some(SinkError::NoFolder { folder, .. }) = refused(&nowhere.join("r.json")) else {
            return Err("it is opened".into());
        };
        assert_eq!(folder, nowhere.display().to_string());
        assert!(matches!(refused(&protected), Some(SinkError::ReadOnly { .. })), "{:?}", refused(&protected));

        for path in ["/dev/null", ""] {
            assert!(
                matches!(refused(Path::new(path)), Some(SinkError::NotAFile { .. })),
                "{:?}",
                refused(Path::new(path))
            );
        }

        let below = refused(&protected.join("r.json"));
        assert!(matches!(below, Some(SinkError::Io { .. })), "{below:?}");

        // /proc takes no files from anybody, root included.
        let proc = refused(Path::new("/proc/numabench.json"));
        assert!(matches!(proc, Some(SinkError::Io { .. })), "{proc:?}");
        Ok(())
    }

    #[test]
    fn a_path_that_ends_as_a_folder_does_is_no_file_there_or_not() -> Done {
        let folder = tempfile::tempdir()?;
        let new = folder.path().join("new");
        for end in ["/", "/."] {
            let path = format!("{}{end}", new.display());
            let refused = Sink::open(Path::new(&path)).err().map(|error| error.to_string());
            let said = format!("{path} is a folder: name a file in it, e.g. {}/result.json", new.display());
            assert_eq!(refused, Some(said));
        }
        assert!(!new.exists());
        Ok(())
    }

    #[test]
    fn a_plain_file_name_is_written_to_the_working_folder() -> Done {
        let sink = Sink::open(Path::new("no-such-result.json"))?;
        assert_eq!(sink.folder, fs::canonicalize(".")?);
        Ok(())
    }
}
