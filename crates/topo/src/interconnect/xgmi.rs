//! The xGMI links between AMD GPUs: from the kernel driver's nodes, else from the matrices that hwloc's RSMI
//! component wrote.

use hwlocality::Topology as Hwloc;

use super::matrices::Matrix;
use super::{Fabric, Fabrics, InterconnectSource};
use crate::kfd::KfdGpu;
use crate::model::{Gpu, Topology};

/// What the driver's nodes say, else what hwloc wrote into the file.
pub(super) fn xgmi(hwloc: &Hwloc, topology: &Topology, kfd: &[KfdGpu]) -> (Fabrics, InterconnectSource) {
    if !kfd.is_empty() {
        return (by_nodes(kfd), InterconnectSource::by("KFD"));
    }
    let (hops, bandwidth) = (Matrix::named(hwloc, "XGMIHops"), Matrix::named(hwloc, "XGMIBandwidth"));
    if hops.is_none() && bandwidth.is_none() {
        let why = "there are no nodes of the amdgpu driver in /sys/class/kfd, and no matrix of hwloc's";
        return (Fabrics::default(), InterconnectSource::not(why));
    }
    let between = |one: &Gpu, other: &Gpu| {
        let value = |matrix: &Option<Matrix>| matrix.as_ref()?.between(one, other).filter(|value| *value > 0);
        let hops = value(&hops);
        hops.or(value(&bandwidth))?;
        // hwloc writes 100 GB/s for every link: a constant of its source, no reading.
        let (least_bytes_per_s, most_bytes_per_s) = (None, None);
        let hops = hops.and_then(|hops| u32::try_from(hops).ok());
        Some(Fabric::Xgmi { hops, least_bytes_per_s, most_bytes_per_s })
    };
    let told = InterconnectSource::by("hwloc's matrices XGMIHops and XGMIBandwidth");

    (Fabrics::of(topology.gpus.iter(), between), told)
}

fn by_nodes(kfd: &[KfdGpu]) -> Fabrics {
    let mut between = Fabrics::default();
    for gpu in kfd {
        for link in &gpu.links {
            // Links to CPUs lead to nodes that are no GPU.
            let other = kfd.iter().find(|other| other.node == link.to_node);
            let fabric = Fabric::Xgmi {
                hops: link.hops,
                least_bytes_per_s: link.least_bytes_per_s,
                most_bytes_per_s: link.most_bytes_per_s,
            };
            between.0.extend(other.map(|other| (gpu.pci, other.pci, fabric)));
        }
    }
    between
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::path::Path;

    use super::*;

    type Outcome = Result<(), Box<dyn Error>>;

    const PARTITIONS: usize = 24;

    /// The four MI300A in six partitions each, with a matrix of hops: one within a GPU, two between GPUs.
    fn divided_gpus() -> Result<crate::Survey, Box<dyn Error>> {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mi300a-cpx.xml");
        let mut text = std::fs::read_to_string(&fixture)?;
        // Apart, because hwloc numbers the objects between them on.
        let id = |number: usize| 1000 * (number + 1);
        for number in 0..PARTITIONS {
            let (name, id) = (format!("name=\"rsmi{number}\""), id(number));
            text = text.replacen(&name, &format!("gp_index=\"{id}\" {name}"), 1);
        }

        let hops = |from: usize, to: usize| match (from == to, from / 6 == to / 6) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        let cells = (0..PARTITIONS).flat_map(|from| (0..PARTITIONS).map(move |to| hops(from, to)));
        let list =
            |numbers: Vec<usize>| -> String { numbers.iter().map(|number| format!("{number} ")).collect() };
        let (ids, cells) = (list((0..PARTITIONS).map(id).collect()), list(cells.collect()));
        let (ids_length, cells_length) = (ids.len(), cells.len());
        let matrix = format!(
            "<distances2 type=\"OSDev\" nbobjs=\"{PARTITIONS}\" kind=\"5\" name=\"XGMIHops\" \
             indexing=\"gp\"><indexes length=\"{ids_length}\">{ids}</indexes>\
             <u64values length=\"{cells_length}\">{cells}</u64values></distances2></topology>"
        );
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), text.replace("</topology>", &matrix))?;
        Ok(crate::survey_xml(file.path())?)
    }

    #[test]
    fn every_partition_of_a_gpu_has_the_links_that_the_file_states_of_it() -> Outcome {
        let survey = divided_gpus()?;
        assert_eq!(survey.topology.gpus.len(), PARTITIONS);
        for one in 0..PARTITIONS {
            for other in one + 1..PARTITIONS {
                let pair = survey.interconnect.between(one, other).ok_or("no pair")?;
                let hops = Some(if one / 6 == other / 6 { 1 } else { 2 });
                let links = Fabric::Xgmi { hops, least_bytes_per_s: None, most_bytes_per_s: None };
                assert_eq!((pair.fabric, &*pair.sign()), (Some(links), "XGMI"), "{} {}", pair.from, pair.to);
            }
        }
        Ok(())
    }
}
