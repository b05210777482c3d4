//! A file that is on its way to a name: one without a name where the file system has such files, else one with a name of its own.
//!
//! A file without a name is gone when its process is, and a name is given to it in two steps, because a name that is taken cannot be
//! given: first one of its own, then the target's over the old file. Only a process killed between the two leaves a file.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, fallocate, linkat, open};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile};

/// The end of the name of a file that is not finished.
const ENDING: &str = ".numabench";
/// As many characters of a target's name as stand in that of its draft: the kernel's names have 255 bytes, a character up to four.
const CHARACTERS: usize = 25;
/// What another node left is removed after this time: whether its process lives cannot be seen from here.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The names of unfinished files of one target: `.TARGET@HOST@PROCESS@….numabench`.
#[derive(Debug)]
pub struct Names {
    target: String,
    host: String,
    /// Whether files without a name can be given one here; found when the first one is made.
    nameless: OnceLock<bool>,
}

impl Names {
    /// Those of a target with this name.
    pub fn of(target: &OsStr) -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().replace(['@', '/'], "_");
        Self {
            target: target.to_string_lossy().chars().filter(|c| *c != '@').take(CHARACTERS).collect(),
            host,
            nameless: OnceLock::new(),
        }
    }

    /// How the name of a file of this process begins.
    fn begin(&self, pid: u32) -> String {
        format!(".{}@{}@{pid}@", self.target, self.host)
    }

    /// The name for a file of this process, and of one that process makes at a time.
    pub fn of_process(&self, pid: u32) -> String {
        self.begin(pid) + ENDING
    }

    /// Removes what runs that were killed have left.
    pub fn sweep(&self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let parts = name.to_str().and_then(|name| name.strip_suffix(ENDING)?.strip_prefix('.'));
            let mut parts = parts.unwrap_or_default().split('@');
            let (Some(target), Some(host), Some(pid)) = (parts.next(), parts.next(), parts.next()) else { continue };
            if target != self.target || pid.parse::<u32>().is_err() {
                continue;
            }
            let is_left = if host == self.host {
                Path::new("/proc/self").exists() && !Path::new("/proc").join(pid).exists()
            } else {
                let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|then| then.elapsed().ok());
                age.is_some_and(|age| age > DAY)
            };
            if is_left {
                drop(fs::remove_file(entry.path()));
            }
        }
    }
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
        let nameless = || open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::from_raw_mode(0o666));
        let can_be_given = || {
            let given = nameless().map_err(io::Error::from).and_then(|file| give(&File::from(file), folder, names));
            // A file that had a name and lost it cannot be given another one: this was the trial's.
            drop(given.is_ok().then(|| fs::remove_file(folder.join(names.of_process(std::process::id())))));
            given.is_ok()
        };
        if *names.nameless.get_or_init(can_be_given) {
            return Ok(Self::Nameless(nameless()?.into()));
        }
        let mode = Permissions::from_mode(0o666);
        let (begin, mut builder) = (names.begin(std::process::id()), Builder::new());
        builder.prefix(&begin).suffix(ENDING).permissions(mode).tempfile_in(folder).map(Self::Named)
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
        match self {
            Self::Nameless(file) => {
                give(&file, folder, names)?;
                let own = folder.join(names.of_process(std::process::id()));
                fs::rename(&own, target).inspect_err(|_| drop(fs::remove_file(&own)))
            }
            Self::Named(file) => file.persist(target).map(drop).map_err(|error| error.error),
        }
    }
}

/// Gives a file without a name the one of this process (open(2), O_TMPFILE).
fn give(file: &File, folder: &Path, names: &Names) -> io::Result<()> {
    let own = folder.join(names.of_process(std::process::id()));
    let from = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = || linkat(CWD, &from, CWD, &own, AtFlags::SYMLINK_FOLLOW);
    match link() {
        // An earlier process of this number left it.
        Err(Errno::EXIST) => {
            fs::remove_file(&own)?;
            Ok(link()?)
        }
        linked => Ok(linked?),
    }
}
