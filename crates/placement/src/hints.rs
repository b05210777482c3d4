//! What a refusal says to change, where only the caller knows who started the processes.
//!
//! The planner knows the machine and what was asked, not the launcher: which option of `srun` or `mpirun`
//! frees a PU is the caller's to say.

/// Endings for refusals, each after "choose one of these, or …".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedies {
    /// For a PU outside the affinity a process was started with.
    pub not_in_affinity: String,
    /// For a PU outside its cpuset.
    pub not_in_cgroup: String,
    /// For a device that others see and it does not.
    pub hidden_device: String,
}

impl Default for Remedies {
    /// For whoever does not know what started the process.
    fn default() -> Self {
        Self {
            not_in_affinity: "start without the binding (taskset, numactl, srun --cpu-bind=none)".to_owned(),
            not_in_cgroup: "ask for the whole node (Slurm: --exclusive)".to_owned(),
            hidden_device: "show every process all devices, or leave --gpus out".to_owned(),
        }
    }
}
