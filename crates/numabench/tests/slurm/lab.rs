//! A Slurm of a test's own: started, used, and gone with it.
//!
//! `slurm.sh hold` runs in a process group of its own and waits for the end of its standard input, which this
//! process holds open: however a test ends, also by the runner's SIGKILL, the kernel closes it and the lab
//! goes down.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::run::{Done, Ended, no_driver, skipped, variables};

/// Longer than any step here takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

/// A running lab.
pub struct Lab {
    holder: Child,
    folder: TempDir,
}

/// How a batch job ended.
pub struct Batch {
    /// Its number.
    pub job: String,
    /// Slurm's word for it: `COMPLETED`, `FAILED`, `TIMEOUT`.
    pub state: String,
    /// The script's exit code, and the signal that ended it.
    pub exit: (i32, i32),
    /// What it wrote.
    pub out: String,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lab/slurm.sh")
}

impl Lab {
    /// Two nodes of this machine's CPUs and two null GPUs; `None` where Slurm is not installed, which is
    /// said.
    pub fn start() -> Result<Option<Self>, Box<dyn Error>> {
        Self::with(&[])
    }

    /// The same with other settings (`slurm.sh --help` lists them).
    pub fn with(settings: &[(&str, &str)]) -> Result<Option<Self>, Box<dyn Error>> {
        let check = Command::new(script()).arg("--check").output()?;
        if !check.status.success() {
            skipped(&format!("a Slurm lab: {}", String::from_utf8_lossy(&check.stderr).trim()));
            return Ok(None);
        }
        // Not in TMPDIR, which may be deep: sockets lie in it.
        let folder = tempfile::Builder::new().prefix("nb").tempdir_in("/tmp")?;
        let mut hold = Command::new(script());
        hold.arg("hold").arg(folder.path().join("lab")).envs(settings.iter().copied()).process_group(0);
        let mut holder = hold.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut said = String::new();
        if let Some(out) = &mut holder.stdout {
            BufReader::new(out).read_line(&mut said)?;
        }
        if said != "ready\n" {
            let mut why = String::new();
            if let Some(err) = &mut holder.stderr {
                err.read_to_string(&mut why)?;
            }
            return Err(format!("the lab does not start: {said}{why}").into());
        }
        Ok(Some(Self { holder, folder }))
    }

