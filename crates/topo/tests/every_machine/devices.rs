//! GPUs and network adapters: each one of the file once, where the file hangs it, with the names and the link
//! that it has there.

use std::error::Error;

use stats::{IdSet, PciAddress, printable};
use topo::model::{Gpu, Link, Locality, Rung};
use topo::visibility::Runtime;
use topo::{Nic, NicKind};

use crate::file::{
    MachineAndFile, Object, Outcome, address, counted, each, field, info, number, os_devices, pci_ids, place,
    set,
};

/// Where the place that a file hangs devices from does not say what is near, or is all there is.
const WHOLE: [(&str, &str, Rung, &str); 6] = [
    (
        "hostile-names",
        "Package 0",
        Rung::PciLocalCpus,
        "the machine has one NUMA node with CPUs, so all of it is local",
    ),
    (
        "hybrid",
        "Machine",
        Rung::PciLocalCpus,
        "the machine has one NUMA node with CPUs, so all of it is local",
    ),
    (
        "vm-one-node",
        "Machine",
        Rung::Unknown,
        "virtual machine (it has devices of the hypervisor vendor 1af4) with one NUMA node; its devices are \
         attached to the whole of it",
    ),
    (
        "vm-two-nodes",
        "Machine",
        Rung::Unknown,
        "hwloc attaches it to the whole machine, and this machine has 2 NUMA nodes",
    ),
    (
        "two-packages-gpus",
        "Machine",
        Rung::Unknown,
        "hwloc attaches it to the whole machine, and this machine has 2 NUMA nodes",
    ),
    (
        "job-left-out",
        "Package 0",
        Rung::Unknown,
        "hwloc attaches it to Package 0, which has no PU and no NUMA node that this view shows",
    ),
];

/// The rung and the reason of what hangs from this place.
fn known(machine: &MachineAndFile<'_>, pci: PciAddress, at: Object<'_>) -> (Rung, String) {
    let kind = at.attribute("type").unwrap_or_default();
    let number = at.attribute("os_index").filter(|_| kind != "Machine");
    let label = number.map_or(kind.to_owned(), |number| format!("{kind} {number}"));
    if let Some((.., rung, why)) =
        WHOLE.iter().find(|(name, place, ..)| *name == machine.name && *place == label)
    {
        return (*rung, (*why).to_owned());
    }
    let pus = set(at, "cpuset");
    if kind == "L3Cache" && machine.objects("NUMANode").any(|node| set(node, "cpuset").len() > pus.len()) {
        let board = info(machine.root, "DMIBoardName")
            .map_or_else(String::new, |name| format!(" (the board is {name})"));
        return (Rung::L3, format!("hwloc attaches it to one L3{board}"));
    }
    let node = machine.kept(&format!("/sys/bus/pci/devices/{pci}/numa_node"));
    let node = node.map_or_else(String::new, |node| format!("; the kernel says numa_node {node}"));
    let outside = pus.is_subset(&machine.survey.topology.allowed.not_in_cgroup_pus);
    let outside = if outside {
        format!("; all of its local PUs ({pus}) are outside the cpuset")
    } else {
        String::new()
    };
    (Rung::PciLocalCpus, format!("PCI local CPUs: hwloc attaches it to {label}{node}{outside}"))
}

fn locality(
    machine: &MachineAndFile<'_>,
    pci: PciAddress,
    device: Object<'_>,
) -> Result<Locality, Box<dyn Error>> {
    let at = place(device).ok_or("a device in nothing")?;
    let (rung, reason) = known(machine, pci, at);
    let told = |set: IdSet| if rung == Rung::Unknown { IdSet::default() } else { set };
    let (pus, mut nodes) = (told(set(at, "cpuset")), told(set(at, "nodeset")));
    let memory = machine.kept(&format!("/proc/driver/nvidia/gpus/{pci}/numa_status"));
    nodes.0.extend(memory.and_then(|status| field(status, "Node")?.parse::<u32>().ok()));
    let allowed = &machine.survey.topology.allowed;
    let with_memory =
        |node: &u32| machine.survey.topology.node(*node).is_none_or(|node| node.total_bytes > 0);
    let outside_nodes: IdSet = nodes.and(&allowed.missing_nodes).iter().filter(with_memory).collect();
    let around: Vec<IdSet> = machine.objects("L3Cache").map(|l3| set(l3, "cpuset")).collect();
    let around: Vec<&IdSet> = around.iter().filter(|l3| !l3.and(&pus).is_empty()).collect();
    Ok(Locality {
        rung,
        reason,
        attached_to: at.attribute("type").unwrap_or_default().to_owned(),
        l3_pus: if let [only] = around[..] { Some(only.clone()) } else { None },
        outside_pus: pus.and(&allowed.not_in_cgroup_pus),
        pus: pus.minus(&allowed.not_in_cgroup_pus),
        nodes: nodes.minus(&outside_nodes),
        outside_nodes,
    })
}

