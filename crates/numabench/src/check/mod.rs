//! `numabench check`: from what is seen of ranks, or of running processes, to one judgement, a table and an exit code.
//!
//! ```text
//! each rank:      Machine ─► Seen ──► socket of the node ─┐
//! first of node:                  all of them ◄───────────┘ ─► Judgement ─► table │ document ─► code ─► all of the node
//! ```
//!
//! * `machine` what is read, and which machine it is judged by;
//! * `seen` what one rank or process says of itself, as it travels;
//! * `launch_line` the ranks of a line that was pasted and not run;
//! * `key` what the ranks of a node have in common, `rendezvous` how they find one another there, without MPI;
//! * `bandwidth` measures instead (`--bandwidth`);
//! * `threads` who works for a rank, and where;
//! * `fix` the line that would put it right, `table` and `document` what is shown.
//!
//! Whether a placement is good is `placement::judge`'s to say. A node is judged by itself: ranks on other nodes share nothing with it.

pub mod bandwidth;
pub mod document;
pub mod fix;
mod key;
pub mod launch_line;
pub mod machine;
pub mod rendezvous;
pub mod seen;
pub mod table;
#[cfg(test)]
mod tests;
mod threads;
#[cfg(test)]
#[path = "../../../exec/src/machine.rs"]
#[expect(dead_code, reason = "what exec's own tests use of it")]
mod written_machine;

pub use key::{is_started, key};
