//! Whether the memory a run needs is there, said before anything is allocated.
//!
//! It must be known beforehand: memory that is bound strictly and cannot be had is not an error the kernel returns, it is a
//! process the kernel kills. Pure: sizes in, verdict out.

use std::collections::BTreeMap;

use device::MemoryKind;
use placement::{Plan, TargetId};

use crate::config::RunConfig;

/// More memory is needed than there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{place} has {has}, and {ranks} ranks need {needs} there (each {each}: {why}); ask for a smaller --size or fewer ranks"
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
    /// What each needs.
    pub each: String,
    /// For what.
    pub why: &'static str,
}

/// Compares what the ranks of `plan` need with what each place has (bytes): host nodes by `host_bytes`, devices by `device_bytes`.
/// A place of which nothing is known is not checked.
///
/// # Errors
/// The first place that has too little.
pub fn check_budget(
    config: &RunConfig,
    plan: &Plan,
    host_bytes: impl Fn(u32) -> Option<u64>,
    device_bytes: impl Fn(TargetId) -> Option<u64>,
) -> Result<(), BudgetError> {
    let size = config.largest() as u64;
    // Both ends of a rank's copies lie on nodes when the device is one; a GPU has its own memory.
    let mut on_node: BTreeMap<u32, (usize, u64)> = BTreeMap::new();
    let mut on_device: BTreeMap<TargetId, (usize, u64)> = BTreeMap::new();
    let areas =
        if config.bidirectional() && config.memory.iter().any(|kind| *kind != MemoryKind::Pageable) { 2 } else { 1 };
    for rank in &plan.ranks {
        let host = on_node.entry(rank.memory_node).or_default();
        *host = (host.0 + 1, host.1.saturating_add(size.saturating_mul(2)));
        match rank.target.id {
            TargetId::Node(node) => {
                let device = on_node.entry(node).or_default();
                *device = (device.0.max(1), device.1.saturating_add(size));
            }
            gpu @ TargetId::Gpu(_) => {
                let device = on_device.entry(gpu).or_default();
                *device = (device.0 + 1, device.1.saturating_add(size.saturating_mul(areas)));
            }
        }
    }
    for (node, (ranks, needs)) in on_node {
        let why = "a source and a destination range, and where the device is this node, its copy of them";
        fits(format!("NUMA node {node}"), host_bytes(node), ranks, needs, why)?;
    }
    for (device, (ranks, needs)) in on_device {
        fits(format!("GPU {device}"), device_bytes(device), ranks, needs, "one area, two with --direction bidir")?;
    }
    Ok(())
}

fn fits(place: String, has: Option<u64>, ranks: usize, needs: u64, why: &'static str) -> Result<(), BudgetError> {
    let Some(has) = has.filter(|has| needs > *has) else { return Ok(()) };
    let (has, each) = (stats::units::rounded_size(has), stats::units::rounded_size(needs / ranks.max(1) as u64));
    Err(BudgetError { place, has, ranks, needs: stats::units::rounded_size(needs), each, why })
}
