//! GPUs that share something on the way to the host, as the platform shows it: a PCIe switch, a host bridge,
//! a NUMA node.

use stats::{IdSet, PciAddress};

use super::Interconnect;
use crate::partition::whole;
use crate::pci_path::PciLevel;

/// GPUs that share something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedBy {
    /// Their places in the list that was asked about.
    pub gpus: IdSet,
    /// What they share, in words: `one PCIe switch (PIX)`.
    pub what: String,
}

const LEVELS: [(PciLevel, &str); 4] = [
    (PciLevel::Pix, "one PCIe switch (PIX)"),
    (PciLevel::Pxb, "one PCIe switch or tree of switches (PXB)"),
    (PciLevel::Phb, "one PCIe host bridge (PHB)"),
    (PciLevel::Node, "one NUMA node (NODE)"),
];

impl Interconnect {
    /// The groups of two and more of these GPUs that are no further from each other than each level, nearest
    /// level first; a group that an earlier level has already is not said again.
    pub fn shared_by(&self, gpus: &[PciAddress]) -> Vec<SharedBy> {
        let place = |pci: &PciAddress| self.devices.iter().position(|device| device.pci == *pci);
        let places: Vec<Option<usize>> = gpus.iter().map(place).collect();
        let level = |a: usize, b: usize| self.between(places[a]?, places[b]?)?.pci;
        let mut found: Vec<SharedBy> = Vec::new();

        for (most, what) in LEVELS {
            let mut left: Vec<usize> = (0..gpus.len()).collect();
            while let Some(first) = left.first().copied() {
                let (mut group, mut reached) = (vec![first], 0);
                while let Some(at) = group.get(reached).copied() {
                    let near: Vec<usize> = left
                        .iter()
                        .copied()
                        .filter(|other| {
                            !group.contains(other) && level(at, *other).is_some_and(|level| level <= most)
                        })
                        .collect();
                    group.extend(near);
                    reached += 1;
                }
                left.retain(|at| !group.contains(at));
                let is_one_gpu = group.iter().all(|at| whole(gpus[*at]) == whole(gpus[group[0]]));
                let what = if is_one_gpu { "one GPU, of which they are partitions" } else { what };
                let members: IdSet = group.iter().map(|at| *at as u32).collect();
                if members.len() > 1 && !found.iter().any(|other| other.gpus == members) {
                    found.push(SharedBy { gpus: members, what: what.to_owned() });
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interconnect::{Affinity, Endpoint, Pair};

    /// GPUs whose levels to each other are given row by row, above the diagonal.
    fn machine(levels: &[Option<PciLevel>], gpus: u8) -> (Interconnect, Vec<PciAddress>) {
        let address = |at: u8| PciAddress { domain: 0, bus: at, device: 0, function: 0 };
        let endpoint = |at: u8| Endpoint {
            label: format!("GPU{at}"),
            pci: address(at),
            name: None,
            affinity: Some(Affinity { pus: None, nodes: None, memory_node: None, source: String::new() }),
            nvlinks: None,
            bridges: Vec::new(),
        };

        let mut pairs = Vec::new();
        let mut levels = levels.iter();

        for a in 0..gpus {
            for b in a + 1..gpus {
                pairs.push(Pair {
                    from: format!("GPU{a}"),
                    to: format!("GPU{b}"),
                    pci: levels.next().copied().flatten(),
                    pci_source: String::new(),
                    reason: None,
                    fabric: None,
                });
            }
        }

        let interconnect =
            Interconnect { devices: (0..gpus).map(endpoint).collect(), pairs, nvlink: None, xgmi: None };
        (interconnect, (0..gpus).map(address).collect())
    }

    fn group_lines(levels: &[Option<PciLevel>], gpus: u8) -> Vec<String> {
        let (interconnect, gpus) = machine(levels, gpus);
        interconnect.shared_by(&gpus).iter().map(|group| format!("{}: {}", group.gpus, group.what)).collect()
    }

    #[test]
    fn gpus_behind_switches_on_two_nodes_are_grouped_by_switch_and_then_by_node() {
        use PciLevel::{Node, Pix, Sys};
        // 0 and 1 behind one switch, 2 and 3 on the same node, 4 and 5 on another.
        let rows = [
            vec![Pix, Node, Node, Sys, Sys],
            vec![Node, Node, Sys, Sys],
            vec![Node, Sys, Sys],
            vec![Sys, Sys],
            vec![Pix],
        ];
        let levels: Vec<Option<PciLevel>> = rows.concat().into_iter().map(Some).collect();
        let want = ["0-1: one PCIe switch (PIX)", "4-5: one PCIe switch (PIX)", "0-3: one NUMA node (NODE)"];
        assert_eq!(group_lines(&levels, 6), want);
    }

    #[test]
    fn partitions_of_one_gpu_share_the_gpu_and_no_switch() {
        let (mut interconnect, mut gpus) = machine(&[Some(PciLevel::Pix)], 2);
        gpus[1] = PciAddress { function: 1, ..gpus[0] };
        interconnect.devices[1].pci = gpus[1];
        let what: Vec<String> = interconnect.shared_by(&gpus).into_iter().map(|group| group.what).collect();
        assert_eq!(what, ["one GPU, of which they are partitions"]);
    }

    #[test]
    fn where_nobody_says_what_is_between_there_is_no_group() {
        assert_eq!(group_lines(&[None, None, None], 3), [""; 0]);
        assert_eq!(group_lines(&[Some(PciLevel::Sys)], 2), [""; 0]);
    }
}
