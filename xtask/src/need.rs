//! What this repository needs from the system, and how to see whether it is there.
//!
//! A need is probed by the program or library that it brings, not by a package's name: a site that has hwloc
//! from a module needs no package. The names of three families of packages stand beside it; dnf and zypper
//! both take `pkgconfig(…)`, which spares us their renames.

use std::path::Path;
use std::process::Command;

use crate::step;

/// How a need is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// A program of this name on the PATH.
    Program(&'static str),
    /// A library that pkg-config finds, in pkg-config's own syntax (`hwloc >= 2.4.0`).
    Library(&'static str),
    /// A module of python3.
    PythonModule(&'static str),
    /// The library of clang that bindgen opens. No program and no pkg-config file tells of it.
    Libclang,
}

/// One thing needed, and the package that brings it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// How to see it.
    pub probe: Probe,
    /// Debian's and Ubuntu's package.
    pub apt: &'static str,
    /// Fedora's and Red Hat's package.
    pub dnf: &'static str,
    /// SUSE's package.
    pub zypper: &'static str,
}

const fn need(probe: Probe, apt: &'static str, dnf: &'static str, zypper: &'static str) -> Need {
    Need { probe, apt, dnf, zypper }
}

/// What `cargo build` needs. libudev is here because hwlocality's build asks pkg-config for it.
pub const BUILD: &[Need] = &[
    need(Probe::Program("cc"), "build-essential", "gcc", "gcc"),
    need(Probe::Program("pkg-config"), "pkg-config", "pkgconf-pkg-config", "pkg-config"),
    need(Probe::Library("hwloc >= 2.4.0"), "libhwloc-dev", "hwloc-devel", "hwloc-devel"),
    need(Probe::Library("libudev"), "libudev-dev", "pkgconfig(libudev)", "pkgconfig(libudev)"),
];

/// What the labs and the cross-checks of the tests need. Tests without them say what they skipped.
pub const LABS: &[Need] = &[
    need(Probe::Program("qemu-system-x86_64"), "qemu-system-x86", "qemu-system-x86-core", "qemu-x86"),
    need(Probe::Program("busybox"), "busybox-static", "busybox", "busybox-static"),
    need(Probe::Program("cpio"), "cpio", "cpio", "cpio"),
    need(Probe::Program("numactl"), "numactl", "numactl", "numactl"),
    need(Probe::Program("lstopo-no-graphics"), "hwloc-nox", "hwloc", "hwloc"),
    need(Probe::Program("slurmctld"), "slurm-wlm", "slurm slurm-slurmctld slurm-slurmd", "slurm slurm-node"),
    need(Probe::Program("munged"), "munge", "munge", "munge"),
    need(Probe::Program("strace"), "strace", "strace", "strace"),
    // Debian's; Ubuntu's is a snap, which containers do not have: then the pages' tests skip.
    need(Probe::Program("chromium"), "chromium", "chromium", "chromium"),
];

/// Programs of others that read what is written here: shells their completions, module systems the module
/// files, linters the scripts, pages and pictures, a browser the reports. Tests without one say what they
/// skipped. Of the two module systems Debian installs one at a time; it is the older one.
pub const READERS: &[Need] = &[
    need(Probe::Program("shellcheck"), "shellcheck", "ShellCheck", "ShellCheck"),
    need(Probe::Program("fish"), "fish", "fish", "fish"),
    need(Probe::Program("zsh"), "zsh", "zsh", "zsh"),
    need(Probe::Program("man"), "man-db", "man-db", "man"),
    need(Probe::Program("mandoc"), "mandoc", "mandoc", "mandoc"),
    need(Probe::Program("xmllint"), "libxml2-utils", "libxml2", "libxml2-tools"),
    // Debian keeps it apart from python3; `python3 -m venv` needs it.
    need(Probe::PythonModule("ensurepip"), "python3-venv", "python3", "python3"),
    need(Probe::Program("modulecmd"), "environment-modules", "environment-modules", "Modules"),
];

/// What the MPI plug-in and its tests need: both of Debian's MPIs, which lie beside each other, and clang's
/// library and headers for bindgen. On Fedora and SUSE an MPI is a module to be loaded, and its programs have
/// no such names.
pub const MPI: &[Need] = &[
    need(Probe::Program("mpicc.openmpi"), "libopenmpi-dev", "openmpi-devel", "openmpi4-devel"),
    need(Probe::Program("mpirun.openmpi"), "openmpi-bin", "openmpi", "openmpi4"),
    need(Probe::Program("mpicc.mpich"), "libmpich-dev", "mpich-devel", "mpich-devel"),
    need(Probe::Program("mpirun.mpich"), "mpich", "mpich", "mpich"),
    LIBCLANG,
];

/// What bindgen needs. libclang-dev is the one name that Debian and all Ubuntus share.
pub const LIBCLANG: Need = need(Probe::Libclang, "libclang-dev", "clang-devel", "clang-devel");

/// The needs that `present` does not see, in order.
pub fn missing(needs: &[Need], present: impl Fn(Probe) -> bool) -> Vec<Need> {
    needs.iter().copied().filter(|need| !present(need.probe)).collect()
}

/// Whether this machine has what `probe` looks for.
pub fn present(probe: Probe) -> bool {
    match probe {
        Probe::Program(name) => on_path(name),
        Probe::Library(spec) => step::succeeds(Command::new("pkg-config").args(["--exists", spec])),
        Probe::PythonModule(name) => {
            step::succeeds(Command::new("python3").args(["-c", &format!("import {name}")]))
        }
        Probe::Libclang => has_libclang(),
    }
}

/// Whether a file of this name lies in a folder of the PATH, or where daemons are, which is on root's PATH
/// alone.
pub fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin".into()]).any(|dir| is_file(&dir.join(name)))
}

