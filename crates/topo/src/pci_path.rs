//! The way between two PCI devices, in the words of `nvidia-smi topo -m`: PIX, PXB, PHB, NODE, SYS.
//!
//! Counted from the bridges above each device, which hwloc has for a machine and for a file alike. NVIDIA
//! publishes its legend but not its rule; this one gives the legend's words, and NCCL's distances
//! (`src/graph/topo.cc`): from the lowest bridge that both are under, at most one further bridge on either
//! side is one switch (its two downstream ports), more are several.

use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::{ObjectAttributes, UpstreamAttributes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What lies between two PCI devices, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum PciLevel {
    /// At most one PCIe bridge (one switch).
    Pix,
    /// Several PCIe bridges, no host bridge.
    Pxb,
    /// A host bridge (typically the CPU).
    Phb,
    /// The interconnect between host bridges of one NUMA node.
    Node,
    /// The interconnect between NUMA nodes.
    Sys,
}

impl PciLevel {
    /// The legend's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pix => "PIX",
            Self::Pxb => "PXB",
            Self::Phb => "PHB",
            Self::Node => "NODE",
            Self::Sys => "SYS",
        }
    }

    /// The level of a word of the legend.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        [Self::Pix, Self::Pxb, Self::Phb, Self::Node, Self::Sys]
            .into_iter()
            .find(|level| level.word() == word)
    }
}

/// The bridges above a device, in hwloc's persistent numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PciPath {
    /// The host bridge; `None` where the file does not have it.
    pub(crate) host_bridge: Option<u64>,
    /// PCI bridges from the host bridge down.
    pub(crate) bridges: Vec<u64>,
}

impl PciPath {
    /// The path of a device.
    pub(crate) fn of(device: &TopologyObject) -> Self {
        let mut path = Self::default();
        for above in device.ancestors() {
            let Some(ObjectAttributes::Bridge(bridge)) = above.attributes() else { break };
            let id = above.global_persistent_index();
            match bridge.upstream_attributes() {
                Some(UpstreamAttributes::PCI(_)) => path.bridges.push(id),
                None => path.host_bridge = Some(id),
            }
        }
        path.bridges.reverse();
        path
    }
}

/// What lies between devices with these paths; `same_node` says whether they are local to the same NUMA node,
/// `None` where nobody knows.
///
/// # Errors
/// Why it is not known.
pub(crate) fn between(
    one: &PciPath,
    other: &PciPath,
    same_node: Option<bool>,
) -> Result<PciLevel, &'static str> {
    let common = one.bridges.iter().zip(&other.bridges).take_while(|(one, other)| one == other).count();
    if common > 0 {
        let below = (one.bridges.len() - common).max(other.bridges.len() - common);
        return Ok(if below <= 1 { PciLevel::Pix } else { PciLevel::Pxb });
    }
    match (one.host_bridge, other.host_bridge, same_node) {
        (Some(one), Some(other), _) if one == other => Ok(PciLevel::Phb),
        (_, _, Some(false)) => Ok(PciLevel::Sys),
        (Some(_), Some(_), Some(true)) => Ok(PciLevel::Node),
        (Some(_), Some(_), None) => {
            Err("they are under different host bridges, and the NUMA nodes of these are not known")
        }
        _ => Err("the bridges above them are not described"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(host_bridge: u64, bridges: &[u64]) -> PciPath {
        PciPath { host_bridge: Some(host_bridge), bridges: bridges.to_vec() }
    }

    /// A root port (10), a switch below it (upstream 11, downstream 12 to 14), a second one below port 14
    /// (15, 16, 17).
    #[test]
    fn bridges_are_counted_from_the_lowest_that_both_are_under() {
        let level = |one: &[u64], other: &[u64]| between(&path(1, one), &path(1, other), None);
        assert_eq!(level(&[10, 11, 12], &[10, 11, 13]), Ok(PciLevel::Pix), "two ports of one switch");
        assert_eq!(level(&[10], &[10]), Ok(PciLevel::Pix), "two functions of one card");
        assert_eq!(
            level(&[10, 11, 12], &[10, 11, 14, 15, 16]),
            Ok(PciLevel::Pxb),
            "a switch behind a switch"
        );
        assert_eq!(level(&[10, 11, 12], &[10, 11, 13, 18]), Ok(PciLevel::Pxb), "a bridge behind a port");
        assert_eq!(level(&[10, 11, 14, 15, 16], &[10, 11, 14, 15, 17]), Ok(PciLevel::Pix));
        assert_eq!(level(&[10], &[20]), Ok(PciLevel::Phb), "two root ports");
        assert_eq!(level(&[], &[]), Ok(PciLevel::Phb), "both on the root bus, as in a virtual machine");
    }

    #[test]
    fn host_bridges_of_one_node_and_of_several_are_told_apart() {
        let level = |same_node| between(&path(1, &[10]), &path(2, &[20]), same_node);
        assert_eq!(level(Some(true)), Ok(PciLevel::Node));
        assert_eq!(level(Some(false)), Ok(PciLevel::Sys));
        assert!(level(None).is_err());
    }

    #[test]
    fn why_a_level_is_not_known_is_said_of_nodes_and_of_bridges() {
        let bare = PciPath::default();
        let unknown = [between(&path(1, &[10]), &path(2, &[20]), None), between(&bare, &bare, Some(true))];
        insta::assert_snapshot!(
            "unknown_levels",
            unknown.map(|level| level.err().unwrap_or_default()).join("\n")
        );
    }

    #[test]
    fn without_host_bridges_only_what_is_certain_is_said() {
        let bare = PciPath::default();
        assert_eq!(between(&bare, &bare, Some(false)), Ok(PciLevel::Sys));
        assert!(between(&bare, &bare, Some(true)).is_err());
        assert!(between(&bare, &path(1, &[]), None).is_err());
    }

    #[test]
    fn a_level_is_found_by_its_word() {
        for level in [PciLevel::Pix, PciLevel::Pxb, PciLevel::Phb, PciLevel::Node, PciLevel::Sys] {
            assert_eq!(PciLevel::of_word(level.word()), Some(level));
        }
        assert_eq!(PciLevel::of_word("NV4"), None);
    }
}
