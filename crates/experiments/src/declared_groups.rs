//! What the topology declares to belong together, to be held beside what was measured.

use std::collections::BTreeSet;

use analysis::groups::ONE_OF_EACH;
use report::device::Device;
use report::measured_groups::MeasuredGroups;
use stats::IdSet;
use stats::grouping::GroupingFinding;
use topo::Topology;
use topo::model::Rung;

/// Declared partitions of cores (PUs) or of GPUs (indices).
#[derive(Clone, Debug, Default)]
pub struct DeclaredGroups {
    /// Each with what it is of, in words.
    partitions: Vec<(&'static str, Vec<IdSet>)>,
    /// What leaves nothing to be grouped by.
    one_of_each: Option<&'static str>,
}

impl DeclaredGroups {
    /// Of a run that groups nothing.
    pub const NONE: Self = Self { partitions: Vec::new(), one_of_each: None };

    /// Of cores: caches, nodes and packages.
    pub fn of_cores(topology: &Topology) -> Self {
        let l3s = topology.l3s.iter().map(|l3| l3.pus.clone()).collect();
        let nodes = topology.nodes.iter().map(|node| node.pus.clone()).collect();
        let packages = topology.packages.iter().map(|package| package.pus.clone()).collect();
        let with_cpus = topology.nodes.iter().filter(|node| node.kind.has_cpus()).count();
        Self {
            partitions: vec![("its L3 caches", l3s), ("its NUMA nodes", nodes), ("its packages", packages)],
            one_of_each: (topology.l3s.len() == 1 && with_cpus == 1).then_some(ONE_OF_EACH),
        }
    }

    /// Of GPUs: the NUMA nodes that they are declared to be near to; nothing where that is not known of each.
    pub fn of_gpus(devices: &[Device], topology: &Topology) -> Self {
        let mut sets: Vec<(IdSet, IdSet)> = Vec::new();
        for device in devices {
            let gpu = device.pci_address.and_then(|pci| topology.gpu_at(pci));
            let Some(gpu) = gpu.filter(|gpu| gpu.locality.rung != Rung::Unknown) else {
                return Self::default();
            };
            let nodes = topology.host_nodes(gpu);
            match sets.iter_mut().find(|(other, _)| *other == nodes) {
                Some((_, gpus)) => {
                    gpus.0.insert(device.index);
                }
                None => sets.push((nodes, IdSet::from_iter([device.index]))),
            }
        }

        let sets = sets.into_iter().map(|(_, gpus)| gpus).collect();
        Self { partitions: vec![("the NUMA nodes that the GPUs are near to", sets)], one_of_each: None }
    }

    /// What of it is like these groups, in words; of a finding that is not decided what leaves nothing to
    /// decide. `None` where there is neither.
    pub fn like(&self, found: &MeasuredGroups) -> Option<String> {
        let like = match found.finding {
            GroupingFinding::Undecided => self.one_of_each,
            _ => self.partitions.iter().find(|(_, sets)| is_same(found, sets)).map(|(what, _)| *what),
        };
        like.map(str::to_owned)
    }
}

/// Whether a declared partition is the measured one, of the items that were measured; those of no group are
/// together or each alone.
fn is_same(found: &MeasuredGroups, declared: &[IdSet]) -> bool {
    if found.finding != GroupingFinding::Groups {
        return false;
    }
    let all = found.groups.iter().fold(found.rest.clone(), |all, group| all.or(group));
    let texts = |sets: &mut dyn Iterator<Item = IdSet>| -> BTreeSet<String> {
        sets.filter(|set| !set.is_empty()).map(|set| set.to_string()).collect()
    };
    let declared = texts(&mut declared.iter().map(|set| set.and(&all)));
    let groups = || found.groups.iter().cloned();
    let rest = found.rest.iter().map(|item| IdSet::from_iter([item]));
    declared == texts(&mut groups().chain([found.rest.clone()]))
        || declared == texts(&mut groups().chain(rest))
}

#[cfg(test)]
mod tests {
    use report::measured_groups::GroupedBy;

    use super::*;

    fn set(ids: &[u32]) -> IdSet {
        ids.iter().copied().collect()
    }

    #[test]
    fn what_is_declared_is_the_same_where_its_sets_are_those_that_were_measured() {
        let found = |groups: &[IdSet], rest: &[u32]| MeasuredGroups {
            by: GroupedBy::Handovers,
            finding: GroupingFinding::Groups,
            groups: groups.to_vec(),
            rest: set(rest),
            margin: Some(2.0),
            p_value: Some(0.01),
            false_alarm_rate: 0.05,
            declared: None,
        };

        let halves = found(&[set(&[0, 2]), set(&[4, 6])], &[]);
        assert!(
            is_same(&halves, &[set(&[0, 1, 2, 3]), set(&[4, 5, 6, 7]), set(&[8])]),
            "some cores were measured"
        );
        assert!(!is_same(&halves, &[set(&[0, 2, 4, 6])]), "one cache for all is nothing like it");
        let alone = found(&[set(&[0, 1])], &[2, 3]);
        assert!(is_same(&alone, &[set(&[0, 1]), set(&[2, 3])]));
        assert!(is_same(&alone, &[set(&[0, 1]), set(&[2]), set(&[3])]));
        assert!(!is_same(&alone, &[set(&[0]), set(&[1]), set(&[2, 3])]));
    }
    #[test]
    fn groups_are_held_beside_caches_and_an_open_question_beside_one_of_each() {
        let caches = ("its L3 caches", vec![set(&[0, 1]), set(&[2, 3])]);
        let two = DeclaredGroups { partitions: vec![caches], one_of_each: None };
        let found = |finding, groups: Vec<IdSet>| MeasuredGroups {
            by: GroupedBy::Handovers,
            finding,
            groups,
            rest: IdSet::default(),
            margin: Some(2.0),
            p_value: Some(0.01),
            false_alarm_rate: 0.05,
            declared: None,
        };
        let halves = found(GroupingFinding::Groups, vec![set(&[0, 1]), set(&[2, 3])]);
        assert_eq!(two.like(&halves).as_deref(), Some("its L3 caches"));
        let crossed = found(GroupingFinding::Groups, vec![set(&[0, 2]), set(&[1, 3])]);
        assert_eq!(two.like(&crossed), None);
        let open = found(GroupingFinding::Undecided, Vec::new());
        let one = DeclaredGroups { partitions: Vec::new(), one_of_each: Some(ONE_OF_EACH) };
        assert_eq!((one.like(&open).as_deref(), two.like(&open)), (Some(ONE_OF_EACH), None));
    }
}
