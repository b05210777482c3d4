//! `cargo xtask setup`: what building and testing need from the system, installed where it is missing.
//!
//! With everything present it touches neither network nor package manager. What the build needs is an error
//! when it cannot be had; what only labs need is a note, because the tests that use them say so and skip.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::need::{BUILD, LABS, MPI, READERS, missing, present};
use crate::{package_manager, python_tools, step};

/// Runs the command; `--build-only` leaves out what only tests use.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    match args {
        [] => {
            build()?;
            labs(root);
            println!("setup: all done");
            Ok(())
        }
        [one] if one == "--build-only" => build(),
        other => bail!("unknown argument {:?}; allowed: --build-only", other.join(" ")),
    }
}

/// Installs what the build lacks.
///
/// # Errors
/// Something is missing and cannot be installed here; the error says how to do it by hand.
pub fn build() -> Result<()> {
    let lacking = missing(BUILD, present);
    if !lacking.is_empty() {
        package_manager::install(&lacking)?;
    }
    let still: Vec<_> = missing(BUILD, present).iter().map(|need| need.probe).collect();
    if !still.is_empty() {
        bail!("installed, but still not found: {still:?}; see PATH and PKG_CONFIG_PATH");
    }
    Ok(())
}

/// Installs what the labs and the MPI plug-in lack, the guest's kernel included. What cannot be had is said,
/// and the tests that need it skip.
pub fn labs(root: &Path) {
    // Two calls: a distribution that lacks one of the readers should still bring the labs.
    for lacking in [[missing(LABS, present), missing(MPI, present)].concat(), missing(READERS, present)] {
        if !lacking.is_empty()
            && let Err(error) = package_manager::install(&lacking)
        {
            eprintln!(
                "setup: note: {error:#}\nsetup: note: the tests that need these will say that they are \
                 skipped"
            );
        }
    }
    if let Err(error) = python_tools::ready() {
        eprintln!(
            "setup: note: {error:#}; the tests that need Python's tools will say that they are skipped"
        );
    }
    let guest = root.join("tests/lab/numa-guest.sh");
    if !step::succeeds(Command::new(&guest).arg("--check"))
        && let Err(error) = step::run(Command::new(&guest).arg("--fetch-kernel"))
    {
        eprintln!("setup: note: {error:#}; tests that boot a guest will say that they are skipped");
    }
}