/// hwloc's one number, of the slowest link within an AMD package; in a saved file what the kernel's files of
/// the device say.
fn link(machine: &MachineAndFile<'_>, pci: PciAddress, device: Object<'_>) -> Option<Link> {
    let bare = Link {
        generation: None,
        width: None,
        max_generation: None,
        max_width: None,
        slot_generation: None,
        bytes_per_s: None,
        source: "hwloc's pci_link_speed".to_owned(),
    };
    if machine.is_saved() {
        let target = machine.kept(&format!("/sys/bus/pci/devices/{pci}"))?;
        let file = |name: &str| machine.kept(&format!("{target}/{name}"));
        let lanes = |name: &str| file(name)?.parse().ok();
        let generation = |name: &str| {
            let rates = ["2.5", "5.0", "8.0", "16.0", "32.0", "64.0"];
            let rate = file(name)?.strip_suffix(" GT/s PCIe")?;
            u8::try_from(rates.iter().position(|known| *known == rate)? + 1).ok()
        };
        return Some(Link {
            generation: generation("current_link_speed"),
            width: lanes("current_link_width"),
            max_generation: generation("max_link_speed"),
            max_width: lanes("max_link_width"),
            source: format!("sysfs of {pci}"),
            ..bare
        });
    }
    let vendor = |object: Object<'_>| pci_ids(object).map(|(_, vendor, _)| vendor);
    let inner = device
        .ancestors()
        .skip(1)
        .take_while(|above| vendor(device) == Some(AMD) && vendor(*above) == Some(AMD));
    let speeds =
        std::iter::once(device).chain(inner).filter_map(|port| number::<f32>(port, "pci_link_speed"));
    let slowest = speeds.filter(|speed| *speed > 0.0).min_by(f32::total_cmp)?;
    Some(Link { bytes_per_s: Some((f64::from(slowest) * 1e6).round() as u64 * 1000), ..bare })
}

const NVIDIA: u16 = 0x10de;
const AMD: u16 = 0x1002;
const INTEL: u16 = 0x8086;

/// A GPU of the file: its device, and which part of it this is.
pub struct GpuInFile<'x> {
    pub pci: PciAddress,
    pub device: Object<'x>,
    /// Its number and how many there are, and the library's device that it is.
    part: Option<(u8, u8, Object<'x>)>,
}

/// The GPUs in PCI order: display controllers and accelerators of vendors of GPUs, an AMD one as often as
/// ROCm SMI has devices there.
pub fn gpus<'x>(machine: &MachineAndFile<'x>) -> Result<Vec<GpuInFile<'x>>, Box<dyn Error>> {
    let mut all = Vec::new();
    for device in machine.objects("PCIDev") {
        let (class, vendor, _) = pci_ids(device).ok_or("no ids")?;
        if !matches!(class >> 8, 0x03 | 0x12) || ![NVIDIA, AMD, INTEL].contains(&vendor) {
            continue;
        }
        let pci = address(device)?;
        let mut parts: Vec<Object<'_>> =
            os_devices(device).filter(|device| name(*device).starts_with("rsmi")).collect();
        parts.sort_by_key(|part| counted(name(*part)));
        let of = u8::try_from(parts.len())?;
        if of < 2 {
            all.push(GpuInFile { pci, device, part: None });
        } else {
            let part = |(part, function)| GpuInFile {
                pci: PciAddress { function, ..pci },
                device,
                part: Some((function, of, part)),
            };
            all.extend(parts.into_iter().zip(0..).map(part));
        }
    }
    all.sort_by_key(|found| found.pci);
    Ok(all)
}

