//! Kernels that compute, between the memory of a NUMA node and a GPU, or on the node's own cores.

mod kernel;
mod numbers;
mod problem;
mod problems;
mod program;

pub use kernel::{By, Kernel, LARGEST_CLASS};
pub use problem::{Layout, Problem, Unit, Wrong};
