//! Which device each launched process of a node takes. Some 410 lines because half of them are tests, each a
//! launch.
//!
//! The devices are those that the processes see, all together and in PCI order: that is what an index means.
//! Asked for, process i takes the i-th. Otherwise everyone takes the first that it sees and nobody has; where
//! that leaves one without, those before it move over if they can (a maximum matching, by augmenting paths).
//! So processes that all see the same take device i, and where a launcher gave each its own
//! (`--gpus-per-task=1`) each takes that. A launcher that gave two processes the same one device meant them
//! to share it. More processes than NUMA nodes share the nodes' memory, where that is what is measured.

use std::collections::{BTreeMap, BTreeSet};

use stats::units::counted;
use topo::model::Topology;

use crate::matching::is_assigned;
use crate::node_plan_error::List;
use crate::target::listed;
use crate::{Member, NodePlanError, NodeRequest, Selection, SelectionError, Selector, Target, TargetId};

/// One device for each member, and what is to be noted about the choice.
pub(crate) fn assign_gpus(
    topology: &Topology,
    members: &[Member],
    asked: &NodeRequest,
) -> Result<(Vec<Target>, Option<String>), NodePlanError> {
    let devices = together(members);
    all_see_something(members, &devices, asked)?;

    match &asked.gpus {
        Some(selection @ Selection::These(_)) => {
            let list = selection
                .resolve(&devices)
                .map_err(|error| absent(topology, &devices, selection, asked, error))?;
            let note = List { option: "--gpus", what: "device", named: list.len(), text: selection }
                .is_enough_for(members.len())?;
            let taken = list.into_iter().take(members.len()).collect::<Vec<_>>();
            all_seen(members, &taken, &devices, asked)?;
            Ok((taken, note))
        }
        all => {
            let taken = own_or_free(members, &devices)?;
            let (ranks, there) = (counted(members.len(), "rank"), devices.len());
            let note = if all.is_some() && there > members.len() {
                let devices = counted(there, "device");
                Some(format!(
                    "--gpus all names {devices} and this node has {ranks}: one device each is taken"
                ))
            } else if are_nodes(&devices)
                && taken.iter().enumerate().any(|(at, node)| taken[..at].contains(node))
            {
                Some(format!("{ranks} share the memory of {}", counted(there, "NUMA node")))
            } else {
                None
            };
            Ok((taken, note))
        }
    }
}

/// Every device that some member sees, in PCI order and numbered so; nodes keep their own numbers.
fn together(members: &[Member]) -> Vec<Target> {
    let mut devices: Vec<Target> = Vec::new();
    for seen in members.iter().flat_map(|member| &member.visible) {
        match devices.iter_mut().find(|device| device.is_same_as(seen)) {
            Some(device) => device.uuid = device.uuid.take().or_else(|| seen.uuid.clone()),
            None => devices.push(seen.clone()),
        }
    }
    devices.sort_by(|one, another| (one.id, &one.uuid).cmp(&(another.id, &another.uuid)));
    for (position, device) in (0..).zip(&mut devices) {
        device.index = match device.id {
            TargetId::Gpu(_) => position,
            TargetId::Node(node) => node,
        };
    }
    devices
}

fn all_see_something(
    members: &[Member],
    devices: &[Target],
    asked: &NodeRequest,
) -> Result<(), NodePlanError> {
    if devices.is_empty() {
        return Err(NodePlanError::NoTarget);
    }
    let remedy = asked.remedies.hidden_device.clone();
    if let Some(blind) = members.iter().find(|member| member.visible.is_empty()) {
        return Err(NodePlanError::Blind { name: blind.name.clone(), others: listed(devices), remedy });
    }
    let sees_gpus = |member: &&Member| member.visible.iter().any(|seen| matches!(seen.id, TargetId::Gpu(_)));
    let (gpus, host) = (members.iter().find(sees_gpus), members.iter().find(|member| !sees_gpus(member)));
    match (gpus, host) {
        (Some(gpus), Some(host)) => {
            Err(NodePlanError::Mixed { gpus: gpus.name.clone(), host: host.name.clone(), remedy })
        }
        _ => Ok(()),
    }
}

