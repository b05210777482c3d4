//! Whether the memory a run needs is there, said before anything is allocated.
//!
//! It must be known beforehand: memory that is bound strictly and cannot be had is not an error the kernel
//! returns, it is a process the kernel kills. Pure: sizes in, verdict out.

use std::collections::BTreeMap;

use device::{DeviceFacts, DeviceId, MemoryKind, Platform};
use placement::{Plan, TargetId};
use topo::model::MemoryLimit;

use crate::config::RunConfig;

/// More memory is needed than there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{place} has {has}, and {} {needs} there (each {each} at most: {why}); ask for a smaller --size or fewer \
     ranks",
    who(.ranks)
)]
pub struct BudgetError {
    /// Where.
    pub place: String,
    /// What it has, in words.
    pub has: String,
    /// How many ranks use it.
    pub ranks: usize,
    /// What they need together.
    pub needs: String,
    /// What each needs at most: a rank may have only its device's end there.
    pub each: String,
    /// For what.
    pub why: &'static str,
}

/// Compares what the ranks of `plan` need with what each place has (bytes): host nodes by `host_bytes`,
/// devices by `device_bytes`, and all nodes together by what is left of this process's `limit`. A place of
/// which nothing is known is not checked.
///
/// # Errors
/// The first place that has too little.
pub fn check_budget(
    config: &RunConfig,
    plan: &Plan,
    host_bytes: impl Fn(u32) -> Option<u64>,
    device_bytes: impl Fn(TargetId) -> Option<u64>,
    limit: Option<&MemoryLimit>,
) -> Result<(), BudgetError> {
    let size = config.largest() as u64;
    // Both ends of a rank's copies lie on nodes when the device is one; a GPU has its own memory.
    let mut on_node: BTreeMap<u32, Needs> = BTreeMap::new();
    let mut on_device: BTreeMap<TargetId, Needs> = BTreeMap::new();
    let areas = if config.bidirectional() && config.memory.iter().any(|kind| *kind != MemoryKind::Pageable) {
        2
    } else {
        1
    };
    let ranges =
        [config.needs_source(), config.needs_destination()].into_iter().filter(|needed| *needed).count()
            as u64;

    for rank in &plan.ranks {
        let bytes = size.saturating_mul(ranges);
        match &rank.spread {
            None => add(on_node.entry(rank.memory_node).or_default(), rank.rank, bytes),
            Some(nodes) => {
                for node in nodes.nodes().iter() {
                    add(on_node.entry(node).or_default(), rank.rank, *nodes.share(node, bytes, 1).end());
                }
            }
        }
        match rank.target.id {
            TargetId::Node(node) => add(on_node.entry(node).or_default(), rank.rank, size),
            gpu @ TargetId::Gpu(_) => {
                add(on_device.entry(gpu).or_default(), rank.rank, size.saturating_mul(areas))
            }
        }
    }

    let why = "one range for one direction, two for more, and where the device is a node, its copy of them";
    let mut on_all = Needs::new();
    for (node, needs) in on_node {
        fits(format!("NUMA node {node}"), host_bytes(node), &needs, why)?;
        needs.iter().for_each(|(rank, bytes)| add(&mut on_all, *rank, *bytes));
    }

    if let Some(limit) = limit {
        fits(limit.to_string(), Some(limit.left_bytes()), &on_all, why)?;
    }
    for (device, needs) in on_device {
        fits(format!("GPU {device}"), device_bytes(device), &needs, "one area, two with --direction bidir")?;
    }
    Ok(())
}

/// The memory of a GPU, bytes; `None` where the platform shows no such GPU.
pub fn device_bytes(platform: &dyn Platform, target: TargetId) -> Option<u64> {
    let wanted = |facts: &&DeviceFacts| match (facts.id, target) {
        (DeviceId::Pci(a), TargetId::Gpu(b)) => a == b,
        _ => false,
    };
    platform.devices().iter().find(wanted).map(|facts| facts.total_bytes)
}

/// Bytes each rank needs in one place.
type Needs = BTreeMap<usize, u64>;

fn add(needs: &mut Needs, rank: usize, bytes: u64) {
    let mine = needs.entry(rank).or_default();
    *mine = mine.saturating_add(bytes);
}

