//! `numabench exec`: from what a launcher and the machine say to a program in its place.
//!
//! ```text
//! Launch ─► RankSlot ┐
//! Start ─► VisibleGpus ├► GpuAssignment ─► Place ─► variables ─► kernel: bind, bind, execve
//!      └─► Pool ─┘
//! ```
//!
//! * `rank_slot` which of its node's ranks this process is;
//! * `pool` the PUs that these ranks have together;
//! * `visible` the GPUs that a program started here would see;
//! * `assign` which of them this rank drives;
//! * `place` its PUs and its memory, by `placement`'s plan of the node;
//! * `variables` what the program finds in its environment;
//! * `report` the line that says all this;
//! * `kernel` the system calls.
//!
//! All but `kernel` is pure. No GPU runtime and no MPI is opened: both would start threads and take longer than all of this.

mod assign;
mod kernel;
#[cfg(test)]
pub mod machine;
pub mod place;
pub mod pool;
mod rank_slot;
pub mod report;
mod variables;
mod visible;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;

use placement::{SelectionError, Target, TargetId};
use ranks::Launch;
use topo::Start;

use crate::args::place::GpuList;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::place::saved::Saved;
use place::{Place, Wish};
use pool::{Pool, PoolOwner};
use rank_slot::RankSlot;
use variables::Variable;
use visible::{VisibleGpu, VisibleGpus};

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Its number among the ranks of its node, where the launcher's word is not to be taken.
    pub rank: Option<usize>,
    /// How many its node has.
    pub ranks: Option<usize>,
    /// GPUs.
    pub gpus: Option<GpuList>,
    /// No variable hides a GPU from the program.
    pub shows_all: bool,
    /// PUs stay as they are.
    pub keep_cpus: bool,
    /// The places that `place` found, in place of a plan.
    pub from: Option<Saved>,
    /// The place.
    pub wish: Wish,
}

/// All that is to be done for a rank, and what is known of it.
#[derive(Clone, Debug)]
pub struct Settled {
    slot: RankSlot,
    pool: Pool,
    place: Place,
    drives: Vec<VisibleGpu>,
    variables: Vec<Variable>,
    notes: Vec<String>,
}

/// What is to be done for this rank. Nothing of it is done yet.
pub fn settle(
    launch: &Launch,
    start: &Start,
    asked: &Asked,
    environment: &BTreeMap<String, String>,
) -> Result<Settled, Fault> {
    let slot = RankSlot::of(launch, asked.rank, asked.ranks).map_err(Fault::usage)?;
    let pool = if asked.keep_cpus {
        Pool::kept(&start.topology)
    } else {
        Pool::of(launch.launcher, &start.topology, start.step.as_ref(), topo::ancestor::nearest)
    };
    let visible = VisibleGpus::of(start);
    if let Some(saved) = &asked.from {
        return found(start, slot, pool, visible, saved, asked, environment);
    }
    let assigned = assign::assign_gpus(start, &visible, asked.gpus.as_ref(), &slot, pool.owner);
    let assignment = assigned.map_err(|error| match error {
        SelectionError::Absent { .. } => Fault::new(Exit::Absent, error),
        _ => Fault::usage(error),
    })?;
    let place = place::place(start, &pool, &assignment, &asked.wish).map_err(Fault::usage)?;
    let mut variables = shown(start, &assignment.drives, asked)?;
    if pool.owner != PoolOwner::Unchanged {
        variables.extend(variables::openmp(&start.topology, &place.pus, asked.wish.smt, environment));
    }
    let notes =
        assignment.notes.into_iter().chain(if asked.gpus == Some(GpuList::None) { Vec::new() } else { visible.notes });
    Ok(Settled { notes: notes.collect(), slot, pool, place, drives: assignment.drives, variables })
}

/// The variables that show the program its GPUs; none where it is to see all.
fn shown(start: &Start, drives: &[VisibleGpu], asked: &Asked) -> Result<Vec<Variable>, Fault> {
    if asked.shows_all { Ok(Vec::new()) } else { variables::gpus(start, drives).map_err(Fault::usage) }
}

/// What is to be done where the node's places were found before: this rank's is taken.
fn found(
    start: &Start,
    slot: RankSlot,
    pool: Pool,
    visible: VisibleGpus,
    saved: &Saved,
    asked: &Asked,
    environment: &BTreeMap<String, String>,
) -> Result<Settled, Fault> {
    let wish = &asked.wish;
    let places = saved.way(&start.topology, &pool.pus)?.places.places;
    let wrong = |words: String| Fault::usage(anyhow::anyhow!("--from: {words}"));
    if places.len() != slot.local_size {
        let (there, here) = (places.len(), slot.local_size);
        return Err(wrong(format!(
            "places in the file: {there}, ranks of this node: {here}; place as many as there are"
        )));
    }
    let one = &places[slot.local_rank];
    let gpu = one.target.as_ref().filter(|target| matches!(target.id, TargetId::Gpu(_)));
    let seen = |target: &Target| visible.gpus.iter().find(|seen| seen.target.id == target.id).cloned();
    let drives: Vec<VisibleGpu> = gpu.and_then(seen).into_iter().collect();
    if let (Some(target), []) = (gpu, &drives[..]) {
        let rank = slot.local_rank;
        return Err(wrong(format!(
            "rank {rank} is to have GPU {}, which is hidden from it: show it all GPUs",
            target.id
        )));
    }
    let place = place::found(&start.topology, one, wish).map_err(Fault::usage)?;
    let mut variables = shown(start, &drives, asked)?;
    variables.extend(variables::openmp(&start.topology, &place.pus, wish.smt, environment));
    Ok(Settled { notes: visible.notes, slot, pool, place, drives, variables })
}

