//! Whether a PU asked for can be had; if not, why, and which ones can.

use stats::IdSet;
use topo::model::{PuStatus, Topology};

/// A PU that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PuError {
    /// No such PU.
    #[error("PU {pu} does not exist on this machine: its PUs are {existing}; allowed here: {allowed}")]
    Unknown {
        /// The PU asked for.
        pu: u32,
        /// All PUs.
        existing: IdSet,
        /// The allowed ones.
        allowed: IdSet,
    },
    /// Offline.
    #[error("PU {pu} is offline (switched off in the kernel, or SMT is off); allowed here: {allowed}")]
    Offline {
        /// The PU asked for.
        pu: u32,
        /// The allowed ones.
        allowed: IdSet,
    },
    /// Outside the cgroup's cpuset.
    #[error(
        "PU {pu} is outside this process's cpuset (a reserved core, or not part of this job step); allowed here: {allowed}; \
         choose one of these, or ask for the whole node (srun --exclusive)"
    )]
    NotInCgroup {
        /// The PU asked for.
        pu: u32,
        /// The allowed ones.
        allowed: IdSet,
    },
    /// Outside the affinity.
    #[error(
        "PU {pu} is outside the affinity this process was started with (taskset, numactl or srun --cpu-bind); allowed here: \
         {allowed}; choose one of these, or start without the binding (srun --cpu-bind=none)"
    )]
    NotInAffinity {
        /// The PU asked for.
        pu: u32,
        /// The allowed ones.
        allowed: IdSet,
    },
}

/// Whether this process can bind to `pu`.
pub(crate) fn check_pu(topology: &Topology, pu: u32) -> Result<(), PuError> {
    let allowed = topology.allowed.pus.clone();
    match topology.pus.iter().find(|p| p.os_index == pu).map(|p| p.status) {
        Some(PuStatus::Allowed) => Ok(()),
        Some(PuStatus::Offline) => Err(PuError::Offline { pu, allowed }),
        Some(PuStatus::NotInCgroup) => Err(PuError::NotInCgroup { pu, allowed }),
        Some(PuStatus::NotInAffinity) => Err(PuError::NotInAffinity { pu, allowed }),
        None => {
            let existing = topology.pus.iter().map(|p| p.os_index).collect();
            Err(PuError::Unknown { pu, existing, allowed })
        }
    }
}
