//! Two ranks of an MPI that is here.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::proof::follows;
use crate::run::{BINARY, Ended, no_driver, skipped, variables};

/// Longer than any launch here takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(150);

/// An MPI with its launcher and its plug-in.
pub struct Mpi {
    /// What its library calls itself.
    pub name: &'static str,
    program: &'static str,
    options: &'static [&'static str],
    /// Its plug-in.
    pub plugin: PathBuf,
}

/// Those that are here; what is not is said.
pub fn all() -> Vec<Mpi> {
    let open_mpi = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n"].as_slice();
    let known = [
        ("Open MPI", "mpicc.openmpi", "mpirun.openmpi", open_mpi),
        ("MPICH", "mpicc.mpich", "mpiexec.hydra", ["-n"].as_slice()),
    ];
    let here = |(name, folder, program, options)| {
        let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mpi").join(folder);
        let plugin = plugin.join("libnumabench_mpi.so");
        let on_path = std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).exists()));
        if !plugin.exists() || !on_path {
            skipped(&format!(
                "{name}: no {program}, or no plug-in (cargo xtask mpi-plugin --each builds it)"
            ));
            return None;
        }
        if thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
            skipped(&format!("{name}: two ranks need two PUs"));
            return None;
        }
        Some(Mpi { name, program, options, plugin })
    };
    known.into_iter().filter_map(here).collect()
}

impl Mpi {
    /// `numabench mpi` with these arguments as so many ranks, without a driver.
    #[track_caller]
    pub fn host(&self, ranks: usize, args: &[&str]) -> Ended {
        self.run(&no_driver(), ranks, &[], args)
    }

    /// The same with this driver and these variables.
    #[track_caller]
    pub fn run(&self, driver: &Path, ranks: usize, told: &[(&str, String)], args: &[&str]) -> Ended {
        self.run_command("mpi", driver, ranks, told, args)
    }

    /// Another command of numabench as so many ranks.
    #[track_caller]
    pub fn run_command(
        &self,
        name: &str,
        driver: &Path,
        ranks: usize,
        told: &[(&str, String)],
        args: &[&str],
    ) -> Ended {
        let mut command = Command::from_std(self.command_of(name, driver, ranks, told, args));
        match command.timeout(LIMIT).output() {
            Ok(output) => Ended::of(&output),
            Err(error) => panic!("{} does not start: {error}", self.program),
        }
    }

    /// `numabench pingpong` of a megabyte as two ranks, with these variables.
    #[track_caller]
    pub fn pingpong(&self, told: &[(&str, String)]) -> Ended {
        let args = ["--backend", "host", "--gpus", "0,0", "--size", "1MiB", "--max-time", "1s"];
        let mut command = Command::from_std(self.command_of("pingpong", &no_driver(), 2, told, &args));
        match command.timeout(LIMIT).output() {
            Ok(output) => Ended::of(&output),
            Err(error) => panic!("{} does not start: {error}", self.program),
        }
    }

    fn command(
        &self,
        driver: &Path,
        ranks: usize,
        told: &[(&str, String)],
        args: &[&str],
    ) -> process::Command {
        self.command_of("mpi", driver, ranks, told, args)
    }

    /// The launcher of so many ranks, with the plug-in; what they run comes behind.
    pub fn launch(&self, ranks: usize) -> process::Command {
        let mut command = process::Command::new(self.program);
        command.args(self.options).arg(ranks.to_string()).env("NUMABENCH_MPI", &self.plugin);
        // Ranks that wait let others run: the tests beside this one have the same cores.
        command.env("OMPI_MCA_mpi_yield_when_idle", "1");
        command
    }

    /// `numabench mpi` as six ranks without a GPU, two on each of three hosts that this machine is named.
    pub fn on_three_hosts(&self) -> process::Command {
        let mut command = self.launch(6);
        command.envs(variables(&no_driver()));
        command.args(["sh", "-c", OF_THREE_HOSTS, "sh", BINARY, "mpi", "--cpus", "0,1"]);
        command
    }

