//! The PUs that this node's ranks have together, and whether every one of them can know that.
//!
//! A launcher that binds each rank to a part of the node (srun's default, mpirun's) leaves a rank nothing to
//! choose from. So ranks take their cores in the launcher's place, from what it had to share out: what
//! Slurm's step has, or what the affinity of the launcher's own process is. That never goes beyond the
//! cgroup's cpuset, and where nobody says what the others have, a rank stays within what is its own.

use launchers::{Launcher, SharedPus};
use stats::IdSet;
use topo::Topology;
use topo::ancestor::Ancestor;
use topo::step::Step;

/// What a rank's cores are taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The PUs.
    pub pus: IdSet,
    /// Whose they are.
    pub owner: PoolOwner,
    /// How that is known, in words.
    pub how: String,
}

/// Whose the PUs of a pool are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolOwner {
    /// All ranks' of this node: each computes the same plan and takes its own part.
    AllRanks,
    /// This rank's: others have others, and which is not told.
    ThisRank,
    /// This rank's, and it keeps them as they are.
    Unchanged,
}

impl Pool {
    /// The pool of a rank that `launcher` started. `above` looks for a process above this one by its names.
    pub fn of(
        launcher: Launcher,
        topology: &Topology,
        step: Option<&Step>,
        above: impl FnOnce(&[&str]) -> Result<Ancestor, String>,
    ) -> Self {
        let own = &topology.allowed.pus;
        // Online, in the cpuset, and taken away by a binding only.
        let cpuset = topology.allowed.cpuset();
        let within = |pus: &IdSet, how: String| Self {
            pus: pus.and(&cpuset).or(own),
            owner: PoolOwner::AllRanks,
            how,
        };
        let stays = |why: String| Self { pus: own.clone(), owner: PoolOwner::ThisRank, how: why };
        if launcher == Launcher::Nobody {
            return within(own, "this process's affinity".to_owned());
        }
        if *own == cpuset {
            return within(own, format!("the cpuset, {} did not bind", launcher.name()));
        }

        match launcher.facts().shared_pus {
            SharedPus::OfStep => match step.map(|step| &step.cpus) {
                Some(cpus) if cpus.untold.is_empty() => within(
                    &cpus.usable.or(&cpus.other_tasks),
                    "the step's PUs, in place of srun's binding".to_owned(),
                ),
                Some(cpus) => stays(format!("what srun bound it to ({})", cpus.reason)),
                None => stays("what srun bound it to (it is in no step that can be read)".to_owned()),
            },
            SharedPus::OfDaemons(names) => match above(names) {
                Ok(found) => {
                    within(&found.affinity, format!("the PUs of {} (process {})", found.name, found.pid))
                }
                Err(why) => stays(format!("what {} bound it to ({why})", launcher.name())),
            },
            SharedPus::OfRank(how) => within(own, how.to_owned()),
        }
    }

    /// The PUs of this process, which it keeps.
    pub fn kept(topology: &Topology) -> Self {
        let how = "kept as they were (--keep-cpus)".to_owned();
        Self { pus: topology.allowed.pus.clone(), owner: PoolOwner::Unchanged, how }
    }
}

#[cfg(test)]
mod tests {
    use topo::step::{GpuShare, StepShare};

    use super::*;
    use crate::machine::{machine, set};

    /// The machine as a process bound to these PUs finds it.
    fn bound_to(pus: &str) -> Topology {
        machine().restricted_to(&set(pus))
    }

    fn step(usable: &str, other_tasks: &str, untold: &str) -> Step {
        let cpus = StepShare {
            usable: set(usable),
            other_tasks: set(other_tasks),
            untold: set(untold),
            reason: "SLURM_CPUS_ON_NODE=9".to_owned(),
            ..StepShare::default()
        };
        let gpus = GpuShare { numbers: None, other_numbers: set(""), share: StepShare::default() };
        let words = |text: &str| text.to_owned();
        Step { scheduler: words("slurm"), job: words("1"), step: words("0"), node: None, cpus, gpus }
    }

    fn nobody(_: &[&str]) -> Result<Ancestor, String> {
        Err("no process above this one is called mpirun".to_owned())
    }

    #[test]
    fn a_process_on_its_own_has_its_affinity() {
        let pool = Pool::of(Launcher::Nobody, &bound_to("1-2"), None, nobody);
        assert_eq!((pool.pus, pool.owner), (set("1-2"), PoolOwner::AllRanks));
    }

    #[test]
    fn tasks_that_srun_bound_have_the_steps_pus_together() {
        let pool = Pool::of(Launcher::Srun, &bound_to("0"), Some(&step("0", "1-7", "")), nobody);
        assert_eq!((pool.pus, pool.owner), (set("0-7"), PoolOwner::AllRanks));
        let whole = Pool::of(Launcher::Srun, &bound_to("0-3"), Some(&step("0-3", "", "")), nobody);
        assert_eq!(
            (whole.pus, whole.owner),
            (set("0-3"), PoolOwner::AllRanks),
            "one task with all of its step"
        );
    }

    #[test]
    fn what_slurm_does_not_tell_keeps_a_task_within_its_own() {
        let pool = Pool::of(Launcher::Srun, &bound_to("0"), Some(&step("0", "", "1-7")), nobody);
        assert_eq!((pool.pus, pool.owner), (set("0"), PoolOwner::ThisRank));
        assert!(pool.how.contains("SLURM_CPUS_ON_NODE=9"), "{}", pool.how);
        assert_eq!(Pool::of(Launcher::Srun, &bound_to("0"), None, nobody).owner, PoolOwner::ThisRank);
    }

    #[test]
    fn ranks_of_mpirun_have_what_mpirun_has_and_never_more_than_the_cpuset() {
        let mut topology = bound_to("2");
        topology.allowed.not_in_affinity_pus = set("0-1,3");
        topology.allowed.not_in_cgroup_pus = set("4-7");
        let above = |names: &[&str]| {
            assert!(names.contains(&"orted"), "{names:?}");
            Ok(Ancestor { name: "orted".to_owned(), pid: 7, affinity: set("0-5") })
        };
        let pool = Pool::of(Launcher::Mpirun, &topology, None, above);
        assert_eq!((pool.pus, pool.owner), (set("0-3"), PoolOwner::AllRanks));
        assert_eq!(pool.how, "the PUs of orted (process 7)");
        let unseen = Pool::of(Launcher::Mpirun, &topology, None, nobody);
        assert_eq!((unseen.pus, unseen.owner), (set("2"), PoolOwner::ThisRank));
    }

    #[test]
    fn a_launcher_that_did_not_bind_is_not_looked_for() {
        let pool = Pool::of(Launcher::Hydra, &machine(), None, |_| Err("asked".to_owned()));
        assert_eq!(pool.owner, PoolOwner::AllRanks);
        assert_eq!(pool.pus, machine().allowed.pus);
    }

    #[test]
    fn pus_that_are_kept_are_this_processs() {
        let pool = Pool::kept(&bound_to("3"));
        assert_eq!((pool.pus, pool.owner), (set("3"), PoolOwner::Unchanged));
    }
}
