//! `--from FILE`, of `place` and `exec`: the places that an earlier `place --json FILE` recommended, held
//! against this machine before they are believed.

use std::path::{Path, PathBuf};

use placement::{NodePlaces, Strategy, Target, TargetId};
use report::place::Place;
use report::read::ReadError;
use report::settings::Membind;
use report::{PlaceDocument, SavedDocument};
use stats::IdSet;
use topo::{InputError, Topology};

use crate::candidate::PlaceCandidate;

/// More than a document of 8,192 ranks with a hundred turns each has.
const MOST_BYTES: u64 = 256 << 20;

/// Places that were found before cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// The file cannot be read.
    #[error("--from {path}")]
    File {
        /// The file.
        path: String,
        /// Why not.
        source: InputError,
    },
    /// It is no placement document.
    #[error("--from {path}")]
    Document {
        /// The file.
        path: String,
        /// Why not.
        source: ReadError,
    },
    /// It holds no place.
    #[error("--from {path}: it holds no placement: make one with `numabench place --json FILE`")]
    Empty {
        /// The file.
        path: String,
    },
    /// Its places are not of this machine, or not of this job.
    #[error("--from {path}: {why}: it was made for another machine or another job; make one here")]
    Stranger {
        /// The file.
        path: String,
        /// What they have and the machine has not.
        why: String,
    },
}

/// A placement document with the path that it was read from.
#[derive(Clone, Debug)]
pub struct Saved {
    path: PathBuf,
    document: PlaceDocument,
}

impl Saved {
    /// Reads the file.
    ///
    /// # Errors
    /// A file that is none of ours.
    pub fn read(path: &Path) -> Result<Self, SavedError> {
        let name = || path.display().to_string();
        let bytes =
            topo::read_input(path, MOST_BYTES).map_err(|source| SavedError::File { path: name(), source })?;
        let document = PlaceDocument::from_json(&bytes)
            .map_err(|source| SavedError::Document { path: name(), source })?;
        Ok(Self { path: path.to_path_buf(), document })
    }

    /// The way that it recommends, on this machine within these PUs.
    ///
    /// # Errors
    /// A document without a way, or whose places this machine has not got.
    pub fn way(&self, topology: &Topology, pus: &IdSet) -> Result<PlaceCandidate, SavedError> {
        let Self { path, document } = self;
        let Some(best) = document.candidates.first().filter(|best| !best.places.is_empty()) else {
            return Err(SavedError::Empty { path: path.display().to_string() });
        };
        if let Some(why) = stranger(&best.places, topology, pus) {
            return Err(SavedError::Stranger { path: path.display().to_string(), why });
        }
        let places = best.places.iter().map(|place| {
            let why = format!("read from {}: {}", path.display(), place.why);
            let rank = place.rank as usize;
            placement::Place::at(topology, rank, place.pus.clone(), place.first_pu, target(place), why)
        });
        let places = NodePlaces {
            // A name of a way that is no strategy is still the user's own wish.
            strategy: best.name.parse().unwrap_or(Strategy::Close),
            places: places.collect(),
            reserved: document.machine.reserved_pus.clone(),
            notes: Vec::new(),
        };

        let what = format!("{} ({})", best.what, how(document));
        Ok(PlaceCandidate::new(best.name.clone(), what, places))
    }
}

/// How and when its places were found.
fn how(document: &PlaceDocument) -> String {
    let on = &document.started_at;
    let Some(measured) = &document.measured else { return format!("planned, not measured on {on}") };
    let membind = match &measured.membind {
        Membind::Local => return format!("measured on {on}"),
        Membind::Newer => {
            return format!("measured on {on} with memory placed in a way that this version does not know");
        }
        Membind::Node { node } => node.to_string(),
        Membind::Interleave { nodes } => spread("interleave", nodes.as_ref()),
        Membind::Weighted { nodes } => spread("weighted", nodes.as_ref()),
    };
    format!("measured on {on} with --membind {membind}: start the program by numabench exec with that too")
}

fn spread(policy: &str, nodes: Option<&IdSet>) -> String {
    nodes.map_or(policy.to_owned(), |nodes| format!("{policy}:{nodes}"))
}

/// What the places have and the machine has not.
fn stranger(places: &[Place], topology: &Topology, pus: &IdSet) -> Option<String> {
    for place in places {
        if !place.pus.contains(place.first_pu) {
            return Some(format!(
                "rank {}'s first PU {} is not among its PUs {}",
                place.rank, place.first_pu, place.pus
            ));
        }

        let missing = place.pus.minus(pus);
        if !missing.is_empty() {
            return Some(format!("rank {}'s PUs {missing} are not allowed here ({pus} are)", place.rank));
        }
        if let Some(node) = place.memory_node.filter(|node| !topology.allowed.nodes.contains(*node)) {
            return Some(format!("rank {}'s memory node {node} is not allowed here", place.rank));
        }
        if let Some(node) = place.target_node.filter(|node| topology.node(*node).is_none()) {
            return Some(format!("rank {}'s target node {node} is not here", place.rank));
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
