//! The two MPIs that launches are tried with: each a plug-in for one and the same binary, and the `--mpi`
//! that goes with it.
//!
//! `cargo xtask mpi-plugin --each` builds them into target/mpi; NUMABENCH_TEST_PLUGINS names another such
//! folder.

use std::env;
use std::path::{Path, PathBuf};

use crate::lab::Lab;
use crate::run::{BINARY, Ended, skipped};

/// An MPI.
pub struct Mpi {
    /// What its library calls itself.
    pub name: &'static str,
    /// The srun option that it needs.
    pub option: &'static str,
    /// The srun option under which it finds nobody, and what the refusal offers instead.
    pub wrong: &'static str,
    /// The plug-in.
    pub plugin: PathBuf,
}

/// Open MPI; `None` where it has no plug-in, which is said.
pub fn open_mpi() -> Option<Mpi> {
    mpi("Open MPI", "mpicc.openmpi", "--mpi=pmix", "--mpi=pmi2")
}

/// MPICH; `None` where it has no plug-in, which is said.
pub fn mpich() -> Option<Mpi> {
    mpi("MPICH", "mpicc.mpich", "--mpi=pmi2", "--mpi=pmix")
}

/// Those that are here.
pub fn all() -> Vec<Mpi> {
    [open_mpi(), mpich()].into_iter().flatten().collect()
}

fn mpi(name: &'static str, folder: &str, option: &'static str, wrong: &'static str) -> Option<Mpi> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mpi");
    let plugins = env::var_os("NUMABENCH_TEST_PLUGINS").map_or(built, PathBuf::from);
    let plugin = plugins.join(folder).join("libnumabench_mpi.so");
    if plugin.exists() {
        return Some(Mpi { name, option, wrong, plugin });
    }
    skipped(&format!("{name}: no {} (cargo xtask mpi-plugin --each builds it)", plugin.display()));
    None
}

/// srun's arguments, then the binary and its own.
pub fn pingpong<'a>(srun: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let common = [BINARY, "pingpong", "--backend", "host", "--size", "64KiB", "--direction", "h2d"];
    [srun, &common, more].concat()
}

/// Runs tasks of a step with this plug-in, or with none.
#[track_caller]
pub fn step(lab: &Lab, plugin: Option<&Path>, args: &[&str]) -> Ended {
    let mut srun = lab.command("srun");
    srun.args(["--quiet", "--time=5", "--kill-on-bad-exit=0"]).args(args);
    match plugin {
        Some(file) => srun.env("NUMABENCH_MPI", file),
        None => srun.env_remove("NUMABENCH_MPI"),
    };
    match srun.output() {
        Ok(output) => without_sruns_words(Ended::of(&output)),
        Err(error) => panic!("srun does not start: {error}"),
    }
}

/// What the tasks wrote: srun adds which of them ended with what, also when it is to be quiet.
pub fn without_sruns_words(ended: Ended) -> Ended {
    let words = |line: &&str| !line.starts_with("srun: ") && !line.starts_with("slurmstepd: ");
    let err = ended.err.split_inclusive('\n').filter(words).collect();
    Ended { err, ..ended }
}
