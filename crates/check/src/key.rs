//! What the ranks of one launch on one node have in common and no other processes have: the name they meet
//! under.
//!
//! The launcher's own name for the launch where it has one, and the process that started the ranks here. The
//! second alone would do, but cannot always be seen (a pid namespace for each rank); the first alone would
//! not where one machine plays several nodes. Where there is neither, it is the socket that Hydra's proxy
//! gives all that it starts, or else this process's parent: two launches side by side must not meet. The
//! user's id keeps users apart; that a name is not taken by somebody else is looked at where it is used.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::parent_id;

use launchers::{Launch, Launcher};
use topo::ancestor;
use topo::running::{Who, environment};

/// The key of this process's launch on this node.
pub fn key(launch: &Launch) -> String {
    let variable = |name: &str| std::env::var(name).ok();
    key_of(launch.launcher, &variable, starter(), || {
        control_socket().unwrap_or_else(|| format!("c{}", parent_id()))
    })
}

/// The process that started this launch's ranks on this node, where it can be seen.
fn starter() -> Option<u32> {
    ancestor::nearest(&Launcher::starters()).ok().map(|found| found.pid)
}

/// Whether a launcher that can be seen started this process, and the others beside it: then the first of them
/// can speak for all. torchrun is a Python of any name, and is known by having none of the variables that it
/// gives its workers; a process that a worker started inherits them.
pub fn is_started(launch: &Launch) -> bool {
    let is_of_torchrun = || {
        let parents = environment(Who::Pid(parent_id()));
        parents.is_ok_and(|variables| !variables.contains_key("LOCAL_RANK"))
    };
    starter().is_some() || (launch.launcher == Launcher::Torchrun && is_of_torchrun())
}

/// The number of the socket to Hydra's proxy, which all that it starts inherit.
fn control_socket() -> Option<String> {
    let number: u32 = std::env::var("HYDI_CONTROL_FD").ok()?.trim().parse().ok()?;
    let meta = std::fs::metadata(format!("/proc/self/fd/{number}")).ok()?;
    meta.file_type().is_socket().then(|| format!("s{}", meta.ino()))
}

fn key_of(
    launcher: Launcher,
    variable: &dyn Fn(&str) -> Option<String>,
    starter: Option<u32>,
    otherwise: impl FnOnce() -> String,
) -> String {
    let told = launcher
        .facts()
        .of_one_launch
        .iter()
        .filter_map(|name| variable(name))
        .filter(|value| !value.is_empty());
    let starter = starter.map(|pid| format!("p{pid}"));
    let parts: Vec<String> = told.chain(starter).map(|part| plain(&part)).collect();
    if parts.is_empty() { otherwise() } else { parts.join("-") }
}

/// As much of it as is short and printable.
fn plain(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    text.chars().take(80).map(|c| if allowed(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slurm(name: &str) -> Option<String> {
        let set = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_STEP_ID", "0"),
            ("SLURMD_NODENAME", "n0"),
            ("PMIX_NAMESPACE", "a/../b c"),
        ];
        set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn a_launch_goes_by_its_launchers_name_for_it_and_by_who_started_it_here() {
        let no = String::new;
        assert_eq!(key_of(Launcher::Srun, &slurm, Some(4711), no), "7-0-n0-p4711");
        assert_eq!(key_of(Launcher::Srun, &slurm, None, no), "7-0-n0");
        assert_eq!(key_of(Launcher::Hydra, &|_| None, Some(4711), no), "p4711");
        assert_eq!(
            key_of(Launcher::Hydra, &|_| Some(String::new()), None, || "c9".to_owned()),
            "c9",
            "never an empty one"
        );
    }

    #[test]
    fn a_variable_gives_plain_letters_and_not_too_many() {
        assert_eq!(key_of(Launcher::Mpirun, &slurm, Some(1), String::new), "a_.._b_c-p1");
        assert_eq!(plain(&"x".repeat(500)).len(), 80);
    }
}
