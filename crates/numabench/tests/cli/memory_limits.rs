//! Limits on a job's memory: what does not fit is refused before it begins, and what a command chooses by
//! itself fits. In a cgroup that the test makes, as root.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::run::{BINARY, Done, Ended, no_driver, skipped, variables};

/// A group with a limit, of the version that controls memory here; removed with the value.
struct MemoryGroup {
    folder: PathBuf,
    file: &'static str,
}

impl MemoryGroup {
    /// One below this process's hierarchy; `None` where this user may make none.
    fn new(name: &str, bytes: u64) -> Option<Self> {
        let places = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        places.into_iter().find_map(|(at, file)| {
            let group = Self {
                folder: PathBuf::from(format!("{at}/numabench-test-{name}-{}", std::process::id())),
                file,
            };
            fs::create_dir(&group.folder).ok()?;
            fs::write(group.folder.join(file), bytes.to_string()).ok()?;
            Some(group)
        })
    }

    /// A command in the group.
    fn run(&self, args: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.folder.join("cgroup.procs"));
        let output = command.arg(BINARY).args(args).envs(variables(&no_driver())).output()?;
        Ok(Ended::of(&output))
    }

    /// The limit as messages name it.
    fn source(&self) -> String {
        self.folder.join(self.file).display().to_string()
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        drop(fs::remove_dir(&self.folder));
    }
}

#[test]
fn in_a_group_of_half_a_gib_commands_choose_what_fits_and_refuse_what_does_not() -> Done {
    let Some(group) = MemoryGroup::new("half", 512 << 20) else {
        skipped("memory limits: this user may make no cgroup with a limit on memory");
        return Ok(());
    };
    let limit = group.source();
    for args in [
        &["sweep", "--backend", "host", "--size", "512MiB"][..],
        &["pingpong", "--backend", "host", "--size", "256MiB", "--direction", "roundtrip"],
        &["matrix", "--backend", "host", "--range", "1GiB", "--access", "read"],
        &["latency", "--backend", "host", "--range", "600MiB"],
    ] {
        let plan = group.run(&[args, &["--dry-run"]].concat())?;
        assert!(plan.code == Some(2) && plan.err.contains(&limit), "{args:?}: {:?}: {}", plan.code, plan.err);
        group.run(args)?.refused(2, &["the memory limit of this process (512 MiB, ", &limit, "need"]);
    }
    for args in [
        // Six rounds a block: with one, busy neighbours leave two threads no whole one in common.
        &["matrix", "--backend", "host", "--access", "read,copy,load", "--threads", "2", "--reps", "60"][..],
        &["latency", "--backend", "host", "--reps", "6"],
        &["pingpong", "--backend", "host", "--gpus", "0", "--reps", "6"],
        &["sweep", "--backend", "host", "--reps", "3"],
    ] {
        let ended = group.run(&[args, &["--brief"]].concat())?;
        assert!(matches!(ended.code, Some(0)), "{args:?}: {:?}: {}{}", ended.code, ended.out, ended.err);
    }
    Ok(())
}

#[test]
fn a_limit_on_the_address_space_is_known_beforehand() -> Done {
    let script = "ulimit -v 4194304 && exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args([
        "-c",
        script,
        BINARY,
        "matrix",
        "--backend",
        "host",
        "--range",
        "4GiB",
        "--access",
        "read",
    ]);
    let ended = Ended::of(&command.envs(variables(&no_driver())).output()?);
    ended.refused(2, &["the memory limit of this process (4 GiB, ulimit -v; "]);
    Ok(())
}
