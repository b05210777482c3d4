//! Which rank of the engine measured which place of the document. One thread can measure several places, one
//! after the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::experiment::CaseMap;

/// The ranks of the engine by place, and the places by rank.
pub(super) struct PlaceWorkers {
    of_place: BTreeMap<usize, usize>,
    places: BTreeMap<usize, BTreeSet<usize>>,
}

impl PlaceWorkers {
    /// As these cases have it.
    pub(super) fn of(figures: &CaseMap) -> Self {
        let mut found = Self { of_place: BTreeMap::new(), places: BTreeMap::new() };
        for (rank, place) in figures.mappings.iter().flat_map(|mapping| &mapping.places) {
            found.of_place.entry(*place).or_insert(*rank);
            found.places.entry(*rank).or_default().insert(*place);
        }
        found
    }

    /// The rank that measures a place.
    pub(super) fn at(&self, place: usize) -> Option<usize> {
        self.of_place.get(&place).copied()
    }

    /// The rank that measures this place and no other.
    pub(super) fn only_at(&self, place: usize) -> Option<usize> {
        self.at(place).filter(|rank| self.places.get(rank).is_some_and(|places| places.len() == 1))
    }

    /// The ranks whose first place is this one: their time stands here, once for all their places.
    pub(super) fn first_at(&self, place: usize) -> impl Iterator<Item = usize> {
        self.places.iter().filter(move |(_, places)| places.first() == Some(&place)).map(|(rank, _)| *rank)
    }
}
