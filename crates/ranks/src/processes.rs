//! The processes of one node as ranks, over a page of memory that they share.
//!
//! As with threads, waiting is sleeping: in a run where one rank moves at a time, the others must not disturb
//! it. The kernel wakes the waiters (a futex that all processes see). What they wait for is a
//! [`Round`](crate::round).
//!
//! A waiter wakes four times a second to see whether a process of those that it watches is gone, which ends
//! the group. What only another pid namespace knows is left to the caller's time limit.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Timespec};

use crate::liveness::{Liveness, ProcessIdentity};
use crate::round::{Round, Sleep};
use crate::shared_memory::{Page, PageError};
use crate::{Aborted, Ranks, VALUES};

/// How long a waiter sleeps before it looks whether the others live.
const LOOK_AFTER: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// How many others a member watches: one would do, were it never stopped itself.
const WATCHED: usize = 3;

/// Why a process cannot be a member.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The shared memory cannot be had.
    #[error(transparent)]
    Page(#[from] PageError),
    /// There is no such member.
    #[error("member {member} of a group of {size}: members are numbered from 0")]
    NoSuchMember {
        /// The number asked for.
        member: usize,
        /// The group's size.
        size: usize,
    },
    /// Two processes say that they are the same member.
    #[error("member {0} has joined already: two processes of this node have the same node-local rank")]
    Twice(usize),
}

/// One member of the group that the processes of a node are. A clone is the same member: one thread may wait
/// in it while another one watches over the others and gives up for it; two that wait at once would count
/// twice.
#[derive(Clone, Debug)]
pub struct Processes {
    member: Arc<Member>,
}

#[derive(Debug)]
struct Member {
    number: usize,
    page: Page,
    // The phase this member arrived at last.
    phase: AtomicU64,
    identity: ProcessIdentity,
    // Which of the others have been seen alive.
    seen: Vec<AtomicBool>,
    // The name of the page while it may be there.
    path: PathBuf,
    named: AtomicBool,
}

impl Processes {
    /// Makes the page for a group of `size`, and joins it as member 0. The path is what the others need to
    /// [`Processes::join`].
    ///
    /// # Errors
    /// [`JoinError`] if no shared memory can be had.
    pub fn create(size: usize) -> Result<(PathBuf, Self), JoinError> {
        let (path, page) = Page::create(size)?;
        // From here on the member removes the name, whatever happens.
        Ok((path.clone(), Self::attach(path, page, 0)?))
    }

    /// Joins the group whose page is at `path` as member `member`, the process's number on its node.
    ///
    /// # Errors
    /// [`JoinError`] if the page is not there, not ours, or its number is taken.
    pub fn join(path: &Path, member: usize) -> Result<Self, JoinError> {
        Self::attach(path.into(), Page::open(path)?, member)
    }

    fn attach(path: PathBuf, page: Page, number: usize) -> Result<Self, JoinError> {
        let size = page.size();
        let card = page.card(number).ok_or(JoinError::NoSuchMember { member: number, size })?;
        if card.taken.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return Err(JoinError::Twice(number));
        }
        let identity = ProcessIdentity::own();
        card.pid.store(identity.pid, Ordering::Relaxed);
        card.start.store(identity.start, Ordering::Relaxed);
        card.namespace.store(identity.namespace, Ordering::Relaxed);
        card.taken.store(2, Ordering::Release);
        let seen = (0..size).map(|_| AtomicBool::new(false)).collect();
        let member = Member {
            number,
            page,
            phase: AtomicU64::new(0),
            identity,
            seen,
            path,
            named: AtomicBool::new(true),
        };

        let member = Self { member: Arc::new(member) };

        // The first look at those who came before: only who has been seen alive can be seen to be gone. Not
        // at all of them, which for all members together would be the square of their number.
        member.watched();
        Ok(member)
    }

    /// Whether every member has joined.
    pub fn all_joined(&self) -> bool {
        (0..self.size())
            .filter_map(|member| self.member.page.card(member))
            .all(|card| card.taken.load(Ordering::Acquire) == 2)
    }

    /// Removes the page's name; the page stays as long as a member has it. For when all have joined, or
    /// nobody else will. Any member may, and one that did not does when it is dropped.
    pub fn remove_name(&self) {
        self.member.remove_name();
    }

    /// What is known of a member's process. None without such a member.
    pub fn liveness(&self, member: usize) -> Option<Liveness> {
        let card = self.member.page.card(member)?;
        if member == self.member.number {
            return Some(Liveness::Alive);
        }
        if card.taken.load(Ordering::Acquire) != 2 {
            return Some(Liveness::Unknown("it has not joined"));
        }
        let identity = ProcessIdentity {
            pid: card.pid.load(Ordering::Relaxed),
            start: card.start.load(Ordering::Relaxed),
            namespace: card.namespace.load(Ordering::Relaxed),
        };
        let seen = &self.member.seen[member];
        let life = identity.liveness(self.member.identity, seen.load(Ordering::Relaxed));
        if life == Liveness::Alive {
            seen.store(true, Ordering::Relaxed);
        }

        Some(life)
    }

    /// The members whose process is gone. Reads a file of /proc for each member: tens of microseconds each,
    /// nothing for a timed path.
    pub fn lost(&self) -> Vec<usize> {
        (0..self.size()).filter(|&member| self.liveness(member) == Some(Liveness::Gone)).collect()
    }

    /// The members whose process is gone, found by watching some: each member looks at the few that follow
    /// it, in a ring, so that a group's looking does not grow with the square of its size. Of members that
    /// are gone one at least is seen by somebody, who then looks at all.
    pub fn watched(&self) -> Vec<usize> {
        let (own, size) = (self.member.number, self.size());
        let following = (1..size).map(|step| (own + step) % size).map(|member| self.liveness(member));
        let known = following.filter(|life| !matches!(life, Some(Liveness::Unknown(_)))).take(WATCHED);
        if known.into_iter().any(|life| life == Some(Liveness::Gone)) { self.lost() } else { Vec::new() }
    }

    /// The members whose death would go unseen here, and why. Empty on a node without containers.
    pub fn unwatched(&self) -> Vec<(usize, &'static str)> {
        let unknown = |member| match self.liveness(member) {
            Some(Liveness::Unknown(why)) => Some((member, why)),
            _ => None,
        };
        (0..self.size()).filter_map(unknown).collect()
    }

    /// Whether somebody gave up. One atomic load.
    pub fn is_aborted(&self) -> bool {
        self.round().is_aborted()
    }

    fn round(&self) -> Round<'_> {
        Round { state: self.state(), largest: self.member.page.largest(), size: self.member.page.size() }
    }

    fn state(&self) -> &AtomicU32 {
        self.member.page.state()
    }
}

