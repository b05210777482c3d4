//! Slurm's srun: what is known of it; its options are read in `options`, with the nodes that tasks go to
//! (`nodes`), and where they put ranks (`distribution`), memory (`memory`) and GPUs (`gpus`); with the job
//! that `salloc` starts around it.
//!
//! `SLURM_NTASKS` says what a job asked for, in its batch script too, which is one process; only a step's
//! variables say that this is one of several tasks. One case cannot be told apart: a batch script submitted
//! from inside a step of several tasks inherits that step's variables (`sbatch --export=NONE` avoids it), and
//! is refused rather than run as one of N. Left out: heterogeneous steps.

mod distribution;
mod gpu_types;
mod gpu_variables;
mod gpus;
mod memory;
mod nodes;
mod options;
pub(crate) mod salloc;

use placement::NodePlaces;
use ranks::{Flavour, Library};
use topo::Topology;

use crate::dialect::{Dialect, Situation, say};
use crate::facts::{LauncherFacts, MpiOption, OF_ANY, Proof, Reads, Sensed, SharedPus, Written};
use crate::interface::Interface;
use crate::layout::Tells;
use crate::variables::LauncherVariables;

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "srun",
    sensed,
    local_rank: &["SLURM_LOCALID"],
    local_size: tasks_here,
    number_of_nodes: Some("SLURM_STEP_NUM_NODES"),
    interface,
    tells: &[
        ("SLURM_LOCALID", Tells::LocalRank),
        ("SLURM_PROCID", Tells::Rank),
        ("SLURM_NTASKS", Tells::Size),
        ("SLURM_NPROCS", Tells::Size),
        ("SLURM_NODEID", Tells::Node),
        ("SLURM_STEP_ID", Tells::Launch),
    ],
    of_one_launch: &["SLURM_JOB_ID", "SLURM_STEP_ID", "SLURMD_NODENAME"],
    starters: &["slurmstepd"],
    shared_pus: SharedPus::OfStep,
    frees_from_affinity: "start the step with srun --cpu-bind=none, or bind the tasks there yourself (srun \
        --cpu-bind=map_cpu:…)",
    widens_cpuset: "ask for the whole node (sbatch or salloc --exclusive), for more CPUs a task (srun -c N), \
        or for what other steps of the job hold too (srun --overlap)",
    shows_devices: "show every task all GPUs of the step (srun --gpus-per-node=N --gpu-bind=none; \
        --gpus-per-task=1 hides the others), name them in the order in which Slurm bound them, or leave \
        --gpus out",
    belongs_to_one_mpi: false,
    mpi_option: |library| Some(mpi_option(library)),
    one_process: Some("srun -N1 -n1 --cpu-bind=none …"),
    reads: Reads::Own(&["srun"], options::read),
    writes: Some(written),
    leaves_unbound: &["--cpu-bind=none"],
    through_exec: "srun … numabench exec -- PROGRAM",
    ..OF_ANY
};

/// Step numbers from here on are Slurm's own: the batch script, the interactive step of `salloc` (`slurm.h`,
/// `SLURM_MAX_NORMAL_STEP_ID`).
const FIRST_SPECIAL_STEP: u64 = 0xffff_fff0;

/// A task of a step.
fn sensed(variables: &LauncherVariables<'_>) -> Option<Sensed> {
    // The step of a Flux instance has its brokers for tasks.
    let id = variables.get("SLURM_STEP_ID").filter(|_| !variables.is_set("FLUX_URI"))?;
    let is_of_tasks = id.parse().is_ok_and(|id: u64| id < FIRST_SPECIAL_STEP);
    let tasks = variables.number("SLURM_STEP_NUM_TASKS").filter(|_| is_of_tasks);
    Some(tasks.map_or(Sensed::Alone, |tasks| Sensed::one_of(tasks, "SLURM_PROCID")))
}

/// Tasks of this step on this node: the entry of SLURM_NODEID in a list such as `4(x2),3` (srun(1)).
fn tasks_here(variables: &LauncherVariables<'_>) -> Option<usize> {
    let node = variables.number("SLURM_NODEID")?;
    let tasks = ["SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"];
    tasks.iter().find_map(|name| entry(&variables.get(name)?, node))
}

