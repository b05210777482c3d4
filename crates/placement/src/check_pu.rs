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
    match topology.pu(pu).map(|p| p.status) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{machine, set, without};

    #[test]
    fn each_reason_a_pu_cannot_be_had_is_told_apart_and_shows_what_can() {
        let topology = without(machine(), "2", PuStatus::Offline);
        let topology = without(topology, "3,11", PuStatus::NotInCgroup);
        let topology = without(topology, "4-7,12-17", PuStatus::NotInAffinity);
        let allowed = set("0-1,8-10");
        assert_eq!(check_pu(&topology, 1), Ok(()));
        assert_eq!(check_pu(&topology, 2), Err(PuError::Offline { pu: 2, allowed: allowed.clone() }));
        assert_eq!(check_pu(&topology, 11), Err(PuError::NotInCgroup { pu: 11, allowed: allowed.clone() }));
        assert_eq!(check_pu(&topology, 4), Err(PuError::NotInAffinity { pu: 4, allowed: allowed.clone() }));
        assert_eq!(check_pu(&topology, 18), Err(PuError::Unknown { pu: 18, existing: set("0-17"), allowed }));
    }

    #[test]
    fn every_refusal_names_the_pu_and_prints_the_allowed_list() {
        let lost = [PuStatus::Offline, PuStatus::NotInCgroup, PuStatus::NotInAffinity];
        let refused = lost.map(|status| check_pu(&without(machine(), "7", status), 7));
        for refusal in refused.into_iter().chain([check_pu(&without(machine(), "7", PuStatus::Offline), 99)]) {
            let text = refusal.map_or_else(|error| error.to_string(), |()| "allowed".to_owned());
            assert!(text.contains("allowed here: 0-6,8-17"), "{text}");
            assert!(text.starts_with("PU 7 ") || text.starts_with("PU 99 "), "{text}");
        }
    }
}
