//! Captures of real machines, and what a site may give a job of one.
//!
//! The captures are not part of the repository. They are read from `../shared/topologies` beside the
//! checkout, or from `NUMABENCH_TOPOLOGIES`; where they are absent, each test says that it was skipped.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};

use stats::IdSet;
use topo::Topology;

/// The folder of the captures, where there is one.
#[allow(clippy::print_stderr, reason = "no test is skipped silently")]
pub fn captures(test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/topologies");
    let folder = std::env::var_os("NUMABENCH_TOPOLOGIES").map_or(beside, PathBuf::from).join("xml");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED {test}: no captures at {} (set NUMABENCH_TOPOLOGIES)", folder.display());
    None
}

/// The machine of this name.
pub fn load(folder: &Path, name: &str) -> Result<Topology, topo::TopoError> {
    topo::from_xml(&folder.join(format!("{name}.xml")))
}

/// The allowed sets a site may give a job: everything, every other PU, one PU, the upper half, nothing.
pub fn shares(topology: &Topology) -> Vec<IdSet> {
    let all: Vec<u32> = topology.allowed.pus.iter().collect();
    let some = |pus: &[u32]| pus.iter().copied().collect();
    vec![
        topology.allowed.pus.clone(),
        all.iter().copied().step_by(2).collect(),
        some(&all[..all.len().min(1)]),
        some(&all[all.len() / 2..]),
        IdSet::default(),
    ]
}
