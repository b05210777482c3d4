//! The binary in a real Slurm (`tests/lab/slurm.sh`): steps, batch jobs, and the job scripts as users submit
//! them.
//!
//! Each test starts a lab of its own, which takes a few tenths of a second, so that none waits for or
//! disturbs another's jobs; the test runner takes one at a time, because every lab's nodes are this machine.
//! What a machine lacks is said in a line that begins with `SKIPPED`. Nothing waits for ever: every command
//! has a limit, and a lab ends with the process that holds it.
//!
//! * `lab`       starting one, and srun and sbatch in it;
//! * `step_view` what `topo` says of a step;
//! * `jobs`      every script of `jobs/`, each of its lines;
//! * `ranks`     tasks as ranks, under Open MPI and MPICH (`mpi` finds their plug-ins);
//! * `check`     whether ranks are well placed, and a fix that works;
//! * `fleet`     one task a node, each node by itself, all in one table;
//! * `laplace`   an iteration whose halos go between two nodes;
//! * `messages`  messages between tasks, on one node and on two;
//! * `refusals`  launches and lists that cannot become one run;
//! * `faults`    a rank that is killed, and signals;
//! * `printed_lines` the lines that `place` prints and those of the pages;
//! * `gres_conf` which cores Slurm counts as near to a GPU;
//! * `exec`      programs put in their places, and everything that passes through to them.
//! * `trial`     an allocation in which steps are started in turns;
//! * `replay`    the case study's runs on LUMI-G, on a simulated node.

#[path = "../cli/driver.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line, which use all of it")]
mod driver;
#[path = "../cli/kinds.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line, which use all of it")]
mod kinds;
#[path = "../cli/proof.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line, which use all of it")]
mod proof;
#[path = "../cli/run.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line, which use all of it")]
mod run;

mod check;
mod exec;
mod faults;
mod fleet;
mod gres_conf;
mod jobs;
mod lab;
mod laplace;
mod messages;
mod mpi;
mod printed_lines;
mod ranks;
mod refusals;
mod replay;
mod step_view;
mod trial;