/// Binds this process. Only the program comes after it.
pub fn bind(settled: &Settled) -> Result<(), Fault> {
    let Place { pus, memory, is_bound, .. } = &settled.place;
    let failed = |what: String, error: io::Error, remedy: &str| {
        Fault::new(
            Exit::NoResult,
            anyhow::anyhow!("cannot bind {what}: {error}; the program was not started. {remedy}"),
        )
    };
    if *is_bound {
        let remedy = "A PU may have gone offline or out of the cpuset just now: start again, or with --keep-cpus";
        kernel::bind_cpus(pus).map_err(|error| failed(format!("to PUs {pus}"), error, remedy))?;
    }
    if !memory.is_empty() {
        let remedy = "A container's seccomp profile may forbid set_mempolicy (docker: --cap-add SYS_NICE): --membind none does without";
        kernel::bind_memory(memory).map_err(|error| failed(format!("memory to node {memory}"), error, remedy))?;
    }
    Ok(())
}

/// Becomes the program; comes back only with why it could not.
pub fn become_program(settled: &Settled, program: &[OsString]) -> Fault {
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    environment.extend(settled.variables.iter().map(|(name, value)| ((*name).into(), value.into())));
    become_other(program, environment)
}

/// Becomes a program with this environment, in the place that this process is in; comes back only with why it could not.
pub fn become_other(program: &[OsString], environment: BTreeMap<OsString, OsString>) -> Fault {
    let error = kernel::become_program(program, environment);
    let exit = if error.kind() == io::ErrorKind::NotFound { Exit::NotFound } else { Exit::NotExecutable };
    let name = program.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Fault::new(exit, anyhow::anyhow!("cannot start {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use topo::visibility::{Runtime, Visibility, Visible};

    use super::*;

    /// A LUMI-G node on which all GPUs are visible, in the order of PCI as ROCr has it there.
    fn lumi_g() -> Result<Start, topo::TopoError> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/lumi-g-low-noise.xml");
        let topology = topo::from_xml(std::path::Path::new(file))?;
        let rocr: Vec<stats::PciAddress> = topology.gpus.iter().map(|gpu| gpu.pci).collect();
        let visible = Visibility {
            runtime: Runtime::Hip,
            variables: BTreeMap::new(),
            devices: Some(rocr.iter().map(|pci| Visible { pci: Some(*pci), part: None }).collect()),
            reason: None,
            notes: Vec::new(),
        };
        Ok(Start { topology, visibility: vec![visible], hidden: stats::IdSet::default(), rocr, step: None })
    }

    /// The first PU, the number of PUs and ROCR_VISIBLE_DEVICES of each of so many tasks of a step.
    fn tasks(start: &Start, tasks: usize) -> Result<Vec<(u32, usize, String)>, Fault> {
        let one = |task: usize| {
            let (task, tasks) = (task.to_string(), tasks.to_string());
            let launch = Launch::sensed(|name| match name {
                "SLURM_STEP_ID" | "SLURM_NODEID" => Some("0".to_owned()),
                "SLURM_PROCID" | "SLURM_LOCALID" => Some(task.clone()),
                "SLURM_STEP_NUM_TASKS" | "SLURM_STEP_TASKS_PER_NODE" => Some(tasks.clone()),
                _ => None,
            });
            let settled = settle(&launch, start, &Asked::default(), &BTreeMap::new())?;
            let rocr = settled.variables.iter().find(|(name, _)| *name == "ROCR_VISIBLE_DEVICES");
            let pus = &settled.place.pus;
            Ok((pus.first().unwrap_or_default(), pus.len(), rocr.map(|(_, value)| value.clone()).unwrap_or_default()))
        };
        (0..tasks).map(one).collect()
    }

    #[test]
    fn a_rank_that_is_to_see_all_gpus_is_bound_near_its_own_and_none_is_hidden()
    -> Result<(), Box<dyn std::error::Error>> {
        let start = lumi_g()?;
        let launch =
            Launch { local_rank: Some(3), local_size: Some(8), launcher: ranks::Launcher::Torchrun, ..Launch::ALONE };
        let place = |shows_all| -> Result<(String, bool), Fault> {
            let settled = settle(&launch, &start, &Asked { shows_all, ..Asked::default() }, &BTreeMap::new())?;
            let hides = settled.variables.iter().any(|(name, _)| name.ends_with("VISIBLE_DEVICES"));
            Ok((settled.place.pus.to_string(), hides))
        };
        let of = |shows_all| place(shows_all).map_err(|fault| fault.to_string());
        assert_eq!((of(true)?, of(false)?), (("25-31".to_owned(), false), ("25-31".to_owned(), true)));
        Ok(())
    }

    #[test]
    fn each_task_on_lumi_g_finds_the_published_place_by_itself() -> Result<(), Box<dyn std::error::Error>> {
        let start = lumi_g()?;
        let published = |pus: &[u32], step: usize| -> Vec<(u32, usize, String)> {
            pus.iter().enumerate().map(|(rank, pu)| (*pu, 7, (rank * step).to_string())).collect()
        };
        let eight = tasks(&start, 8).map_err(|fault| fault.to_string())?;
        assert_eq!(eight, published(&[49, 57, 17, 25, 1, 9, 33, 41], 1));
        let half = tasks(&start, 4).map_err(|fault| fault.to_string())?;
        assert_eq!(half, published(&[49, 17, 1, 33], 2));
        Ok(())
    }
}
