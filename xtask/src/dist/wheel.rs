//! The wheel of an architecture: the archive's binary as `pip install numabench` puts it into an environment, with hwloc in it.
//!
//! maturin makes it (`pyproject.toml`, `bindings = "bin"`) with the archive's own linker, glibc and hwloc, so cargo compiles nothing a second time that
//! has the same flags. `--prove` installs it into a fresh virtual environment and runs it there. Left out: plug-ins, which are the archives' and the
//! site's; a Python module, because the documents are JSON.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::tools::Tools;
use super::{Arch, Folders, GLIBC};
use crate::step;

/// The wheel's name: pip takes it where the glibc is as new as the tag says.
pub fn file(folders: &Folders, arch: Arch) -> PathBuf {
    let (version, machine) = (env!("CARGO_PKG_VERSION"), arch.name());
    folders.dist.join(format!("numabench-{version}-py3-none-manylinux_{}_{}_{machine}.whl", GLIBC.0, GLIBC.1))
}

/// Makes the wheel, with hwloc from this pkg-config folder built in.
///
/// # Errors
/// maturin fails, or leaves a wheel of another name (a tag that promises another glibc).
pub fn built(folders: &Folders, tools: &Tools, hwloc: &Path, arch: Arch) -> Result<()> {
    let mut maturin = Command::new(tools.bin.join("maturin"));
    maturin.args(["build", "--release", "--zig", "--locked", "--target", &arch.target()]);
    maturin.args(["--compatibility", &format!("manylinux_{}_{}", GLIBC.0, GLIBC.1), "--out"]).arg(&folders.dist);
    maturin.env("PATH", tools.path()?).env("PKG_CONFIG_ALLOW_CROSS", "1").env("PKG_CONFIG_LIBDIR", hwloc);
    step::run(maturin.current_dir(&folders.root))?;
    let wheel = file(folders, arch);
    if !wheel.is_file() {
        bail!("maturin left no {}", wheel.display());
    }
    let bytes = wheel.metadata().with_context(|| format!("cannot read {}", wheel.display()))?.len();
    println!("{}: {:.1} MB", wheel.display(), bytes as f64 / 1e6);
    Ok(())
}

/// Installs the wheel into a fresh virtual environment, from the file alone, and runs it: its version, this machine and a short host ping-pong.
///
/// # Errors
/// pip refuses the wheel, or the program does not run.
pub fn prove(folders: &Folders, arch: Arch) -> Result<()> {
    let venv = folders.dist.join("wheel-proof");
    if venv.exists() {
        std::fs::remove_dir_all(&venv).with_context(|| format!("cannot remove {}", venv.display()))?;
    }
    step::run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let mut pip = Command::new(venv.join("bin/pip"));
    step::run(pip.args(["install", "--quiet", "--no-index"]).arg(file(folders, arch)))?;
    for words in [&["--version"][..], &["topo"], &["pingpong", "--backend", "host", "--size", "1MiB", "--reps", "6"]] {
        // Nothing of the caller's environment is needed to find it or hwloc.
        step::run(Command::new(venv.join("bin/numabench")).args(words).env_remove("LD_LIBRARY_PATH"))?;
    }
    Ok(())
}
