//! Pure values and numbers, no I/O: what every other crate counts, names and compares with.
//!
//! * `units` sizes, rates and durations, as typed by users and as shown to them;
//! * `id_list` OS ids (PUs, NUMA nodes) in taskset's list syntax;
//! * `pci_address` the identity of a device;
//! * `printable` text of others made fit to print;
//! * `alike` items put together by what they have in common, in the order of first appearance;
//! * `sample` what one block of measured rounds is;
//! * `summary`, `interval`, `block_interval`, `outlier`, `flag` (with `trend` and `bimodal`) what a case's
//!   blocks say;
//! * `alpha` how sure a statement must be;
//! * `stop` when a case has enough blocks;
//! * `compare` how two cases differ; `holm` and `family` the same for many cases at once; `moderated` (with
//!   `log_mean`, `spread_prior`, `run_correlation`, `run_modes`) the same for runs of two sides; `bootstrap`
//!   the interval of a ratio of medians; `signed_rank` the same for pairs; `best` which of several is better
//!   than the others; `peer_outlier` which of several nodes is unlike the others;
//! * `scatter` and `level` what blocks that hang together are worth, how high a case lies and by how much two
//!   differ: every verdict over the cases of one run asks these;
//! * `wandering` what a series that hangs together from value to value is worth, `neighbours` how much
//!   several do;
//! * `grouping` which of several items belong together, by a figure of every two;
//! * `line_fit` time against size: latency, rate, dips; `latency_curve` latency against traffic: where it
//!   climbs, where it is twice the idle one;
//! * `change_point` when a series changed its level, `series_shape` what kind it is where it did not;
//!   `tolerance` how low the next value may be;
//! * `latch` how queued rounds are held back on a device; `clock_limit` what holds a GPU's clocks down;
//!   `touch` how memory is touched whose pages move;
//! * `stage` at which stage of a rank's work something failed; `time_spent` where its time went;
//! * `wrong_byte` the first byte that is not as it was sent;
//! * `pair_sample` which of many pairs stand for all;
//! * `random` the seeded generator behind everything that draws.
//!
//! Nothing here reads a clock, a file or a device: a test needs numbers only.

pub mod alike;
pub mod alpha;
pub mod best;
pub mod bimodal;
pub mod block_interval;
pub mod bootstrap;
pub mod change_point;
pub mod clock_limit;
pub mod compare;
pub mod family;
pub mod figures;
pub mod flag;
pub mod grouping;
pub mod holm;
pub mod id_list;
pub mod interval;
pub mod latch;
pub mod latency_curve;
pub mod level;
pub mod line_fit;
mod log_mean;
pub mod memory_nodes;
pub mod moderated;
pub mod moderated_levels;
mod neighbours;
#[cfg(test)]
mod noise;
pub mod outlier;
pub mod pair_sample;
pub mod pci_address;
pub mod peer_outlier;
pub mod printable;
pub mod printed_step;
pub mod random;
mod run_correlation;
pub mod run_modes;
pub mod sample;
pub mod scatter;
pub mod series_shape;
pub mod signed_rank;
mod spread_prior;
pub mod stage;
pub mod stop;
pub mod summary;
pub mod time_spent;
pub mod tolerance;
pub mod touch;
pub mod trend;
mod trigamma;
pub mod units;
pub mod wandering;
pub mod wrong_byte;

pub use id_list::{IdList, IdSet};
pub use pci_address::PciAddress;
