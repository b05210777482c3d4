//! How the ranks of a node meet without MPI: the first one listens on a socket that the kernel names, each
//! other one sends its card there and waits for the answer. Some 420 lines because both ends of the meeting
//! are read together, and its tests are here.
//!
//! ```text
//! rank 1 ── 'its rank, what it says' ──► rank 0 (listening on @numabench-check-UID-KEY)
//! rank 1 ◄── HEARD ── rank 0             from here on the end of rank 0 is seen at once
//! rank 1 ◄── ANSWER, exit code ── rank 0
//! ```
//!
//! The socket's name is an abstract one (unix(7)): it is no file, so no full or read-only file system keeps
//! ranks from meeting, and it is gone with the process that has it, however that ends. Each side asks the
//! kernel whose process the other one is: a name that another user has taken is refused, and what another
//! user's process says is not heard. Nobody waits longer than the limit for another, and who did not come is
//! named.
//!
//! Not `ranks`' page of shared memory: that one needs its name told by messages, and has no place for so
//! much. Left out: ranks in containers with a network namespace each; each then hears nobody, and says so.

mod guest;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stats::IdSet;

use guest::{CardProgress, Guest};

/// How often the first rank looks for cards, and the others for the first rank.
const LOOK: Duration = Duration::from_millis(2);
/// How much longer the others wait than the first rank does.
const GRACE: Duration = Duration::from_secs(1);
/// An abstract name has 107 bytes (unix(7)); a longer one is shortened to this and a hash.
const LONGEST_NAME: usize = 80;
/// As many ranks as may wait to be heard; the kernel takes less where the system allows less.
const BACKLOG: i32 = 4096;
/// The card was read.
const HEARD: u8 = 1;
/// The exit code follows.
const ANSWER: u8 = 2;

/// The ranks of a node cannot meet.
#[derive(Debug, thiserror::Error)]
pub enum MeetingError {
    /// A process of another user has the name under which these ranks meet.
    #[error(
        "the ranks of this node cannot meet: a process of user {user} uses their name, @{name}; end it, or \
         start the job again"
    )]
    NotOurs {
        /// The socket's name.
        name: String,
        /// Whose process it is.
        user: u32,
    },
    /// Another process of this user is the first rank of the same launch.
    #[error(
        "the ranks of this node cannot meet: another process is the first rank of this launch, and has been \
         for {seconds} s (@{name})"
    )]
    Taken {
        /// The socket's name.
        name: String,
        /// How long it was waited for.
        seconds: f64,
    },
    /// The system refuses.
    #[error("the ranks of this node cannot meet at @{name}: {source}")]
    System {
        /// The socket's name.
        name: String,
        /// Its reason.
        source: io::Error,
    },
    /// The first rank did not come, or went away.
    #[error(
        "the first rank of this node {what}: was it started, and has each rank a network namespace of its \
         own?"
    )]
    NoFirst {
        /// What of it is missing.
        what: String,
    },
}

/// The name of a launch's meeting on this node, and how long its ranks wait for each other.
#[derive(Clone, Debug)]
pub struct MeetingPlace {
    name: String,
    limit: Duration,
    began: Instant,
}

impl MeetingPlace {
    /// The meeting `key` of this user's processes; the time begins now.
    pub fn of(key: &str, limit: Duration) -> Self {
        let mut name = format!("numabench-check-{}-{key}", rustix::process::getuid().as_raw());
        if name.len() > LONGEST_NAME {
            // The same program on all ranks of a node, so the same hash.
            let mut hash = DefaultHasher::new();
            name.hash(&mut hash);
            name = format!("{}-{:016x}", name.chars().take(LONGEST_NAME).collect::<String>(), hash.finish());
        }
        Self { name, limit, began: Instant::now() }
    }

    fn is_over(&self) -> bool {
        self.began.elapsed() >= self.limit
    }

    fn system(&self, error: impl Into<io::Error>) -> MeetingError {
        MeetingError::System { name: self.name.clone(), source: error.into() }
    }

    fn address(&self) -> Result<SocketAddrUnix, MeetingError> {
        SocketAddrUnix::new_abstract_name(self.name.as_bytes()).map_err(|error| self.system(error))
    }

