//! Launchers: which of them started this process, the ranks that a pasted line would start, and the lines
//! that put ranks in given places.
//!
//! `launcher` lists them, with a file each: how it is sensed, what it bound, which lines it takes and which
//! it is given (`facts` says what is known of one).
//!
//! A process and its launch: `launch`, told from `variables`; `launch_size`, and the `interface` that its
//! processes find one another with.
//!
//! Reading a line ([`line::read`]):
//! * `launcher` has each launcher's table of options, and where they put ranks; `mpirun` (`mpi_options`)
//!   tells the three apart that share a command's name;
//! * `numactl`, `taskset`, `hwloc_location`, `prefix` what stands before a program, `sh` a wrapper's script,
//!   `exec_call` our own exec, `follow` one rank's `process` through them, `gpus` those that it sees,
//!   `openmp` what of its threads does not fit, `unknown` what is not known in a value, `unread_command` what
//!   is neither a launcher here nor a program;
//! * `layout` what a launcher says of each rank, `assumption` what it takes the site to do where the line
//!   leaves that open, `count` how many there are, `objects` the machine's parts in
//!   launchers' order, `rankfile` Open MPI's file;
//! * `gres_conf` which cores the site says each GPU is near to, `slurm_node` what it takes for a socket
//!   and a CPU (`slurm_files` has both), `conf_lines` the lines of Slurm's files, `host_list` its lists
//!   of names, `node_gres` the file that a node's topology asks for;
//! * `grammar` options as each command's own parser takes them, `value` what they are given, `error` why a
//!   line cannot be judged.
//!
//! Reading what a launcher printed of where its ranks are: `printed_bindings`.
//!
//! Writing one: `dialect`, the places of a node in the words of srun, mpirun, numactl and others; `binding` a
//! launcher's own option for them, read back.
//!
//! Nothing here starts a process, binds one or judges a placement: `placement` plans and judges, `check` and
//! `place` ask.

mod assumption;
mod binding;
pub mod conf_lines;
mod count;
pub mod dialect;
mod error;
mod exec_call;
mod facts;
mod follow;
mod gpus;
mod grammar;
pub mod gres_conf;
mod host_list;
mod hwloc_location;
mod interface;
mod launch;
mod launch_size;
mod launcher;
mod layout;
pub mod line;
mod mpi_options;
mod mpirun;
pub mod node_gres;
mod numactl;
mod objects;
mod openmp;
mod pasted;
mod prefix;
pub mod printed_bindings;
mod process;
mod rankfile;
mod sh;
pub mod slurm_files;
pub mod slurm_node;
mod taskset;
#[cfg(test)]
mod tests;
mod unknown;
mod unread_command;
mod value;
mod variables;
#[cfg(test)]
#[path = "../../exec/src/machine.rs"]
#[expect(dead_code, reason = "what exec's own tests use of it")]
mod written_machine;

pub use assumption::{Assumption, Choice, Ways, is_part, told_apart};
pub use binding::{BindingRefusal, binding};
pub use dialect::{
    BindingError, Command, Dialect, DialectError, LOCAL_RANK_VARIABLES, Saying, Situation, Starter,
    StarterError, VisibilityVariables, command, omp_places, parse_map_cpu, parse_mask, parse_mask_cpu, say,
    visible, wrapper,
};
pub use exec_call::ExecCall;
pub use facts::{LauncherFacts, SharedPus, UsualMpi};
pub use host_list::host_list;
pub use interface::Interface;
pub use launch::{Launch, LaunchRefusal, NoSuchRank};
pub use launch_size::LaunchSize;
pub use launcher::Launcher;
pub use process::{Known, Policy, assignment};
