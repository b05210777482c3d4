//! How the ranks of a node meet without MPI: each lays a card into a folder in shared memory, the first one reads them all and answers.
//!
//! ```text
//! card.1.812   rank 1 of the node, process 812: who it is (id and start time), and what it says
//! answer       the first rank: whom it heard, and the exit code for all
//! ```
//!
//! A card is believed only of a process that lives, and an answer only by those whom it names, so what a killed run left behind
//! means nothing to the next one. Each removes its own card when it has heard; the first waits for that and removes the
//! folder. A card is written beside and renamed, so that none is ever read half. The folder is its user's alone (mode 0700); one that
//! is not is refused. Nobody waits longer than the limit for another, and who did not come is named.
//!
//! Files and not `ranks`' page of shared memory: that one needs its name told by letters, and has no place for so much. Left out:
//! ranks in containers that do not share `/dev/shm`; each then hears nobody, and says so.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ranks::{Identity, Life};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use stats::IdSet;

/// How often the folder is looked at.
const LOOK: Duration = Duration::from_millis(2);
/// How much longer the others wait than the first rank does.
const GRACE: Duration = Duration::from_secs(1);
const SHARED_MEMORY: &str = "/dev/shm";
const ANSWER: &str = "answer";

/// The ranks of a node cannot meet.
#[derive(Debug, thiserror::Error)]
pub enum MeetError {
    /// The folder belongs to somebody else, or others may write to it.
    #[error("{} is not this user's alone: remove it, so that the ranks of this node can meet there", path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("the ranks of this node cannot meet in {}: {source}", path.display())]
    System {
        /// The folder.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// The first rank did not come, or went away.
    #[error("the first rank of this node {what}: was it started, and is /dev/shm one for all ranks of the node?")]
    NoFirst {
        /// What of it is missing.
        what: String,
    },
}

/// Who a card is of: a process, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Holder {
    pid: u32,
    start: u64,
    namespace: u64,
}

impl Holder {
    fn own() -> Self {
        let Identity { pid, start, namespace } = Identity::own();
        Self { pid, start, namespace }
    }

    /// Whether it has certainly ended. A card was laid by a living process, so it was seen alive.
    fn has_ended(self) -> bool {
        let Self { pid, start, namespace } = self;
        Identity { pid, start, namespace }.life(Identity::own(), true) == Life::Gone
    }
}

#[derive(Serialize, Deserialize)]
struct Card<T> {
    holder: Holder,
    says: T,
}

#[derive(Serialize, Deserialize)]
struct Answer {
    heard: Vec<Holder>,
    code: u8,
}

/// A rank at the meeting, its card laid.
pub struct Meeting {
    folder: PathBuf,
    card: PathBuf,
    holder: Holder,
    limit: Duration,
    began: Instant,
    heard: BTreeMap<usize, (Holder, PathBuf)>,
}

impl Meeting {
    /// Comes to the meeting `key` as rank `rank` of its node, and lays the card.
    pub fn come<T: Serialize>(key: &str, rank: usize, says: &T, limit: Duration) -> Result<Self, MeetError> {
        let at = Path::new(SHARED_MEMORY);
        let above = if at.is_dir() { at.to_owned() } else { std::env::temp_dir() };
        Self::come_in(&above, key, rank, says, limit)
    }

    fn come_in<T: Serialize>(
        above: &Path,
        key: &str,
        rank: usize,
        says: &T,
        limit: Duration,
    ) -> Result<Self, MeetError> {
        let began = Instant::now();
        let own = fs::metadata("/proc/self").map(|meta| meta.uid());
        let folder = above.join(format!("numabench-check-{}-{key}", own.as_ref().copied().unwrap_or_default()));
        let system = |source| MeetError::System { path: folder.clone(), source };
        let (own, holder) = (own.map_err(system)?, Holder::own());
        let card = folder.join(format!("card.{rank}.{}", holder.pid));
        let bytes = report::wire::to_bytes(&Card { holder, says });
        loop {
            let made = DirBuilder::new().mode(0o700).create(&folder);
            if let Err(error) = made
                && error.kind() != ErrorKind::AlreadyExists
            {
                return Err(system(error));
            }
            let is_ours = |meta: fs::Metadata| meta.is_dir() && meta.uid() == own && meta.mode() & 0o077 == 0;
            if !fs::symlink_metadata(&folder).map_or(true, is_ours) {
                return Err(MeetError::NotOurs { path: folder });
            }
            match lay(&card, &bytes) {
                // Another run's first rank has just removed it.
                Err(error) if error.kind() == ErrorKind::NotFound && began.elapsed() < limit => {}
                Err(error) => return Err(system(error)),
                Ok(()) => return Ok(Self { folder, card, holder, limit, began, heard: BTreeMap::new() }),
            }
        }
    }

