//! The MPI plug-in under real launchers: one and the same program, `examples/launched.rs`, with every plug-in
//! that has been built.
//!
//! `cargo xtask mpi-plugin --each` builds them, and `cargo xtask test` runs it first. Without a plug-in or a
//! launcher a test says that it is skipped.

#![allow(clippy::print_stdout, reason = "a test that skips something says so")]

#[path = "suite/built.rs"]
mod built;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use built::example;
use ranks::{Plugin, abi};

/// An MPI's compiler, which names its plug-in's folder, its launcher, and what its version text begins with.
const MPIS: [(&str, &str, &str); 3] = [
    ("mpicc.openmpi", "mpirun.openmpi", "Open MPI "),
    ("mpicc.mpich", "mpirun.mpich", "MPICH "),
    ("mpicc", "mpirun", ""),
];

struct Mpi {
    launcher: &'static str,
    version: &'static str,
    plugin: PathBuf,
}

impl Mpi {
    /// Those that can be tested here.
    fn all() -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = Vec::new();
        for (compiler, launcher, version) in MPIS {
            let plugin = root.join("target/mpi").join(compiler).join(abi::FILE_NAME);
            let Ok(built) = plugin.metadata().and_then(|meta| meta.modified()) else { continue };
            let newest =
                newest(&root.join("crates/mpi-plugin")).max(newest(&root.join("crates/ranks/src/abi.rs")));
            let what = plugin.display();
            assert!(built >= newest, "{what} is older than its sources: run `cargo xtask mpi-plugin --each`");
            if Command::new(launcher).arg("--version").stdout(Stdio::null()).status().is_err() {
                println!("skipped: {launcher} is not here to launch with {what}");
                continue;
            }
            found.push(Self { launcher, version, plugin });
        }
        if found.is_empty() {
            println!(
                "skipped: there is no MPI plug-in with its launcher; `cargo xtask mpi-plugin --each` builds \
                 them"
            );
        }
        found
    }

    fn run(&self, ranks: usize, words: &[&str]) -> Output {
        self.run_with(&[], ranks, words)
    }

    fn run_with(&self, options: &[&str], ranks: usize, words: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "60", self.launcher]).args(options).args(["-n", &ranks.to_string()]);
        if self.launcher == "mpirun.openmpi" || self.version.is_empty() && self.is_open_mpi() {
            // More ranks than cores, each anywhere; and containers are root.
            command.args(["--oversubscribe", "--bind-to", "none"]);
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        }
        command.arg(example("launched")).args(words).env("NUMABENCH_MPI", &self.plugin).stdin(Stdio::null());
        command.output().expect("timeout(1) of coreutils")
    }

    fn is_open_mpi(&self) -> bool {
        let said = Command::new(self.launcher).arg("--version").output();
        said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("Open MPI"))
    }
}

fn newest(path: &Path) -> SystemTime {
    let inside = path.read_dir().into_iter().flatten().flatten().map(|entry| newest(&entry.path()));
    let own = path.metadata().and_then(|meta| meta.modified()).ok().filter(|_| path.is_file());
    inside.chain(own).max().unwrap_or(SystemTime::UNIX_EPOCH)
}

fn text(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{}\n{out}\n{err}", output.status)
}

#[test]
fn every_message_comes_once_and_in_its_senders_order_over_mpi() {
    for mpi in Mpi::all() {
        let output = mpi.run(3, &["messages"]);
        assert!(output.status.success(), "{}: {}", mpi.launcher, text(&output));
        assert_eq!(
            text(&output).matches("has all its messages").count(),
            3,
            "{}: {}",
            mpi.launcher,
            text(&output)
        );
    }
}

#[test]
fn one_program_gathers_broadcasts_meets_and_leaves_under_every_mpi() {
    for mpi in Mpi::all() {
        let output = mpi.run(3, &["meet"]);
        assert!(output.status.success(), "{}: {}", mpi.launcher, text(&output));
        let said = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<_> = said.lines().collect();
        assert!(lines[0].starts_with(mpi.version), "{said}");
        let places = (0..3).map(|rank| format!("rank {rank} of 3 is {rank} of 3 on node 0 of 1"));
        let met =
            (0..3).map(|rank| format!("rank {rank} met 3, heard true, largest 99902, lost [], unwatched []"));
        assert_eq!(lines[1..], places.chain(met).collect::<Vec<_>>(), "{}", mpi.launcher);
    }
}

#[test]
fn one_machine_that_is_named_twice_is_one_node() {
    // Hydra takes each name for a host and starts a proxy for it.
    for mpi in Mpi::all().into_iter().filter(|mpi| mpi.launcher == "mpirun.mpich") {
        let output = mpi.run_with(&["-launcher", "fork", "-hosts", "localhost,127.0.0.1"], 2, &["meet"]);
        for rank in 0..2 {
            let place = format!("rank {rank} of 2 is {rank} of 2 on node 0 of 1");
            assert!(text(&output).contains(&place), "{place}: {}", text(&output));
        }
    }
}

#[test]
fn an_abort_ends_the_launch_soon_and_with_its_code() {
    for mpi in Mpi::all() {
        let before = SystemTime::now();
        let output = mpi.run(2, &["abort"]);
        assert_eq!(output.status.code(), Some(7), "{}: {}", mpi.launcher, text(&output));
        assert!(before.elapsed().is_ok_and(|took| took < Duration::from_secs(20)), "{}", mpi.launcher);
    }
}

#[test]
fn a_code_that_all_ranks_end_with_after_leaving_is_the_launchs() {
    for mpi in Mpi::all() {
        for code in [0, 3] {
            let output = mpi.run(3, &["code", &code.to_string()]);
            assert_eq!(output.status.code(), Some(code), "{}: {}", mpi.launcher, text(&output));
        }
    }
}

#[test]
fn a_plug_in_says_its_mpi_without_a_launcher_and_alone_it_is_rank_0_of_1() {
    for mpi in Mpi::all() {
        // In a process of its own: two MPIs cannot be opened in one.
        let output = Command::new(example("launched")).arg("meet").env("NUMABENCH_MPI", &mpi.plugin).output();
        let said = text(&output.expect("the example runs"));
        assert!(
            said.contains(mpi.version) && said.contains("rank 0 of 1 is 0 of 1 on node 0 of 1"),
            "{said}"
        );
    }
}

#[test]
fn a_library_that_is_no_plug_in_is_refused_by_name() {
    let libc = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"];
    let Some(libc) = libc.into_iter().find(|path| Path::new(path).exists()) else {
        println!("skipped: the C library is in none of {libc:?}");
        return;
    };
    let error = Plugin::find(Some(libc.as_ref()), Path::new("/x")).expect_err("no plug-in").to_string();
    assert!(
        error.contains(libc) && error.contains("numabench_mpi_v1") && error.contains("build it anew"),
        "{error}"
    );
}
