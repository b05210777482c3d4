//! Which MPI plug-ins are here, which MPI each has, and whether it fits this launch, in lines for people.
//!
//! An MPI plug-in is opened to hear which MPI it has, and two MPIs cannot be opened in one process: where
//! there are several, each is asked by a process of its own, this program with `NUMABENCH_MPI`. No MPI is
//! started, and no GPU is touched.

use std::path::{Path, PathBuf};
use std::process::Command;

use launchers::Launch;
use ranks::Plugin;

use crate::plugins::{VARIABLE, files, order};

/// What a line about a plug-in begins with.
const PLUGIN: &str = "MPI plug-in: ";

/// The lines; `arguments` are those by which this program prints them.
pub fn lines(arguments: &[&str]) -> Vec<String> {
    let launch = Launch::here();
    let variable = std::env::var_os(VARIABLE);
    let executable = std::env::current_exe().unwrap_or_default();

    match &files(variable.as_deref(), &executable)[..] {
        [] => vec![format!(
            "{PLUGIN}none; a launch of several processes by srun or mpirun needs one (`cargo xtask \
             mpi-plugin` builds it), one process needs none"
        )],
        [one] => vec![format!("{PLUGIN}{}", opened(one, &launch))],
        several => {
            let each = several.iter().map(|file| format!("{PLUGIN}{}", asked(&executable, arguments, file)));
            let first = order(several, &launch);
            let first = first
                .first()
                .map(|first| format!("A launch of several processes tries first: {}", first.display()));
            each.chain(first).collect()
        }
    }
}

/// What this plug-in is, opened here.
fn opened(file: &Path, launch: &Launch) -> String {
    match Plugin::find(Some(file.as_os_str()), Path::new("")) {
        Ok(plugin) => format!("{}: {}; {}", file.display(), plugin.library(), fits(&plugin, launch)),
        Err(error) => {
            error.tried.iter().map(|tried| format!("{tried}: does not fit")).collect::<Vec<_>>().join("; ")
        }
    }
}

fn fits(plugin: &Plugin, launch: &Launch) -> String {
    if launch.is_alone() {
        return "can be opened here; run this inside a launch to see whether it fits".to_owned();
    }
    match launch.accepts(plugin.library()) {
        Ok(()) => format!("fits this launch by {}", launch.launcher.name()),
        Err(refusal) => format!("does not fit this launch: {refusal}"),
    }
}

/// The same, of a process of its own.
fn asked(executable: &Path, arguments: &[&str], file: &PathBuf) -> String {
    let mut command = Command::new(executable);
    let output = command.args(arguments).env(VARIABLE, file).output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let line = said.lines().find_map(|line| line.strip_prefix(PLUGIN));
    line.map_or_else(
        || format!("{}: does not fit: opening it ended the process", file.display()),
        str::to_owned,
    )
}
