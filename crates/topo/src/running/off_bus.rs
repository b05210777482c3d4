//! GPUs that a driver has and the PCI bus, as this process sees it, does not show: of a container that hides
//! the bus, or under WSL.
//!
//! No program can use a GPU without its driver's device files, so that these tell, and no runtime has to be
//! started. How many GPUs they are is known, and not where they are.

use crate::fs_root::FsRoot;
use crate::kfd;

/// What there is of such GPUs, in words; `None` where there is none.
pub(super) fn gpus(root: &FsRoot) -> Option<String> {
    let is_of_nvidia = |name: &&String| name.strip_prefix("nvidia").is_some_and(is_number);
    let of_nvidia = root.names("/dev").iter().filter(is_of_nvidia).count();
    let of_amd = if root.exists("/dev/kfd") { kfd::gpus(root).len() } else { 0 };
    let count = |gpus: usize, what: &str| {
        (gpus > 0).then(|| format!("{what} {}", stats::units::counted(gpus, "GPU")))
    };
    let wsl = root.exists("/dev/dxg").then(|| "Windows' device for GPUs (/dev/dxg)".to_owned());
    let parts =
        [count(of_nvidia, "device files of NVIDIA's driver for"), count(of_amd, "AMD's driver with"), wsl];
    let found = parts.into_iter().flatten().collect::<Vec<_>>();
    (!found.is_empty()).then(|| {
        format!("there are {}, but the PCI bus that this process sees shows no GPU", found.join(" and "))
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_files_tell_of_gpus_that_the_bus_does_not_show() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        let said = || gpus(&FsRoot::at(root.path()));
        assert_eq!(said(), None);
        let dev = root.path().join("dev");
        std::fs::create_dir_all(&dev)?;
        for name in ["nvidiactl", "nvidia-uvm", "nvidia-caps", "null"] {
            std::fs::write(dev.join(name), "")?;
        }
        assert_eq!(said(), None, "a driver without a GPU");
        for name in ["nvidia0", "nvidia1"] {
            std::fs::write(dev.join(name), "")?;
        }
        let said = said().unwrap_or_default();
        assert!(said.contains("NVIDIA") && said.contains(" 2 "), "{said}");
        Ok(())
    }
}
