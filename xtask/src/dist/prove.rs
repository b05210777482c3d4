//! Archives, run where they are to run: unpacked in the oldest system that can be had, and the other architecture under an emulator.
//!
//! The system is Debian 11 (glibc 2.31), the oldest that Debian's own mirrors still have, by debootstrap. What RHEL 8's 2.28 lacks is held from the symbols
//! (`elf`). In it no hwloc, no udev and no MPI is installed: what runs there needs none.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Arch, Folders};
use crate::need::on_path;
use crate::step;

/// The oldest Debian that its mirrors have.
const SUITE: &str = "bullseye";
/// A saved machine with GPUs, of the repository.
const SAVED: &str = "crates/topo/tests/fixtures/two-packages-gpus.xml";

/// Unpacks the archive in an old system and runs it there.
pub fn run(folders: &Folders, arch: Arch) -> Result<()> {
    let root = system(folders, arch)?;
    let name = Folders::name(arch);
    let mut unpack = Command::new("tar");
    step::run(unpack.arg("-xf").arg(folders.dist.join(format!("{name}.tar.xz"))).arg("-C").arg(root.join("opt")))?;
    std::fs::copy(folders.root.join(SAVED), root.join("opt/node.xml")).context("cannot copy the saved machine")?;
    let numabench = format!("/opt/{name}/bin/numabench");
    for words in [
        "--version --verbose",
        "topo",
        "topo --input /opt/node.xml",
        "place --input /opt/node.xml",
        "pingpong --backend host --size 1MiB --reps 6",
    ] {
        step::run(&mut inside(&root, arch, &format!("{numabench} {words}")))?;
    }
    let told = inside(&root, arch, &format!("{numabench} topo")).output().context("cannot run topo")?;
    if has_devices() && !String::from_utf8_lossy(&told.stdout).contains("in PCI order") {
        bail!("topo of the archive shows no PCI device, and this machine has some: it would show no GPU either");
    }
    Ok(())
}

/// Whether this machine has a PCI device that `topo` lists: a network controller (class 02), a display (03) or an accelerator (12).
fn has_devices() -> bool {
    let devices = std::fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten();
    let class = |device: std::fs::DirEntry| std::fs::read_to_string(device.path().join("class")).unwrap_or_default();
    devices.map(class).any(|class| ["0x02", "0x03", "0x12"].iter().any(|of| class.starts_with(of)))
}

/// A command in the system, with this machine's /proc, /sys and /dev, in a mount namespace that ends with it.
fn inside(root: &Path, arch: Arch, line: &str) -> Command {
    let emulator = arch.runner().map_or(String::new(), |runner| format!("/usr/bin/{runner} "));
    let mounts = "for of in proc sys dev; do mkdir -p $0/$of && mount --rbind /$of $0/$of || exit; done";
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", &format!("{mounts}; exec chroot $0 {emulator}{line}")]).arg(root);
    unshare
}

/// The system's folder, made once. Its packages are unpacked and not set up: to run a program its libraries are enough, and setting up
/// another architecture's would need the kernel's help.
fn system(folders: &Folders, arch: Arch) -> Result<PathBuf> {
    let root = folders.dist.join("systems").join(format!("{SUITE}-{}", arch.name()));
    if root.join("opt").is_dir() {
        return Ok(root);
    }
    if !on_path("debootstrap") {
        bail!("there is no debootstrap: apt-get install debootstrap qemu-user-static (and this needs root)");
    }
    let debian = if arch == Arch::X86 { "amd64" } else { "arm64" };
    let begun = root.with_extension("begun");
    let mut debootstrap = Command::new("debootstrap");
    step::run(debootstrap.args(["--variant=minbase", "--foreign", "--arch", debian, SUITE]).arg(&begun))?;
    with_emulator(&begun, arch)?;
    std::fs::create_dir_all(begun.join("opt"))?;
    std::fs::rename(&begun, &root).with_context(|| format!("cannot make {}", root.display()))?;
    Ok(root)
}

/// Puts the emulator of another architecture inside, where its programs are to run without the kernel's help.
fn with_emulator(root: &Path, arch: Arch) -> Result<()> {
    let Some(runner) = arch.runner() else { return Ok(()) };
    let emulator = Path::new("/usr/bin").join(&runner);
    std::fs::create_dir_all(root.join("usr/bin"))?;
    std::fs::copy(&emulator, root.join("usr/bin").join(&runner))
        .with_context(|| format!("cannot copy {}: apt-get install qemu-user-static", emulator.display()))?;
    Ok(())
}