    /// The folder that the lab's daemons live in.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("lab")
    }

    /// Whether each node has a host name of its own, for which the lab needs some rights.
    pub fn has_host_names(&self) -> Result<bool, Box<dyn Error>> {
        Ok(!fs::read_to_string(self.folder().join("env.sh"))?.contains("OMPI_MCA_btl=self,tcp"))
    }

    /// What lies in the first node's shared memory; `None` where the lab lacks the rights to give each node
    /// its own, which is said.
    pub fn shared_memory(&self) -> Result<Option<Vec<String>>, Box<dyn Error>> {
        if !self.has_host_names()? {
            skipped("what is left in shared memory: the nodes of this lab have none of their own");
            return Ok(None);
        }
        let slurmd = fs::read_to_string(self.folder().join("run/slurmd-n0.pid"))?;
        let entries = fs::read_dir(format!("/proc/{}/root/dev/shm", slurmd.trim()))?;
        Ok(Some(
            entries
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect::<Result<_, io::Error>>()?,
        ))
    }

    /// A folder for what a test's jobs write.
    pub fn results(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    /// A program of Slurm's (or any) in the lab's environment, with a time limit.
    pub fn command(&self, program: impl AsRef<OsStr>) -> assert_cmd::Command {
        let mut command = assert_cmd::Command::new("bash");
        command.args(["-c", ". \"$0\" && exec \"$@\""]).arg(self.folder().join("env.sh")).arg(program);
        command.timeout(LIMIT).envs(variables(&no_driver())).current_dir(self.results());
        // This test may itself run in somebody's Slurm job.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SLURM") {
                command.env_remove(name);
            }
        }
        command
    }

    /// `srun` with these arguments, to its end.
    #[track_caller]
    pub fn srun(&self, args: &[&str]) -> Ended {
        match self.command("srun").args(["--quiet", "--time=5"]).args(args).output() {
            Ok(output) => Ended::of(&output),
            Err(error) => panic!("srun does not start: {error}"),
        }
    }

    /// Submits a script and waits for its end. `options` override what the script says for itself.
    pub fn sbatch(
        &self,
        script: &Path,
        options: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Batch, Box<dyn Error>> {
        let out = self.results().join("out-%j");
        let mut submit = self.command("sbatch");
        submit.args(["--parsable", "--partition=main", "--time=5"]).args(options).arg("--output").arg(&out);
        let submitted = Ended::of(&submit.arg(script).envs(variables.iter().copied()).output()?).well();
        self.batch(submitted.out.trim())
    }

    /// Waits for a batch job's end.
    pub fn batch(&self, job: &str) -> Result<Batch, Box<dyn Error>> {
        let began = Instant::now();
        // Not `sbatch --wait`, which looks again only after seconds. An array's jobs are all in the list.
        while !Ended::of(&self.command("squeue").args(["--noheader", "--jobs", job]).output()?).out.is_empty()
        {
            if began.elapsed() > LIMIT {
                return Err(format!("job {job} has not ended in {LIMIT:?}: {}", self.written()).into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        let shown = Ended::of(&self.command("scontrol").args(["show", "job", job]).output()?).well().out;
        let value =
            |key: &str| shown.split_whitespace().find_map(|word| word.strip_prefix(key)).unwrap_or_default();
        let (code, signal) = value("ExitCode=").split_once(':').ok_or("no exit code")?;
        let exit = (code.parse()?, signal.parse()?);
        Ok(Batch { state: value("JobState=").to_owned(), exit, out: self.written(), job: job.to_owned() })
    }

    /// Everything that batch jobs have written, in no particular order.
    fn written(&self) -> String {
        let Ok(entries) = fs::read_dir(self.results()) else { return String::new() };
        let outs = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("out-"));
        outs.filter_map(|entry| fs::read_to_string(entry.path()).ok()).collect()
    }
}

impl Drop for Lab {
    #[allow(clippy::print_stderr, reason = "a test that fails shows what Slurm has to say")]
    fn drop(&mut self) {
        if thread::panicking() {
            let logs = fs::read_dir(self.folder().join("log")).into_iter().flatten().flatten();
            for log in logs {
                let text = fs::read_to_string(log.path()).unwrap_or_default();
                let last: Vec<&str> = text.lines().rev().take(20).collect();
                eprintln!("--- {}", log.path().display());
                last.iter().rev().for_each(|line| eprintln!("{line}"));
            }
        }
        drop(self.holder.stdin.take());
        drop(self.holder.wait());
    }
}

#[test]
fn a_lab_leaves_no_process_behind_also_when_a_task_ignores_sigterm() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    let folder = lab.folder();
    let (mark, started) =
        (format!("SLURM_CONF={}", folder.join("etc/slurm.conf").display()), folder.join("started"));
    let task = format!("trap '' TERM; touch {}; sleep 1000", started.display());
    let mut step = Command::new("bash");
    step.args(["-c", ". \"$0\" && exec srun --quiet -n1 sh -c \"$1\""]).arg(folder.join("env.sh")).arg(task);
    let mut step = step.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let began = Instant::now();
    while !started.exists() {
        assert!(began.elapsed() < LIMIT, "the task does not start");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(marked(&mark) >= 6, "munged, slurmctld, two slurmd, slurmstepd and the task");

    drop(lab);
    step.wait()?;
    assert_eq!(marked(&mark), 0);
    assert!(!folder.exists());
    Ok(())
}

/// How many living processes have this in their environment.
fn marked(mark: &str) -> usize {
    let has = |entry: fs::DirEntry| -> Option<()> {
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let zombie = stat.rsplit_once(") ")?.1.starts_with(['Z', 'X']);
        let found = environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
        (found && !zombie).then_some(())
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(has).count()
}

#[test]
fn tasks_are_bound_numbered_and_given_gpus_by_slurm_itself() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    let script = "echo $SLURM_PROCID $SLURM_LOCALID $CUDA_VISIBLE_DEVICES $ROCR_VISIBLE_DEVICES";
    let ended = lab.srun(&["-N2", "-n4", "--gpus-per-task=1", "--cpu-bind=none", "sh", "-c", script]).well();
    let mut lines: Vec<&str> = ended.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0 0 0 0", "1 1 1 1", "2 0 0 0", "3 1 1 1"]);
    Ok(())
}
