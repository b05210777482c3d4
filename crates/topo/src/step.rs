//! The job step that this process runs in: what of the node is the step's, and what is not.
//!
//! What a process may use is known (`Topology::allowed`, device files); what its *step* may use is not the
//! same where a launcher binds each task to a part of it. So each resource is split four ways, and what
//! neither the kernel nor Slurm tells stays untold. Slurm's variables are read, its commands are not called:
//! `scontrol` takes a while, and may be refused. Left out: what the visible-devices variables mean to a GPU
//! runtime, and memory limits.

mod device_access;
mod slurm_env;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;

use crate::fs_root::FsRoot;
use crate::model::{Gpu, Topology};
pub(crate) use device_access::{Access, device_access, device_file, open_agents};
use slurm_env::SlurmEnv;

/// A job step, or a batch script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The program that runs the job: `slurm`.
    pub scheduler: String,
    /// The job's number.
    pub job: String,
    /// The step's number, or its name: `batch` for the batch script, `interactive` for a shell in the job.
    pub step: String,
    /// The name that the scheduler has for this node.
    pub node: Option<String>,
    /// PUs, by OS index.
    pub cpus: StepShare,
    /// GPUs.
    pub gpus: GpuShare,
}

/// How the machine's units of one kind are divided. The four sets have no id in common and are all there is
/// online.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Share")]
pub struct StepShare {
    /// How many the scheduler says that the step has on this node; null where it does not say.
    pub count: Option<u32>,
    /// What this task may use.
    pub usable: IdSet,
    /// In the step, but other tasks'.
    pub other_tasks: IdSet,
    /// Not in the step.
    pub not_in_step: IdSet,
    /// In the step for other tasks, or not in it: nobody says.
    pub untold: IdSet,
    /// How this is known, and why something is untold.
    pub reason: String,
}

/// The GPUs of the step, as the scheduler numbers them and as the machine has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuShare {
    /// The scheduler's numbers of this task's GPUs: places in its own list of the node's GPUs, from 0. Null
    /// where it says none.
    pub numbers: Option<IdSet>,
    /// Its numbers of the GPUs on this node that are the job's but not this step's, as far as it says.
    pub other_numbers: IdSet,
    /// The same by `index` of `gpus`. With none usable and none else where the machine shows no GPU to map
    /// the numbers to.
    #[serde(flatten)]
    pub share: StepShare,
}

/// The step that this process is in, on this machine; `None` outside of any.
pub(crate) fn here(topology: &Topology) -> Option<Step> {
    let variable = |name: &str| std::env::var(name).ok();
    // A root of its own: what is read of other processes and of drivers here does not belong in a saved
    // machine.
    let root = FsRoot::default();
    let told = SlurmEnv::slurm(&variable, &root)?;
    let access: Vec<Access> = topology.gpus.iter().map(|gpu| device_access(&root, gpu.pci)).collect();
    Some(step(told, topology, &access))
}

/// `access` has an entry for each of the topology's GPUs.
fn step(told: SlurmEnv, topology: &Topology, access: &[Access]) -> Step {
    Step {
        scheduler: "slurm".to_owned(),
        cpus: cpus(&told, topology),
        gpus: gpus(&told, &topology.gpus, access),
        job: told.job,
        step: told.step,
        node: told.node,
    }
}

fn cpus(told: &SlurmEnv, topology: &Topology) -> StepShare {
    let allowed = &topology.allowed;
    let mut share =
        StepShare::counted("SLURM_CPUS_ON_NODE", told.cpus, &allowed.pus, &allowed.not_in_affinity_pus);
    share.not_in_step = share.not_in_step.or(&allowed.not_in_cgroup_pus);
    share
}