fn fits(place: String, has: Option<u64>, needs: &Needs, why: &'static str) -> Result<(), BudgetError> {
    let all = needs.values().fold(0_u64, |all, bytes| all.saturating_add(*bytes));
    let Some(has) = has.filter(|has| all > *has) else { return Ok(()) };
    let size = stats::units::rounded_size;
    let each = needs.values().copied().max().unwrap_or(0);
    Err(BudgetError { place, has: size(has), ranks: needs.len(), needs: size(all), each: size(each), why })
}

fn who(ranks: &usize) -> String {
    if *ranks == 1 { "1 rank needs".to_owned() } else { format!("{ranks} ranks need") }
}

#[cfg(test)]
mod tests {
    use device::Direction;
    use placement::{ChosenBy, Closeness, ClosenessVerdict, RankPlan, Target};
    use stats::PciAddress;

    use super::*;
    use engine::{MemoryNodes, NodeUse};

    const MIB: u64 = 1 << 20;

    fn plan(ranks: &[(u32, TargetId)]) -> Plan {
        let rank = |(rank, (memory_node, id)): (usize, &(u32, TargetId))| RankPlan {
            rank,
            pu: 0,
            chosen_by: ChosenBy::Asked,
            memory_node: *memory_node,
            spread: None,
            target: Target { index: 0, id: *id, uuid: None },
            verdict: ClosenessVerdict { closeness: Closeness::Unknown, reason: String::new() },
        };
        Plan { ranks: ranks.iter().enumerate().map(rank).collect(), notes: Vec::new() }
    }

    fn gpu(bus: u8) -> TargetId {
        TargetId::Gpu(PciAddress { domain: 0, bus, device: 0, function: 0 })
    }

    /// What is said where every node has `host` and every device `device` bytes.
    /// Where there is too little: the place, the ranks there, what they need and each at most.
    fn lacks(
        config: &RunConfig,
        ranks: &[(u32, TargetId)],
        host: u64,
        device: u64,
    ) -> Option<(String, usize, String, String)> {
        let found = check_budget(config, &plan(ranks), |_| Some(host), |_| Some(device), None).err()?;
        Some((found.place, found.ranks, found.needs, found.each))
    }

    fn lack(place: &str, ranks: usize, needs: &str, each: &str) -> Option<(String, usize, String, String)> {
        Some((place.to_owned(), ranks, needs.to_owned(), each.to_owned()))
    }

    #[test]
    fn what_does_not_fit_is_said_with_what_to_do() {
        let (has, needs, each) = ("1 MiB".to_owned(), "2 MiB".to_owned(), "2 MiB".to_owned());
        let error = BudgetError { place: "GPU 0".to_owned(), has, ranks: 1, needs, each, why: "why" };
        let said = "GPU 0 has 1 MiB, and 1 rank needs 2 MiB there (each 2 MiB at most: why); ask for a \
            smaller --size or fewer ranks";
        assert_eq!(error.to_string(), said);
        let two = BudgetError { ranks: 2, ..error };
        assert!(two.to_string().contains("ranks need"), "{two}");
    }

    #[test]
    fn what_fits_to_the_last_byte_fits_and_one_byte_less_does_not() {
        let one_way = RunConfig::short(&[Direction::H2d], &[MemoryKind::Pinned]);
        let there_and_back = RunConfig::short(&[Direction::RoundTrip], &[MemoryKind::Pinned]);
        let shared = [(0, gpu(1)), (0, gpu(1)), (1, gpu(1))];
        assert_eq!(lacks(&one_way, &shared, 2 * MIB, 3 * MIB), None);
        assert_eq!(lacks(&there_and_back, &shared, 4 * MIB, 3 * MIB), None);
        let host = lacks(&one_way, &shared, 2 * MIB - 1, 3 * MIB);
        assert_eq!(host, lack("NUMA node 0", 2, "2 MiB", "1 MiB"));
        let host = lacks(&there_and_back, &shared, 4 * MIB - 1, 3 * MIB);
        assert_eq!(host, lack("NUMA node 0", 2, "4 MiB", "2 MiB"));
        let device = lacks(&one_way, &shared, 2 * MIB, 3 * MIB - 1);
        assert_eq!(device, lack("GPU 0000:01:00.0", 3, "3 MiB", "1 MiB"));
    }