    /// At the first rank: what each of the node's `size` ranks says, itself too, as far as they come in time.
    pub fn gather<T: DeserializeOwned>(&mut self, size: usize) -> BTreeMap<usize, T> {
        let mut said = BTreeMap::new();
        loop {
            for (rank, path) in self.cards() {
                if rank < size && !self.heard.contains_key(&rank) {
                    let Some(card) = read::<Card<T>>(&path).filter(|card| !card.holder.has_ended()) else { continue };
                    self.heard.insert(rank, (card.holder, path));
                    said.insert(rank, card.says);
                }
            }
            if said.len() == size || self.began.elapsed() >= self.limit {
                return said;
            }
            thread::sleep(LOOK);
        }
    }

    /// At the first rank: tells all that were heard the code they end with, and ends the meeting.
    pub fn answer(self, code: u8) -> Result<(), MeetError> {
        let heard: Vec<Holder> = self.heard.values().map(|(holder, _)| *holder).collect();
        let answer = self.folder.join(ANSWER);
        let laid = lay(&answer, &report::wire::to_bytes(&Answer { heard, code }));
        drop(fs::remove_file(&self.card));
        // A rank can stand still for more than a second, as while a page of its program comes from a busy file system.
        let until = Instant::now() + self.limit;
        let waits = |(holder, path): &(Holder, PathBuf)| path.exists() && !holder.has_ended();
        while laid.is_ok() && self.heard.values().any(waits) && Instant::now() < until {
            thread::sleep(LOOK);
        }
        drop(fs::remove_file(&answer));
        // Cards that nobody holds any more, of this run or of one that was killed.
        for (_, path) in self.cards() {
            if read::<Card<IgnoredAny>>(&path).is_some_and(|card| card.holder.has_ended()) {
                drop(fs::remove_file(path));
            }
        }
        drop(fs::remove_dir(&self.folder));
        laid.map_err(|source| MeetError::System { path: self.folder, source })
    }

    /// At any other rank: the code that the first one gives.
    pub fn hear(self) -> Result<u8, MeetError> {
        let mut first = None;
        let code = loop {
            if let Some(answer) =
                read::<Answer>(&self.folder.join(ANSWER)).filter(|answer| answer.heard.contains(&self.holder))
            {
                break Ok(answer.code);
            }
            first = first.or_else(|| self.first());
            let waited = self.began.elapsed();
            break Err(match first {
                None if waited > self.limit => format!("did not come within {} s", self.limit.as_secs_f64()),
                Some(first) if Holder::has_ended(first) => "ended without an answer".to_owned(),
                Some(_) if waited > 2 * self.limit + GRACE => "did not answer".to_owned(),
                _ => {
                    thread::sleep(LOOK);
                    continue;
                }
            });
        };
        drop(fs::remove_file(&self.card));
        // It is the first rank's to remove, which removes it when it is empty; if there is none, the last one does.
        if code.is_err() {
            drop(fs::remove_dir(&self.folder));
        }
        code.map_err(|what| MeetError::NoFirst { what })
    }

    /// The living first rank.
    fn first(&self) -> Option<Holder> {
        let cards = self.cards().into_iter().filter(|(rank, _)| *rank == 0);
        cards.filter_map(|(_, path)| Some(read::<Card<IgnoredAny>>(&path)?.holder)).find(|holder| !holder.has_ended())
    }

