//! One way to place the ranks, and what its turns gave.

use placement::NodePlaces;
use report::place::Turn;
use stats::compare::TwoSampleComparison;

/// One way to place the ranks, and what its turns gave.
#[derive(Clone)]
pub struct PlaceCandidate {
    /// Its name.
    pub name: String,
    /// What it does, in words.
    pub what: String,
    /// Where it puts them.
    pub places: NodePlaces,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// Turns that failed.
    pub trouble: Option<String>,
    /// Its turns against the leader's.
    pub against_leader: Option<TwoSampleComparison>,
}

impl PlaceCandidate {
    /// A way that was not measured.
    pub fn new(name: impl Into<String>, what: impl Into<String>, places: NodePlaces) -> Self {
        Self {
            name: name.into(),
            what: what.into(),
            places,
            turns: Vec::new(),
            trouble: None,
            against_leader: None,
        }
    }
}
