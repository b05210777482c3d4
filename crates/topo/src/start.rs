//! What a program that is started here has: the machine, the GPUs that its runtimes would list, the step's
//! share.
//!
//! Less than a [`Survey`](crate::Survey), because it stands between a launcher and the program it launches:
//! the machine is read once, device files and the drivers' files are looked at, and neither adapters, links
//! nor huge pages are. GPUs whose device file this process may not open are taken away before the runtimes'
//! lists are predicted, since a runtime counts without them.

use stats::{IdSet, PciAddress};

use crate::TopoError;
use crate::fs_root::FsRoot;
use crate::model::Topology;
use crate::nvml::Nvml;
use crate::read::read;
use crate::step::{self, Access, Step};
use crate::visibility::{self, Visibility};

/// What a program that is started here has.
#[derive(Clone, Debug)]
pub struct Start {
    /// The machine, and what this process may use of it.
    pub topology: Topology,
    /// What each GPU runtime would list, predicted; only of the GPUs that are not `hidden`.
    pub visibility: Vec<Visibility>,
    /// GPUs, by `index`, whose device files are refused to this process or are not here.
    pub hidden: IdSet,
    /// AMD GPUs in ROCr's order, which is what ROCR_VISIBLE_DEVICES counts along, without the `hidden` ones;
    /// empty where its driver shows none.
    pub rocr: Vec<PciAddress>,
    /// The job step that this process is in; `None` outside of any.
    pub step: Option<Step>,
}

/// Reads it.
///
/// # Errors
/// As [`read()`](crate::read()).
pub fn start() -> Result<Start, TopoError> {
    let topology = read()?;
    let step = step::here(&topology);
    Ok(start_from(topology, step, &FsRoot::default()))
}

fn start_from(topology: Topology, step: Option<Step>, root: &FsRoot) -> Start {
    let is_hidden = |pci| matches!(step::device_access(root, pci), Access::Refused | Access::Missing);
    let hidden: IdSet = topology.gpus.iter().filter(|gpu| is_hidden(gpu.pci)).map(|gpu| gpu.index).collect();
    let kfd = step::open_agents(root);
    let mut open = topology.clone();
    open.gpus.retain(|gpu| !hidden.contains(gpu.index));
    let visibility = visibility::visibility(&open, &Nvml::NotAsked, &kfd, &visibility::variables(root));
    Start { topology, visibility, hidden, rocr: kfd.into_iter().map(|agent| agent.pci).collect(), step }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// Two NVIDIA GPUs whose driver says that their files are /dev/nvidia0 and a number that no machine has.
    fn machine() -> Result<(Topology, tempfile::TempDir), Box<dyn std::error::Error>> {
        let root = tempfile::tempdir()?;
        let mut topology = read()?;
        topology.gpus.clear();
        for (index, bus, minor) in [(0, 1, 4_000_000), (1, 2, 4_000_001)] {
            let pci = PciAddress { domain: 0, bus, device: 0, function: 0 };
            topology.gpus.push(gpu(index, pci));
            let folder = root.path().join(format!("proc/driver/nvidia/gpus/{pci}"));
            std::fs::create_dir_all(&folder)?;
            let minor = if index == 0 { String::new() } else { format!("Device Minor: \t{minor}\n") };
            std::fs::write(folder.join("information"), format!("Model: \tX\n{minor}"))?;
        }
        Ok((topology, root))
    }

    fn gpu(index: u32, pci: PciAddress) -> crate::model::Gpu {
        let set = IdSet::default;
        crate::model::Gpu {
            index,
            pci,
            vendor_id: 0x10de,
            device_id: 0x2335,
            class_id: 0x0302,
            name: crate::model::GpuName { value: None, source: "none".to_owned() },
            uuid: None,
            os_devices: Vec::new(),
            locality: crate::model::Locality {
                rung: crate::model::Rung::Unknown,
                reason: String::new(),
                attached_to: String::new(),
                pus: set(),
                nodes: set(),
                outside_pus: set(),
                outside_nodes: set(),
                l3_pus: None,
            },
            link: None,
            partition: None,
        }
    }

    #[test]
    fn a_gpu_whose_device_file_is_not_here_is_hidden_and_no_runtime_lists_it() -> Outcome {
        let (topology, root) = machine()?;
        let start = start_from(topology, None, &FsRoot::at(root.path()));
        assert_eq!(start.hidden, "1".parse()?);
        assert_eq!(start.topology.gpus.len(), 2, "it is still the machine's");
        let listed: Vec<_> = start.visibility.iter().flat_map(|one| one.devices.iter().flatten()).collect();
        assert!(listed.iter().all(|device| device.pci.is_none_or(|pci| pci.bus == 1)), "{listed:?}");
        assert_eq!(start.visibility.len(), 1);
        Ok(())
    }

    #[test]
    fn an_amd_gpu_without_its_render_node_is_not_counted_by_rocm() -> Outcome {
        let (mut topology, root) = machine()?;
        for (gpu, minor) in topology.gpus.iter_mut().zip(["null", "4000000"]) {
            gpu.vendor_id = crate::gpu_class::AMD;
            let (pci, bus) = (gpu.pci, u32::from(gpu.pci.bus));
            std::fs::remove_dir_all(root.path().join(format!("proc/driver/nvidia/gpus/{pci}")))?;
            if minor != "null" {
                let folder = format!("sys/bus/pci/devices/{pci}/drm/renderD{minor}");
                std::fs::create_dir_all(root.path().join(folder))?;
            }
            // The one that is not here is the first of ROCr's.
            let node = root.path().join(format!("sys/class/kfd/kfd/topology/nodes/{}", 9 - bus));
            std::fs::create_dir_all(&node)?;
            std::fs::write(
                node.join("properties"),
                format!("simd_count 304\nlocation_id {}\ndomain 0\n", bus << 8),
            )?;
        }

        let start = start_from(topology, None, &FsRoot::at(root.path()));
        assert_eq!(start.hidden, "1".parse()?);
        let buses = |pcis: Vec<PciAddress>| pcis.iter().map(|pci| pci.bus).collect::<Vec<u8>>();
        assert_eq!(buses(start.rocr), [1]);
        let listed = start.visibility.iter().flat_map(|one| one.devices.iter().flatten());
        assert_eq!(buses(listed.filter_map(|device| device.pci).collect()), [1]);
        Ok(())
    }

    #[test]
    fn this_machine_is_read_as_read_reads_it() -> Outcome {
        let (start, topology) = (start()?, read()?);
        assert_eq!(start.topology.allowed, topology.allowed);
        assert_eq!(start.topology.gpus, topology.gpus);
        Ok(())
    }
}
