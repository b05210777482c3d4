//! A setting that is looked at: its name, why it matters and who says so, and the three ways in which it can
//! be.

use report::doctor::{Check, Part, State};
use stats::units::counted;

/// A setting.
pub(super) struct Probe {
    pub(super) name: &'static str,
    pub(super) part: Part,
    pub(super) why: &'static str,
    pub(super) source: &'static str,
}

impl Probe {
    /// Nothing to look at.
    pub(super) fn ok(&self, seen: impl Into<String>) -> Option<Check> {
        Some(self.check(State::Ok, false, seen.into(), None, None))
    }

    /// It costs placement or bandwidth.
    pub(super) fn costs(&self, seen: impl Into<String>, change: impl Into<String>) -> Option<Check> {
        Some(self.check(State::Look, true, seen.into(), Some(change.into()), None))
    }

    /// It is worth a look, and costs neither.
    pub(super) fn remark(&self, seen: impl Into<String>, change: impl Into<String>) -> Option<Check> {
        Some(self.check(State::Look, false, seen.into(), Some(change.into()), None))
    }

    /// It cannot be known, and could cost placement or bandwidth.
    pub(super) fn open(&self, seen: impl Into<String>, who: impl Into<String>) -> Option<Check> {
        Some(self.check(State::Unknown, true, seen.into(), None, Some(who.into())))
    }

    /// It cannot be known, and would cost neither.
    pub(super) fn unknown(&self, seen: impl Into<String>, who: impl Into<String>) -> Option<Check> {
        Some(self.check(State::Unknown, false, seen.into(), None, Some(who.into())))
    }

    fn check(
        &self,
        state: State,
        costs: bool,
        seen: String,
        change: Option<String>,
        who: Option<String>,
    ) -> Check {
        Check {
            name: self.name.to_owned(),
            part: self.part,
            state,
            costs,
            seen,
            why: self.why.to_owned(),
            source: self.source.to_owned(),
            change,
            who,
        }
    }
}

/// `GPU 0, GPU 1 and mlx5_0`; of many the first, and how many more.
pub(super) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What holds of those that it is known of, with how many others there are: `on; not known of 1 of 4 GPUs`.
pub(super) fn of_known(words: &str, known: usize, all: usize, one: &str) -> String {
    match all.saturating_sub(known) {
        0 => words.to_owned(),
        unknown => format!("{words}; not known of {unknown} of {}", counted(all, one)),
    }
}