    fn socket(&self) -> Result<OwnedFd, MeetingError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
            .map_err(|error| self.system(error))
    }

    /// At the first rank of the node: listens, as soon as nobody else does.
    pub fn first(self) -> Result<First, MeetingError> {
        let address = self.address()?;

        loop {
            let socket = self.socket()?;
            match net::bind(&socket, &address).and_then(|()| net::listen(&socket, BACKLOG)) {
                Ok(()) => return Ok(First { place: self, listener: Some(socket), heard: Vec::new() }),
                // An earlier check of the same ranks, whose first rank has not ended yet.
                Err(Errno::ADDRINUSE) if !self.is_over() => thread::sleep(LOOK),
                Err(Errno::ADDRINUSE) => {
                    if let Ok(stream) = self.connect() {
                        self.is_own(&stream)?;
                    }
                    return Err(MeetingError::Taken { name: self.name, seconds: self.limit.as_secs_f64() });
                }
                Err(error) => return Err(self.system(error)),
            }
        }
    }

    /// At any other rank: says this, and hears the exit code that the first one gives.
    pub fn join<T: Serialize>(&self, rank: usize, says: &T) -> Result<u8, MeetingError> {
        let card = ranks::wire::to_bytes(&(rank, says));
        let no_first = |what: &str| Err(MeetingError::NoFirst { what: what.to_owned() });

        loop {
            let last = self.is_over();
            if let Ok(mut stream) = self.connect() {
                self.is_own(&stream)?;
                match self.talk(&mut stream, &card) {
                    Ok(code) => return Ok(code),
                    Err(Silence::Ended) => return no_first("ended without an answer"),
                    Err(Silence::Late) => return no_first("did not answer"),
                    // The first rank of an earlier check, which hears nobody any more: this one's is still to
                    // come.
                    Err(Silence::Unheard) => {}
                }
            }
            if last {
                return no_first(&format!("did not answer within {} s", self.limit.as_secs_f64()));
            }
            thread::sleep(LOOK);
        }
    }

    fn connect(&self) -> Result<UnixStream, MeetingError> {
        let socket = self.socket()?;
        net::connect(&socket, &self.address()?).map_err(|error| self.system(error))?;
        Ok(UnixStream::from(socket))
    }

    /// Refuses who is another user.
    fn is_own(&self, stream: &UnixStream) -> Result<(), MeetingError> {
        match peer(stream).map_err(|error| self.system(error))? {
            user if user == rustix::process::getuid().as_raw() => Ok(()),
            user => Err(MeetingError::NotOurs { name: self.name.clone(), user }),
        }
    }

    /// Sends the card and waits for the answer.
    fn talk(&self, stream: &mut UnixStream, card: &[u8]) -> Result<u8, Silence> {
        // The first rank waits for the last one to come, and then looks at them all.
        let deadline = self.began + self.limit * 2 + GRACE;
        let limit = |stream: &UnixStream| {
            let left = deadline.saturating_duration_since(Instant::now()).max(LOOK);
            stream.set_nonblocking(false)?;
            stream.set_write_timeout(Some(left))?;
            stream.set_read_timeout(Some(left))
        };
        let sent = limit(stream).and_then(|()| stream.write_all(&(card.len() as u64).to_le_bytes()));
        sent.and_then(|()| stream.write_all(card)).map_err(|_| Silence::Unheard)?;
        let mut said = |unheard: Silence| {
            let mut byte = [0];
            match limit(stream).and_then(|()| stream.read_exact(&mut byte)) {
                Ok(()) => Ok(byte[0]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    Err(Silence::Late)
                }
                Err(_) => Err(unheard),
            }
        };

        match said(Silence::Unheard)? {
            HEARD => {}
            _ => return Err(Silence::Unheard),
        }

        match said(Silence::Ended)? {
            ANSWER => said(Silence::Ended),
            _ => Err(Silence::Ended),
        }
    }
}

/// Why no answer came.
enum Silence {
    /// The card was not read.
    Unheard,
    /// It was, and then the first rank ended.
    Ended,
    /// The time is up.
    Late,
}

/// The user whose process is at the other end.
fn peer(stream: &UnixStream) -> io::Result<u32> {
    Ok(net::sockopt::socket_peercred(stream)?.uid.as_raw())
}

/// The first rank of a node, which hears the others.
pub struct First {
    place: MeetingPlace,
    listener: Option<OwnedFd>,
    heard: Vec<UnixStream>,
}

impl First {
    /// What each of the node's other ranks below `size` says, as far as they come in time. Nobody is heard
    /// afterwards.
    pub fn gather<T: DeserializeOwned>(&mut self, size: usize) -> BTreeMap<usize, T> {
        let mut said = BTreeMap::new();
        let mut guests: Vec<Guest> = Vec::new();
        while said.len() + 1 < size && !self.place.is_over() {
            let came = guests.len();
            guests.extend(self.arrivals());
            let mut moved = guests.len() > came;
            guests.retain_mut(|guest| match guest.card::<T>() {
                CardProgress::Begun => true,
                CardProgress::Foreign => false,
                CardProgress::Whole(rank, says) => {
                    moved = true;
                    if let (1.., true, Ok(stream)) = (rank, rank < size, guest.stream.try_clone())
                        && !said.contains_key(&rank)
                        && (&stream).write_all(&[HEARD]).is_ok()
                    {
                        said.insert(rank, says);
                        self.heard.push(stream);
                    }
                    false
                }
            });
            if !moved {
                thread::sleep(LOOK);
            }
        }

        self.listener = None;
        said
    }

    /// Those of this user that have come since the last look.
    fn arrivals(&self) -> Vec<Guest> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let accept = || net::accept_with(self.listener.as_ref()?, flags).ok();
        let streams = std::iter::from_fn(accept).map(UnixStream::from);
        let own = rustix::process::getuid().as_raw();
        streams.filter(|stream| peer(stream).is_ok_and(|user| user == own)).map(Guest::new).collect()
    }

    /// Tells all that were heard the code they end with. One that is gone has no use for it.
    pub fn answer(self, code: u8) {
        for mut stream in self.heard {
            drop(stream.write_all(&[ANSWER, code]));
        }
    }
}

