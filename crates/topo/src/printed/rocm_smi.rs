//! `rocm-smi`'s views of the topology: `--showtopo`, `--showtoponuma`, `--showbus`.
//!
//! Its hops are not read: they are 1 for every two GPUs that xGMI connects at all, direct or not
//! (open-mpi/hwloc issue 775, ROCm/rocm-systems issue 5763). "Numa Affinity" is the kernel's `numa_node`;
//! "Numa Node" is the GPU driver's, which names one also where the kernel says -1, and counts only where a
//! version prints no other. Its numbers of GPUs are its own and need not be in PCI order.

use std::collections::BTreeMap;

use stats::PciAddress;

/// All that it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RocmSmi {
    pub(super) gpus: BTreeMap<u32, RocmGpu>,
    /// The cells of the link table that say xGMI, row and column: each two GPUs once in each direction.
    pub(super) xgmi: Vec<(u32, u32)>,
}

/// One GPU, by rocm-smi's number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RocmGpu {
    pub(super) pci: Option<PciAddress>,
    pub(super) name: Option<String>,
    pub(super) node: Option<i64>,
}

/// What it says; `None` where no line is its.
pub(super) fn read(lines: &[&str]) -> Option<RocmSmi> {
    let mut found = RocmSmi::default();
    let mut columns: Option<Vec<u32>> = None;
    let mut is_of_links = false;
    for line in lines.iter().map(|line| line.trim()) {
        if line.contains("between two GPUs") {
            is_of_links = line.contains("Link Type");
            columns = None;
        } else if let Some((index, head, value)) = gpu_line(line) {
            let gpu = found.gpus.entry(index).or_default();
            match head {
                "(Topology) Numa Affinity" => gpu.node = value.parse().ok(),
                "(Topology) Numa Node" => gpu.node = gpu.node.or(value.parse().ok()),
                "PCI Bus" => gpu.pci = value.parse().ok(),
                "Card series" | "Card Series" => gpu.name = Some(value.to_owned()),
                _ => {}
            }
        } else if let Some(labels) = labels(line) {
            columns = Some(labels);
        } else if let (Some(columns), Some((row, cells))) = (&columns, matrix_row(line)) {
            found.gpus.entry(row).or_default();
            let linked = columns.iter().zip(cells).filter(|(_, cell)| is_of_links && *cell == "XGMI");
            found.xgmi.extend(linked.map(|(column, _)| (row, *column)));
        }
    }

    (!found.gpus.is_empty()).then_some(found)
}

/// `GPU[0] : PCI Bus: 0000:C1:00.0` as 0, `PCI Bus` and the value.
fn gpu_line(line: &str) -> Option<(u32, &str, &str)> {
    let (index, rest) = line.strip_prefix("GPU[")?.split_once(']')?;
    let (head, value) = rest.trim_start().strip_prefix(':')?.split_once(": ")?;
    Some((index.parse().ok()?, head.trim(), value.trim()))
}

/// The columns' head: `GPU0  GPU1` and nothing else.
fn labels(line: &str) -> Option<Vec<u32>> {
    let labels: Option<Vec<u32>> = line.split_whitespace().map(number).collect();
    labels.filter(|labels| !labels.is_empty())
}

fn matrix_row(line: &str) -> Option<(u32, Vec<&str>)> {
    let mut words = line.split_whitespace();
    let row = number(words.next()?)?;
    Some((row, words.collect()))
}

fn number(label: &str) -> Option<u32> {
    label.strip_prefix("GPU")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_addresses_and_links_are_read_and_hops_are_not() {
        let text = "==== Hops between two GPUs ====\n       GPU0  GPU1\nGPU0   0     1\nGPU1   1     0\n\
            ==== Link Type between two GPUs ====\n       GPU0  GPU1\nGPU0   0     XGMI\nGPU1   XGMI  0\n\
            ==== Numa Nodes ====\nGPU[0]\t\t: (Topology) Numa Node: 3\n\
            GPU[0]\t\t: (Topology) Numa Affinity: 3\nGPU[1]\t\t: (Topology) Numa Node: 0\n\
            GPU[1]\t\t: (Topology) Numa Affinity: -1\nGPU[1]\t\t: PCI Bus: 0000:C6:00.0\n";
        let found = read(&text.lines().collect::<Vec<_>>()).unwrap_or_default();
        assert_eq!(found.xgmi, [(0, 1), (1, 0)]);
        assert_eq!((found.gpus[&0].node, found.gpus[&1].node), (Some(3), Some(-1)));
        assert_eq!(found.gpus[&1].pci, "c6:00.0".parse().ok());
        assert_eq!(read(&["GPU 0: NVIDIA (UUID: GPU-1)"]), None);
    }
}
