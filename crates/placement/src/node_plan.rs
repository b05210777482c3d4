//! The plan for the launched processes of a node, each of which may have an allowed set and devices of its
//! own.
//!
//! Every process of the node makes it from the same list of members and comes to the same answer: of the
//! topology only what does not depend on who read it is looked at, and what a process may use is its own
//! word. Which device each one takes is in `assign_gpus`.

use topo::model::Topology;

use crate::assign_gpus::assign_gpus;
use crate::node_plan_error::List;
use crate::rank_plan::{RankRequest, plan_ranks};
use crate::{Member, NodePlanError, NodeRequest, Plan};

/// Plans the launched processes of one node: rank i of the plan is `members[i]`.
///
/// # Errors
/// Every way what was asked can fail to fit the node, each naming the member and what would fit.
pub fn plan_node(
    topology: &Topology,
    members: &[Member],
    asked: &NodeRequest,
) -> Result<Plan, NodePlanError> {
    let mut notes = Vec::new();
    if let Some(cpus) = &asked.cpus {
        let list = List { option: "--cpus", what: "PU", named: cpus.0.len(), text: cpus };
        notes.extend(list.is_enough_for(members.len())?);
    }
    let (devices, note) = assign_gpus(topology, members, asked)?;
    notes.extend(note);
    let mut requests = Vec::new();
    for (rank, (member, target)) in members.iter().zip(devices).enumerate() {
        let pu = asked.cpus.as_ref().and_then(|cpus| cpus.0.get(rank)).copied();
        requests.push(RankRequest { owner: member.owner(), pu, target });
    }
    let plan = plan_ranks(topology, requests, &asked.membind, &asked.remedies)?;
    notes.extend(plan.notes);
    Ok(Plan { notes, ..plan })
}

#[cfg(test)]
mod tests {
    use topo::model::PuStatus;

    use super::*;
    use crate::machine::{machine, set, without, without_nodes};
    use crate::{
        ChosenBy, Membind, NodeError, PuError, RankPlanError, Remedies, Request, Selection, Target, plan,
    };

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// A process with these PUs of the machine, that sees the GPUs of these indices, numbered from 0 as its
    /// runtime does.
    fn member(rank: usize, pus: &str, gpus: &[usize]) -> Member {
        let every = machine().allowed.pus;
        let bound = without(
            machine(),
            &every.minus(&set(pus)).to_string().replace("none", ""),
            PuStatus::NotInAffinity,
        );
        let all = Target::gpus_of(&machine());
        let seen = (0..).zip(gpus).map(|(index, gpu)| Target { index, ..all[*gpu].clone() });
        Member { name: format!("rank {rank}"), allowed: bound.allowed, visible: seen.collect() }
    }

    fn asked(cpus: Option<&str>, gpus: Option<&str>) -> NodeRequest {
        NodeRequest {
            cpus: cpus.map(|text| text.parse().expect("a list of PUs")),
            gpus: gpus.map(|text| text.parse().expect("a selection")),
            membind: Membind::Local,
            remedies: Remedies { hidden_device: "show it".to_owned(), ..Remedies::default() },
        }
    }

    fn planned(members: &[Member], asked: &NodeRequest) -> Result<Vec<(u32, u32, u32)>, NodePlanError> {
        let plan = plan_node(&machine(), members, asked)?;
        Ok(plan.ranks.iter().map(|rank| (rank.pu, rank.memory_node, rank.target.index)).collect())
    }

    #[test]
    fn member_i_takes_the_ith_pu_and_the_ith_device() -> Outcome {
        let members = [member(4, "0-17", &[0, 1, 2]), member(5, "0-17", &[0, 1, 2])];
        assert_eq!(planned(&members, &asked(Some("7,0"), Some("1,0")))?, [(7, 1, 1), (0, 0, 0)]);
        assert_eq!(planned(&members, &asked(Some("7,0"), None))?, [(7, 1, 0), (0, 0, 1)]);
        assert_eq!(planned(&members, &asked(None, Some("1,1")))?, [(6, 1, 1), (7, 1, 1)]);
        assert_eq!(
            planned(&members, &asked(None, Some("0000:03:00.0,0000:01:00.0")))?,
            [(4, 1, 2), (0, 0, 0)]
        );
        Ok(())
    }

