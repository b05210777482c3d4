//! What puts a program in its place: from what a launcher and the machine say to PUs, memory, visible GPUs,
//! and the program itself.
//!
//! ```text
//! Launch ─► RankSlot ────┐
//! Start ─► VisibleGpus ──┼► GpuAssignment ─► RankBinding ─► variables ─► kernel: bind, bind, execve
//!      └─► Pool ─────────┘
//! ```
//!
//! * `rank_slot` which of its node's ranks this process is;
//! * `pool` the PUs that these ranks have together;
//! * `visible` the GPUs that a program started here would see;
//! * `assign` which of them this rank drives;
//! * `place` its PUs and its memory, by `placement`'s plan of the node;
//! * `variables` what the program finds in its environment;
//! * `memory_wish` where its memory is to lie, as the option says it;
//! * `report` the line that says all this;
//! * `workers` the cores and the memory of each GPU, for workers that the program starts itself, as the
//!   variable of `worker_table` has it;
//! * `kernel` the system calls.
//!
//! All but `kernel` is pure. No GPU runtime and no MPI is opened: both would start threads and take longer
//! than all of this. Left out: arguments, the terminal, exit codes.

#![forbid(unsafe_code)]

mod assign;
mod error;
mod kernel;
#[cfg(test)]
mod machine;
mod memory_wish;
mod place;
mod pool;
mod rank_slot;
pub mod report;
mod variables;
mod visible;
mod worker_table;
mod workers;

use std::collections::BTreeMap;
use std::ffi::OsString;

use launchers::Launch;
use placement::{GpuList, Target, TargetId};
use stats::IdSet;
use topo::Start;

pub use error::{BindError, ExecError, ProgramStartError};
pub use memory_wish::{MemoryWish, MemoryWishError};
pub use sys::policy::NodeUse;

pub use place::{RankBinding, RankPlaceError, Wish};
pub use pool::{Pool, PoolOwner};
pub use rank_slot::{RankSlot, RankSlotError};
pub use variables::{Nameless, Variable, environment};
pub use visible::VisibleGpu;
pub use workers::{AskedWorkers, WorkerShare, WorkersSetup, plan_workers};

use visible::VisibleGpus;

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
    /// The places of the node's ranks, found before, in place of a plan.
    pub from: Option<Vec<placement::Place>>,
    /// The place.
    pub wish: Wish,
}

/// All that is to be done for a rank, and what is known of it.
#[derive(Clone, Debug)]
pub struct RankSetup {
    /// Which of its node's ranks it is.
    pub slot: RankSlot,
    /// The PUs that it was given its own of.
    pub pool: Pool,
    /// Its PUs and its memory.
    pub place: RankBinding,
    /// The GPUs that it drives.
    pub drives: Vec<VisibleGpu>,
    /// The variables that its program is given.
    pub variables: Vec<Variable>,
    /// What the user should know beside these.
    pub notes: Vec<String>,
}

impl RankSetup {
    /// The PUs that it is bound to; `None` where they stay as they are.
    pub fn bound_pus(&self) -> Option<&IdSet> {
        self.place.is_bound.then_some(&self.place.pus)
    }

    /// The nodes that its memory is bound to; `None` where it is not.
    pub fn bound_memory(&self) -> Option<&IdSet> {
        (!self.place.memory.is_empty()).then_some(&self.place.memory)
    }
}

/// The PUs that this node's ranks have together; `keep_cpus`: this rank's are left as they are.
pub fn pool(launch: &Launch, start: &Start, keep_cpus: bool) -> Pool {
    if keep_cpus {
        return Pool::kept(&start.topology);
    }
    Pool::of(launch.launcher, &start.topology, start.step.as_ref(), topo::ancestor::nearest)
}

/// What is to be done for this rank; nothing of it is done yet. `environment`: the variables that are set.
///
/// # Errors
/// [`ExecError`]: what was asked does not fit the launch, the machine or the places found before.
pub fn plan(
    launch: &Launch,
    start: &Start,
    asked: &Asked,
    environment: &BTreeMap<String, String>,
) -> Result<RankSetup, ExecError> {
    let slot = match RankSlot::of(launch, asked.rank, asked.ranks) {
        // An engine that gives each worker one GPU seldom says how many workers there are: the GPU tells the
        // place, where one is wanted and no places were found before.
        Err(RankSlotError::Untold { launcher, .. })
            if asked.gpus.is_none() && asked.from.is_none() && visible::is_one_of_several(start) =>
        {
            RankSlot { launcher, of_all: None, local_rank: 0, local_size: 1 }
        }
        slot => slot?,
    };
    plan_in(slot, pool(launch, start, asked.keep_cpus), start, asked, environment)
}

