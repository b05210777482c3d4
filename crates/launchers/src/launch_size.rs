//! How many processes a launch has.

use std::fmt;

/// How many processes were launched together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchSize {
    /// So many.
    Known(usize),
    /// The launcher does not tell; what it does tell (this process's rank, the processes of its node) means
    /// at least so many.
    AtLeast(usize),
}

impl LaunchSize {
    /// How many there are at least.
    pub(crate) fn least(self) -> usize {
        let (Self::Known(size) | Self::AtLeast(size)) = self;
        size
    }
}

impl fmt::Display for LaunchSize {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(1) => to.write_str("1 process"),
            Self::Known(size) => write!(to, "{size} processes"),
            Self::AtLeast(1) => to.write_str("1 process or more"),
            Self::AtLeast(size) => write!(to, "{size} or more processes"),
        }
    }
}