/// The n-th number of `A,B(xTIMES),…`; `None` past its end, and for a text of another form.
fn entry(list: &str, at: usize) -> Option<usize> {
    let mut before = 0_usize;
    for item in list.split(',') {
        let (number, times) = match item.split_once("(x") {
            Some((number, times)) => (number, times.strip_suffix(')')?.parse().ok()?),
            None => (item, 1),
        };
        before = before.checked_add(times)?;
        if at < before {
            return number.trim().parse().ok();
        }
    }
    None
}

fn interface(variables: &LauncherVariables<'_>) -> Interface {
    match () {
        () if is_this_steps_pmix(variables) => Interface::Pmix,
        () if Interface::is_cray(variables) => Interface::Cray,
        () if Interface::is_pmi(variables) && is_this_steps_pmi(variables) => Interface::Pmi2,
        () => Interface::None,
    }
}

/// `srun` inside a shell of another `srun` inherits that one's variables, and `--mpi=none` does not take them
/// away. Slurm names its namespaces `slurm.pmix.JOB.STEP`; a name of another form is believed.
fn is_this_steps_pmix(variables: &LauncherVariables<'_>) -> bool {
    variables.get("PMIX_NAMESPACE").is_some_and(|name| match name.strip_prefix("slurm.pmix.") {
        Some(told) => job_and_step(variables).is_none_or(|own| own == told),
        None => true,
    })
}

/// As for PMIx: Slurm's `PMI_JOBID` is `JOB.STEP`.
fn is_this_steps_pmi(variables: &LauncherVariables<'_>) -> bool {
    match (variables.get("PMI_JOBID"), job_and_step(variables)) {
        (Some(told), Some(own)) => told == own,
        _ => true,
    }
}

/// `JOB.STEP`; nothing in a heterogeneous job, whose parts have numbers of their own.
fn job_and_step(variables: &LauncherVariables<'_>) -> Option<String> {
    let (job, step) = (variables.get("SLURM_JOB_ID")?, variables.get("SLURM_STEP_ID")?);
    (!variables.is_set("SLURM_HET_SIZE")).then(|| format!("{job}.{step}"))
}

fn mpi_option(library: &Library) -> MpiOption {
    let (offers, start) = match library.flavour {
        Flavour::OpenMpi => (Some(Interface::Pmix), "srun --mpi=pmix …"),
        Flavour::Mpich if library.name.starts_with("Intel") => {
            (Some(Interface::Pmi2), "srun --mpi=pmi2 … and I_MPI_PMI_LIBRARY set to Slurm's libpmi2.so")
        }
        Flavour::Mpich => (Some(Interface::Pmi2), "srun --mpi=pmi2 …"),
        Flavour::CrayMpich => (Some(Interface::Cray), "srun --mpi=cray_shasta …"),
        Flavour::Other => (None, "the srun --mpi=… that it needs"),
    };
    MpiOption { offers, start: format!("{start} (srun --mpi=list shows what this Slurm has)") }
}

/// The option that puts each rank in its place.
fn written(topology: &Topology, places: &NodePlaces, situation: &Situation) -> Result<Written, String> {
    let is_single = places.places.iter().all(|place| place.pus.len() == 1);
    let dialect = if is_single { Dialect::SrunMapCpu } else { Dialect::SrunMaskCpu };
    let text = format!("srun {}", say(topology, places, dialect, situation).usable()?);
    let line = format!("{text} -N1 -n{} PROGRAM", places.places.len());
    Ok(Written { text, proof: Proof::Lines(vec![line]) })
}

#[cfg(test)]
mod tests {
    use super::entry;

    #[test]
    fn slurms_list_is_counted_by_node() {
        for (list, at, tasks) in [
            ("4", 0, Some(4)),
            ("4", 1, None),
            ("2(x3),1", 0, Some(2)),
            ("2(x3),1", 2, Some(2)),
            ("2(x3),1", 3, Some(1)),
            ("2(x3),1", 4, None),
            ("8,7(x2)", 2, Some(7)),
            ("2(x3,1", 0, None),
            ("", 0, None),
            ("2(x99999999999999999999)", 0, None),
        ] {
            assert_eq!(entry(list, at), tasks, "{list} at {at}");
        }
    }
}
