//! Where a rank's memory is to lie, as `--membind` says it, and how the kernel is to take it from there.

use std::fmt;
use std::str::FromStr;

use stats::IdSet;
use sys::policy::NodeUse;

/// Where a rank's memory is to lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MemoryWish {
    /// On the nodes of its PUs.
    #[default]
    Local,
    /// On this node.
    Node(u32),
    /// Page by page over these nodes, or over all that are allowed; by weight where it says so.
    Spread(NodeUse, Option<IdSet>),
    /// Wherever it would lie without numabench.
    Untouched,
}

/// The text is no place of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is neither local, none, a NUMA node's number, interleave[:NODES] nor weighted[:NODES] (nodes as \
     0-1,3)"
)]
pub struct MemoryWishError(String);

/// The words for memory over several nodes.
const SPREADS: [(&str, NodeUse); 2] =
    [("interleave", NodeUse::Interleave), ("weighted", NodeUse::WeightedInterleave)];

impl FromStr for MemoryWish {
    type Err = MemoryWishError;

    fn from_str(text: &str) -> Result<Self, MemoryWishError> {
        let wrong = || MemoryWishError(text.to_owned());
        let (word, nodes) = text.split_once(':').map_or((text, None), |(word, nodes)| (word, Some(nodes)));
        if let Some((_, spread)) = SPREADS.iter().find(|(known, _)| *known == word) {
            let nodes: Option<IdSet> = nodes.map(str::parse).transpose().map_err(|_| wrong())?;
            return if nodes.as_ref().is_some_and(IdSet::is_empty) {
                Err(wrong())
            } else {
                Ok(Self::Spread(*spread, nodes))
            };
        }
        match text {
            "local" => Ok(Self::Local),
            "none" => Ok(Self::Untouched),
            node => node.parse().map(Self::Node).map_err(|_| wrong()),
        }
    }
}

impl fmt::Display for MemoryWish {
    /// As the option takes it.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => to.write_str("local"),
            Self::Untouched => to.write_str("none"),
            Self::Node(node) => write!(to, "{node}"),
            Self::Spread(spread, nodes) => {
                let word = SPREADS.iter().find(|(_, known)| known == spread).map_or("", |(word, _)| word);
                to.write_str(word)?;
                nodes.as_ref().map_or(Ok(()), |nodes| write!(to, ":{nodes}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_option_takes_is_what_it_is_shown_as() -> Result<(), MemoryWishError> {
        for text in ["local", "none", "3", "interleave", "interleave:0-1", "weighted", "weighted:0,2-3"] {
            assert_eq!(text.parse::<MemoryWish>()?.to_string(), text);
        }
        Ok(())
    }

    #[test]
    fn a_text_that_is_no_place_is_refused() {
        for text in ["", "near", "-1", "interleave:", "interleave:x", "weighted:1-0", "0-1", "local:0", "0:1"]
        {
            assert_eq!(text.parse::<MemoryWish>(), Err(MemoryWishError(text.to_owned())), "{text}");
        }
    }
}
