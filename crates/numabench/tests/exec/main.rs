//! `numabench exec` from outside: what the program finds, and that nothing else of it has changed.
//!
//! * `through`  arguments, environment, signals, files and exit codes pass through untouched;
//! * `placed`   binding, memory, variables and the report, on this machine;
//! * `launched` under Open MPI's mpirun and Hydra's mpiexec (under Slurm: `tests/slurm`);
//! * `guest`    a Linux guest with four NUMA nodes and eight AMD GPUs' PCI devices.
//!
//! What passes through is held against the same command without numabench, so that a test cannot be right by
//! accident. What a machine lacks is said in a line that begins with `SKIPPED`.

#[path = "../cli/lab.rs"]
mod lab;
#[path = "../cli/run.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line, which use all of it")]
mod run;

mod guest;
mod launched;
mod placed;
mod through;
