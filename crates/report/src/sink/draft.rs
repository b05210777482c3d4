//! A file that is on its way to a name: one without a name where the file system has such files, else one
//! with a name of its own.
//!
//! A file without a name is gone when its process is. Where nothing has the target's name it is given in one
//! step. A name that is taken cannot be given (linkat(2)), only renamed to: then the file gets a name of its
//! own first, and the target's over the old file. A process killed between these two steps leaves a file: no
//! call of the kernel does both, and SIGKILL cannot be put off. The next run with this target sweeps it.
//!
//! A process number says nothing of who a file belongs to: in two containers it is the same. So a draft's
//! name ends with random characters, no draft ever takes a name that is taken, and whoever writes one holds a
//! lock on it: abandoned is a file of this node that nobody holds.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FlockOperation, Mode, OFlags, fallocate, flock, linkat, open,
};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile, TempPath};

/// The end of the name of a file that is not finished.
const ENDING: &str = ".numabench";
/// As many characters of a target's name as stand in that of its draft: the kernel's names have 255 bytes, a
/// character up to four.
const CHARACTERS: usize = 25;
/// Random characters of a draft's name: 62 letters and digits each.
const RANDOM: usize = 16;
/// What another node left is removed after this time: whether somebody there holds a lock on it cannot be
/// known everywhere from here (Lustre's localflock).
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The names of unfinished files of one target: `.TARGET@HOST@BOOT@RANDOM.numabench`.
#[derive(Debug)]
pub struct Names {
    target: String,
    /// `HOST@BOOT`: the node, also where several have one name, and in all of its containers.
    node: String,
    /// Whether files without a name can be given one here; found when the first one is made.
    nameless: OnceLock<bool>,
}

impl Names {
    /// Those of a target with this name.
    pub fn of(target: &OsStr) -> Self {
        let kernel =
            |file: &str| fs::read_to_string(Path::new("/proc/sys/kernel").join(file)).unwrap_or_default();
        let host: String = kernel("hostname").trim().replace(['@', '/'], "_");
        let boot: String = kernel("random/boot_id").chars().take(8).collect();
        Self {
            target: target.to_string_lossy().chars().filter(|c| *c != '@').take(CHARACTERS).collect(),
            node: format!("{host}@{boot}"),
            nameless: OnceLock::new(),
        }
    }

    /// Makes something under a name that nobody has: `make` fails with [`io::ErrorKind::AlreadyExists`] for
    /// one that is taken.
    pub fn make<R>(
        &self,
        folder: &Path,
        make: impl FnMut(&Path) -> io::Result<R>,
    ) -> io::Result<NamedTempFile<R>> {
        let prefix = format!(".{}@{}@", self.target, self.node);
        Builder::new().prefix(&prefix).suffix(ENDING).rand_bytes(RANDOM).make_in(folder, make)
    }

    /// Removes what runs that were killed have left.
    pub fn sweep(&self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let parts = name.to_str().and_then(|name| name.strip_suffix(ENDING)?.strip_prefix('.'));
            let parts: Vec<_> = parts.unwrap_or_default().split('@').collect();
            let [target, host, boot, _] = parts[..] else { continue };
            if target != self.target {
                continue;
            }
            let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
            let may_go = format!("{host}@{boot}") == self.node || age().is_some_and(|age| age > DAY);
            if may_go && is_abandoned(&entry.path()) {
                drop(fs::remove_file(entry.path()));
            }
        }
    }
}

/// Says that somebody writes this file, for as long as it is open. Where a file system has no locks nothing
/// is removed either. Whether the file still is one: it had a name for a moment before it had a lock.
fn hold(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => Ok(false),
        _ => Ok(file.metadata()?.nlink() > 0),
    }
}

