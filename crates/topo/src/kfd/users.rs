//! The processes that use an AMD GPU: `/sys/class/kfd/kfd/proc`, which `rocm-smi --showpidgpus` reads too.
//!
//! The kernel makes an entry for every process that has opened /dev/kfd and, in it, one for every GPU that it
//! could use; a GPU that it does use has queues of it (`queues/N/gpuid`, amdkfd/kfd_process.c, since Linux
//! 5.10). Memory is `vram_GPUID`.

use stats::PciAddress;

use super::{NODES, gpus};
use crate::fs_root::FsRoot;
use crate::gpu_use::GpuUse;

const PROCESSES: &str = "/sys/class/kfd/kfd/proc";

/// What amdkfd lists.
///
/// # Errors
/// It has no list.
pub(crate) fn uses(root: &FsRoot) -> Result<Vec<GpuUse>, String> {
    if !root.exists(PROCESSES) {
        return Err(format!(
            "{PROCESSES} is not here: the kernel does not say which processes use an AMD GPU"
        ));
    }

    let id = |node: u32| root.text(&format!("{NODES}/{node}/gpu_id")).ok();
    let known: Vec<(String, PciAddress)> =
        gpus(root).into_iter().filter_map(|gpu| Some((id(gpu.node)?, gpu.pci))).collect();
    let mut uses = Vec::new();

    for pid in root.numbers(PROCESSES) {
        let queues = format!("{PROCESSES}/{pid}/queues");
        let of_queues = root.numbers(&queues).into_iter();
        let used: Vec<String> =
            of_queues.filter_map(|queue| root.text(&format!("{queues}/{queue}/gpuid")).ok()).collect();
        for (id, pci) in known.iter().filter(|(id, _)| used.contains(id)) {
            let bytes =
                root.text(&format!("{PROCESSES}/{pid}/vram_{id}")).ok().and_then(|text| text.parse().ok());
            uses.push(GpuUse { pid, pci: *pci, bytes, source: "KFD".to_owned() });
        }
    }
    Ok(uses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_uses_the_gpus_on_which_it_has_queues_and_not_all_that_it_could() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let write = |path: String, text: &str| {
            let path = folder.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
            std::fs::write(path, text)
        };
        let root = || FsRoot::at(folder.path());
        assert!(uses(&root()).is_err_and(|why| why.starts_with(PROCESSES)));

        for (node, location, id) in [(4, 49408, "51234"), (5, 50688, "7")] {
            let properties = format!("simd_count 440\nlocation_id {location}\ndomain 0\n");
            write(format!("{NODES}/{node}/properties"), &properties)?;
            write(format!("{NODES}/{node}/gpu_id"), &format!("{id}\n"))?;
            write(format!("{PROCESSES}/4711/vram_{id}"), "4096\n")?;
        }

        write(format!("{PROCESSES}/4711/queues/0/gpuid"), "7\n")?;
        write(format!("{PROCESSES}/4711/queues/3/gpuid"), "7\n")?;
        write(format!("{PROCESSES}/4712/pasid"), "1\n")?;
        let found = uses(&root()).map_err(std::io::Error::other)?;
        let shown: Vec<_> = found.iter().map(|one| (one.pid, one.pci.to_string(), one.bytes)).collect();
        assert_eq!(shown, [(4711, "0000:c6:00.0".to_owned(), Some(4096))]);
        Ok(())
    }
}
