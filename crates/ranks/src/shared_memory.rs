//! The memory that the processes of one node share: a file in /dev/shm, mapped by each of them.
//!
//! The first process makes the file, for its user alone (mode 0600) and under a random name, and writes all
//! of it: a full tmpfs is an error here and not a SIGBUS later. The others open it by name, and refuse one
//! that is not theirs. Once all have it mapped nobody needs the name, so it is removed; until then every
//! member removes it when it is dropped. Where all are killed before, the next launch removes it
//! ([`stale_files`]).
//!
//! Everything in it is atomic words (`sys::shared`). What they mean is said
//! by `processes`; nothing here waits. A process that dies leaves no lock behind because there is none.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fs::OFlags;
use sys::shared::Shared;

use crate::{VALUES, stale_files};

/// Where the file may lie, best first. /tmp is on a disk at some sites, which slows its making and nothing
/// else.
const FOLDERS: [&str; 2] = ["/dev/shm", "/tmp"];

const PREFIX: &str = "numabench-page-";

/// Says what the file is and which layout it has; another layout is another number.
const MARK: u64 = u64::from_le_bytes(*b"nmbnch\0\x02");

/// The state word counts a round's arrivals in 16 bits.
pub(crate) const MOST_MEMBERS: usize = u16::MAX as usize;

/// Why the shared memory cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// More members than a page can count, or none.
    #[error("a node's group has 1 to {MOST_MEMBERS} members, not {0}")]
    Size(usize),
    /// Neither folder took the file.
    #[error("cannot make a file to share memory with the other ranks of this node: {}; free some space \
        there", .0.join(", "))]
    Make(Vec<String>),
    /// The file cannot be opened or mapped.
    #[error(
        "cannot share the memory at {path}: {source}; the ranks of one node must see the same /dev/shm (or \
         /tmp), so give them one container"
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not what a member of this launch made.
    #[error("{path} is not a page of this launch: {what}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// Where the head's words lie: what is written at once lies on lines of its own. Some processors fetch lines
/// in pairs, hence twice the usual 64 bytes.
const MARK_AT: usize = 0;
const SIZE_AT: usize = 8;
const STATE_AT: usize = 128;
const LARGEST_AT: usize = 256;
const ARRIVALS_AT: usize = 384;
const CARDS_AT: usize = 512;
/// The words of a card: two of 32 bits and two of 64.
const CARD_BYTES: usize = 24;

/// What the members know of one of them. All zero until it has joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Card<'p> {
    /// 0 free, 1 being filled in, 2 filled in.
    pub taken: &'p AtomicU32,
    /// Its process id, as it sees it.
    pub pid: &'p AtomicU32,
    /// When it started, in clock ticks after the boot.
    pub start: &'p AtomicU64,
    /// Its pid namespace's inode.
    pub namespace: &'p AtomicU64,
}

/// The mapping.
#[derive(Debug)]
pub(crate) struct Page {
    words: Shared,
    size: usize,
    // At its maker: it says that the file is in use.
    held: Option<File>,
}

impl Page {
    /// Makes the file for `size` members, and maps it.
    pub fn create(size: usize) -> Result<(PathBuf, Self), PageError> {
        Self::create_in(&FOLDERS, size)
    }

    fn create_in(folders: &[&str], size: usize) -> Result<(PathBuf, Self), PageError> {
        if size == 0 || size > MOST_MEMBERS {
            return Err(PageError::Size(size));
        }
        let mut refused = Vec::new();
        for folder in folders {
            match Self::create_at(Path::new(folder), size) {
                Ok(made) => return Ok(made),
                Err(error) => refused.push(format!("{folder}: {error}")),
            }
        }
        Err(PageError::Make(refused))
    }

    fn create_at(folder: &Path, size: usize) -> io::Result<(PathBuf, Self)> {
        // tempfile opens with O_EXCL and mode 0600; dropped before `keep`, it removes what it made.
        stale_files::sweep(folder, PREFIX);
        let mut file = tempfile::Builder::new().prefix(PREFIX).rand_bytes(16).tempfile_in(folder)?;
        let bytes = bytes_for(size);
        file.write_all(&vec![0; bytes])?;
        stale_files::hold(file.as_file());
        let mut page = Self::map(file.as_file(), bytes, size)?;
        page.words.word(SIZE_AT).store(size as u64, Ordering::Relaxed);
        page.words.word(MARK_AT).store(MARK, Ordering::Release);
        let (file, path) = file.keep()?;
        page.held = Some(file);
        Ok((path, page))
    }

    /// Opens and maps the file another member made.
    pub fn open(path: &Path) -> Result<Self, PageError> {
        let refuse = |source| PageError::Open { path: path.into(), source };
        let foreign = |what: String| PageError::Foreign { path: path.into(), what };
        let flags = (OFlags::NOFOLLOW | OFlags::CLOEXEC).bits().cast_signed();
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).map_err(refuse)?;
        let meta = file.metadata().map_err(refuse)?;
        let me = rustix::process::geteuid().as_raw();

        if !meta.is_file() || meta.uid() != me || meta.mode() & 0o077 != 0 {
            let (uid, mode) = (meta.uid(), meta.mode() & 0o7777);
            return Err(foreign(format!(
                "user {uid}, mode {mode:o}, where user {me} and mode 600 are expected"
            )));
        }