/// What is asked for and not seen may be there all the same.
fn absent(
    topology: &Topology,
    devices: &[Target],
    selection: &Selection,
    asked: &NodeRequest,
    error: SelectionError,
) -> NodePlanError {
    let SelectionError::Absent { asked: item, .. } = &error else { return NodePlanError::Selection(error) };
    let machine = Target::gpus_of(topology);
    let missing = |selector: &&Selector| selector.to_string() == *item;
    let there = match selection {
        Selection::These(selectors) => {
            selectors.iter().find(missing).is_some_and(|s| s.resolve(&machine).is_ok())
        }
        Selection::All => false,
    };
    let shown = devices.iter().filter(|device| matches!(device.id, TargetId::Gpu(_))).count();
    if !there || shown == 0 {
        return NodePlanError::Selection(error);
    }

    NodePlanError::NotShown {
        error,
        machine: machine.len(),
        shown,
        remedy: asked.remedies.hidden_device.clone(),
    }
}

fn all_seen(
    members: &[Member],
    taken: &[Target],
    devices: &[Target],
    asked: &NodeRequest,
) -> Result<(), NodePlanError> {
    let Some((member, device)) = members.iter().zip(taken).find(|(member, device)| !member.sees(device))
    else {
        return Ok(());
    };
    let seen: Vec<Vec<usize>> = members.iter().map(|member| seen_by(member, devices)).collect();
    let one_each = seen.iter().all(|seen| seen.len() == 1);
    let own = one_each
        .then(|| format!(" (--gpus {} names each rank its own)", indices(devices, seen.iter().flatten())));
    Err(NodePlanError::Hidden {
        name: member.name.clone(),
        device: device.to_string(),
        sees: sees(member, devices),
        own: own.unwrap_or_default(),
        remedy: asked.remedies.hidden_device.clone(),
    })
}

/// Each member the first device that it sees and nobody has, or its only one.
fn own_or_free(members: &[Member], devices: &[Target]) -> Result<Vec<Target>, NodePlanError> {
    let seen: Vec<Vec<usize>> = members.iter().map(|member| seen_by(member, devices)).collect();
    let same = seen.windows(2).all(|pair| pair[0] == pair[1]);
    let matched = matched(&seen);

    // The only device that a launcher showed a process is meant for it, also where another was shown the same
    // one.
    let meant = |seen: &[usize]| seen.first().copied().filter(|_| !same && seen.len() == 1);
    let taken: Vec<Option<usize>> =
        matched.iter().zip(&seen).map(|(found, seen)| found.or_else(|| meant(seen))).collect();

    if let Some(left) = taken.iter().position(Option::is_none) {
        let ranks = members.len();
        let shared = |(rank, found): (usize, &Option<usize>)| match found {
            _ if same => Some(rank * devices.len() / ranks),
            found => found.or_else(|| seen[rank].first().copied()),
        };
        let example: Vec<usize> = taken.iter().enumerate().filter_map(shared).collect();
        // A node's memory has room for all; a GPU may have been meant for one alone.
        if are_nodes(devices) {
            return Ok(example.into_iter().map(|node| devices[node].clone()).collect());
        }
        return Err(NodePlanError::Crowded {
            ranks,
            devices: devices.len(),
            name: members[left].name.clone(),
            sees: sees(&members[left], devices),
            example: indices(devices, example.iter()),
        });
    }
    Ok(taken.into_iter().flatten().map(|device| devices[device].clone()).collect())
}

fn are_nodes(devices: &[Target]) -> bool {
    devices.iter().all(|device| matches!(device.id, TargetId::Node(_)))
}

/// A device for as many members as can have one of their own, by position; each takes the first free one
/// where there is one.
fn matched(seen: &[Vec<usize>]) -> Vec<Option<usize>> {
    let mut holders = BTreeMap::new();
    for (member, sees) in seen.iter().enumerate() {
        match sees.iter().find(|device| !holders.contains_key(*device)) {
            Some(free) => _ = holders.insert(*free, member),
            None => _ = is_assigned(member, seen, &mut holders, &mut BTreeSet::new()),
        }
    }
    let mut taken = vec![None; seen.len()];
    holders.into_iter().for_each(|(device, holder)| taken[holder] = Some(device));
    taken
}

/// The positions of the devices that a member sees.
fn seen_by(member: &Member, devices: &[Target]) -> Vec<usize> {
    (0..devices.len()).filter(|device| member.sees(&devices[*device])).collect()
}

fn sees(member: &Member, devices: &[Target]) -> String {
    let seen: Vec<Target> = devices.iter().filter(|device| member.sees(device)).cloned().collect();
    listed(&seen)
}

