//! GPUs that the kernel shows and whose device files a process's user may not open: a user outside of the
//! group `render`, most often.
//!
//! The program then finds no GPU where `topo` shows one, and says "no device". By the files' modes and the
//! process's user and groups, so that it can be said of another process too, in whose own file system they
//! are looked up (a container's /dev is not this one). Left out: what a device cgroup refuses, which can be
//! asked for this process only and is a scheduler's will (`step`), access lists, and capabilities other than
//! root's.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PciAddress;

use crate::fs_root::{FsRoot, value_of};
use crate::gpu_class::{AMD, NVIDIA};
use crate::model::{Gpu, Topology};
use crate::step;

/// A GPU that a process may not open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClosedGpu {
    /// The GPU.
    pub pci: PciAddress,
    /// The file that is in the way, with its owner and mode, in words.
    pub why: String,
}

/// The user and the groups that a process acts as.
struct Identity {
    user: u32,
    groups: Vec<u32>,
}

/// The GPUs of this machine that the process may not open whose folder in /proc this is.
pub(super) fn closed(root: &FsRoot, topology: &Topology, folder: &str) -> Vec<ClosedGpu> {
    let Some(who) = identity(root, folder) else { return Vec::new() };
    let closed = |gpu: &Gpu| {
        let why = files(root, gpu).iter().find_map(|file| refused(root, folder, file, &who))?;
        Some(ClosedGpu { pci: gpu.pci, why })
    };
    topology.gpus.iter().filter_map(closed).collect()
}

/// What a program opens to use the GPU: the driver's own files and the GPU's.
fn files(root: &FsRoot, gpu: &Gpu) -> Vec<String> {
    let of_driver: &[&str] = match gpu.vendor_id {
        NVIDIA => &["/dev/nvidiactl", "/dev/nvidia-uvm"],
        AMD => &["/dev/kfd"],
        _ => &[],
    };
    of_driver.iter().map(|file| (*file).to_owned()).chain(step::device_file(root, gpu.pci)).collect()
}

/// The effective user and all groups (proc_pid_status(5)).
fn identity(root: &FsRoot, folder: &str) -> Option<Identity> {
    let lines = root.lines(&format!("{folder}/status"), &["Uid", "Gid", "Groups"]).ok()?;
    let effective = |key| value_of(&lines, key)?.split_whitespace().nth(1)?.parse().ok();
    let groups = value_of(&lines, "Groups").unwrap_or_default();
    let mut groups: Vec<u32> = groups.split_whitespace().filter_map(|group| group.parse().ok()).collect();
    groups.push(effective("Gid")?);
    Some(Identity { user: effective("Uid")?, groups })
}

/// Why the file may not be opened for reading and writing; `None` where it may, is not there, or may not be
/// looked at.
fn refused(root: &FsRoot, folder: &str, file: &str, who: &Identity) -> Option<String> {
    let seen = std::fs::metadata(root.disk(&format!("{folder}/root{file}")).ok()?).ok()?;
    if who.user == 0 || may_open(&seen, who) {
        return None;
    }
    let (mode, user, group) = (seen.mode() & 0o777, seen.uid(), seen.gid());
    Some(format!("{file} is of user {user} and group {group} with mode {mode:o}"))
}

/// Whether the bits of the one class that counts allow both.
fn may_open(file: &Metadata, who: &Identity) -> bool {
    let class = if file.uid() == who.user {
        6
    } else if who.groups.contains(&file.gid()) {
        3
    } else {
        0
    };
    file.mode() >> class & 0o6 == 0o6
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn a_gpu_whose_driver_is_open_to_a_group_only_is_closed_to_who_is_not_in_it() -> Outcome {
        let folder = tempfile::tempdir()?;
        let topology = crate::from_xml(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/four-gcds-xgmi.xml"),
        )?;
        let dev = folder.path().join("proc/7/root/dev");
        std::fs::create_dir_all(&dev)?;
        std::fs::write(dev.join("kfd"), "")?;
        std::fs::set_permissions(dev.join("kfd"), std::fs::Permissions::from_mode(0o660))?;
        let file = std::fs::metadata(dev.join("kfd"))?;
        let closed_to = |user: u32, groups: &str| -> Result<Vec<ClosedGpu>, std::io::Error> {
            let status = format!("Name:\tx\nUid:\t1\t{user}\t1\t1\nGid:\t5\t6\t5\t5\nGroups:\t{groups} \n");
            std::fs::write(folder.path().join("proc/7/status"), status)?;
            Ok(closed(&FsRoot::at(folder.path()), &topology, "/proc/7"))
        };
        let stranger = file.uid() + 1;
        let outside = closed_to(stranger, "4000000000")?;
        assert_eq!(outside.len(), topology.gpus.len());
        let words = format!("/dev/kfd is of user {} and group {} with mode 660", file.uid(), file.gid());
        assert!(outside.iter().all(|gpu| gpu.why == words), "{outside:?}");
        assert_eq!(closed_to(stranger, &format!("12 {}", file.gid()))?, [], "in the group");
        assert_eq!(closed_to(0, "")?, [], "root may");
        std::fs::remove_file(dev.join("kfd"))?;
        assert_eq!(closed_to(stranger, "")?, [], "a container without it does not see it");

        Ok(())
    }
}
