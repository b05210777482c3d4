//! Which numabench this is: version, commit and build, for `--version` and for the documents; and, with `--verbose`, what it would run with.
//!
//! An MPI plug-in is opened to hear which MPI it has, and two MPIs cannot be opened in one process: where there are several, each is asked
//! by a process of its own, this program with `NUMABENCH_MPI`. No MPI is started, and no GPU is touched.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use ranks::{Launch, Plugin};
use report::document::Tool;

use ::launch::plugins;

/// The version's number.
pub const NUMBER: &str = env!("CARGO_PKG_VERSION");
/// What `--version` says behind the name: version, commit, kind of build and what it was built for.
pub const LINE: &str = env!("NUMABENCH_VERSION");
/// The day of the commit, or of the build: 2026-11-22.
pub const DATE: &str = env!("NUMABENCH_DATE");

/// What the lines about plug-ins begin with.
const PLUGIN: &str = "MPI plug-in: ";

/// The commit it was built from, with a `+` where the sources differed; none outside a checkout.
pub fn commit() -> Option<String> {
    Some(env!("NUMABENCH_COMMIT")).filter(|commit| !commit.is_empty()).map(str::to_owned)
}

/// This program as documents name it.
pub fn tool() -> Tool {
    Tool { name: "numabench".to_owned(), version: NUMBER.to_owned(), git: commit() }
}

/// What `--version --verbose` says: the line, hwloc, and every plug-in with the MPI it has and whether that fits.
pub fn verbose() -> String {
    let hwloc =
        topo::read().map_or_else(|error| format!("cannot read this machine: {error}"), |seen| seen.hwloc_version);
    let mut text = format!("numabench {LINE}\nhwloc: {hwloc}\n");
    let launch = Launch::here();
    let variable = std::env::var_os(plugins::VARIABLE);
    let executable = std::env::current_exe().unwrap_or_default();
    match &plugins::files(variable.as_deref(), &executable)[..] {
        [] => {
            text += &format!(
                "{PLUGIN}none; a launch of several processes by srun or mpirun needs one (`cargo xtask mpi-plugin` builds it), one process needs none\n"
            )
        }
        [one] => text += &format!("{PLUGIN}{}\n", opened(one, &launch)),
        several => {
            for file in several {
                text += &format!("{PLUGIN}{}\n", asked(&executable, file));
            }
            if let Some(first) = plugins::order(several, &launch).first() {
                text += &format!("A launch of several processes tries first: {}\n", first.display());
            }
        }
    }
    text
}

/// What this plug-in is, opened here.
fn opened(file: &Path, launch: &Launch) -> String {
    match Plugin::find(Some(file.as_os_str()), Path::new("")) {
        Ok(plugin) => format!("{}: {}; {}", file.display(), plugin.library(), fits(&plugin, launch)),
        Err(error) => error.tried.iter().map(|tried| format!("{tried}: does not fit")).collect::<Vec<_>>().join("; "),
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
fn asked(executable: &Path, file: &PathBuf) -> String {
    let mut command = Command::new(executable);
    let output = command.args(["--version", "--verbose"]).env(plugins::VARIABLE, file).output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let line = said.lines().find_map(|line| line.strip_prefix(PLUGIN));
    line.map_or_else(|| format!("{}: does not fit: opening it ended the process", file.display()), str::to_owned)
}

/// Whether the words of a command line that asked for the version ask for all of it.
pub fn is_verbose(words: &[OsString]) -> bool {
    words.iter().any(|word| ["--verbose", "-v", "-vV", "-Vv"].iter().any(|verbose| word == verbose))
}
