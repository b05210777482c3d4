//! This checkout: its root, and its `target/`, where cargo builds for these commands, because their steps and
//! the tests look there for what was built.
//!
//! Users have cargo build elsewhere, by CARGO_TARGET_DIR or by `build.target-dir` in a configuration file.
//! The variable goes before the file, so a command that does not have it as it must be starts itself anew
//! with it. The MPI plug-in is what is built for a user's own binary: it goes where the variable says
//! ([`folder`]).

use std::convert::Infallible;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// Cargo's variable.
const NAME: &str = "CARGO_TARGET_DIR";

/// The repository's root: the first folder above this package with a lock file. Cargo names the package when it
/// runs us; the path of the build is what remains when the program is started by hand.
pub fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let is_root = |folder: &&Path| folder.join("Cargo.lock").exists();
    package.ancestors().find(is_root).unwrap_or(&package).to_path_buf()
}

/// Where cargo builds for the user: CARGO_TARGET_DIR, or the checkout's own folder.
pub fn folder(root: &Path) -> PathBuf {
    let given = std::env::var_os(NAME).filter(|given| !given.is_empty());
    given.and_then(|given| std::path::absolute(given).ok()).unwrap_or_else(|| root.join("target"))
}

/// Returns in a process in which cargo builds in the checkout.
///
/// # Errors
/// The command cannot be started anew.
pub fn build_here(root: &Path) -> Result<()> {
    let wanted = root.join("target");
    let given = std::env::var_os(NAME);
    if given.as_deref().is_some_and(|given| is(given, &wanted)) {
        return Ok(());
    }
    if let Some(given) = given {
        eprintln!("xtask: note: builds in {}, not in {NAME} ({})", wanted.display(), given.to_string_lossy());
    }
    anew(&wanted).map(|never| match never {})
}

/// Whether what is given is the folder wanted, also where that is given from the folder in which the command
/// was started.
fn is(given: &OsStr, wanted: &Path) -> bool {
    std::path::absolute(given).is_ok_and(|given| given == wanted)
}

fn anew(target: &Path) -> Result<Infallible> {
    let program = std::env::current_exe().context("cannot tell which program this is")?;
    let error = Command::new(&program).args(std::env::args_os().skip(1)).env(NAME, target).exec();
    Err(error).with_context(|| format!("cannot start {} anew", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_checkouts_own_folder_is_it() -> std::io::Result<()> {
        let wanted = std::env::current_dir()?.join("target");
        assert!(is(wanted.as_os_str(), &wanted) && is("target".as_ref(), &wanted));
        assert!(!is("/scratch/target".as_ref(), &wanted) && !is("".as_ref(), &wanted));
        Ok(())
    }
}