/// Whether nobody holds this file. NFS gives an exclusive lock only on a file that is open to be written.
fn is_abandoned(path: &Path) -> bool {
    let flags = (OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// A file that is on its way to a name.
pub enum Draft {
    /// It has none.
    Nameless(File),
    /// It has one of its own, which goes with it.
    Named(NamedTempFile),
}

impl Draft {
    /// An empty one, with the mode 0666 less the umask.
    pub fn new(folder: &Path, names: &Names) -> io::Result<Self> {
        let nameless = || -> io::Result<File> {
            let file =
                open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::from_raw_mode(0o666))?;
            Ok(file.into())
        };

        // A file that had a name and lost it cannot be given another one: this is the trial's, and goes.
        let can_be_given = || nameless().and_then(|file| give(&file, folder, names)).is_ok();
        if *names.nameless.get_or_init(can_be_given) {
            return nameless().map(Self::Nameless);
        }
        let mut named = OpenOptions::new();
        named.read(true).write(true).create_new(true).mode(0o666);

        loop {
            let file = names.make(folder, |path| named.open(path))?;
            if hold(file.as_file())? {
                return Ok(Self::Named(file));
            }
        }
    }

    /// The file.
    pub fn file(&mut self) -> &mut File {
        match self {
            Self::Nameless(file) => file,
            Self::Named(file) => file.as_file_mut(),
        }
    }

    /// Takes so many bytes of the disk.
    pub fn reserve(&self, bytes: u64) -> io::Result<()> {
        let mut file = match self {
            Self::Nameless(file) => file,
            Self::Named(file) => file.as_file(),
        };
        match fallocate(file, FallocateFlags::empty(), 0, bytes) {
            // Then only writing tells.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                io::copy(&mut io::Read::take(io::repeat(0), bytes), &mut file)?;
                file.flush()?;
                file.sync_data()?;
                file.seek(SeekFrom::Start(0)).map(drop)
            }
            reserved => Ok(reserved?),
        }
    }

    /// Ends the file where writing has ended; how many bytes it has.
    pub fn end(&mut self) -> io::Result<u64> {
        let bytes = self.file().stream_position()?;
        self.file().set_len(bytes)?;
        Ok(bytes)
    }

    /// Gives it the target's name, in place of what has it.
    pub fn rename(self, target: &Path, folder: &Path, names: &Names) -> io::Result<()> {
        if let Self::Nameless(file) = &self
            && link(file, target).is_ok()
        {
            return Ok(());
        }
        // The file stays open, and so held, until it has the target's name.
        let (own, _file) = match self {
            Self::Nameless(file) => (give(&file, folder, names)?, file),
            Self::Named(file) => {
                let (file, own) = file.into_parts();
                (own, file)
            }
        };
        fs::rename(&own, target)?;
        own.keep().map(drop).map_err(|error| error.error)
    }
}

/// Gives a file without a name one of its own (open(2), O_TMPFILE), which is removed again with what is
/// returned.
fn give(file: &File, folder: &Path, names: &Names) -> io::Result<TempPath> {
    // Before it has a name, or a sweep could find it unheld.
    let _ = flock(file, FlockOperation::NonBlockingLockShared);
    Ok(names.make(folder, |path| link(file, path))?.into_temp_path())
}

