//! Under launchers that bind each rank: ranks take their cores in the launcher's place, each its own.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use stats::IdSet;

use crate::run::{BINARY, Done, skipped};

/// A launcher, and how it is told to bind each rank to a core.
struct Launcher {
    program: &'static str,
    options: &'static [&'static str],
    rank: &'static str,
}

static LAUNCHERS: [Launcher; 2] = [
    Launcher { program: "mpirun.openmpi", options: &["--bind-to", "core"], rank: "OMPI_COMM_WORLD_RANK" },
    Launcher { program: "mpiexec.hydra", options: &["-bind-to", "core"], rank: "PMI_RANK" },
];

/// Those that are installed, on a machine with two PUs.
fn launchers() -> Result<Vec<&'static Launcher>, Box<dyn std::error::Error>> {
    if available_parallelism()?.get() < 2 {
        skipped("ranks with a core each: this machine has one");
        return Ok(Vec::new());
    }
    let installed = |launcher: &&Launcher| {
        let found = Command::new("sh").args(["-c", &format!("command -v {}", launcher.program)]).output();
        let found = found.is_ok_and(|output| output.status.success());
        if !found {
            skipped(&format!("{}: not installed", launcher.program));
        }
        found
    };
    Ok(LAUNCHERS.iter().filter(installed).collect())
}

impl Launcher {
    fn start(
        &self,
        ranks: &str,
        program: &[&str],
    ) -> Result<(String, String, Option<i32>), Box<dyn std::error::Error>> {
        let mut command = Command::new(self.program);
        command.args(["-n", ranks]).args(self.options).args(program).stdin(Stdio::null());
        // A container's only user may be root; and this test may itself run in somebody's Slurm job.
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SLURM")) {
            command.env_remove(name);
        }
        let output = command.output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(&output.stdout), text(&output.stderr), output.status.code()))
    }

    /// The affinity of each rank's program.
    fn affinities(
        &self,
        ranks: &str,
        exec: &str,
    ) -> Result<BTreeMap<u32, IdSet>, Box<dyn std::error::Error>> {
        let look =
            format!("echo ${} $(sed -n 's/^Cpus_allowed_list:[ \\t]*//p' /proc/self/status)", self.rank);
        let script = format!("{exec} sh -c '{look}'", look = look.replace('\'', "'\\''"));
        let (out, err, code) = self.start(ranks, &["sh", "-c", &format!("exec {script}")])?;
        assert_eq!(code, Some(0), "{}: {out}{err}", self.program);
        let one = |line: &str| -> Result<(u32, IdSet), Box<dyn std::error::Error>> {
            let (rank, pus) = line.split_once(' ').ok_or(line)?;
            Ok((rank.parse()?, pus.parse()?))
        };
        out.lines().map(one).collect()
    }
}

#[test]
fn ranks_that_their_launcher_bound_have_its_pus_together_and_each_a_part() -> Done {
    for launcher in launchers()? {
        let name = launcher.program;
        let exec = format!("{BINARY} exec --");
        // This process's own: what a launcher without a job's allocation has to give.
        let status = std::fs::read_to_string("/proc/self/status")?;
        let own: IdSet = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .unwrap_or_default()
            .trim()
            .parse()?;
        let bound = launcher.affinities("1", "")?;
        assert!(bound[&0].len() < own.len(), "{name} binds no more; this test has no object: {bound:?}");
        // One PU for each core, of all that the launcher has.
        let wide = launcher.affinities("1", &exec)?;
        assert!(
            wide[&0].len() > bound[&0].len() || own.len() == 2 && wide[&0].is_subset(&own),
            "{name}: {wide:?}"
        );
        let two = launcher.affinities("2", &exec)?;
        assert_eq!(two.len(), 2, "{name}");
        assert!(two[&0].and(&two[&1]).is_empty() && two[&0].or(&two[&1]).is_subset(&own), "{name}: {two:?}");
        let kept = launcher.affinities("1", &format!("{BINARY} exec --keep-cpus --"))?;
        assert_eq!(kept, bound, "{name}");
    }
    Ok(())
}

#[test]
fn every_rank_reports_itself_in_a_line_and_ends_with_its_programs_code() -> Done {
    for launcher in launchers()? {
        let name = launcher.program;
        let (_, err, code) = launcher.start("2", &[BINARY, "exec", "--report", "--", "true"])?;
        assert_eq!(code, Some(0), "{name}: {err}");
        for rank in ["rank 0 of 2 (rank 0 of 2 on ", "rank 1 of 2 (rank 1 of 2 on "] {
            assert_eq!(err.matches(rank).count(), 1, "{name}: {err}");
        }
        let script = format!("exit $((40 + {}))", launcher.rank);
        let (_, err, code) = launcher.start("1", &[BINARY, "exec", "--", "sh", "-c", &script])?;
        assert_eq!(code, Some(40), "{name}: {err}");
    }
    Ok(())
}
