//! `cargo xtask test`: everything that must hold before a change goes in; `.ci/run` is this and nothing else.
//!
//! The static checks run first and do not stop the tests: one run shows all that is wrong. The tests and the
//! campaign come last, so that their summaries close the log. A tool that a machine lacks (rustfmt, clippy,
//! cargo-nextest) is named, and what it would have checked is left out or done the plain way. There are no
//! doctests (`tidy` sees to it), so there is no step for them. What the tests themselves left out is counted
//! (`skips`).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::{
    forges, lints, mpi_plugin, proving, python_tools, scripts, second_tries, setup, site, skips, step, tidy,
};

/// Everything but the MPI plug-in, which needs an MPI and is built and linted by `mpi_plugin`.
const WITHOUT_MPI: [&str; 3] = ["--workspace", "--exclude", "numabench-mpi-plugin"];

/// The tests without nextest. Programs that tests start are examples, and `cargo test` builds those only
/// where it is given no kinds of targets, which would take doctests along. One at a time: nextest's groups
/// keep guests and labs apart from the rest, and `cargo test` knows none.
const PLAIN: [(&str, &[&str]); 2] = [
    ("examples", &["build", "--examples"]),
    ("tests", &["test", "--no-fail-fast", "--lib", "--bins", "--tests", "--", "--test-threads=1"]),
];

/// What `cargo deny` is asked: nothing that needs the network. Advisories are asked for where the workflow
/// runs.
const DENY: [&str; 4] = ["check", "licenses", "bans", "sources"];

