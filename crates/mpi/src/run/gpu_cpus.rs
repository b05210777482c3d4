//! `--gpu-cpus`: the PUs of a rank's threads that copy to its GPU beside the one that calls MPI. Pure.

use experiments::Fault;
use placement::{RowsBy, rows};
use serde::{Deserialize, Serialize};
use stats::IdList;
use stats::units::counted;
use topo::Topology;
use topo::model::Core;

use crate::case::GpuThreadAt;

/// Where such a thread runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSpot {
    /// Which of the two it is.
    pub at: GpuThreadAt,
    /// Its PU.
    pub pu: u32,
    /// The node of its host memory.
    pub memory_node: u32,
}

/// The threads of this local rank, whose host's ranks call MPI on `mpi`: one on the first PU of a free core
/// of that node, where there is one, and one where it was asked for.
///
/// # Errors
/// There are not as many PUs as ranks, or one of them cannot be had or is another thread's.
pub fn threads(
    topology: &Topology,
    mpi: &IdList,
    asked: &IdList,
    rank: usize,
    others_send: bool,
) -> Result<Vec<ThreadSpot>, Fault> {
    let (mpi, asked) = (&mpi.0, &asked.0);
    if others_send && asked.len() < mpi.len() && rank >= asked.len() {
        return Ok(Vec::new());
    }
    let enough = if others_send { mpi.len() >= asked.len() } else { mpi.len() == asked.len() };
    if !enough || rank >= asked.len() {
        let text = format!(
            "--gpu-cpus names {} and --mpi-cpus {}: name one of each for each rank of a node",
            counted(asked.len(), "PU"),
            mpi.len()
        );
        return Err(Fault::usage(text));
    }

    for (at, pu) in asked.iter().enumerate() {
        let core = topology.cores.iter().find(|core| core.pus.contains(*pu));
        let shares = |other: &&u32| **other == *pu || core.is_some_and(|core| core.pus.contains(**other));
        if let Some(other) = mpi.iter().chain(&asked[..at]).find(shares) {
            let other = if other == pu { String::new() } else { format!("on the core of PU {other}, ") };
            return Err(Fault::usage(format!(
                "--gpu-cpus: PU {pu} is {other}another thread's already: every thread needs a core of its own"
            )));
        }
        if !topology.allowed.pus.contains(*pu) {
            let allowed = &topology.allowed.pus;
            return Err(Fault::usage(format!(
                "--gpu-cpus: PU {pu} cannot be used by this process; it may use {allowed}"
            )));
        }
    }

    // Each core with its first PU that can be used, and the node of its memory.
    let cores: Vec<(&Core, u32, u32)> = topology
        .cores
        .iter()
        .zip(rows(topology, RowsBy::Core))
        .filter_map(|(core, row)| row.place.ok().map(|place| (core, place.pu(), place.node)))
        .collect();

    let node = |pu: u32| cores.iter().find(|(core, ..)| core.pus.contains(pu)).map(|(_, _, node)| *node);
    let mut taken: Vec<u32> = mpi.iter().chain(asked).copied().collect();
    let mut near = None;

    for pu in &mpi[..=rank] {
        let is_free = |(core, ..): &&(&Core, u32, u32)| core.pus.iter().all(|other| !taken.contains(&other));
        near = cores.iter().filter(is_free).find(|(_, _, of)| node(*pu) == Some(*of)).map(|(_, pu, _)| *pu);
        taken.extend(near);
    }

    let spot = |at, pu| Some(ThreadSpot { at, pu, memory_node: node(pu)? });
    let near = near.and_then(|pu| spot(GpuThreadAt::Near, pu));
    let apart = spot(GpuThreadAt::Apart, asked[rank]).ok_or_else(|| {
        Fault::usage(format!("--gpu-cpus: PU {} is of no core with memory of its own", asked[rank]))
    })?;
    Ok(near.into_iter().chain([apart]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LUMI-G: node 0 has the cores of PUs 0 to 15, node 1 those of 16 to 31; the second PU of a core is 64
    /// further.
    fn machine() -> Result<Topology, topo::TopoError> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/lumi-g.xml");
        Ok(topo::survey_xml(std::path::Path::new(file))?.topology)
    }

    fn pus(spots: &[ThreadSpot]) -> Vec<(u32, u32)> {
        spots.iter().map(|spot| (spot.pu, spot.memory_node)).collect()
    }

    #[test]
    fn each_rank_has_a_thread_on_a_free_core_of_its_node_and_one_where_it_was_asked_for()
    -> Result<(), topo::TopoError> {
        let machine = machine()?;
        let of = |rank| {
            threads(&machine, &IdList(vec![0, 1]), &IdList(vec![16, 82]), rank, false)
                .map(|spots| pus(&spots))
        };
        assert_eq!(of(0).ok(), Some(vec![(2, 0), (16, 1)]));
        assert_eq!(of(1).ok(), Some(vec![(3, 0), (82, 1)]), "not the core that rank 0 has");
        Ok(())
    }

    #[test]
    fn where_others_send_the_ranks_beyond_the_list_copy_nothing() -> Result<(), topo::TopoError> {
        let machine = machine()?;
        let of = |rank, others| {
            threads(&machine, &IdList(vec![0, 1, 2, 3]), &IdList(vec![16, 82]), rank, others)
                .map(|spots| spots.len())
        };
        assert_eq!((of(1, true).ok(), of(2, true).ok()), (Some(2), Some(0)));
        assert!(of(0, false).is_err(), "each rank copies where all are measured");
        Ok(())
    }

    #[test]
    fn without_a_free_core_near_there_is_the_one_asked_for_alone() -> Result<(), topo::TopoError> {
        let machine = machine()?;
        let spots = threads(&machine, &IdList((0..16).collect()), &IdList((16..32).collect()), 15, false);
        assert_eq!(spots.ok().map(|spots| pus(&spots)), Some(vec![(31, 1)]));
        Ok(())
    }

    #[test]
    fn a_pu_that_is_taken_or_not_there_and_a_list_too_short_are_refused_by_name()
    -> Result<(), topo::TopoError> {
        let machine = machine()?;
        let refused = |asked: &[u32], word: &str| {
            let refused = threads(&machine, &IdList(vec![0, 1]), &IdList(asked.to_vec()), 0, false);
            assert!(refused.as_ref().is_err_and(|fault| fault.to_string().contains(word)), "{refused:?}");
        };
        refused(&[1, 16], "PU 1 is another thread's");
        refused(&[16, 16], "PU 16 is another thread's");
        refused(&[64, 16], "PU 64 is on the core of PU 0, another thread's");
        refused(&[16, 80], "PU 80 is on the core of PU 16, another thread's");
        refused(&[16, 199], "PU 199 cannot be used");
        refused(&[16], "names 1 PU and --mpi-cpus 2");
        Ok(())
    }
}