fn gpus(told: &SlurmEnv, gpus: &[Gpu], access: &[Access]) -> GpuShare {
    let all: IdSet = gpus.iter().map(|gpu| gpu.index).collect();
    let with = |wanted: Access| -> IdSet {
        gpus.iter().zip(access).filter(|(_, access)| **access == wanted).map(|(gpu, _)| gpu.index).collect()
    };
    let (open, refused, missing) = (with(Access::Open), with(Access::Refused), with(Access::Missing));
    let numbers = told.gpu_numbers.as_ref().filter(|numbers| numbers.is_subset(&all));
    let share = if all.is_empty() {
        StepShare { reason: no_pci(told), ..StepShare::default() }
    } else if !open.is_empty() && open.or(&refused).or(&missing) == all && open != all {
        // Proof, and not only a promise: the kernel answers for the files.
        let usable = numbers.filter(|numbers| numbers.is_subset(&open)).unwrap_or(&open).clone();
        // Slurm confines a step, and within it each task that has GPUs of its own: where the step has more
        // than are open here, the others are other tasks', all of them or some.
        let is_of_task = told.gpus.is_some_and(|count| count as usize > open.len());
        let is_all = told.gpus.is_some_and(|count| count as usize >= all.len());
        let by = if is_of_task { "task" } else { "step" };
        let how = match refused.is_empty() {
            true => "are not here".to_owned(),
            false => format!("are refused to this {by} (device cgroup)"),
        };

        let (closed, none) = (all.minus(&open), IdSet::default());
        let (others, not_in_step, untold) = match (is_of_task, is_all) {
            (false, _) => (none.clone(), closed, none),
            (true, true) => (closed, none.clone(), none),
            (true, false) => (none.clone(), none, closed),
        };
        StepShare {
            other_tasks: open.minus(&usable).or(&others),
            not_in_step,
            untold,
            usable,
            reason: format!("the device files of the others {how}"),
            ..StepShare::default()
        }
    } else if let Some(numbers) = numbers {
        let mut share = StepShare::counted("SLURM_GPUS_ON_NODE", told.gpus, numbers, &all.minus(numbers));
        share.reason = format!("{}; Slurm's n-th GPU is taken for the n-th in PCI order", share.reason);
        share
    } else {
        by_count(told, all)
    };

    GpuShare {
        numbers: told.gpu_numbers.clone(),
        other_numbers: told.other_gpu_numbers.clone(),
        share: StepShare { count: told.gpus, ..share },
    }
}

fn no_pci(told: &SlurmEnv) -> String {
    match (&told.gpu_numbers, told.gpus) {
        (None, None) => "Slurm names no GPU for this step, and none is among the PCI devices".to_owned(),
        _ => "no GPU is among the PCI devices, so Slurm's numbers have no address".to_owned(),
    }
}

/// Where Slurm's numbers are missing, or are not places among the machine's GPUs.
fn by_count(told: &SlurmEnv, all: IdSet) -> StepShare {
    let on_node = u32::try_from(all.len()).unwrap_or(u32::MAX);
    let reason = match (&told.gpu_numbers, told.gpus) {
        (_, Some(count)) if count >= on_node => {
            let reason = format!("SLURM_GPUS_ON_NODE={count}: all of the node's");
            return StepShare { usable: all, reason, ..StepShare::default() };
        }
        (Some(numbers), _) => {
            format!("Slurm's numbers {numbers} are not places among the {on_node} GPUs here")
        }
        (None, Some(count)) => {
            format!("SLURM_GPUS_ON_NODE={count}; Slurm does not say which ones, and nothing hides the others")
        }
        (None, None) => "Slurm names no GPU for this step, and nothing hides the node's: a site that does \
            not count GPUs gives them all"
            .to_owned(),
    };

    StepShare { untold: all, reason, ..StepShare::default() }
}

impl StepShare {
    /// `usable` and `rest`, judged by the number that `variable` gives of the step.
    fn counted(variable: &str, count: Option<u32>, usable: &IdSet, rest: &IdSet) -> Self {
        let mut share = Self { count, usable: usable.clone(), ..Self::default() };
        let number = |set: &IdSet| u32::try_from(set.len()).unwrap_or(u32::MAX);
        let (own, others) = (number(usable), number(rest));
        let (place, reason) = match count {
            None => (&mut share.untold, format!("{variable} is not set")),
            Some(count) if count < own => (
                &mut share.not_in_step,
                format!("{variable}={count}, but nothing holds this task to fewer than {own}"),
            ),
            Some(count) if count == own => (&mut share.not_in_step, format!("{variable}={count}")),
            Some(count) if count >= own.saturating_add(others) => {
                (&mut share.other_tasks, format!("{variable}={count}"))
            }
            Some(count) => (
                &mut share.untold,
                format!(
                    "{variable}={count}: this task cannot see which {} of the others are in the step",
                    count - own
                ),
            ),
        };

        *place = rest.clone();
        share.reason = reason;
        share
    }

    /// Whether this task may use all that the step has.
    pub fn is_whole_step(&self) -> bool {
        self.other_tasks.is_empty() && self.untold.is_empty()
    }
}

#[cfg(test)]
mod tests;