fn indices<'d>(devices: &[Target], positions: impl Iterator<Item = &'d usize>) -> String {
    positions.map(|position| devices[*position].index.to_string()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::machine;
    use crate::{Membind, Remedies};

    /// Processes that see these GPUs of the machine, numbered from 0 as each one's runtime does.
    fn members(seen: &[&[usize]]) -> Vec<Member> {
        let all = Target::gpus_of(&machine());
        let visible = |gpus: &[usize]| {
            (0..).zip(gpus).map(|(index, gpu)| Target { index, ..all[*gpu].clone() }).collect()
        };
        let named = |(rank, gpus): (usize, &&[usize])| Member {
            name: format!("rank {rank}"),
            allowed: machine().allowed,
            visible: visible(gpus),
        };
        seen.iter().enumerate().map(named).collect()
    }

    /// The bus each one's GPU is on (GPU n of the machine is on bus n + 1), or why there is none.
    fn shared(members: &[Member], gpus: Option<&str>) -> Result<Vec<u8>, NodePlanError> {
        let asked = NodeRequest {
            gpus: gpus.map(|text| text.parse().expect("a selection")),
            membind: Membind::Local,
            remedies: Remedies { hidden_device: "show it".to_owned(), ..Remedies::default() },
            ..NodeRequest::default()
        };
        let (targets, _) = assign_gpus(&machine(), members, &asked)?;
        let bus = |target: Target| match target.id {
            TargetId::Gpu(pci) => pci.bus - 1,
            TargetId::Node(node) => 100 + node as u8,
        };
        Ok(targets.into_iter().map(bus).collect())
    }

    #[track_caller]
    fn refused(members: &[Member], gpus: Option<&str>, parts: &[&str]) {
        let text =
            shared(members, gpus).map_or_else(|error| error.to_string(), |rows| format!("planned: {rows:?}"));
        parts.iter().for_each(|part| assert!(text.contains(part), "no \"{part}\" in \"{text}\""));
    }

    #[test]
    fn processes_that_see_the_same_take_device_i() {
        assert_eq!(shared(&members(&[&[0, 1, 2], &[2, 1, 0]]), None), Ok(vec![0, 1]));
        assert_eq!(shared(&members(&[&[3, 1], &[3, 1]]), None), Ok(vec![1, 3]));
    }

    #[test]
    fn a_process_that_was_given_one_device_takes_that() {
        assert_eq!(shared(&members(&[&[1], &[0]]), None), Ok(vec![1, 0]), "--gpu-bind=map_gpu:1,0");
        assert_eq!(
            shared(&members(&[&[0], &[0], &[1], &[1]]), None),
            Ok(vec![0, 0, 1, 1]),
            "--gpu-bind=single:2"
        );
    }

    #[test]
    fn with_several_to_see_each_takes_one_that_nobody_has_also_if_another_must_move_over() {
        assert_eq!(shared(&members(&[&[0, 1], &[2, 3]]), None), Ok(vec![0, 2]));
        assert_eq!(shared(&members(&[&[0, 1], &[0]]), None), Ok(vec![1, 0]));
        assert_eq!(shared(&members(&[&[0, 1], &[1, 2], &[0]]), None), Ok(vec![1, 2, 0]), "two move over");
        assert_eq!(
            shared(&members(&[&[0, 1], &[1, 2], &[0], &[1]]), None),
            Ok(vec![1, 2, 0, 1]),
            "and one shares its only one"
        );
        assert_eq!(shared(&members(&[&[1, 2], &[0, 1], &[0, 1]]), None), Ok(vec![2, 1, 0]));
    }

    #[test]
    fn more_ranks_than_devices_are_refused_with_both_numbers_and_a_list_that_would_do() {
        let same: [&[usize]; 4] = [&[1, 3]; 4];
        refused(&members(&same), None, &["4 ranks and 2 devices", "rank 2 finds none", "--gpus 0,0,1,1"]);
        assert_eq!(shared(&members(&same), Some("0,0,1,1")), Ok(vec![1, 1, 3, 3]));
        refused(&members(&[&[2], &[2]]), None, &["2 ranks and 1 device,", "--gpus 0,0"]);
        let uneven: [&[usize]; 3] = [&[0, 1], &[0, 1], &[0, 1, 1]];
        refused(&members(&uneven), None, &["3 ranks and 2 devices", "--gpus 0,0,1"]);
        let some: [&[usize]; 4] = [&[0, 1], &[0, 1], &[0, 1], &[4]];

        refused(
            &members(&some),
            None,
            &[
                "4 ranks and 3 devices",
                "rank 2 finds none free (it sees 0 = 0000:01:00.0, 1 =",
                "--gpus 0,1,0,2",
            ],
        );
        assert_eq!(shared(&members(&some), Some("0,1,0,2")), Ok(vec![0, 1, 0, 4]));
    }

    #[test]
    fn an_index_is_the_position_among_all_that_the_processes_see() {
        let each_its_own = members(&[&[4], &[1]]);
        assert_eq!(shared(&each_its_own, Some("1,0")), Ok(vec![4, 1]));
        assert_eq!(shared(&each_its_own, Some("05:00.0,02:00.0")), Ok(vec![4, 1]));
        refused(
            &each_its_own,
            Some("0,1"),
            &["--gpus gives rank 0 device 0 = 0000:02:00.0", "it sees 1 = 0000:05:00.0"],
        );
        refused(&each_its_own, Some("0,1"), &["(--gpus 1,0 names each rank its own); show it"]);
        refused(
            &members(&[&[0, 1], &[1, 2]]),
            Some("2,1"),
            &["rank 0 device 2 = 0000:03:00.0", "0000:02:00.0; show it"],
        );
    }

    #[test]
    fn a_device_of_the_machine_that_no_process_sees_is_told_from_one_that_is_not_there() {
        let two = members(&[&[0, 1], &[0, 1]]);
        for (there, device) in [("0,4", "4"), ("01:00.0,05:00.0", "0000:05:00.0")] {
            let refused = shared(&two, Some(there));
            let Err(NodePlanError::NotShown {
                error: SelectionError::Absent { asked, .. },
                machine,
                shown,
                remedy,
            }) = refused
            else {
                panic!("{refused:?}")
            };
            assert_eq!((&asked[..], machine, shown, &remedy[..]), (device, 5, 2, "show it"));
        }

        for not_there in ["0,5", "01:00.0,0a:00.0", "GPU-aa,GPU-bb"] {
            let refused = shared(&two, Some(not_there));
            assert!(
                matches!(refused, Err(NodePlanError::Selection(SelectionError::Absent { .. }))),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn a_process_that_sees_nothing_is_named_and_nobody_is_given_something_of_another_kind() {
        refused(&members(&[&[0], &[]]), None, &["rank 1 sees no device", "0 = 0000:01:00.0", "show it"]);
        refused(&members(&[&[], &[]]), None, &["there is no device to copy to"]);
        refused(&[], None, &["there is no device to copy to"]);
        let mut mixed = members(&[&[0], &[]]);
        mixed[1].visible = Target::nodes_of(&machine());
        refused(
            &mixed,
            None,
            &["rank 0 sees GPUs, and rank 1 none, only host memory: show it", "--backend host"],
        );
    }

    #[test]
    fn nodes_keep_their_own_numbers() {
        let mut host = members(&[&[], &[]]);
        host.iter_mut().for_each(|member| member.visible = Target::nodes_of(&machine()));
        assert_eq!(shared(&host, None), Ok(vec![100, 101]));
        assert_eq!(shared(&host, Some("3,2")), Ok(vec![103, 102]));
    }

    #[test]
    fn more_ranks_than_nodes_share_the_nodes_memory_and_it_is_said() {
        let mut host = members(&[&[], &[], &[]]);
        host.iter_mut().for_each(|member| member.visible = Target::nodes_of(&machine())[..2].to_vec());
        let taken = assign_gpus(&machine(), &host, &NodeRequest::default());
        let (nodes, note) =
            taken.map_or_else(|error| (error.to_string(), None), |(nodes, note)| (listed(&nodes), note));
        assert_eq!(nodes, "node 0, node 0, node 1");
        assert_eq!(note.as_deref(), Some("3 ranks share the memory of 2 NUMA nodes"));
    }

    #[test]
    fn parts_of_one_gpu_are_devices_of_their_own() {
        let part =
            |uuid: &str| Target { uuid: Some(uuid.to_owned()), ..Target::gpus_of(&machine())[0].clone() };
        let mut parts = members(&[&[], &[]]);
        for (member, uuid) in parts.iter_mut().zip(["MIG-b", "MIG-a"]) {
            member.visible = vec![part(uuid)];
        }
        assert_eq!(together(&parts).iter().map(|device| device.index).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(
            own_or_free(&parts, &together(&parts)).map(|taken| taken[0].uuid.clone()),
            Ok(Some("MIG-b".to_owned()))
        );
    }
}