/// Looks where clang-sys looks: the folder it is told, the linker's cache, and LLVM's own folders.
fn has_libclang() -> bool {
    let cache = ["ldconfig", "/sbin/ldconfig"]
        .iter()
        .find_map(|ldconfig| Command::new(ldconfig).arg("-p").output().ok());
    let cached = cache.is_some_and(|cache| {
        let text = String::from_utf8_lossy(&cache.stdout).into_owned();
        text.lines().any(|line| is_libclang(line.trim_start().split(' ').next().unwrap_or_default()))
    });
    let llvms = ["/usr/lib", "/usr/local"]
        .iter()
        .flat_map(|above| names_in(Path::new(above)).into_iter().map(move |name| (above, name)));
    let llvms = llvms
        .filter(|(_, name)| name.starts_with("llvm"))
        .map(|(above, name)| Path::new(above).join(name).join("lib"));
    let holds = |folder: &Path| is_file(folder) || names_in(folder).iter().any(|name| is_libclang(name));
    std::env::var_os("LIBCLANG_PATH").is_some_and(|told| holds(Path::new(&told)))
        || cached
        || llvms.into_iter().any(|folder| holds(&folder))
}

fn is_libclang(name: &str) -> bool {
    // libclang-cpp.so is another library.
    name.strip_prefix("libclang").is_some_and(|rest| {
        rest.starts_with(".so")
            || (rest.starts_with("-") && rest.contains(".so") && !rest.starts_with("-cpp"))
    })
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_machine_lacks_is_missing() {
        let lacks_hwloc = |probe| !matches!(probe, Probe::Library(spec) if spec.starts_with("hwloc"));
        let apt: Vec<_> = missing(BUILD, lacks_hwloc).iter().map(|need| need.apt).collect();
        assert_eq!(apt, ["libhwloc-dev"]);
        assert_eq!(missing(BUILD, |_| true), []);
    }

    #[test]
    fn the_library_of_clang_is_known_by_any_of_its_names_and_no_other_is_taken_for_it() {
        for name in ["libclang.so", "libclang-14.so.1", "libclang.so.18", "libclang-14.so.14.0.6"] {
            assert!(is_libclang(name), "{name}");
        }
        for name in ["libclang-cpp.so.14", "libclangBasic.a", "libclang_rt.asan.so", "clang"] {
            assert!(!is_libclang(name), "{name}");
        }
    }

    #[test]
    fn a_shell_is_on_the_path_and_a_made_up_program_is_not() {
        assert!(present(Probe::Program("sh")));
        assert!(!present(Probe::Program("no-such-program-of-ours")));
        assert!(!present(Probe::Library("no-such-library-of-ours >= 1")));
    }
}