/// Runs the command; it takes no argument.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!(
            "takes no arguments, but was given {:?}; for single tests use `cargo nextest run`",
            args.join(" ")
        );
    }
    let mut checks = Checks::default();
    checks.must("setup", setup::build)?;
    checks
        .run("fmt", || installed(root, "fmt", "rustup component add rustfmt clippy", &["--all", "--check"]));
    checks.run("tidy", || tidy::run(root, &[]));
    // What only tests and the other checks need is fetched while everything is compiled, and the plug-ins,
    // each of which is one crate after the other, are compiled beside it.
    let xtask = mpi_plugin::this_program()?;
    thread::scope(|scope| {
        let beside = scope.spawn(|| {
            setup::labs(root);
            plugin(root, &xtask)
        });
        checks.run("compiling, with lints", || lints::compile(root, &WITHOUT_MPI));
        checks.run("mpi-plugin", || beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
    checks.run("scripts", || scripts::check(root));
    checks.run("files of forges", || forges::check(root));
    checks.run("site", || site::check(root));
    // Both read Cargo.toml and Cargo.lock only; neither is in a toolchain, and compiling them takes longer
    // than most of the steps.
    checks.run("machete", || installed(root, "machete", "cargo install --locked cargo-machete", &[]));
    checks.run("deny", || installed(root, "deny", "cargo install --locked cargo-deny", &DENY));
    if let Err(so_far) = checks.result() {
        eprintln!("test: {so_far} so far; running the tests all the same");
    }

    if cargo_has("nextest") {
        let target = root.join("target");
        skips::forget(&target);
        checks.run("tests", || nextest(root, &[&WITHOUT_MPI[..], &["--profile", "ci"]].concat()));
        let in_ci = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
        checks.run("tests left out", || skips::count(&target, in_ci));
        checks.run("second tries", || second_tries::name(&target));
    } else {
        eprintln!(
            "test: note: cargo-nextest is not installed (https://nexte.st); `cargo test` runs the tests \
             instead, one after the other, and what they leave out is not counted"
        );
        for (name, args) in PLAIN {
            checks.run(name, || cargo(root, &[&args[..1], &WITHOUT_MPI, &args[1..]].concat()));
        }
    }
    // With the binaries that the tests have built.
    checks.run("campaign", || proving::built(root, "campaign"));
    println!("test: {}", checks.times());
    checks.result()
}

/// Builds and lints the MPI plug-in, or says why not.
fn plugin(root: &Path, xtask: &Path) -> Result<()> {
    if let Some(why) = mpi_plugin::lacking() {
        eprintln!("test: note: the MPI plug-in is neither built nor linted: {why}");
        return Ok(());
    }
    mpi_plugin::each(root, xtask)?;
    if cargo_has("clippy") { mpi_plugin::lint(root) } else { Ok(()) }
}

/// The checks that were run: how long each took, and the names of those that failed.
#[derive(Debug, Default)]
struct Checks {
    took: Vec<(&'static str, Duration)>,
    failed: Vec<&'static str>,
}

impl Checks {
    /// Runs a check, and says and notes it when it failed.
    fn run(&mut self, name: &'static str, check: impl FnOnce() -> Result<()>) {
        if let Err(error) = self.must(name, check) {
            eprintln!("test: {name}: {error:#}");
            self.failed.push(name);
        }
    }

    /// Runs what nothing else can go on without.
    fn must(&mut self, name: &'static str, check: impl FnOnce() -> Result<()>) -> Result<()> {
        let began = Instant::now();
        let ended = check();
        self.took.push((name, began.elapsed()));
        ended
    }

    /// How long those took that took a second and more, in a line.
    fn times(&self) -> String {
        let long = self.took.iter().filter(|(_, took)| *took >= Duration::from_secs(1));
        let all: Vec<String> =
            long.map(|(name, took)| format!("{name} {:.0} s", took.as_secs_f64())).collect();
        all.join(", ")
    }

    /// An error that names what failed.
    fn result(&self) -> Result<()> {
        if self.failed.is_empty() { Ok(()) } else { bail!("failed: {}", self.failed.join(", ")) }
    }
}

/// Runs a cargo subcommand, or says that it is not installed and what would install it.
fn installed(root: &Path, name: &str, by: &str, args: &[&str]) -> Result<()> {
    if !cargo_has(name) {
        eprintln!("test: note: not checked: `cargo {name}` is not installed ({by})");
        return Ok(());
    }
    cargo(root, &[&[name], args].concat())
}

/// Open MPI 4 removes the folder of all launches of a user on a host with the last of them, and a launch that
/// begins in that moment finds none and fails. A folder in it keeps it there.
struct LaunchFolder(Option<PathBuf>);

impl LaunchFolder {
    fn kept() -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim().split('.').next().unwrap_or_default();
        let uid = fs::metadata("/proc/self").map(|meta| meta.uid());
        let folder = uid.map(|uid| std::env::temp_dir().join(format!("ompi.{host}.{uid}")));
        let own = folder.map(|folder| folder.join(format!("numabench-test-{}", std::process::id())));
        Self(own.and_then(|own| fs::create_dir_all(&own).map(|()| own)).ok())
    }
}

impl Drop for LaunchFolder {
    fn drop(&mut self) {
        for folder in self.0.iter().flat_map(|own| own.ancestors().take(2)) {
            // The folder of all launches stays where another one is under way.
            let _removed = fs::remove_dir(folder);
        }
    }
}

fn nextest(root: &Path, args: &[&str]) -> Result<()> {
    let _launches = LaunchFolder::kept();
    let threads = threads(thread::available_parallelism().map_or(1, usize::from));
    let mut nextest = lints::linting(Command::new("cargo"));
    nextest
        .args(["nextest", "run"])
        .args(args)
        .args(["--test-threads", &threads.to_string()])
        .current_dir(root);
    // `setup` has said why where there are none.
    if let Ok(folder) = python_tools::ready() {
        nextest.envs(python_tools::variables(&folder)?);
    }
    step::run(&mut nextest)
}

/// How many threads tests are given at once: two each, and one where a test waits most of its time
/// (`.config/nextest.toml`). A few CPUs take twice as many tests as they are: launches and files make them
/// wait as well. With three times as many, tests of what happens within a time fail now and then; where there
/// are many CPUs, memory and processes are what there is not twice as much of.
fn threads(cpus: usize) -> usize {
    2 * cpus.max((2 * cpus).min(12))
}

fn cargo_has(subcommand: &str) -> bool {
    step::succeeds(plain_cargo().args([subcommand, "--version"]))
}

/// cargo as a user calls it: in what `cargo run` sets of a package, cargo-machete sees itself run by `cargo
/// run`, and takes its name for a folder.
fn plain_cargo() -> Command {
    let mut cargo = Command::new("cargo");
    cargo.env_remove("CARGO_PKG_NAME");
    cargo
}

fn cargo(root: &Path, args: &[&str]) -> Result<()> {
    step::run(lints::linting(plain_cargo()).args(args).current_dir(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_cpus_take_twice_as_many_tests_as_they_are_and_many_take_as_many() {
        assert_eq!([1, 2, 3, 12, 64].map(threads), [4, 8, 12, 24, 128]);
    }

    #[test]
    fn a_check_that_fails_fails_the_whole_however_many_follow() {
        let mut checks = Checks::default();
        checks.run("fmt", || Ok(()));
        assert!(checks.result().is_ok());
        checks.run("tidy", || Err(anyhow::anyhow!("1 finding")));
        checks.run("tests", || Ok(()));
        assert_eq!(checks.result().map_err(|error| error.to_string()), Err("failed: tidy".to_owned()));
    }
}
