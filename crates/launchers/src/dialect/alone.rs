//! What is put before the program of one rank: numactl, taskset, OpenMP's variable. A line for each rank.

use stats::IdSet;
use topo::model::Topology;

use super::{Dialect, Saying, visible};
use placement::{NodePlaces, Place};

pub(super) fn numactl(topology: &Topology, places: &NodePlaces) -> Saying {
    let lines = lines(places, |place| {
        let memory = place.memory_node.map_or_else(String::new, |node| format!(" --membind={node}"));
        format!("{}numactl --physcpubind={}{memory} -- PROGRAM", shown(topology, place), place.pus)
    });
    Saying::new(Dialect::Numactl, lines)
        .always("--membind is strict: a rank that needs more than that node has is killed")
        .remark(places.places.iter().any(|place| place.memory_node.is_none()), || {
            "memory is left where it falls for ranks without a node to bind it to".to_owned()
        })
}

pub(super) fn taskset(topology: &Topology, places: &NodePlaces) -> Saying {
    let lines = lines(places, |place| format!("{}taskset -c {} PROGRAM", shown(topology, place), place.pus));
    Saying::new(Dialect::Taskset, lines)
        .always("taskset leaves memory alone: pages then lie where the rank first touches them")
}

pub(super) fn omp(places: &NodePlaces) -> Saying {
    let lines = lines(places, |place| {
        let threads = place.pus.len();
        format!(
            "OMP_PLACES='{}' OMP_PROC_BIND=close OMP_NUM_THREADS={threads} PROGRAM",
            omp_places(&place.pus)
        )
    });
    Saying::new(Dialect::OmpPlaces, lines)
        .always("places bind the threads of OpenMP, not the process: bind that too (srun, numactl, taskset)")
}

/// PUs as `OMP_PLACES` has them: a place for each, in ascending order (OpenMP API 5.2, 21.1.6).
pub fn omp_places(pus: &IdSet) -> String {
    pus.iter().map(|pu| format!("{{{pu}}}")).collect::<Vec<_>>().join(",")
}

/// What shows the rank its GPU, before the tool that binds; nothing for a rank without one.
fn shown(topology: &Topology, place: &Place) -> String {
    let Some(shown) = place.target.as_ref().map(|target| visible(topology, target)) else {
        return String::new();
    };
    let set: String = shown.variables.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    if shown.cleared.is_empty() {
        return set;
    }
    let cleared: String = shown.cleared.iter().map(|name| format!("-u {name} ")).collect();
    format!("env {cleared}{set}")
}

/// A line for each rank, with whose it is behind it.
fn lines(places: &NodePlaces, line: impl Fn(&Place) -> String) -> String {
    let whose = |place: &Place| {
        let target = place.target.as_ref().map_or_else(String::new, |target| format!(", {}", target.id));
        format!("{}  # rank {}{target}", line(place), place.rank)
    };
    places.places.iter().map(whose).collect::<Vec<_>>().join("\n")
}