/// The ranks that did not come.
pub fn missing<T>(said: &BTreeMap<usize, T>, size: usize) -> IdSet {
    (0..size).filter(|rank| !said.contains_key(rank)).filter_map(|rank| u32::try_from(rank).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    const SHORT: Duration = Duration::from_millis(300);
    const LONG: Duration = Duration::from_secs(20);

    /// A meeting that no other test and no other process has.
    fn place(test: &str, limit: Duration) -> MeetingPlace {
        MeetingPlace::of(&format!("{test}-{}", std::process::id()), limit)
    }

    #[test]
    fn all_are_heard_and_each_hears_the_answer_whoever_comes_first() -> Outcome {
        let codes: Vec<Option<u8>> = thread::scope(|scope| {
            let join =
                |rank: usize| place("all", LONG).join(rank, &format!("I-am-{rank}").repeat(rank * 9000)).ok();
            let others: Vec<_> = (1..5).map(|rank| scope.spawn(move || join(rank))).collect();
            thread::sleep(Duration::from_millis(20));
            let mut first = place("all", LONG).first().ok();
            let said: BTreeMap<usize, String> =
                first.as_mut().map(|first| first.gather(5)).unwrap_or_default();
            assert!(
                said.get(&3).is_some_and(|said| said.starts_with("I-am-3I-am-3") && said.len() == 6 * 27000)
            );
            assert_eq!(said.len(), 4);
            first.into_iter().for_each(|first| first.answer(5));
            others.into_iter().map(|other| other.join().ok().flatten()).collect()
        });
        assert_eq!(codes, [Some(5); 4]);

        Ok(())
    }

    #[test]
    fn two_meetings_of_the_same_ranks_one_after_the_other_do_not_mix() -> Outcome {
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let join = |says: &str| place("twice", LONG).join(1, &says.to_owned());
                (join("one"), join("two"))
            });
            for (code, says) in [(5, "one"), (0, "two")] {
                let mut first = place("twice", LONG).first()?;
                assert_eq!(first.gather::<String>(2).get(&1).map(String::as_str), Some(says));
                first.answer(code);
            }
            let (one, two) = other.join().map_err(|_| "the other rank panicked")?;
            assert_eq!((one?, two?), (5, 0));
            Ok(())
        })
    }

    #[test]
    fn who_does_not_come_is_named_and_who_is_no_rank_is_not_heard() -> Outcome {
        let mut first = place("missing", SHORT).first()?;
        thread::scope(|scope| {
            let strangers =
                [0, 3, usize::MAX].map(|rank| scope.spawn(move || place("missing", SHORT).join(rank, &"")));
            let said: BTreeMap<usize, String> = first.gather(3);
            assert_eq!(missing(&said, 3), "0-2".parse()?);
            first.answer(6);
            for stranger in strangers {
                assert!(stranger.join().is_ok_and(|heard| heard.is_err()));
            }
            Ok(())
        })
    }

    #[test]
    fn without_a_first_rank_nobody_waits_for_ever() {
        let error = place("none", SHORT).join(1, &"").err();
        let Some(MeetingError::NoFirst { what }) = &error else { panic!("{error:?}") };
        assert!(what.contains(" 0.3 "), "{what}");
        insta::assert_snapshot!("no_first_rank", what);
    }

    #[test]
    fn a_first_rank_that_ends_is_seen_at_once() -> Outcome {
        let mut first = place("ends", LONG).first()?;
        thread::scope(|scope| {
            let other = scope.spawn(|| place("ends", LONG).join(1, &"here".to_owned()));
            assert_eq!(first.gather::<String>(2).len(), 1);
            let began = Instant::now();
            drop(first);
            let heard = other.join().map_err(|_| "the other rank panicked")?;
            let error = heard.err();
            let Some(MeetingError::NoFirst { what }) = &error else {
                return Err(format!("{error:?}").into());
            };
            insta::assert_snapshot!("a_first_rank_that_ended", what);
            assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
            Ok(())
        })
    }

    #[test]
    fn a_second_first_rank_is_refused_when_the_first_one_stays() -> Outcome {
        let _first = place("second", LONG).first()?;
        let error = place("second", SHORT).first().err();
        assert!(matches!(error, Some(MeetingError::Taken { .. })), "{error:?}");
        let (name, seconds) = ("n".to_owned(), 2.0);
        let said = "the ranks of this node cannot meet: another process is the first rank of this launch, \
            and has been for 2 s (@n)";
        assert_eq!(MeetingError::Taken { name, seconds }.to_string(), said);
        Ok(())
    }

    #[test]
    fn a_long_key_is_a_name_that_fits_and_is_still_its_own() {
        let name = |key: String| MeetingPlace::of(&key, SHORT).name;
        let (one, other) = (name("x".repeat(500)), name("x".repeat(500) + "y"));
        assert!(one.len() <= 107 && one != other, "{one} {other}");
        assert_eq!(one, name("x".repeat(500)));
    }
}