    #[test]
    fn both_directions_need_a_second_area_unless_only_pageable_memory_is_used() {
        let both = RunConfig::short(&[Direction::Bidirectional], &[MemoryKind::Pageable, MemoryKind::Pinned]);
        let found = lacks(&both, &[(0, gpu(1))], MIB << 10, 2 * MIB - 1);
        assert_eq!(found, lack("GPU 0000:01:00.0", 1, "2 MiB", "2 MiB"));
        let pageable = RunConfig::short(&[Direction::Bidirectional], &[MemoryKind::Pageable]);
        assert_eq!(lacks(&pageable, &[(0, gpu(1))], MIB << 10, MIB), None);
    }

    #[test]
    fn a_node_that_is_the_device_has_the_copies_too_and_each_rank_counts_once() {
        let host = RunConfig::short(&[Direction::H2d, Direction::D2h], &[MemoryKind::Pageable]);
        let own = [(0, TargetId::Node(0))];
        assert_eq!(lacks(&host, &own, 3 * MIB, 0), None);
        assert_eq!(lacks(&host, &own, 3 * MIB - 1, 0), lack("NUMA node 0", 1, "3 MiB", "3 MiB"));
        let crossed = [(0, TargetId::Node(2)), (1, TargetId::Node(2)), (3, TargetId::Node(2))];
        assert_eq!(lacks(&host, &crossed, 3 * MIB - 1, 0), lack("NUMA node 2", 3, "3 MiB", "1 MiB"));
    }

    #[test]
    fn the_nodes_together_must_fit_into_what_is_left_of_the_processs_limit() {
        let one_way = RunConfig::short(&[Direction::H2d], &[MemoryKind::Pinned]);
        let ranks = plan(&[(0, gpu(1)), (1, gpu(2))]);
        let limit = |bytes| MemoryLimit { bytes, used_bytes: Some(MIB), source: "memory.max".to_owned() };
        let check = |bytes| check_budget(&one_way, &ranks, |_| Some(MIB), |_| Some(MIB), Some(&limit(bytes)));
        assert_eq!(check(3 * MIB), Ok(()));
        let said = check(2 * MIB).map_err(|error| error.to_string());
        let place = "the memory limit of this process (2 MiB, memory.max; 1 MiB in use) has 1 MiB, and 2 \
            ranks need 2 MiB";
        assert!(said.as_ref().is_err_and(|text| text.starts_with(place)), "{said:?}");
        assert!(check(3 * MIB - 1).is_err());
    }

    #[test]
    fn of_memory_over_several_nodes_each_has_its_share() {
        let one_way = RunConfig::short(&[Direction::H2d], &[MemoryKind::Pinned]);
        let mut ranks = plan(&[(0, gpu(1))]);
        let nodes = MemoryNodes { node_use: NodeUse::WeightedInterleave, in_turn: [(0, 3), (1, 1)].into() };
        ranks.ranks[0].spread = Some(nodes);
        let check = |first: u64, second: u64| {
            let host = move |node| Some(if node == 0 { first } else { second });
            check_budget(&one_way, &ranks, host, |_| Some(MIB), None).map_err(|error| error.place)
        };
        assert_eq!(check(3 * MIB / 4, MIB / 4), Ok(()));
        assert_eq!(check(3 * MIB / 4 - 1, MIB), Err("NUMA node 0".to_owned()));
        assert_eq!(check(MIB, MIB / 4 - 1), Err("NUMA node 1".to_owned()));
    }

    #[test]
    fn a_place_of_which_nothing_is_known_is_not_checked_and_no_size_overflows() {
        let mut config = RunConfig::short(&[Direction::H2d], &[MemoryKind::Pinned]);
        config.sizes = vec![usize::MAX];
        let ranks = plan(&[(0, gpu(1)), (0, gpu(1))]);
        assert_eq!(check_budget(&config, &ranks, |_| None, |_| None, None), Ok(()));
        assert!(check_budget(&config, &ranks, |_| Some(u64::MAX - 1), |_| None, None).is_err());
    }
}
