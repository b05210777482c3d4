//! What Slurm tells a task in its variables (srun(1), "OUTPUT ENVIRONMENT VARIABLES"; sbatch(1)).
//!
//! Variables are inherited: `sbatch` from within a step hands that step's SLURM_STEP_* on to the batch
//! script, which is no step (seen with 22.05). So the title of the process that started the task,
//! `slurmstepd: [JOB.STEP]`, has the last word where it can be read.

use stats::IdSet;

use crate::fs_root::FsRoot;

/// The batch script's step, in Slurm's words.
const BATCH: &str = "batch";

/// What was told. Numbers of GPUs are places in Slurm's list of the node's GPUs, whatever a device cgroup
/// renumbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SlurmEnv {
    pub(super) job: String,
    pub(super) step: String,
    pub(super) node: Option<String>,
    /// CPUs of the step on this node.
    pub(super) cpus: Option<u32>,
    /// GPUs of the step on this node.
    pub(super) gpus: Option<u32>,
    /// GPUs of this task.
    pub(super) gpu_numbers: Option<IdSet>,
    /// GPUs of the job on this node that are not the step's.
    pub(super) other_gpu_numbers: IdSet,
}

impl SlurmEnv {
    /// What Slurm told this process; `None` outside of its jobs, and in a shell that only waits for one
    /// (`salloc` on a login node), which no slurmd has started.
    pub(super) fn slurm(variable: &impl Fn(&str) -> Option<String>, root: &FsRoot) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let job = set("SLURM_JOB_ID")?;
        let node = set("SLURMD_NODENAME");
        let titled = set("SLURM_TASK_PID").and_then(|pid| starter(root, &pid));
        let titled = titled.and_then(|title| title.strip_prefix(&job)?.strip_prefix('.').map(str::to_owned));
        let step = match (titled, set("SLURM_STEP_ID"), &node) {
            (Some(step), ..) => step,
            (None, Some(number), _) => named(&number).to_owned(),
            (None, None, Some(_)) => BATCH.to_owned(),
            (None, None, None) => return None,
        };
        let count = |name: &str| set(name)?.parse().ok();
        let numbers = |name: &str| set(name)?.parse::<IdSet>().ok();
        let of_job = numbers("SLURM_JOB_GPUS");
        let (gpu_numbers, other_gpu_numbers) = if step == BATCH {
            (of_job, IdSet::default())
        } else {
            let own = numbers("SLURM_STEP_GPUS");
            // SLURM_JOB_GPUS is the batch script's, so of its node: that is this one where the job has no
            // other.
            let one_node = set("SLURM_JOB_NUM_NODES").as_deref() == Some("1");
            let others = match (&own, of_job.filter(|_| one_node)) {
                (Some(own), Some(of_job)) => of_job.minus(own),
                _ => IdSet::default(),
            };
            (own, others)
        };
        let (cpus, gpus) = (count("SLURM_CPUS_ON_NODE"), count("SLURM_GPUS_ON_NODE"));

        Some(Self { job, step, node, cpus, gpus, gpu_numbers, other_gpu_numbers })
    }
}

/// `JOB.STEP` in the title of the slurmstepd that started the task.
fn starter(root: &FsRoot, task: &str) -> Option<String> {
    let _number: u32 = task.parse().ok()?;
    let stat = root.first_line(&format!("/proc/{task}/stat")).ok()?;
    // `PID (NAME) STATE PPID …`; the name may hold anything.
    let parent: u32 = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
    let title = root.first_line(&format!("/proc/{parent}/cmdline")).ok()?;
    let inside = title.strip_prefix("slurmstepd: [")?;
    Some(inside.split_once(']')?.0.to_owned())
}

/// The steps that have a name, by the numbers that SLURM_STEP_ID has for them (slurm.h: SLURM_BATCH_SCRIPT
/// and others).
fn named(number: &str) -> &str {
    match number {
        "4294967291" => BATCH,
        "4294967290" => "interactive",
        other => other,
    }
}