fn name<'x>(device: Object<'x>) -> &'x str {
    device.attribute("name").unwrap_or_default()
}

impl<'x> GpuInFile<'x> {
    fn libraries(&self) -> Vec<Object<'x>> {
        match self.part {
            Some((.., part)) => vec![part],
            None => os_devices(self.device).collect(),
        }
    }

    /// Its name and who says it: the driver's file, its library's device, the list of PCI ids.
    fn name(&self, machine: &MachineAndFile<'_>) -> (Option<String>, &'static str) {
        let driver = machine.kept(&format!("/proc/driver/nvidia/gpus/{}/information", self.pci));
        let model = os_devices(self.device).find_map(|device| info(device, "GPUModel"));
        let known = [
            (driver.and_then(|text| field(text, "Model")), "driver"),
            (model, "hwloc"),
            (info(self.device, "PCIDevice"), "pci-ids"),
        ];
        let known = known.into_iter().find_map(|(name, source)| Some((Some(printable::name(name?)), source)));
        known.unwrap_or((None, "none"))
    }

    fn uuid(&self, machine: &MachineAndFile<'_>) -> Option<String> {
        let driver = machine.kept(&format!("/proc/driver/nvidia/gpus/{}/information", self.pci));
        let amd = machine.kept(&format!("/sys/bus/pci/devices/{}/unique_id", self.pci));
        let of = |key: &str| self.libraries().into_iter().find_map(|device| info(device, key));
        let with_gpu = |id: &str| format!("GPU-{id}");
        driver
            .and_then(|text| field(text, "GPU UUID"))
            .or_else(|| of("NVIDIAUUID"))
            .map(str::to_owned)
            .or_else(|| amd.or_else(|| of("AMDUUID")).map(with_gpu))
    }
}

#[test]
fn each_gpu_is_listed_once_with_its_names_its_place_and_its_link() -> Outcome {
    each(|machine| {
        let found = gpus(machine)?;
        let listed = &machine.survey.topology.gpus;
        assert_eq!(listed.len(), found.len(), "{}", machine.name);
        for ((index, gpu), listed) in (0..).zip(&found).zip(listed) {
            let (class_id, vendor_id, device_id) = pci_ids(gpu.device).ok_or("no ids")?;
            let (value, source) = gpu.name(machine);
            let is_drm =
                |name: &&str| ["card", "renderD", "controlD"].iter().any(|drm| name.starts_with(drm));
            let part = gpu.part.map(|(number, of, _)| serde_json::json!({"number": number, "of": of}));
            let expected = Gpu {
                index,
                pci: gpu.pci,
                vendor_id,
                device_id,
                class_id,
                name: topo::model::GpuName { value, source: source.to_owned() },
                uuid: gpu.uuid(machine),
                os_devices: gpu
                    .libraries()
                    .into_iter()
                    .map(name)
                    .filter(|n| !is_drm(n))
                    .map(printable::name)
                    .collect(),
                locality: locality(machine, gpu.pci, gpu.device)?,
                link: link(machine, gpu.pci, gpu.device),
                partition: part.map(serde_json::from_value).transpose()?,
            };
            assert_eq!(*listed, expected, "{}", machine.name);
        }
        Ok(())
    })
}

#[test]
fn each_network_adapter_is_listed_once_with_its_names_its_place_and_its_link() -> Outcome {
    each(|machine| {
        let mut expected = Vec::new();
        for device in machine.objects("PCIDev") {
            let (class_id, vendor_id, device_id) = pci_ids(device).ok_or("no ids")?;
            let kind = match class_id {
                0x0200 => NicKind::Ethernet,
                0x0207 | 0x0c06 => NicKind::Infiniband,
                0x0208 => NicKind::Fabric,
                _ if class_id >> 8 == 2 => NicKind::Other,
                _ => continue,
            };
            let pci = address(device)?;
            expected.push(Nic {
                pci,
                vendor_id,
                device_id,
                class_id,
                kind,
                name: info(device, "PCIDevice").map(printable::name),
                os_devices: os_devices(device).map(name).map(printable::name).collect(),
                locality: locality(machine, pci, device)?,
                link: link(machine, pci, device),
            });
        }
        expected.sort_by_key(|nic| nic.pci);
        assert_eq!(machine.survey.nics, expected, "{}", machine.name);
        Ok(())
    })
}

