//! What GPU drivers say in files, without their runtimes: name, UUID, the node of a GPU's memory.
//!
//! NVIDIA: `/proc/driver/nvidia/gpus/<address>/`. AMD: `product_name` and `unique_id` of the PCI device in
//! sysfs (Documentation/gpu/amdgpu, "GPU Product Information"); ROCm spells the UUID `GPU-<unique_id>`. Files
//! that are missing or not yet filled give nothing.

use stats::PciAddress;

use crate::fs_root::{FsRoot, value_of};
use stats::printable;

/// What is read of NVIDIA's file of a GPU; all at once, so that a saved file keeps all of it.
const INFORMATION: [&str; 3] = ["Model", "GPU UUID", "Device Minor"];

fn nvidia_information(root: &FsRoot, pci: PciAddress) -> Option<String> {
    root.lines(&format!("/proc/driver/nvidia/gpus/{pci}/information"), &INFORMATION).ok()
}

/// What a driver says of one GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DriverIdentity {
    pub(crate) name: Option<String>,
    pub(crate) uuid: Option<String>,
}

/// What the driver of the GPU at `pci` says.
pub(crate) fn driver_identity(root: &FsRoot, pci: PciAddress) -> DriverIdentity {
    if let Some(information) = nvidia_information(root, pci) {
        let value = |key| value_of(&information, key).filter(|text| !text.is_empty() && !text.contains('?'));
        return DriverIdentity {
            name: value("Model").map(printable::name),
            uuid: value("GPU UUID").map(printable::name),
        };
    }
    let file = |name: &str| {
        root.text(&format!("/sys/bus/pci/devices/{pci}/{name}")).ok().filter(|text| !text.is_empty())
    };
    let name = |text: String| printable::name(&text);
    DriverIdentity {
        name: file("product_name").map(name),
        uuid: file("unique_id").map(|id| name(amd_uuid(&id))),
    }
}

/// An AMD GPU's UUID as ROCm takes it in ROCR_VISIBLE_DEVICES, from its unique id.
pub(crate) fn amd_uuid(unique_id: &str) -> String {
    if unique_id.starts_with("GPU-") { unique_id.to_owned() } else { format!("GPU-{unique_id}") }
}

/// Whether NVIDIA's driver has the GPU at `pci`.
pub(crate) fn is_nvidias(root: &FsRoot, pci: PciAddress) -> bool {
    nvidia_information(root, pci).is_some()
}

/// N of the GPU's `/dev/nvidiaN`.
pub(crate) fn nvidia_minor(root: &FsRoot, pci: PciAddress) -> Option<u32> {
    value_of(&nvidia_information(root, pci)?, "Device Minor")?.parse().ok()
}

/// The NUMA node that the NVIDIA driver made of the memory of the GPU at `pci`, where it did.
pub(crate) fn nvidia_memory_node(root: &FsRoot, pci: PciAddress) -> Option<u32> {
    let status = root.text(&format!("/proc/driver/nvidia/gpus/{pci}/numa_status")).ok()?;
    value_of(&status, "Node")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root_with(files: &[(&str, &str)]) -> std::io::Result<tempfile::TempDir> {
        let root = tempfile::tempdir()?;
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(root.path()))?;
            std::fs::write(path, text)?;
        }
        Ok(root)
    }

    const PCI: PciAddress = PciAddress { domain: 9, bus: 1, device: 0, function: 0 };

    #[test]
    fn nvidias_proc_files_give_name_uuid_and_memory_node() -> std::io::Result<()> {
        let root = root_with(&[
            (
                "proc/driver/nvidia/gpus/0009:01:00.0/information",
                "Model: \t\t NVIDIA GH200 120GB\nIRQ:   \t\t 64\n\
                 GPU UUID: \t GPU-5bde48c9-5bde-5bde-5bde-5bde48c95bde\nDevice Minor: \t 3\n",
            ),
            ("proc/driver/nvidia/gpus/0009:01:00.0/numa_status", "Node:    4\nStatus:  online\n"),
        ])?;
        let root = FsRoot::at(root.path());
        let said = driver_identity(&root, PCI);
        assert_eq!(said.name.as_deref(), Some("NVIDIA GH200 120GB"));
        assert_eq!(said.uuid.as_deref(), Some("GPU-5bde48c9-5bde-5bde-5bde-5bde48c95bde"));
        assert_eq!((nvidia_memory_node(&root, PCI), nvidia_minor(&root, PCI)), (Some(4), Some(3)));
        Ok(())
    }

    #[test]
    fn a_uuid_of_question_marks_is_no_uuid() -> std::io::Result<()> {
        let text = "Model: NVIDIA H200\nGPU UUID: GPU-????????-????-????-????-????????????\n";
        let root = root_with(&[("proc/driver/nvidia/gpus/0009:01:00.0/information", text)])?;
        assert_eq!(
            driver_identity(&FsRoot::at(root.path()), PCI),
            DriverIdentity { name: Some("NVIDIA H200".to_owned()), uuid: None }
        );
        Ok(())
    }

    #[test]
    fn amdgpus_sysfs_files_give_name_and_rocms_uuid() -> std::io::Result<()> {
        let root = root_with(&[
            ("sys/bus/pci/devices/0009:01:00.0/product_name", "AMD Instinct MI250X\n"),
            ("sys/bus/pci/devices/0009:01:00.0/unique_id", "e850aef0615db971\n"),
        ])?;
        let said = driver_identity(&FsRoot::at(root.path()), PCI);
        assert_eq!(said.name.as_deref(), Some("AMD Instinct MI250X"));
        assert_eq!(said.uuid.as_deref(), Some("GPU-e850aef0615db971"));
        Ok(())
    }

    #[test]
    fn without_a_driver_nothing_is_said() -> std::io::Result<()> {
        let root = root_with(&[])?;
        assert_eq!(driver_identity(&FsRoot::at(root.path()), PCI), DriverIdentity::default());
        assert_eq!(nvidia_memory_node(&FsRoot::at(root.path()), PCI), None);
        Ok(())
    }
}
