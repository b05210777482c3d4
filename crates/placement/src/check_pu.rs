//! Whether a PU asked for can be had; if not, why, and which ones can.

use stats::IdSet;
use topo::model::{PuStatus, Topology};

use crate::Remedies;
use crate::member::Owner;

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
        "PU {pu} is outside {owner}'s cpuset (a reserved core, or not part of this job step); allowed here: \
         {allowed}; choose one of these, or {remedy}"
    )]
    NotInCgroup {
        /// The PU asked for.
        pu: u32,
        /// The process that was to use it.
        owner: String,
        /// The allowed ones.
        allowed: IdSet,
        /// What to change.
        remedy: String,
    },
    /// Outside the affinity.
    #[error(
        "PU {pu} is outside the affinity {owner} was started with; allowed here: {allowed}; choose one of \
         these, or {remedy}"
    )]
    NotInAffinity {
        /// The PU asked for.
        pu: u32,
        /// The process that was to use it.
        owner: String,
        /// The allowed ones.
        allowed: IdSet,
        /// What to change.
        remedy: String,
    },
}

/// Whether a rank of `owner` can be bound to `pu`.
pub(crate) fn check_pu(
    topology: &Topology,
    owner: Owner<'_>,
    pu: u32,
    remedies: &Remedies,
) -> Result<(), PuError> {
    let (allowed, name) = (owner.allowed.pus.clone(), owner.name.to_owned());
    match owner.status(topology, pu) {
        Some(PuStatus::Allowed) => Ok(()),
        Some(PuStatus::Offline) => Err(PuError::Offline { pu, allowed }),
        Some(PuStatus::NotInCgroup) => {
            Err(PuError::NotInCgroup { pu, owner: name, allowed, remedy: remedies.not_in_cgroup.clone() })
        }
        Some(PuStatus::NotInAffinity) => {
            Err(PuError::NotInAffinity { pu, owner: name, allowed, remedy: remedies.not_in_affinity.clone() })
        }
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

    fn checked(topology: &Topology, pu: u32) -> Result<(), PuError> {
        check_pu(topology, Owner::this_process(topology), pu, &Remedies::default())
    }

    #[test]
    fn each_reason_a_pu_cannot_be_had_is_told_apart_and_shows_what_can() {
        let topology = without(machine(), "2", PuStatus::Offline);
        let topology = without(topology, "3,11", PuStatus::NotInCgroup);
        let topology = without(topology, "4-7,12-17", PuStatus::NotInAffinity);
        let allowed = set("0-1,8-10");
        let (owner, remedies) = ("this process".to_owned(), Remedies::default());
        assert_eq!(checked(&topology, 1), Ok(()));
        assert_eq!(checked(&topology, 2), Err(PuError::Offline { pu: 2, allowed: allowed.clone() }));
        let (remedy, of) = (remedies.not_in_cgroup, owner.clone());

        assert_eq!(
            checked(&topology, 11),
            Err(PuError::NotInCgroup { pu: 11, owner: of, allowed: allowed.clone(), remedy })
        );
        let remedy = remedies.not_in_affinity;
        assert_eq!(
            checked(&topology, 4),
            Err(PuError::NotInAffinity { pu: 4, owner, allowed: allowed.clone(), remedy })
        );
        assert_eq!(checked(&topology, 18), Err(PuError::Unknown { pu: 18, existing: set("0-17"), allowed }));
    }

    #[test]
    fn every_refusal_names_the_pu_and_prints_the_allowed_list() {
        let lost = [PuStatus::Offline, PuStatus::NotInCgroup, PuStatus::NotInAffinity];
        let refused = lost.map(|status| checked(&without(machine(), "7", status), 7));
        let refused = refused.into_iter().chain([checked(&without(machine(), "7", PuStatus::Offline), 99)]);
        let texts: Vec<String> = refused.map(|refusal| refusal.expect_err("a refusal").to_string()).collect();
        assert!(texts.iter().all(|text| text.contains("0-6,8-17")), "{texts:?}");
        insta::assert_snapshot!("refused_pus", texts.join("\n"));
    }

    #[test]
    fn a_refusal_ends_with_what_the_caller_says_to_change() {
        let remedies = Remedies {
            not_in_affinity: "free it".to_owned(),
            not_in_cgroup: "widen it".to_owned(),
            ..Remedies::default()
        };
        let refused = [PuStatus::NotInAffinity, PuStatus::NotInCgroup].map(|status| {
            let topology = without(machine(), "7", status);
            let refused = check_pu(&topology, Owner::this_process(&topology), 7, &remedies);
            refused.map_or_else(|error| error.to_string(), |()| "allowed".to_owned())
        });
        insta::assert_snapshot!(refused.join("\n"), @"
        PU 7 is outside the affinity this process was started with; allowed here: 0-6,8-17; choose one of these, or free it
        PU 7 is outside this process's cpuset (a reserved core, or not part of this job step); allowed here: 0-6,8-17; choose one of these, or widen it
        ");
    }

    #[test]
    fn what_a_process_may_use_is_its_own_word_whatever_the_reader_may_use() {
        let reader = without(without(machine(), "0", PuStatus::NotInCgroup), "1", PuStatus::NotInAffinity);
        let whole = machine();
        for pu in [0, 1] {
            let owner = Owner { name: "rank 3", allowed: &whole.allowed };
            assert_eq!(check_pu(&reader, owner, pu, &Remedies::default()), Ok(()));
            let owner = Owner { name: "rank 3", allowed: &reader.allowed };
            let text = check_pu(&whole, owner, pu, &Remedies::default())
                .map_or_else(|e| e.to_string(), |()| String::new());
            assert!(
                text.contains(
                    ["outside rank 3's cpuset", "the affinity rank 3 was started with"][pu as usize]
                ),
                "{text}"
            );
        }
    }
}
