//! The variable in which `exec --workers` tells the hook each GPU's cores and memory: one line of words.
//!
//! ```text
//! 1 parent=1234 token=1234.5 affinity=0-15 report=1 0000:05:00.0=0-3|4-7@0 0000:c1:00.0=8-11|12-15@1
//! ```
//!
//! The first word is the version. `parent` is the process that stays free (0: none), `token` is this start's
//! own, `affinity` the PUs that a process has which nobody bound. A GPU's words are the PUs of each of its
//! workers and, behind `@`, the nodes near it (`none`: memory is left alone). This file has no dependency:
//! the hook's crate includes it.

/// The variable.
pub const VARIABLE: &str = "NUMABENCH_WORKERS";
/// The first word.
pub const VERSION: &str = "1";
/// The line is shorter than this.
pub const LONGEST: usize = 16 << 10;
/// Names of the words before the GPUs.
pub const PARENT: &str = "parent";
/// See [`PARENT`].
pub const TOKEN: &str = "token";
/// See [`PARENT`].
pub const AFFINITY: &str = "affinity";
/// See [`PARENT`].
pub const REPORT: &str = "report";
/// Between the PUs of two workers of a GPU.
pub const NEXT_WORKER: char = '|';
/// Before the nodes.
pub const NODES: char = '@';
