//! A map of the user's own, NAME=49,57,…: the PU of each rank in rank order, as `--cpu-bind=map_cpu` has it.
//! It is measured beside the strategies, so that a right, a wrong and a half-right map stand in one table.

use std::str::FromStr;

use placement::{NodePlaces, Place, Strategy, Target};
use stats::units::counted;
use stats::{IdList, IdSet};
use topo::Topology;

use crate::candidate::PlaceCandidate;

/// A map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnMap {
    /// What the user calls it.
    pub name: String,
    /// The PU of each rank, in rank order.
    pub pus: Vec<u32>,
}

/// What is wrong with a map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnMapError {
    /// No name, or no list.
    #[error("\"{0}\" is no map: write NAME=LIST, a PU for each rank, e.g. right=49,57,17,25")]
    Text(String),
    /// A name that has a meaning.
    #[error("the map's name {0} is that of a strategy: call it otherwise, e.g. my-{0}")]
    Strategy(String),
    /// A name that stands twice.
    #[error("two maps are called {0}: each wants a name of its own")]
    Twice(String),
    /// As many PUs as ranks are needed.
    #[error(
        "the map {name} names {} for {}: name one PU for each rank, or say --ranks {pus}",
        counted(*pus, "PU"),
        counted(*ranks, "rank")
    )]
    Count {
        /// The map.
        name: String,
        /// PUs that it names.
        pus: usize,
        /// Ranks that are placed.
        ranks: usize,
    },
    /// PUs that stand twice.
    #[error("the map {name} names PU {pu} twice: two ranks on one PU would take turns on it")]
    Shared {
        /// The map.
        name: String,
        /// The PU.
        pu: u32,
    },
    /// PUs that cannot be had.
    #[error("the map {name} names PUs {missing}, which are not allowed here ({allowed} are)")]
    NotAllowed {
        /// The map.
        name: String,
        /// The PUs.
        missing: IdSet,
        /// Those that are allowed.
        allowed: IdSet,
    },
}

impl FromStr for OwnMap {
    type Err = OwnMapError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || OwnMapError::Text(text.to_owned());
        let (name, list) = text.split_once('=').ok_or_else(wrong)?;
        let is_word = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
        let pus = list.parse::<IdList>().map_err(|_| wrong())?.0;
        if name.is_empty() || !name.chars().all(is_word) || pus.is_empty() {
            return Err(wrong());
        }
        // Ways of one node each are called node-N.
        if name.parse::<Strategy>().is_ok()
            || name.strip_prefix("node-").is_some_and(|node| node.parse::<u32>().is_ok())
        {
            return Err(OwnMapError::Strategy(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), pus })
    }
}

impl OwnMap {
    /// The way that puts rank N on the map's PU N, with these ranks' GPUs; `allowed`: the PUs that ranks may
    /// have.
    ///
    /// # Errors
    /// Another number of PUs than of ranks, a PU twice, or one that is not allowed.
    pub(crate) fn way(
        &self,
        topology: &Topology,
        allowed: &IdSet,
        targets: &[Option<Target>],
    ) -> Result<PlaceCandidate, OwnMapError> {
        let Self { name, pus } = self;
        if pus.len() != targets.len() {
            return Err(OwnMapError::Count { name: name.clone(), pus: pus.len(), ranks: targets.len() });
        }
        if let Some(pu) = (1..pus.len()).map(|at| pus[at]).zip(1..).find(|(pu, at)| pus[..*at].contains(pu)) {
            return Err(OwnMapError::Shared { name: name.clone(), pu: pu.0 });
        }
        let missing = pus.iter().copied().collect::<IdSet>().minus(allowed);
        if !missing.is_empty() {
            return Err(OwnMapError::NotAllowed { name: name.clone(), missing, allowed: allowed.clone() });
        }

        let place = |(rank, (pu, target)): (usize, (&u32, &Option<Target>))| {
            let why = format!("the map {name} says so");
            Place::at(topology, rank, IdSet::from_iter([*pu]), *pu, target.clone(), why)
        };
        let places = pus.iter().zip(targets).enumerate().map(place).collect();
        let reserved = topology.allowed.pus.minus(allowed);
        // A map is no strategy; what is asked of one is that ranks are near their GPUs.
        let places = NodePlaces { strategy: Strategy::Close, places, reserved, notes: Vec::new() };
        Ok(PlaceCandidate::new(name.clone(), "the map given", places))
    }
}

/// Whether each map has a name of its own.
///
/// # Errors
/// The first name that stands twice.
pub(crate) fn names_differ(maps: &[OwnMap]) -> Result<(), OwnMapError> {
    let twice = (0..maps.len()).find(|at| maps[..*at].iter().any(|earlier| earlier.name == maps[*at].name));
    twice.map_or(Ok(()), |at| Err(OwnMapError::Twice(maps[at].name.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_a_name_and_a_pu_for_each_rank_in_their_order() -> Result<(), OwnMapError> {
        let map: OwnMap = "half-right=49,57,1,9-11".parse()?;
        assert_eq!(map, OwnMap { name: "half-right".to_owned(), pus: vec![49, 57, 1, 9, 10, 11] });
        for text in ["49,57", "=1,2", "a=", "a b=1", "a=x"] {
            assert_eq!(text.parse::<OwnMap>(), Err(OwnMapError::Text(text.to_owned())));
        }
        for name in ["close", "worst", "node-1"] {
            assert_eq!(format!("{name}=1,2").parse::<OwnMap>(), Err(OwnMapError::Strategy(name.to_owned())));
        }
        let twice =
            ["a=1", "b=2", "a=3"].map(|text| text.parse()).into_iter().collect::<Result<Vec<OwnMap>, _>>()?;
        assert_eq!(names_differ(&twice), Err(OwnMapError::Twice("a".to_owned())));
        Ok(())
    }
}
