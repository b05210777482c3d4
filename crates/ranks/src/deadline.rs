//! How long a wait between processes may last: to a deadline, or until the caller has a reason to give up.

use std::fmt;
use std::time::{Duration, Instant};

/// When to stop waiting for other processes.
#[derive(Clone, Copy)]
pub struct Deadline<'a> {
    deadline: Instant,
    gives_up: &'a dyn Fn() -> bool,
}

impl Deadline<'static> {
    /// Waits to this moment.
    pub fn until(deadline: Instant) -> Self {
        Self { deadline, gives_up: &|| false }
    }
}

impl<'a> Deadline<'a> {
    /// Stops earlier once `gives_up` says so; it is asked every millisecond or less. Replaces an earlier one.
    pub fn unless(self, gives_up: &'a dyn Fn() -> bool) -> Self {
        Self { deadline: self.deadline, gives_up }
    }

    /// The same with three quarters of the time that is left: for who must still tell others how it ended,
    /// while they wait.
    #[must_use]
    pub fn most_of_it(self) -> Self {
        let now = Instant::now();
        Self { deadline: now + self.deadline.saturating_duration_since(now) * 3 / 4, ..self }
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.left() == Duration::ZERO || (self.gives_up)()
    }

    /// The time to the deadline.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

impl fmt::Debug for Deadline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline").field("left", &self.left()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_at_the_deadline_or_when_the_caller_gives_up() {
        let long = Deadline::until(Instant::now() + Duration::from_secs(1000));
        assert!(!long.is_over());
        assert!(long.unless(&|| true).is_over());
        assert!(Deadline::until(Instant::now()).is_over());
        let most = long.most_of_it().left();
        assert!(most > Duration::from_secs(740) && most <= Duration::from_secs(750), "{most:?}");
    }
}