    fn command_of(
        &self,
        name: &str,
        driver: &Path,
        ranks: usize,
        told: &[(&str, String)],
        args: &[&str],
    ) -> process::Command {
        let mut command = self.launch(ranks);
        command.envs(variables(driver));
        // The preloaded library is the ranks' alone: the launcher's own start is slow enough.
        let (preloaded, others): (Vec<_>, Vec<_>) = told.iter().partition(|(name, _)| *name == "LD_PRELOAD");
        command.envs(others.into_iter().map(|(name, value)| (*name, value)));
        command.arg("env").args(preloaded.into_iter().map(|(name, value)| format!("{name}={value}")));
        command.args([BINARY, name]).args(args);
        command
    }
}

impl Mpi {
    /// The document of such a run: it follows the committed schema and says the exit code of the launch. In a
    /// file, because Hydra writes to standard output too.
    pub fn document(
        &self,
        driver: &Path,
        told: &[(&str, String)],
        args: &[&str],
    ) -> Result<(Ended, Value), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("mpi.json");
        let json = file.display().to_string();
        let ended = self.run(driver, 2, told, &[args, &["--json", &json]].concat());
        let bytes = fs::read(&file).map_err(|error| format!("{error}: {}", ended.err))?;
        let document: Value = serde_json::from_slice(&bytes)?;
        follows(&document, "mpi-v1.json")?;
        let (noted, code) = (document["exit_code"].as_i64(), ended.code.map(i64::from));
        if noted != code {
            return Err(format!(
                "the launch ended with {code:?}, the document says {noted:?}: {}",
                ended.err
            )
            .into());
        }
        Ok((ended, document))
    }

    /// The document of such a run whose launcher was told to end some time after its first figure.
    pub fn told_to_end(
        &self,
        driver: &Path,
        told: &[(&str, String)],
        args: &[&str],
        after: Duration,
    ) -> Result<Value, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("mpi.json");
        let json = file.display().to_string();
        let mut command = self.command(driver, 2, told, &[args, &["--json", &json]].concat());
        let mut launcher =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let begun = Instant::now();
        while !has_figures(&fs::read(&file).unwrap_or_default()) {
            if begun.elapsed() > LIMIT {
                launcher.kill()?;
                return Err("nothing was measured, or it was over".into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        thread::sleep(after);
        kill_process(Pid::from_child(&launcher), Signal::TERM)?;
        launcher.wait()?;
        let document = serde_json::from_slice(&fs::read(&file)?)?;
        follows(&document, "mpi-v1.json")?;
        Ok(document)
    }
}

/// Whether a document has a figure.
fn has_figures(bytes: &[u8]) -> bool {
    let document: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let cases = document["pairs"][0]["cases"].as_array().into_iter().flatten();
    cases.into_iter().any(|case| case["message_ns"].is_f64())
}

/// The lines of the verdict as one text.
pub fn verdict(document: &Value) -> String {
    let lines = document["verdict"].as_array().into_iter().flatten();
    lines.filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

/// A rank of three hosts of two that this machine is named: each has PUs 0 and 1.
const OF_THREE_HOSTS: &str = "rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; local=$((rank % 2)); \
    export OMPI_COMM_WORLD_LOCAL_RANK=$local OMPI_COMM_WORLD_LOCAL_SIZE=2; \
    export MPI_LOCALRANKID=$local MPI_LOCALNRANKS=2; \
    exec unshare --uts sh -c 'hostname h$1; shift; exec \"$@\"' sh $((rank / 2)) \"$@\"";

/// Whether this machine can be named three hosts; what is skipped is said.
pub fn has_three_hosts() -> std::io::Result<bool> {
    let has = process::Command::new("unshare").args(["--uts", "true"]).status()?.success();
    if !has {
        skipped("six ranks on two PUs: hosts of other names, which need unshare --uts");
    }
    Ok(has)
}
