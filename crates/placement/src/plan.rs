//! The plan for ranks that are threads of one process: which PU, memory node and device each one gets.

use stats::IdList;
use stats::units::counted;
use topo::model::Topology;

use crate::member::Owner;
use crate::rank_plan::{RankRequest, plan_ranks};
use crate::{Plan, RankPlanError, Remedies, Request, SelectionError, Target};

/// No plan can be made of the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Lists of unequal lengths.
    #[error(
        "--cpus names {} ({cpu_list}) and --gpus names {}: rank i takes the i-th of each, so give both the \
         same length",
        counted(*cpus, "PU"), counted(*gpus, "device")
    )]
    Lengths {
        /// PUs named.
        cpus: usize,
        /// The list of PUs.
        cpu_list: IdList,
        /// Devices named.
        gpus: usize,
    },
    /// More PUs than devices to pair them with.
    #[error(
        "--cpus names {} but there {} only {}: say which device each rank uses with --gpus (one may appear \
         more than once; where there is no GPU, with --backend host beside it)",
        counted(*cpus, "PU"), if *devices == 1 { "is" } else { "are" }, counted(*devices, "device")
    )]
    MorePusThanDevices {
        /// PUs named.
        cpus: usize,
        /// Devices there are.
        devices: usize,
    },
    /// Nothing to copy to.
    #[error("there is no device to copy to")]
    NoTarget,
    /// A rank that cannot have its place.
    #[error(transparent)]
    Rank(#[from] RankPlanError),
    /// A device that is not there.
    #[error(transparent)]
    Selection(#[from] SelectionError),
}

/// Plans the ranks of `request` on `topology`.
///
/// # Errors
/// Every way a request can fail to fit the machine, each naming what would fit.
pub fn plan(topology: &Topology, request: &Request) -> Result<Plan, PlanError> {
    let owner = Owner::this_process(topology);
    let pu = |rank: usize| request.cpus.as_ref().and_then(|cpus| cpus.0.get(rank)).copied();
    let requests = targets(request)?.into_iter().enumerate().map(|(rank, target)| RankRequest {
        owner,
        pu: pu(rank),
        target,
    });
    Ok(plan_ranks(topology, requests.collect(), &request.membind, &Remedies::default())?)
}

/// One target a rank: those asked for, or the first ones, or all.
fn targets(request: &Request) -> Result<Vec<Target>, PlanError> {
    let available = &request.available;
    if available.is_empty() && request.targets.is_none() {
        return Err(PlanError::NoTarget);
    }
    let targets = match (&request.targets, &request.cpus) {
        (Some(targets), Some(cpus)) if targets.len() != cpus.0.len() => {
            return Err(PlanError::Lengths {
                cpus: cpus.0.len(),
                cpu_list: cpus.clone(),
                gpus: targets.len(),
            });
        }
        (Some(targets), _) => targets.clone(),
        (None, Some(cpus)) if cpus.0.len() > available.len() => {
            return Err(PlanError::MorePusThanDevices { cpus: cpus.0.len(), devices: available.len() });
        }
        (None, Some(cpus)) => available[..cpus.0.len()].to_vec(),
        (None, None) => available.clone(),
    };

    if targets.is_empty() { Err(PlanError::NoTarget) } else { Ok(targets) }
}

#[cfg(test)]
mod tests {
    use topo::model::PuStatus;

    use super::*;
    use crate::machine::{machine, without, without_nodes};
    use crate::{ChosenBy, Closeness, Membind, NodeError, PuError};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// A request as typed: `gpus` by index.
    fn request(topology: &Topology, cpus: Option<&str>, gpus: Option<&[usize]>) -> Request {
        let available = Target::gpus_of(topology);
        Request {
            cpus: cpus.map(|text| text.parse().expect("a list of PUs")),
            targets: gpus.map(|gpus| gpus.iter().map(|index| available[*index].clone()).collect()),
            available,
            membind: Membind::Local,
        }
    }

    fn pus(plan: &Plan) -> Vec<u32> {
        plan.ranks.iter().map(|rank| rank.pu).collect()
    }

    #[test]
    fn rank_i_takes_the_ith_pu_and_the_ith_device() -> Outcome {
        let topology = machine();
        let plan = plan(&topology, &request(&topology, Some("7,0"), Some(&[1, 0])))?;
        let rows: Vec<_> = plan.ranks.iter().map(|r| (r.rank, r.pu, r.memory_node, r.target.index)).collect();
        assert_eq!(rows, [(0, 7, 1, 1), (1, 0, 0, 0)]);
        for rank in &plan.ranks {
            assert_eq!((&rank.chosen_by, rank.verdict.closeness), (&ChosenBy::Asked, Closeness::L3Local));
        }
        assert_eq!(plan.notes, [""; 0]);
        Ok(())
    }

    #[test]
    fn without_pus_every_device_gets_a_core_of_its_own_domain() -> Outcome {
        let topology = machine();
        let plan = plan(&topology, &request(&topology, None, None))?;
        assert_eq!(pus(&plan), [0, 6, 4, 1, 2]);
        Ok(())
    }

    #[test]
    fn ranks_that_share_a_device_get_cores_of_their_own() -> Outcome {
        let topology = machine();
        let plan = plan(&topology, &request(&topology, None, Some(&[0, 0, 0, 0, 0])))?;
        assert_eq!(pus(&plan), [0, 1, 8, 9, 0]);
        insta::assert_snapshot!("notes_on_a_pu_for_two", plan.notes.join("\n"));
        Ok(())
    }

    #[test]
    fn a_pu_asked_for_twice_is_given_twice_and_said_once() -> Outcome {
        let topology = machine();
        let plan = plan(&topology, &request(&topology, Some("16,16,5,16"), Some(&[0, 1, 2, 2])))?;
        assert_eq!(pus(&plan), [16, 16, 5, 16]);
        // Once, and once that PU 16 has no memory of its own.
        insta::assert_snapshot!("notes_on_a_pu_asked_for_twice", plan.notes.join("\n"));
        Ok(())
    }

    #[test]
    fn lists_of_unequal_lengths_are_refused_with_both_numbers() {
        let topology = machine();
        let mut said = Vec::new();
        for (list, count, gpus) in [("0-2", 3, &[0, 1]), ("5", 1, &[0, 0])] {
            let refused = plan(&topology, &request(&topology, Some(list), Some(gpus)));
            let Err(error @ PlanError::Lengths { .. }) = refused else { panic!("{refused:?}") };
            assert!(
                matches!(&error, PlanError::Lengths { cpus, gpus: 2, .. } if *cpus == count),
                "{error:?}"
            );
            said.push(error.to_string());
        }
        insta::assert_snapshot!("refused_lengths", said.join("\n"));
    }

    #[test]
    fn pus_alone_take_the_first_devices_and_no_more_than_there_are() -> Outcome {
        let topology = machine();
        let two = plan(&topology, &request(&topology, Some("3,4"), None))?;
        assert_eq!(two.ranks.iter().map(|rank| rank.target.index).collect::<Vec<_>>(), [0, 1]);
        let refused = plan(&topology, &request(&topology, Some("0-5"), None));
        let Err(error @ PlanError::MorePusThanDevices { cpus: 6, devices: 5 }) = refused else {
            panic!("{refused:?}")
        };
        insta::assert_snapshot!("refused_for_more_pus", error);
        Ok(())
    }

    #[test]
    fn nothing_to_copy_to_is_said_as_that_whatever_else_was_asked() {
        let mut topology = machine();
        topology.gpus.clear();
        for cpus in [None, Some("0-1")] {
            assert_eq!(
                plan(&topology, &request(&topology, cpus, None)),
                Err(PlanError::NoTarget),
                "{cpus:?}"
            );
        }
    }

    #[test]
    fn a_process_without_pus_is_told_so() {
        let topology = without(machine(), "0-17", PuStatus::NotInAffinity);
        assert_eq!(
            plan(&topology, &request(&topology, None, None)),
            Err(PlanError::Rank(RankPlanError::NoPu { owner: "this process".to_owned() }))
        );
    }

    #[test]
    fn a_pu_or_node_that_cannot_be_had_is_refused_before_anything_is_planned() {
        let topology = without_nodes(without(machine(), "3", PuStatus::Offline), "1");
        let asked = request(&topology, Some("3"), Some(&[0]));
        assert!(matches!(
            plan(&topology, &asked),
            Err(PlanError::Rank(RankPlanError::Pu(PuError::Offline { pu: 3, .. })))
        ));
        let asked = Request { membind: Membind::Node(1), ..request(&topology, None, None) };
        assert!(matches!(
            plan(&topology, &asked),
            Err(PlanError::Rank(RankPlanError::Node(NodeError::NotAllowed { node: 1, .. })))
        ));
    }

    #[test]
    fn a_node_asked_for_is_every_ranks_and_local_is_each_ranks_own() -> Outcome {
        let topology = machine();
        let nodes = |plan: &Plan| -> Vec<u32> { plan.ranks.iter().map(|rank| rank.memory_node).collect() };
        let local = request(&topology, Some("0,4"), None);
        assert_eq!(nodes(&plan(&topology, &local)?), [0, 1]);
        assert_eq!(nodes(&plan(&topology, &Request { membind: Membind::Node(2), ..local })?), [2, 2]);
        Ok(())
    }

    #[test]
    fn node_targets_are_those_with_memory_that_is_allowed() {
        let indices: Vec<u32> =
            Target::nodes_of(&without_nodes(machine(), "1")).iter().map(|t| t.index).collect();
        assert_eq!(indices, [0, 2, 3]);
    }
}