/// Gives a file without a name one that nobody has; [`io::ErrorKind::AlreadyExists`] for one that is taken,
/// by a link too.
fn link(file: &File, path: &Path) -> io::Result<()> {
    let from = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, &from, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    type Done = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn what_nobody_holds_is_swept_and_what_somebody_holds_stays_whatever_process_that_is() -> Done {
        let folder = tempfile::tempdir()?;
        let (names, others) = (Names::of("result.json".as_ref()), Names::of("other.json".as_ref()));
        let named = |names: &Names| names.make(folder.path(), |path| File::create_new(path));
        let (left, held, other) = (named(&names)?, named(&names)?, named(&others)?);
        assert!(hold(held.as_file())?);
        names.sweep(folder.path());
        assert!(!left.path().exists() && held.path().exists() && other.path().exists());
        let held = held.into_temp_path();
        names.sweep(folder.path());
        assert!(!held.exists(), "its holder has closed it");
        Ok(())
    }

    #[test]
    fn a_draft_whose_run_was_killed_between_its_two_names_is_swept_and_its_target_is_whole() -> Done {
        let folder = tempfile::tempdir()?;
        let (target, names) = (folder.path().join("result.json"), Names::of("result.json".as_ref()));
        let files = || fs::read_dir(folder.path()).map(|entries| entries.count());
        for (text, many) in [("first", 1), ("second", 2)] {
            let Draft::Nameless(mut file) = Draft::new(folder.path(), &names)? else { return Ok(()) };
            file.write_all(text.as_bytes())?;
            // What the kernel does with the process at its next call after this one.
            if link(&file, &target).is_err() {
                std::mem::forget(give(&file, folder.path(), &names)?);
            }
            drop(file);
            assert_eq!((files()?, fs::read_to_string(&target)?.as_str()), (many, "first"));
        }

        names.sweep(folder.path());
        assert_eq!((files()?, fs::read_to_string(&target)?.as_str()), (1, "first"));
        Ok(())
    }

    #[test]
    fn a_first_document_never_has_another_name() -> Done {
        let folder = tempfile::tempdir()?;
        let (target, names) = (folder.path().join("result.json"), Names::of("result.json".as_ref()));
        let draft = Draft::new(folder.path(), &names)?;
        // No name of its own can be made in a folder that is not there: the target's is the one that is
        // given.
        draft.rename(&target, &folder.path().join("gone"), &names)?;
        assert_eq!(fs::read_dir(folder.path())?.count(), 1);
        // What takes the target's name meanwhile is replaced, a link as well, and not followed.
        for _ in 0..2 {
            fs::remove_file(&target)?;
            std::os::unix::fs::symlink("/dev/null", &target)?;
            Draft::new(folder.path(), &names)?.rename(&target, folder.path(), &names)?;
            assert!(fs::symlink_metadata(&target)?.is_file());
        }
        Ok(())
    }

    #[test]
    fn what_another_node_left_is_swept_after_a_day() -> Done {
        let folder = tempfile::tempdir()?;
        let names = Names::of("result.json".as_ref());
        let there = Names { node: "elsewhere@01234567".to_owned(), ..Names::of("result.json".as_ref()) };
        let file = there.make(folder.path(), |path| File::create_new(path))?;
        names.sweep(folder.path());
        assert!(file.path().exists());
        file.as_file().set_modified(std::time::SystemTime::now() - DAY - DAY)?;
        names.sweep(folder.path());
        assert!(!file.path().exists());
        Ok(())
    }

    #[test]
    fn drafts_whose_targets_begin_alike_are_never_exchanged() -> Done {
        // As processes of one number in two containers: the same host, the same first characters, and other
        // text.
        let folder = tempfile::tempdir()?;
        let target = |last: char| folder.path().join(format!("nightly-pingpong-results-of-gpu-{last}.json"));
        let write = &|last: char| -> io::Result<()> {
            let target = target(last);
            let (names, text) =
                (Names::of(target.file_name().unwrap_or_default()), target.as_os_str().as_encoded_bytes());
            for _ in 0..300 {
                let mut draft = Draft::new(folder.path(), &names)?;
                draft.file().write_all(text)?;
                draft.rename(&target, folder.path(), &names)?;
                assert_eq!(fs::read(&target)?, text, "another's document");
                names.sweep(folder.path());
            }
            Ok(())
        };

        thread::scope(|scope| -> Done {
            let writers = ['a', 'b'].map(|last| scope.spawn(move || write(last)));
            for writer in writers {
                writer.join().map_err(|_| "a writer found another's document")??;
            }
            Ok(())
        })?;
        assert_eq!(fs::read_dir(folder.path())?.count(), 2, "nothing lies beside them");
        Ok(())
    }
}