impl Sleep for Processes {
    fn wake_all(&self) {
        // Without Flags::PRIVATE: the waiters are in other processes. It cannot fail for an address that is
        // mapped.
        let _ = futex::wake(self.state(), Flags::empty(), i32::MAX.cast_unsigned());
    }

    /// A quarter of a second at most.
    fn sleep_while(&self, state: u32) {
        match futex::wait(self.state(), Flags::empty(), state, Some(&LOOK_AFTER)) {
            // AGAIN: the state is another one already.
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::TIMEDOUT) => {
                if !self.watched().is_empty() {
                    self.abort();
                }
            }
            // A sandbox without futexes: slower, and never a busy loop.
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

impl Ranks for Processes {
    fn rank(&self) -> usize {
        self.member.number
    }

    fn size(&self) -> usize {
        self.member.page.size()
    }

    fn max_of_each(&self, values: [u64; VALUES]) -> Result<[u64; VALUES], Aborted> {
        self.round().max_of_each(values, self)
    }

    fn arrive(&self) {
        self.member.phase.fetch_add(1, Ordering::Relaxed);
        self.member.page.arrivals().fetch_add(1, Ordering::AcqRel);
    }

    fn all_arrived(&self) -> bool {
        let complete = self.member.phase.load(Ordering::Relaxed) * self.size() as u64;
        self.member.page.arrivals().load(Ordering::Acquire) >= complete
    }

    fn abort(&self) {
        self.round().abort(self);
    }
}

impl Member {
    fn remove_name(&self) {
        if self.named.swap(false, Ordering::AcqRel) {
            // Another member may have removed it already; in any other case there is nothing more to be done.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.remove_name();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::round::{ABORTED, WAITING};

    fn pair() -> (PathBuf, Processes, Processes) {
        let (path, first) = Processes::create(2).expect("made");
        let second = Processes::join(&path, 1).expect("joined");
        (path, first, second)
    }

    #[test]
    fn rounds_go_on_when_their_number_wraps() {
        let (_, first, second) = pair();
        let last_number = !ABORTED & !WAITING;
        first.state().store(last_number, Ordering::Relaxed);
        let partner = std::thread::spawn(move || (0..4).map(|round| second.max(round)).collect::<Vec<_>>());
        let answers: Vec<_> = (0..4).map(|round| first.max(10 + round)).collect();
        assert_eq!(answers, [Ok(10), Ok(11), Ok(12), Ok(13)]);
        assert_eq!(partner.join().expect("no panic"), answers);
        assert_eq!(first.state().load(Ordering::Relaxed), 3 << 16);
    }

    #[test]
    fn a_member_beyond_the_group_and_one_that_is_there_already_are_refused() {
        let (path, first, _second) = pair();
        assert!(first.all_joined());
        assert!(matches!(Processes::join(&path, 2), Err(JoinError::NoSuchMember { member: 2, size: 2 })));
        assert!(matches!(Processes::join(&path, 1), Err(JoinError::Twice(1))));
    }

    #[test]
    fn the_name_goes_on_request_and_else_with_any_member() {
        let (path, first, second) = pair();
        first.remove_name();
        assert!(!path.exists());
        assert_eq!(second.liveness(0), Some(Liveness::Alive), "the page stays");

        let (path, _first, second) = pair();
        drop(second.clone());
        assert!(path.exists(), "a clone is the same member");
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn who_has_not_joined_is_unknown_and_not_lost() {
        let (_, first) = Processes::create(3).expect("made");
        assert!(!first.all_joined());
        assert_eq!(first.lost(), [0; 0]);
        assert_eq!(first.unwatched().iter().map(|(member, _)| *member).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(first.liveness(3), None);
    }
}
