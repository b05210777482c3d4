//! Archives, run where they are to run: unpacked in the oldest system that can be had, and the other
//! architecture under an emulator.
//!
//! The system is Debian 11 (glibc 2.31), the oldest that Debian's own mirrors still have, by debootstrap.
//! What RHEL 8's 2.28 lacks is held from the symbols (`elf`). In it no hwloc, no udev and no MPI is
//! installed: what runs there needs none. Each plug-in is run on this machine instead, by two ranks under the
//! launcher of the MPI it was linked with.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use ranks::abi;

use super::plugins::{FAMILIES, Family};
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
    step::run(
        unpack.arg("-xf").arg(folders.dist.join(format!("{name}.tar.xz"))).arg("-C").arg(root.join("opt")),
    )?;
    std::fs::copy(folders.root.join(SAVED), root.join("opt/node.xml"))
        .context("cannot copy the saved machine")?;
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
        bail!(
            "topo of the archive shows no PCI device, and this machine has some: it would show no GPU either"
        );
    }
    FAMILIES.iter().try_for_each(|family| launched(folders, arch, family))
}

/// Two ranks that exchange messages with the archive's plug-in of this family, where it has one.
fn launched(folders: &Folders, arch: Arch, family: &Family) -> Result<()> {
    let tree = folders.tree(arch);
    let plugin = tree.join("lib/numabench").join(family.name).join(abi::FILE_NAME);
    if !plugin.is_file() {
        return Ok(());
    }
    let mpi = family.installed(folders);
    let mut mpiexec = Command::new(mpi.join("bin/mpiexec"));
    mpiexec.args(["-n", "2"]).arg(tree.join("bin/numabench"));
    mpiexec.args(["mpi", "--backend", "host", "--size", "8", "--max-time", "5s"]);
    // What loading the MPI's module does.
    mpiexec.env("LD_LIBRARY_PATH", mpi.join("lib")).env("NUMABENCH_MPI", &plugin);
    // Open MPI's alone: it starts nothing for root and no more ranks than cores unless it is told to.
    mpiexec.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    mpiexec.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    step::run(&mut mpiexec)
}

/// Whether this machine has a PCI device that `topo` lists: a network controller (class 02), a display (03)
/// or an accelerator (12).
fn has_devices() -> bool {
    let devices = std::fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten();
    let class =
        |device: std::fs::DirEntry| std::fs::read_to_string(device.path().join("class")).unwrap_or_default();
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

/// The system's folder, made once. Its packages are unpacked and not set up: to run a program its libraries
/// are enough, and setting up another architecture's would need the kernel's help.
fn system(folders: &Folders, arch: Arch) -> Result<PathBuf> {
    let root = folders.dist.join("systems").join(format!("{SUITE}-{}", arch.name()));
    if root.join("opt").is_dir() {
        return Ok(root);
    }
    if !on_path("debootstrap") {
        bail!("there is no debootstrap: apt-get install debootstrap qemu-user-static (and this needs root)");
    }
    let begun = root.with_extension("begun");
    let mut debootstrap = Command::new("debootstrap");
    step::run(
        debootstrap.args(["--variant=minbase", "--foreign", "--arch", arch.debians(), SUITE]).arg(&begun),
    )?;
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
