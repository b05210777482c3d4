//! The binary of an archive: compiled for an architecture and an old glibc, and parted from its symbols.
//!
//! The symbols (line tables) make three quarters of the file. They go to an archive of their own; a link in
//! the binary names them, and gdb and addr2line find them beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::tools::Tools;
use super::{Arch, Folders, GLIBC};
use crate::step;

/// The profile of Cargo.toml with line tables; `release` has none.
const PROFILE: &str = "dist";
/// The library that `witness` preloads.
pub const HOOK: &str = "libnumabench_witness.so";

/// The files.
pub struct Built {
    /// Without symbols.
    pub stripped: PathBuf,
    /// The symbols alone.
    pub debug: PathBuf,
    /// The library that `witness` preloads, without symbols.
    pub hook: PathBuf,
}

/// Compiles for this architecture, with hwloc from this pkg-config folder built in.
pub fn built(folders: &Folders, tools: &Tools, hwloc: &Path, arch: Arch) -> Result<Built> {
    let mut cargo = Command::new("cargo");
    cargo.args(["zigbuild", "--profile", PROFILE, "--locked", "--package", "numabench"]);
    cargo.args(["--package", "numabench-witness-hook", "--target"]);
    cargo.arg(format!("{}.{}.{}", arch.target(), GLIBC.0, GLIBC.1)).current_dir(&folders.root);
    cargo.env("PATH", tools.path()?).env("PKG_CONFIG_ALLOW_CROSS", "1").env("PKG_CONFIG_LIBDIR", hwloc);
    step::run(&mut cargo)?;
    let made = folders.root.join("target").join(arch.target()).join(PROFILE);
    parted(tools, &made, &folders.dist.join("bin").join(arch.name()))
}

/// Parts the binary from its symbols, and leaves out the hook's.
fn parted(tools: &Tools, made: &Path, into: &Path) -> Result<Built> {
    let file = &made.join("numabench");
    std::fs::create_dir_all(into).with_context(|| format!("cannot make {}", into.display()))?;
    let (stripped, debug) = (into.join("numabench"), into.join("numabench.debug"));
    step::run(Command::new(&tools.objcopy).arg("--only-keep-debug").arg(file).arg(&debug))?;
    let mut strip = Command::new(&tools.objcopy);
    strip.args(["--strip-all", "--add-gnu-debuglink=numabench.debug"]).arg(file).arg(&stripped);
    // The link holds the symbols' file by name and sum: it is looked for where it lies.
    step::run(strip.current_dir(into))?;
    let hook = into.join(HOOK);
    step::run(Command::new(&tools.objcopy).arg("--strip-all").arg(made.join(HOOK)).arg(&hook))?;
    Ok(Built { stripped, debug, hook })
}

#[cfg(test)]
mod tests {
    /// What times, what is timed, and what copies, computes or waits beside it.
    const TIMED: [&str; 17] = [
        "backend-cuda",
        "backend-gpu",
        "backend-hip",
        "backend-host",
        "device",
        "engine",
        "hostmem",
        "kernels",
        "laplace",
        "mpi",
        "mpi-plugin",
        "pingpong",
        "plugin",
        "ranks",
        "stats",
        "sys",
        "witness-hook",
    ];

    #[test]
    fn no_crate_that_times_or_is_timed_has_a_level_of_its_own() {
        let manifest = include_str!("../../../Cargo.toml");
        let levels = |name: &&&str| manifest.contains(&format!("[profile.release.package.numabench-{name}]"));
        let own: Vec<&&str> = TIMED.iter().filter(levels).collect();
        assert!(own.is_empty(), "{own:?} are compiled for size");
        assert!(
            manifest.contains("[profile.release.package.numabench-render]"),
            "the words that are looked for"
        );
    }
}