/// The same for a rank whose number and PUs are known: also one that is not started, of a line that is only
/// read.
///
/// # Errors
/// As [`plan`].
pub fn plan_in(
    slot: RankSlot,
    pool: Pool,
    start: &Start,
    asked: &Asked,
    environment: &BTreeMap<String, String>,
) -> Result<RankSetup, ExecError> {
    let visible = VisibleGpus::of(start);
    if let Some(places) = &asked.from {
        return from_places(start, slot, pool, visible, places, asked, environment);
    }
    let assignment = assign::assign_gpus(start, &visible, asked.gpus.as_ref(), &slot, &pool)?;
    let place = place::place(start, &pool, &assignment, &asked.wish)?;
    let mut variables = shown(start, &assignment.drives, asked)?;
    if pool.owner != PoolOwner::Unchanged {
        variables.extend(variables::openmp(&start.topology, &place.pus, asked.wish.ask.smt, environment));
    }
    let of_visible = if asked.gpus == Some(GpuList::None) { Vec::new() } else { visible.notes };
    let notes = assignment.notes.into_iter().chain(of_visible).collect();
    Ok(RankSetup { notes, slot, pool, place, drives: assignment.drives, variables })
}

/// The variables that show the program its GPUs; none where it is to see all.
fn shown(start: &Start, drives: &[VisibleGpu], asked: &Asked) -> Result<Vec<Variable>, ExecError> {
    if asked.shows_all { Ok(Vec::new()) } else { Ok(variables::gpus(start, drives)?) }
}

/// What is to be done where the node's places were found before: this rank's is taken.
fn from_places(
    start: &Start,
    slot: RankSlot,
    pool: Pool,
    visible: VisibleGpus,
    places: &[placement::Place],
    asked: &Asked,
    environment: &BTreeMap<String, String>,
) -> Result<RankSetup, ExecError> {
    let one = places.get(slot.local_rank).filter(|_| places.len() == slot.local_size);
    let one = one.ok_or(ExecError::PlaceCount { places: places.len(), ranks: slot.local_size })?;
    let gpu = one.target.as_ref().filter(|target| matches!(target.id, TargetId::Gpu(_)));
    let seen = |target: &Target| visible.gpus.iter().find(|seen| seen.target.id == target.id).cloned();
    let drives: Vec<VisibleGpu> = gpu.and_then(seen).into_iter().collect();
    if let (Some(target), []) = (gpu, &drives[..]) {
        return Err(ExecError::Hidden { rank: slot.local_rank, gpu: target.id });
    }
    let place = place::found(&start.topology, one, &asked.wish)?;
    let mut variables = shown(start, &drives, asked)?;
    variables.extend(variables::openmp(&start.topology, &place.pus, asked.wish.ask.smt, environment));
    Ok(RankSetup { notes: visible.notes, slot, pool, place, drives, variables })
}

/// Binds this thread's PUs and memory. Only the program comes after it.
///
/// # Errors
/// [`BindError`]: the kernel refused, or did otherwise.
pub fn bind(setup: &RankSetup) -> Result<(), BindError> {
    let RankBinding { pus, memory, memory_use, is_bound, .. } = &setup.place;
    if *is_bound {
        kernel::bind_cpus(pus).map_err(|source| BindError::Pus { pus: pus.clone(), source })?;
    }
    if !memory.is_empty() {
        kernel::bind_memory(memory, *memory_use).map_err(|source| BindError::Memory {
            nodes: memory.clone(),
            memory_use: *memory_use,
            source,
        })?;
    }
    Ok(())
}

/// Becomes the program, with the setup's variables; comes back only with why it could not.
pub fn become_program(setup: &RankSetup, program: &[OsString]) -> ProgramStartError {
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    environment.extend(setup.variables.iter().map(|(name, value)| ((*name).into(), value.into())));
    become_other(program, environment)
}