        let bytes = usize::try_from(meta.size()).unwrap_or(0);
        if bytes < bytes_for(1) {
            return Err(foreign(format!("{bytes} bytes long")));
        }
        let mut page = Self::map(&file, bytes, 0).map_err(refuse)?;
        if page.words.word(MARK_AT).load(Ordering::Acquire) != MARK {
            return Err(foreign("it has another layout: run one numabench on all ranks".into()));
        }
        let size = usize::try_from(page.words.word(SIZE_AT).load(Ordering::Relaxed)).unwrap_or(usize::MAX);
        if size > MOST_MEMBERS || bytes_for(size) != bytes {
            return Err(foreign(format!("{bytes} bytes for {size} members")));
        }
        page.size = size;
        Ok(page)
    }

    fn map(file: &File, bytes: usize, size: usize) -> io::Result<Self> {
        // Nobody shortens the file: only this user may write to it, and only this module knows it.
        Ok(Self { words: Shared::map(file, bytes)?, size, held: None })
    }

    /// How many members it is for.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The round, how many wait in it, and whether anybody gave up.
    pub fn state(&self) -> &AtomicU32 {
        self.words.half_word(STATE_AT)
    }

    /// The largest values so far of the present round, and the result of the one before.
    pub fn largest(&self) -> [[&AtomicU64; VALUES]; 2] {
        [0, VALUES].map(|first| std::array::from_fn(|at| self.words.word(LARGEST_AT + 8 * (first + at))))
    }

    /// Arrivals over all phases.
    pub fn arrivals(&self) -> &AtomicU64 {
        self.words.word(ARRIVALS_AT)
    }

    /// A member's card.
    pub fn card(&self, member: usize) -> Option<Card<'_>> {
        let at = CARDS_AT + CARD_BYTES * (member < self.size).then_some(member)?;
        let (taken, pid) = (self.words.half_word(at), self.words.half_word(at + 4));
        Some(Card { taken, pid, start: self.words.word(at + 8), namespace: self.words.word(at + 16) })
    }
}

const fn bytes_for(size: usize) -> usize {
    (CARDS_AT + size * CARD_BYTES).next_multiple_of(4096)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_one_mapping_writes_another_reads() {
        let (path, page) = Page::create(200).expect("made");
        let other = Page::open(&path).expect("opened");
        fs::remove_file(&path).expect("removed");
        assert_eq!(
            (page.size(), other.size(), other.card(199).is_some(), other.card(200).is_some()),
            (200, 200, true, false)
        );
        page.card(199).expect("the last").start.store(7, Ordering::Relaxed);
        page.arrivals().store(9, Ordering::Relaxed);
        assert_eq!(other.card(199).expect("the last").start.load(Ordering::Relaxed), 7);
        assert_eq!(other.arrivals().load(Ordering::Relaxed), 9);
    }

    #[test]
    fn the_file_is_its_users_alone_and_its_name_is_new_each_time() {
        let (one, _page) = Page::create(2).expect("made");
        let (two, _other) = Page::create(2).expect("made");
        let mode = fs::metadata(&one).expect("is there").mode() & 0o777;
        fs::remove_file(&one).expect("removed");
        fs::remove_file(&two).expect("removed");
        assert_ne!(one, two);
        assert_eq!(mode, 0o600);
    }

    #[test]
    fn a_folder_that_cannot_take_it_is_passed_over_and_named_when_it_is_the_last() {
        let (path, _page) = Page::create_in(&["/nonexistent", "/tmp"], 2).expect("made in /tmp");
        fs::remove_file(&path).expect("removed");
        assert!(path.starts_with("/tmp"));
        let error = Page::create_in(&["/nonexistent", "/proc"], 2).expect_err("nowhere").to_string();
        assert!(error.contains("/nonexistent: ") && error.contains("/proc: "), "{error}");
        assert!(matches!(Page::create(0), Err(PageError::Size(0))));
    }

    #[test]
    fn a_file_that_is_not_a_page_of_ours_is_refused() {
        let missing = Page::open(Path::new("/dev/shm/numabench-none")).expect_err("missing");
        assert!(
            matches!(&missing, PageError::Open { path, .. } if path.ends_with("numabench-none")),
            "{missing:?}"
        );
        assert!(missing.to_string().contains("container"), "{missing}");

        let (path, page) = Page::create(2).expect("made");
        let why = || match Page::open(&path) {
            Err(PageError::Foreign { what, .. }) => what,
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("it is opened"),
        };
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("changed");
        assert!(why().contains(" 644"), "{}", why());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("changed");
        page.words.word(SIZE_AT).store(5000, Ordering::Relaxed);
        assert!(why().contains("4096") && why().contains("5000"), "{}", why());
        page.words.word(MARK_AT).store(MARK + 1, Ordering::Relaxed);
        assert!(why().contains("layout"), "{}", why());
        OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(100)).expect("shortened");
        assert!(why().contains("100"), "{}", why());
        let link = path.with_extension("link");
        std::os::unix::fs::symlink(&path, &link).expect("linked");
        let followed = Page::open(&link).is_ok();
        fs::remove_file(&link).expect("removed");
        fs::remove_file(&path).expect("removed");
        assert!(!followed, "a link was followed");
    }
}