    /// The cards that lie there, by rank.
    fn cards(&self) -> Vec<(usize, PathBuf)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let card = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let (rank, pid) = name.strip_prefix("card.")?.split_once('.')?;
            pid.parse::<u32>().ok()?;
            Some((rank.parse().ok()?, entry.path()))
        };
        entries.filter_map(card).collect()
    }
}

/// The ranks that did not come.
pub fn missing<T>(said: &BTreeMap<usize, T>, size: usize) -> IdSet {
    (0..size).filter(|rank| !said.contains_key(rank)).filter_map(|rank| u32::try_from(rank).ok()).collect()
}

/// Writes beside and renames.
fn lay(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    fs::rename(beside, path)
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    report::wire::from_bytes(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    const SHORT: Duration = Duration::from_millis(300);

    fn come(above: &Path, rank: usize, says: &str, limit: Duration) -> Result<Meeting, MeetError> {
        Meeting::come_in(above, "k", rank, &says.to_owned(), limit)
    }

    #[test]
    fn all_are_heard_each_hears_the_answer_and_nothing_is_left() -> Outcome {
        let above = tempfile::tempdir()?;
        let codes: Vec<Option<u8>> = thread::scope(|scope| {
            let others: Vec<_> = (1..5)
                .map(|rank| {
                    let above = above.path();
                    scope.spawn(move || {
                        come(above, rank, &format!("I am {rank}"), Duration::from_secs(20)).ok()?.hear().ok()
                    })
                })
                .collect();
            let mut first = come(above.path(), 0, "first", Duration::from_secs(20)).ok();
            let said: BTreeMap<usize, String> = first.as_mut().map(|first| first.gather(5)).unwrap_or_default();
            assert_eq!(said.get(&3).map(String::as_str), Some("I am 3"));
            assert!(missing(&said, 5).is_empty());
            assert!(first.is_some_and(|first| first.answer(5).is_ok()));
            others.into_iter().map(|other| other.join().ok().flatten()).collect()
        });
        assert_eq!(codes, [Some(5); 4]);
        assert_eq!(fs::read_dir(above.path())?.count(), 0);
        Ok(())
    }

    #[test]
    fn who_does_not_come_is_named_and_a_card_of_a_process_that_has_gone_is_not_believed() -> Outcome {
        let above = tempfile::tempdir()?;
        let mut child = std::process::Command::new("true").spawn()?;
        let gone = Holder { pid: child.id(), start: 1, ..Holder::own() };
        child.wait()?;
        let mut first = come(above.path(), 0, "first", SHORT)?;
        lay(
            &first.folder.join(format!("card.1.{}", gone.pid)),
            &report::wire::to_bytes(&Card { holder: gone, says: "old" }),
        )?;
        let said: BTreeMap<usize, String> = first.gather(3);
        assert_eq!(missing(&said, 3), "1-2".parse()?);
        first.answer(6)?;
        assert_eq!(fs::read_dir(above.path())?.count(), 0, "the old card is removed too");
        Ok(())
    }

    #[test]
    fn without_a_first_rank_nobody_waits_for_ever_and_an_old_answer_is_no_answer() -> Outcome {
        let above = tempfile::tempdir()?;
        let other = come(above.path(), 1, "other", SHORT)?;
        let old = Answer { heard: vec![Holder { start: 1, ..Holder::own() }], code: 0 };
        lay(&other.folder.join(ANSWER), &report::wire::to_bytes(&old))?;
        let error = other.hear().map_or_else(|error| error.to_string(), |code| format!("{code}"));
        assert!(error.contains("did not come within 0.3 s"), "{error}");
        Ok(())
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() -> Outcome {
        use std::os::unix::fs::PermissionsExt;
        let above = tempfile::tempdir()?;
        let folder = come(above.path(), 0, "first", SHORT)?.folder;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777))?;
        let refused = come(above.path(), 1, "other", SHORT).map_or_else(|error| error.to_string(), |_| String::new());
        assert!(refused.contains("is not this user's alone"), "{refused}");
        Ok(())
    }
}