#[test]
fn each_gpu_is_called_what_its_file_calls_it() -> Outcome {
    each(|machine| {
        let (survey, found) = (machine.survey, gpus(machine)?);
        assert_eq!(survey.identities.len(), found.len(), "{}", machine.name);
        for (identity, gpu) in survey.identities.iter().zip(&found) {
            let at = format!("GPU {} of {}", identity.index, machine.name);
            let known = survey.topology.gpu_at(gpu.pci).ok_or("no GPU")?;
            assert_eq!((identity.index, identity.pci), (known.index, known.pci), "{at}");
            let (_, vendor, _) = pci_ids(gpu.device).ok_or("no ids")?;
            let (runtime, library) = match vendor {
                NVIDIA => (Some(Runtime::Cuda), "nvml"),
                AMD => (Some(Runtime::Hip), "rsmi"),
                _ => (None, "?"),
            };
            assert_eq!(identity.runtime, runtime, "{at}");
            let mut names: Vec<&str> = gpu.libraries().into_iter().map(name).collect();
            let drm = format!("/sys/bus/pci/devices/{}/drm/", gpu.pci);
            names.extend(machine.kept_paths().filter_map(|path| path.strip_prefix(&drm)));
            names.sort_by_key(|name| counted(name));
            assert_eq!(identity.os_devices, names, "{at}");
            // What NVML was asked is in one file, which is kept word for word.
            if machine.kept("nvml").is_none() {
                let number = names.iter().find_map(|name| name.strip_prefix(library)?.parse().ok());
                assert_eq!((identity.smi_index, &identity.uuid), (number, &known.uuid), "{at}");
                assert_eq!(identity.smi_source == "hwloc", number.is_some(), "{at}");
            }
            let minor = machine.kept(&format!("/proc/driver/nvidia/gpus/{}/information", gpu.pci));
            let minor =
                minor.and_then(|text| field(text, "Device Minor")).map(|minor| format!("/dev/nvidia{minor}"));
            let render = names
                .iter()
                .filter(|name| name.starts_with("renderD"))
                .map(|name| format!("/dev/dri/{name}"));
            let files: Vec<String> = minor.into_iter().chain(render).collect();
            let listed: Vec<&String> = identity.device_files.iter().map(|file| &file.path).collect();
            assert!(
                machine.kept("nvml").is_some() || listed == files.iter().collect::<Vec<_>>(),
                "{at}: {listed:?}"
            );
            if machine.kept_paths().all(|path| !path.starts_with("env:")) {
                let alike = survey.topology.gpus.iter().filter(|other| other.vendor_id == vendor);
                let place = alike.zip(0..).find_map(|(other, place)| (other.pci == gpu.pci).then_some(place));
                let indices =
                    place.filter(|_| machine.is_saved() && runtime.is_some()).map(|place| vec![place]);
                assert_eq!(identity.runtime_indices, indices, "{at}");
            }
        }
        let runtimes = survey.visibility.iter().filter(|visibility| visibility.variables.is_empty());
        for visibility in runtimes {
            let devices = visibility.devices.as_ref().ok_or("none")?;
            let gpus = survey.topology.gpus.iter();
            let own = gpus.filter(|gpu| Runtime::of_vendor(gpu.vendor_id) == Some(visibility.runtime));
            let own: Vec<Option<PciAddress>> = own.map(|gpu| Some(gpu.pci)).collect();
            assert_eq!(devices.iter().map(|device| device.pci).collect::<Vec<_>>(), own, "{}", machine.name);
        }
        assert_eq!(survey.visibility.is_empty(), !machine.is_saved() || found.is_empty(), "{}", machine.name);
        Ok(())
    })
}
