//! The option of a launcher that binds ranks to given places, read back before it is offered.
//!
//! A line that says another thing than it was written for is worse than none: what is written here is read as
//! `check --launch` reads it, and it is an answer only where each rank comes out in its place.

use placement::NodePlaces;
use stats::IdSet;
use topo::Topology;

use crate::dialect::Situation;
use crate::facts::{Proof, Written};
use crate::launcher::Launcher;
use crate::line;
use crate::process::Known;

/// Why a launcher has no option for these places.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingRefusal {
    /// It has no words for single ranks' PUs.
    #[error("{} has no option that gives each rank its PUs", .0.name())]
    NoWords(Launcher),
    /// It cannot work in this step.
    #[error("{0}")]
    Cannot(String),
    /// Read back, it puts a rank elsewhere.
    #[error("read back, \"{0}\" puts a rank elsewhere")]
    Differs(String),
}

/// What to write for a launcher so that its ranks are in these places.
///
/// # Errors
/// [`BindingRefusal`].
pub fn binding(
    topology: &Topology,
    places: &NodePlaces,
    launcher: Launcher,
    situation: &Situation,
) -> Result<String, BindingRefusal> {
    let write = launcher.facts().writes.ok_or(BindingRefusal::NoWords(launcher))?;
    let Written { text, proof } = write(topology, places, situation).map_err(BindingRefusal::Cannot)?;
    let read_back = match proof {
        Proof::Lines(lines) => lines.iter().flat_map(|line| pus(line, topology)).collect(),
        Proof::Pus(pus) => pus,
    };
    let wanted = places.places.iter().map(|place| Ok(place.pus.clone()));
    match wanted.eq(read_back) {
        true => Ok(text),
        false => Err(BindingRefusal::Differs(text)),
    }
}

/// The PUs of the ranks of a line that leaves nothing open; none where it cannot be read, or does.
fn pus(line: &str, topology: &Topology) -> Vec<Known<IdSet>> {
    match line::read(line, topology).map(|launched| launched.readings) {
        Ok(readings) => match readings.as_slice() {
            [only] => only.ranks.iter().map(|rank| rank.pus.clone()).collect(),
            _ => Vec::new(),
        },
        Err(_) => Vec::new(),
    }
}
