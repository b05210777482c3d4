//! Says what died where MPI ends this process while it starts: with the wrong launcher's interface, or
//! without its library for the GPU, some do so without a word of either.
//!
//! Nothing inside of the process would speak after `_exit` or a signal, so a shell does, which waits for a
//! line that comes once MPI has started. Only the process that speaks for the launch has one. Left out: an
//! MPI that ends another process alone; the launcher says that.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use launchers::{Launch, Launcher};

/// Without the line it says the words. A launcher that ends the others with SIGTERM does not end it before it
/// has spoken.
const WAIT: &str = r#"trap '' TERM; read -r started || printf '%s\n' "$1" >&2"#;

/// Who waits.
pub struct StartWatchdog {
    shell: Child,
    line: Option<ChildStdin>,
}

impl StartWatchdog {
    /// Starts it; `None` without a shell, where nothing is said.
    pub fn set(words: &str, to: Stdio) -> Option<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", WAIT, "sh", words]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(to);
        // Hydra ends what is left of a rank by its process group: of 40 launches that die 26 are named with a
        // group of its own, 12 without.
        let mut shell = shell.process_group(0).spawn().ok()?;
        Some(Self { line: shell.stdin.take(), shell })
    }

    /// MPI has started, or has said by itself why not.
    pub fn dismiss(mut self) {
        if let Some(mut line) = self.line.take() {
            // A shell that is gone has nothing to say either.
            let _ = writeln!(line, "started");
        }
        let _ = self.shell.wait();
    }
}

/// What is said of a launch whose MPI ends its processes.
pub fn sentence(launch: &Launch, library: &str) -> String {
    format!(
        "numabench: error: this process ended, or was ended, inside of MPI_Init of {library}, before \
         anything was measured; {} offers it {}. What MPI said of it stands above.\n  {}. With \
         MPICH_GPU_SUPPORT_ENABLED=1 the site's module for the GPU must be loaded.\n  On one node no MPI is \
         needed: numabench pingpong without a launcher has a thread for each GPU.",
        launch.launcher.name(),
        launch.interface.name(),
        remedy(launch.launcher)
    )
}

/// What to try where this launcher and the MPI do not go together.
pub fn remedy(launcher: Launcher) -> &'static str {
    if launcher == Launcher::Srun {
        return "srun --mpi=list shows what this Slurm offers: Open MPI takes pmix, MPICH and Intel MPI take \
            pmi2 (or what they were built with), Cray MPICH takes cray_shasta";
    }
    "start it with the mpirun or mpiexec that belongs to this MPI"
}

#[cfg(test)]
mod tests {
    use std::fs::{File, read_to_string};

    use super::*;

    #[test]
    fn it_speaks_when_the_process_ends_without_the_line_and_is_silent_after_it() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("said");
        let words = sentence(&Launch { launcher: Launcher::Srun, ..Launch::ALONE }, "MPICH 4.3.0");
        let set = || Ok::<_, std::io::Error>(StartWatchdog::set(&words, File::create(&path)?.into()));
        let Some(mut gone) = set()? else { return Ok(()) };

        // What the end of this process would do.
        drop(gone.line.take());
        gone.shell.wait()?;
        let said = read_to_string(&path)?;
        assert!(
            said.contains("inside of MPI_Init of MPICH 4.3.0") && said.contains("srun --mpi=list"),
            "{said}"
        );
        if let Some(alive) = set()? {
            alive.dismiss();
        }
        assert_eq!(read_to_string(&path)?, "");
        Ok(())
    }
}