/// Becomes a program with this environment, in the place that this process is in; comes back only with why it
/// could not.
pub fn become_other(program: &[OsString], environment: BTreeMap<OsString, OsString>) -> ProgramStartError {
    let source = sys::program::become_program(program, environment);
    let name = program.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    ProgramStartError { name, source }
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
        Ok(Start { topology, visibility: vec![visible], hidden: IdSet::default(), rocr, step: None })
    }

    /// The first PU, the number of PUs and ROCR_VISIBLE_DEVICES of each of so many tasks of a step.
    fn tasks(start: &Start, tasks: usize) -> Result<Vec<(u32, usize, String)>, ExecError> {
        let one = |task: usize| {
            let (task, tasks) = (task.to_string(), tasks.to_string());
            let launch = Launch::sensed(|name| match name {
                "SLURM_STEP_ID" | "SLURM_NODEID" => Some("0".to_owned()),
                "SLURM_PROCID" | "SLURM_LOCALID" => Some(task.clone()),
                "SLURM_STEP_NUM_TASKS" | "SLURM_STEP_TASKS_PER_NODE" => Some(tasks.clone()),
                _ => None,
            });
            let setup = plan(&launch, start, &Asked::default(), &BTreeMap::new())?;
            let rocr = setup.variables.iter().find(|(name, _)| *name == "ROCR_VISIBLE_DEVICES");
            let pus = &setup.place.pus;
            Ok((
                pus.first().unwrap_or_default(),
                pus.len(),
                rocr.map(|(_, value)| value.clone()).unwrap_or_default(),
            ))
        };
        (0..tasks).map(one).collect()
    }

    #[test]
    fn a_rank_that_is_to_see_all_gpus_is_bound_near_its_own_and_none_is_hidden()
    -> Result<(), Box<dyn std::error::Error>> {
        let start = lumi_g()?;
        let launch = Launch {
            local_rank: Some(3),
            local_size: Some(8),
            launcher: launchers::Launcher::Torchrun,
            ..Launch::ALONE
        };
        let place = |shows_all| -> Result<(String, bool), ExecError> {
            let setup = plan(&launch, &start, &Asked { shows_all, ..Asked::default() }, &BTreeMap::new())?;
            let hides = setup.variables.iter().any(|(name, _)| name.ends_with("VISIBLE_DEVICES"));
            Ok((setup.place.pus.to_string(), hides))
        };
        let of = |shows_all| place(shows_all);
        assert_eq!((of(true)?, of(false)?), (("25-31".to_owned(), false), ("25-31".to_owned(), true)));
        Ok(())
    }

    #[test]
    fn a_worker_without_a_size_is_placed_by_the_one_gpu_it_was_given_and_refused_without_one()
    -> Result<(), Box<dyn std::error::Error>> {
        let worker = |name: &str| (name == "LOCAL_RANK").then(|| "5".to_owned());
        let plan = |start: &Start| plan(&Launch::sensed(worker), start, &Asked::default(), &BTreeMap::new());
        let mut start = lumi_g()?;
        let refused = plan(&start);
        assert!(
            matches!(refused, Err(ExecError::Slot(RankSlotError::Untold { .. }))),
            "the first GPU is not the sixth worker's: {refused:?}"
        );
        start.visibility[0].variables.insert("ROCR_VISIBLE_DEVICES".to_owned(), "5".to_owned());
        start.visibility[0].devices = start.visibility[0].devices.take().map(|all| all[5..6].to_vec());
        let setup = plan(&start)?;
        let driven: Vec<u32> = setup.drives.iter().map(|seen| seen.target.index).collect();
        assert_eq!((setup.place.pus.to_string(), driven), ("9-15".to_owned(), vec![5]));

        // Without the GPU nothing tells which of the node's cores are this worker's.
        let without = Asked { gpus: Some(GpuList::None), ..Asked::default() };
        let without = super::plan(&Launch::sensed(worker), &start, &without, &BTreeMap::new());
        assert!(matches!(without, Err(ExecError::Slot(RankSlotError::Untold { .. }))), "{without:?}");
        Ok(())
    }

    #[test]
    fn each_task_on_lumi_g_finds_the_published_place_by_itself() -> Result<(), Box<dyn std::error::Error>> {
        let start = lumi_g()?;
        let published = |pus: &[u32], step: usize| -> Vec<(u32, usize, String)> {
            pus.iter().enumerate().map(|(rank, pu)| (*pu, 7, (rank * step).to_string())).collect()
        };
        let eight = tasks(&start, 8)?;
        assert_eq!(eight, published(&[49, 57, 17, 25, 1, 9, 33, 41], 1));
        let half = tasks(&start, 4)?;
        assert_eq!(half, published(&[49, 17, 1, 33], 2));
        Ok(())
    }
}
