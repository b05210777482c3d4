//! What is asked of a problem's size: a class, as SHOC has them, or the bytes of its data.

use std::fmt;

use stats::units::rounded_size;

/// The largest class, and the one that is measured where nobody asks for another.
pub const LARGEST_CLASS: u8 = 4;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemSize {
    /// A class from 1 to [`LARGEST_CLASS`].
    Class(u8),
    /// Bytes of input and result.
    Bytes(u64),
}

impl Default for ProblemSize {
    fn default() -> Self {
        Self::Class(LARGEST_CLASS)
    }
}

impl fmt::Display for ProblemSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Class(class) => write!(f, "class {class}"),
            Self::Bytes(bytes) => f.write_str(&rounded_size(*bytes)),
        }
    }
}
