//! Launch lines: the ranks that a pasted line would start, and the lines that put ranks in given places.
//!
//! * `line` a line as it was pasted, read as its launcher reads it, as ranks with PUs, memory and GPUs;
//! * `dialect` places of a node in the words of srun, mpirun, numactl and others.
//!
//! Nothing here starts a process, binds one or judges a placement: `placement` plans and judges, `check` and `place` ask.

pub mod dialect;
pub mod line;
#[cfg(test)]
#[path = "../../exec/src/machine.rs"]
#[expect(dead_code, reason = "what exec's own tests use of it")]
mod written_machine;

pub use dialect::{
    BindingError, Command, Dialect, DialectError, LOCAL_RANK_VARIABLES, Saying, Situation, Starter, StarterError,
    Visible, command, omp_places, parse_map_cpu, parse_mask, parse_mask_cpu, say, visible,
};
