//! `--from FILE`: the places that an earlier `place --json FILE` recommended, held against this machine before they are believed.

use std::path::Path;

use placement::{NodePlaces, Strategy, Target, TargetId};
use report::PlaceDocument;
use report::place::Place;
use topo::Topology;

use super::candidates::Way;
use crate::fault::Fault;

/// Reads the recommended way back.
///
/// # Errors
/// A file that is none of ours, or whose places this machine has not got.
pub fn read(path: &Path, topology: &Topology) -> Result<Way, Fault> {
    let named = |error: anyhow::Error| Fault::usage(error.context(format!("--from {}", path.display())));
    let bytes = std::fs::read(path).map_err(|error| named(error.into()))?;
    let document = PlaceDocument::from_json(&bytes).map_err(|error| named(error.into()))?;
    let Some(best) = document.candidates.first() else {
        return Err(named(anyhow::anyhow!(
            "it holds no placement: measure again with `numabench place --measure --json FILE`"
        )));
    };
    if let Some(why) = stranger(&document, topology) {
        return Err(named(anyhow::anyhow!("{why}: it was made for another machine or another job; make one here")));
    }
    let places = best.places.iter().map(|place| {
        let target = target(place);
        let why = format!("read from {}: {}", path.display(), place.why);
        placement::Place::at(topology, place.rank as usize, place.pus.clone(), place.first_pu, target, why)
    });
    let places = NodePlaces {
        // A name of a way that is no strategy is still the user's own wish.
        strategy: best.name.parse().unwrap_or(Strategy::Close),
        places: places.collect(),
        reserved: document.machine.reserved_pus.clone(),
        notes: Vec::new(),
    };
    let how = document.measured.as_ref().map_or("planned, not measured".to_owned(), |_| "measured".to_owned());
    let what = format!("{} ({how} on {})", best.what, document.started_at);
    Ok(Way::new(best.name.clone(), what, places))
}

/// What the document has and the machine has not.
fn stranger(document: &PlaceDocument, topology: &Topology) -> Option<String> {
    let places = document.candidates.first().map(|best| &best.places[..]).unwrap_or_default();
    for place in places {
        if !place.pus.contains(place.first_pu) {
            return Some(format!("rank {}'s first PU {} is none of its PUs {}", place.rank, place.first_pu, place.pus));
        }
        let missing = place.pus.minus(&topology.allowed.pus);
        if !missing.is_empty() {
            return Some(format!(
                "rank {}'s PUs {missing} are not allowed here ({} are)",
                place.rank, topology.allowed.pus
            ));
        }
        if let Some(node) = place.memory_node.filter(|node| !topology.allowed.nodes.contains(*node)) {
            return Some(format!("rank {}'s memory node {node} is not allowed here", place.rank));
        }
        if let Some(gpu) = place.gpu.as_ref().filter(|gpu| topology.gpu_at(gpu.pci_address).is_none()) {
            return Some(format!("rank {}'s GPU {} is not here", place.rank, gpu.pci_address));
        }
    }
    None
}

fn target(place: &Place) -> Option<Target> {
    let gpu = place.gpu.as_ref().map(|gpu| Target {
        index: gpu.index,
        id: TargetId::Gpu(gpu.pci_address),
        uuid: gpu.uuid.clone(),
    });
    gpu.or_else(|| place.target_node.map(|node| Target { index: node, id: TargetId::Node(node), uuid: None }))
}
