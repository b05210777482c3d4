//! Commands of the measurement suite: what is measured where, run by the engine, as one result document.
//!
//! ```text
//! rows, devices ─► Experiment (engine cases, and where each figure stands) ─► run ─► document ─► verdict first
//! ```
//!
//! * `experiment` what all of them are made of: a suite of the engine and, for each of its figures, the case and the place in the document;
//! * `gpu_matrix`, `gpu_loads`, `core_pairs`, `peers`, `memory_matrix`, `sweep` and `contend` make one of rows, devices, sizes and who is at it at once; `memory_range` says how long ranges must be;
//! * `peer_copies` which copies `peers` makes of how many GPUs, `peer_tables` how they stand in rows and columns;
//! * `gpu_groups` what GPUs lose together, in two experiments, whose documents `appended` makes one;
//! * `beside` one of copies and CPU traffic at once, `loaded` one of loads and CPU traffic at once (in the steps of `traffic_step`), `merged` one of several;
//! * `run` measures and keeps; `document` fills the schema; `plan` is what `--dry-run` prints.

pub mod appended;
pub mod beside;
pub mod contend;
pub mod core_pairs;
mod defaults;
pub mod document;
pub mod experiment;
pub mod gpu_groups;
pub mod gpu_loads;
pub mod gpu_matrix;
pub mod loaded;
pub mod memory_matrix;
mod memory_range;
pub mod merged;
pub mod peer_copies;
pub mod peer_tables;
pub mod peers;
pub mod plan;
pub mod run;
pub mod sweep;
mod traffic_step;

pub use defaults::defaults;