    #[test]
    fn members_that_are_all_alike_are_planned_as_threads_of_one_process_are() -> Outcome {
        let topology = machine();
        let members = [0, 1, 2, 3].map(|rank| member(rank, "0-17", &[0, 1, 2, 3, 4]));
        for (cpus, gpus) in [
            (None, None),
            (Some("0,0,9,16"), None),
            (None, Some("2,2,2,0")),
            (Some("1,2,3,4"), Some("4,4,0,1")),
        ] {
            let asked = asked(cpus, gpus);
            let available = Target::gpus_of(&topology);
            let targets = match &asked.gpus {
                Some(selection) => selection.resolve(&available)?,
                None => available[..4].to_vec(),
            };
            let request = Request {
                cpus: asked.cpus.clone(),
                targets: Some(targets),
                available,
                membind: Membind::Local,
            };
            assert_eq!(
                plan_node(&topology, &members, &asked)?,
                plan(&topology, &request)?,
                "{cpus:?} {gpus:?}"
            );
        }

        Ok(())
    }

    #[test]
    fn without_pus_each_gets_a_core_of_its_own_set_near_its_device_and_not_a_neighbours() -> Outcome {
        // Bound by the launcher: the second has nothing near its GPU 1 (PUs 6-7, 14-15).
        let members = [member(0, "0-1", &[0, 1]), member(1, "2-3", &[0, 1])];
        let plan = plan_node(&machine(), &members, &asked(None, None))?;
        assert_eq!(plan.ranks.iter().map(|rank| rank.pu).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(plan.ranks[1].chosen_by, ChosenBy::DomainNotAllowed { cores: set("6-7,14-15") });
        let overlapping = [member(0, "0-1", &[0]), member(1, "0-1,8", &[0]), member(2, "0", &[1])];
        let plan = plan_node(&machine(), &overlapping, &asked(None, None))?;
        assert_eq!(
            plan.ranks.iter().map(|rank| rank.pu).collect::<Vec<_>>(),
            [0, 1, 0],
            "the third has no other"
        );
        insta::assert_snapshot!("notes_on_a_shared_pu", plan.notes.join("\n"));
        Ok(())
    }

    #[test]
    fn a_list_that_is_too_short_is_refused_with_both_numbers_and_a_longer_one_is_noted() -> Outcome {
        let members = [0, 1, 2].map(|rank| member(rank, "0-17", &[0, 1, 2]));
        for (asked, option, list, named) in
            [(asked(Some("4,5"), None), "--cpus", "4,5", 2), (asked(None, Some("0")), "--gpus", "0", 1)]
        {
            let refused = planned(&members, &asked);
            let Err(NodePlanError::Short { option: of, list: names, named: count, ranks: 3, .. }) = &refused
            else {
                panic!("{refused:?}")
            };
            assert_eq!((*of, &names[..], *count), (option, list, named));
        }
        let plan = plan_node(&machine(), &members, &asked(Some("4-9"), Some("0,1,2,0")))?;
        assert_eq!(plan.ranks.iter().map(|rank| rank.pu).collect::<Vec<_>>(), [4, 5, 6]);
        insta::assert_snapshot!("notes_on_longer_lists", plan.notes.join("\n"));
        Ok(())
    }

    #[test]
    fn a_pu_is_held_against_the_set_of_the_member_that_is_to_have_it() {
        let members = [member(6, "0-3", &[0, 1]), member(7, "4-7", &[0, 1])];
        let mut swapped = asked(Some("4,0"), None);
        swapped.remedies.not_in_affinity = "use srun --cpu-bind=none".to_owned();
        let refused = planned(&members, &swapped);
        let Err(NodePlanError::Rank(RankPlanError::Pu(PuError::NotInAffinity {
            pu: 4,
            owner,
            allowed,
            remedy,
        }))) = &refused
        else {
            panic!("{refused:?}")
        };

        assert_eq!((&owner[..], allowed, remedy), ("rank 6", &set("0-3"), &swapped.remedies.not_in_affinity));
        assert!(planned(&members, &asked(Some("0,4"), None)).is_ok());
        let refused = planned(&members, &asked(Some("0,99"), None));
        assert!(
            matches!(refused, Err(NodePlanError::Rank(RankPlanError::Pu(PuError::Unknown { pu: 99, .. })))),
            "{refused:?}"
        );
        let small = without(machine(), "4-17", PuStatus::NotInCgroup);
        let boxed = Member { allowed: small.allowed, ..member(8, "0-17", &[0, 1]) };
        let refused = planned(&[member(6, "0-17", &[0, 1]), boxed], &asked(Some("0,5"), None));
        assert!(
            matches!(&refused, Err(NodePlanError::Rank(RankPlanError::Pu(PuError::NotInCgroup { pu: 5, owner, .. }))) if owner == "rank 8"),
            "{refused:?}"
        );
    }

    #[test]
    fn memory_is_held_against_each_members_own_nodes() {
        let narrow = Member { allowed: without_nodes(machine(), "1").allowed, ..member(1, "0-17", &[0, 1]) };
        let members = [member(0, "0-17", &[0, 1]), narrow];
        let request = NodeRequest { membind: Membind::Node(1), ..asked(None, None) };
        let refused = planned(&members, &request);
        assert!(
            matches!(&refused, Err(NodePlanError::Rank(RankPlanError::Node(NodeError::NotAllowed { node: 1, owner, .. }))) if owner == "rank 1"),
            "{refused:?}"
        );
        let rows = planned(&members, &asked(Some("4,5"), None));
        assert_eq!(rows, Ok(vec![(4, 1, 0), (5, 2, 1)]), "node 2 lies around PU 5 and is next");
    }

    #[test]
    fn a_member_without_pus_is_named() {
        let members = [member(0, "0", &[0, 1]), member(1, "", &[0, 1])];
        let refused = planned(&members, &asked(None, None));
        let nothing = RankPlanError::NoPu { owner: "rank 1".to_owned() };
        assert_eq!(refused, Err(NodePlanError::Rank(nothing)));
    }

    #[test]
    fn whoever_reads_the_machine_makes_the_same_plan() -> Outcome {
        let members = [member(0, "0-3", &[0]), member(1, "6-7", &[1]), member(2, "4-5,12", &[2])];
        let whole = plan_node(&machine(), &members, &asked(None, None))?;
        for lost in ["0-7", "8-15", "4-17", "0-17"] {
            for status in [PuStatus::NotInAffinity, PuStatus::NotInCgroup] {
                let reader = without_nodes(without(machine(), lost, status), "0");
                assert_eq!(plan_node(&reader, &members, &asked(None, None))?, whole, "{lost} {status:?}");
            }
        }
        Ok(())
    }

    #[test]
    fn the_selection_of_all_leaves_the_choice_to_the_plan() -> Outcome {
        let members = [member(0, "0-17", &[2]), member(1, "0-17", &[0])];
        let all = NodeRequest { gpus: Some(Selection::All), ..asked(None, None) };
        let targets = |plan: &Plan| plan.ranks.iter().map(|rank| rank.target.id).collect::<Vec<_>>();
        let plan = plan_node(&machine(), &members, &all)?;
        assert_eq!(targets(&plan), targets(&plan_node(&machine(), &members, &asked(None, None))?));
        assert_eq!(plan.notes, [""; 0]);
        let more = [member(0, "0-17", &[0, 1, 2]), member(1, "0-17", &[0, 1, 2])];
        insta::assert_snapshot!(
            "notes_on_more_devices",
            plan_node(&machine(), &more, &all)?.notes.join("\n")
        );
        Ok(())
    }
}
