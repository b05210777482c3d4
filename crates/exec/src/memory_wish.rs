//! Where a program's memory is to lie, as `--membind` says it: also wherever it would lie by itself.

use std::fmt;
use std::str::FromStr;

use placement::{Membind, MembindError};

/// Where a rank's memory is to lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryWish {
    /// Bound or spread: local memory is on the nodes of its PUs.
    Bound(Membind),
    /// Wherever it would lie without numabench.
    Untouched,
}

impl Default for MemoryWish {
    fn default() -> Self {
        Self::Bound(Membind::Local)
    }
}

/// The text is no place of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is neither local, none, a NUMA node's number, interleave[:NODES] nor weighted[:NODES] (nodes as \
     0-1,3)"
)]
pub struct MemoryWishError(String);

impl FromStr for MemoryWish {
    type Err = MemoryWishError;

    fn from_str(text: &str) -> Result<Self, MemoryWishError> {
        match text {
            "none" => Ok(Self::Untouched),
            _ => text.parse().map(Self::Bound).map_err(|MembindError(text)| MemoryWishError(text)),
        }
    }
}

impl fmt::Display for MemoryWish {
    /// As the option takes it.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untouched => to.write_str("none"),
            Self::Bound(membind) => membind.fmt(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_option_takes_is_what_it_is_shown_as() -> Result<(), MemoryWishError> {
        for text in ["local", "none", "3", "interleave:0-1"] {
            assert_eq!(text.parse::<MemoryWish>()?.to_string(), text);
        }
        assert_eq!("near".parse::<MemoryWish>(), Err(MemoryWishError("near".to_owned())));
        Ok(())
    }
}
