//! What is to be placed on one node, and by which strategy.

use std::fmt;
use std::str::FromStr;

use stats::IdSet;

use crate::Target;

/// More ranks than this no node has: Linux counts up to 8,192 PUs.
pub const MOST_RANKS: usize = 8192;

/// What is to be placed on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// How many ranks; `None`: one for each GPU chosen, and without GPUs one for each NUMA node that has a
    /// core to give.
    pub ranks: Option<usize>,
    /// The GPUs that they drive.
    pub gpus: GpuChoice,
    /// The PUs to plan in; `None`: those allowed to whoever read the topology.
    pub pus: Option<IdSet>,
    /// How many cores each rank gets; `None`: a domain's cores are shared out evenly.
    pub cores_per_rank: Option<usize>,
    /// All usable hardware threads of a core instead of one.
    pub smt: bool,
    /// Where ranks go.
    pub strategy: Strategy,
    /// PUs whose whole cores no rank gets.
    pub reserve: IdSet,
}

/// The GPUs that ranks drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GpuChoice {
    /// Every one of the topology; fewer ranks take those near to the cores that there are.
    #[default]
    All,
    /// The same of these.
    AnyOf(Vec<Target>),
    /// None: ranks without a GPU.
    None,
    /// These, in rank order; one may appear more than once. Node targets (the host backend's) are placed by
    /// the same rules.
    These(Vec<Target>),
}

/// Where ranks go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strategy {
    /// Near their GPU; ranks without one, or with one that nobody knows the place of, as `Spread`.
    #[default]
    Close,
    /// Evenly over the NUMA nodes, whatever the GPUs.
    Spread,
    /// On consecutive cores from the first, whatever the GPUs.
    Compact,
    /// As far from their GPU as there is: to show what it costs.
    Worst,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Close, Self::Spread, Self::Compact, Self::Worst];

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Spread => "spread",
            Self::Compact => "compact",
            Self::Worst => "worst",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Not the name of a strategy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a strategy: write close, spread, compact or worst")]
pub struct StrategyError(String);

impl FromStr for Strategy {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|strategy| strategy.name() == text)
            .ok_or_else(|| StrategyError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_is_read_by_the_name_it_prints_and_nothing_else() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
        }
        let refused = "closest".parse::<Strategy>();
        assert_eq!(refused, Err(StrategyError("closest".to_owned())));
        let said = refused.map_or_else(|error| error.to_string(), |found| found.to_string());
        assert!(Strategy::ALL.iter().all(|strategy| said.contains(strategy.name())), "{said}");
    }
}
