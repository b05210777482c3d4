//! How memory is touched whose pages go to whoever touches them.
//!
//! In documents the figures are the cases': `direction` is `h2d` where the GPU touches it, `d2h` where the
//! rank's core does, `roundtrip` where both do in turns; `group` is how.

/// How memory is touched, and by whom it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Touch {
    /// Written, and nobody has touched it before.
    Untouched,
    /// Read after the other side wrote it.
    First,
    /// Read again.
    Again,
    /// Told to come, after the other side wrote it.
    Prefetch,
    /// Changed by the GPU and then by the core: each of them finds it with the other one.
    InTurns,
}

impl Touch {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 5] = [Self::Untouched, Self::First, Self::Again, Self::Prefetch, Self::InTurns];

    /// The touch that a group of cases names.
    pub fn named(group: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|touch| group == touch.name())
    }

    /// As the `group` of its cases has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Untouched => "untouched",
            Self::First => "first",
            Self::Again => "again",
            Self::Prefetch => "prefetch",
            Self::InTurns => "in-turns",
        }
    }
}
