//! Programs of others that read what numabench writes, in a Python environment of their own: pandas,
//! Prometheus' parsers, ReFrame, EasyBuild; and what makes a site of the pages and knows the forges' forms.
//!
//! The environment lies in the user's cache, so that it is made once for all checkouts, and named by what is
//! in it. Nothing is installed on the machine. Where it cannot be made (no pip, no network), tests that need
//! one of these say that they are skipped.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::step;

/// The packages and the versions that tests were made with.
const PACKAGES: [&str; 11] = [
    "pandas>=2,<4",
    "prometheus_client>=0.20",
    "junitparser>=3",
    "line-protocol-parser>=1",
    "jsonschema>=4",
    "reframe-hpc>=4.5,<5",
    "easybuild>=5,<6",
    "mkdocs>=1.6,<2",
    "mkdocs-material>=9.5,<10",
    "jsonschema2md>=1.7,<2",
    "check-jsonschema>=0.30",
];

/// The environment's folder, made where it is not there yet.
///
/// # Errors
/// python3 has no venv, or pip cannot have a package.
pub fn ready() -> Result<PathBuf> {
    let folder = cache()?.join("numabench/python-tools");
    let (made, list) = (folder.join("made-of"), PACKAGES.join("\n"));
    if std::fs::read_to_string(&made).is_ok_and(|of| of == list) {
        return Ok(folder);
    }
    step::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    step::run(
        Command::new(folder.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .args(PACKAGES),
    )?;
    std::fs::write(&made, list).with_context(|| format!("cannot write {}", made.display()))?;
    Ok(folder)
}

/// What tests look for: an interpreter with the modules and ReFrame by variable, the others on the PATH.
///
/// # Errors
/// A folder of the PATH has a colon.
pub fn variables(folder: &Path) -> Result<Vec<(&'static str, OsString)>> {
    let bin = folder.join("bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(bin.clone()).chain(env::split_paths(&path)))
        .context("a folder of the PATH has a colon")?;
    Ok(vec![
        ("PATH", path),
        ("NUMABENCH_TEST_PYTHON", bin.join("python3").into()),
        ("NUMABENCH_TEST_REFRAME", bin.join("reframe").into()),
    ])
}

fn cache() -> Result<PathBuf> {
    let told = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    told.or_else(home).context("neither XDG_CACHE_HOME nor HOME is set")
}
