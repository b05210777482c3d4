//! Installing packages where we may (apt, as root or through sudo), and saying the exact command everywhere
//! else.
//!
//! Only apt is driven: it is what the project is tested with. The commands for dnf and zypper are printed for
//! a human to run, because a wrong guess on someone's login node is worse than one more line to paste.

use std::io::{IsTerminal, stdin};
use std::process::Command;

use anyhow::{Result, bail};

use crate::need::{Need, on_path};
use crate::step;

/// Installs the packages of `needs` with apt.
///
/// # Errors
/// There is no apt, or no right to use it: the error holds the commands to run by hand. Or apt failed, also
/// after a refresh of its lists.
pub fn install(needs: &[Need]) -> Result<()> {
    let Some(prefix) = apt_prefix() else {
        bail!(
            "what the build or the tests need is missing, and cannot be installed from here (no apt-get, or \
             neither root nor sudo). {}",
            by_hand(needs)
        );
    };
    let packages: Vec<_> = needs.iter().map(|need| need.apt).collect();
    // Stale or empty lists are the usual reason for a failure (every container image): refresh them only
    // then, so that a machine with good lists is spared the wait.
    if step::run(apt(&prefix, "install").args(&packages)).is_err() {
        step::run(&mut apt(&prefix, "update"))?;
        step::run(apt(&prefix, "install").args(&packages))?;
    }
    Ok(())
}

/// How to install the packages of `needs` by hand, for the three families of distributions.
pub fn by_hand(needs: &[Need]) -> String {
    let names = |of: fn(&Need) -> &'static str| {
        let quote =
            |name: &'static str| if name.contains('(') { format!("'{name}'") } else { name.to_owned() };
        needs.iter().map(of).map(quote).collect::<Vec<_>>().join(" ")
    };
    format!(
        "Install, as your system has it:\n  Debian, Ubuntu:  apt-get install {}\n  Fedora, RHEL:    dnf \
         install {}\n  SUSE:            zypper install {}\n\
         or load a module that brings them (hwloc must be visible to pkg-config)",
        names(|need| need.apt),
        names(|need| need.dnf),
        names(|need| need.zypper),
    )
}

/// What stands before `apt-get` here: nothing for root, sudo for others; none where there is no apt or no
/// sudo. Without a terminal sudo must not ask for a password, as nobody would answer.
fn apt_prefix() -> Option<Vec<&'static str>> {
    if !on_path("apt-get") {
        return None;
    }
    if is_root() {
        return Some(vec![]);
    }
    if !on_path("sudo") {
        return None;
    }
    let sudo = if stdin().is_terminal() { vec!["sudo"] } else { vec!["sudo", "-n"] };
    Some(sudo)
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

fn apt(prefix: &[&'static str], verb: &str) -> Command {
    // `env` carries the setting through sudo, which clears the environment.
    let words = prefix.iter().copied().chain(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", verb]);
    let mut words = words.collect::<Vec<_>>().into_iter();
    let mut command = Command::new(words.next().unwrap_or("env"));
    command.args(words).args(["-qq", "-o", "Acquire::Retries=1"]);
    if verb == "install" {
        // Recommended packages would bring hwloc's plug-ins, which start OpenCL and X when a topology is
        // read.
        command.args(["-y", "--no-install-recommends"]);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::need::BUILD;

    #[test]
    fn the_commands_by_hand_name_every_package_of_every_family() {
        let text = by_hand(BUILD);
        assert!(
            text.contains("apt-get install build-essential pkg-config libhwloc-dev libudev-dev"),
            "{text}"
        );
        assert!(
            text.contains("dnf install gcc pkgconf-pkg-config hwloc-devel 'pkgconfig(libudev)'"),
            "{text}"
        );
        assert!(text.contains("zypper install gcc pkg-config hwloc-devel 'pkgconfig(libudev)'"), "{text}");
    }

    #[test]
    fn apt_is_run_without_questions_and_without_recommended_packages() {
        let line = step::line(&apt(&["sudo", "-n"], "install"));
        assert!(line.starts_with("sudo -n env DEBIAN_FRONTEND=noninteractive apt-get install"), "{line}");
        assert!(line.ends_with("-y --no-install-recommends"), "{line}");
    }
}
