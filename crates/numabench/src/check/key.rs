//! What the ranks of one launch on one node have in common and no other processes have: the name they meet under.
//!
//! The launcher's own name for the launch where it has one, and the process that started the ranks here. The second alone would do, but
//! cannot always be seen (a pid namespace for each rank); the first alone would not where one machine plays several nodes. The
//! user's id keeps users apart; that a name is not taken by somebody else is looked at where it is used.

use ranks::{Launch, Launcher};
use topo::ancestor;

/// The processes that start ranks on a node, as the kernel names them.
const STARTERS: [&str; 14] = [
    "slurmstepd",
    "orted",
    "prted",
    "prte",
    "prterun",
    "mpirun",
    "mpiexec",
    "orterun",
    "hydra_pmi_proxy",
    "palsd",
    "pals_exec",
    "jsmd",
    "jsrun",
    "flux-shell",
];

/// The key of this process's launch on this node.
pub fn key(launch: &Launch) -> String {
    let variable = |name: &str| std::env::var(name).ok();
    let starter = ancestor::nearest(&STARTERS).ok().map(|found| found.pid);
    of(launch.launcher, &variable, starter)
}

fn of(launcher: Launcher, variable: &dyn Fn(&str) -> Option<String>, starter: Option<u32>) -> String {
    let names: &[&str] = match launcher {
        Launcher::Srun => &["SLURM_JOB_ID", "SLURM_STEP_ID", "SLURMD_NODENAME"],
        Launcher::Flux => &["FLUX_JOB_ID"],
        Launcher::Pals => &["PALS_APID"],
        _ => &["PMIX_NAMESPACE"],
    };
    let told = names.iter().filter_map(|name| variable(name));
    let starter = starter.map(|pid| format!("p{pid}"));
    let parts: Vec<String> = told.chain(starter).map(|part| plain(&part)).collect();
    parts.join("-")
}

/// As much of it as may stand in a file's name.
fn plain(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    text.chars().take(80).map(|c| if allowed(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slurm(name: &str) -> Option<String> {
        let set =
            [("SLURM_JOB_ID", "7"), ("SLURM_STEP_ID", "0"), ("SLURMD_NODENAME", "n0"), ("PMIX_NAMESPACE", "a/../b c")];
        set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn a_launch_goes_by_its_launchers_name_for_it_and_by_who_started_it_here() {
        assert_eq!(of(Launcher::Srun, &slurm, Some(4711)), "7-0-n0-p4711");
        assert_eq!(of(Launcher::Srun, &slurm, None), "7-0-n0");
        assert_eq!(of(Launcher::Hydra, &|_| None, Some(4711)), "p4711");
    }

    #[test]
    fn nothing_of_a_variable_leaves_the_folder() {
        assert_eq!(of(Launcher::Mpirun, &slurm, Some(1)), "a_.._b_c-p1");
        assert_eq!(plain(&"x".repeat(500)).len(), 80);
    }
}
