//! Compiles a stand-in (a driver, a disk) from its source, as the tests do: no package of the workspace needs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Compiles `source` into `folder` as a library of this name.
pub fn library(folder: &Path, name: &str, source: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let file = folder.join(name);
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "stand_in", "-o"]);
    let made = rustc.arg(&file).arg(source).output().context("rustc cannot be started")?;
    if !made.status.success() {
        bail!("{} cannot be compiled: {}", source.display(), String::from_utf8_lossy(&made.stderr));
    }
    Ok(file)
}
