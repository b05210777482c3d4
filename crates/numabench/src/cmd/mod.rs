//! One file a command: each reads as the list of steps it takes.

pub mod baseline;
pub mod check;
pub mod check_bandwidth;
pub mod compare;
pub mod completions;
pub mod contend;
pub mod exec;
pub mod export;
pub mod history;
pub mod import;
pub mod kernels;
pub mod latency;
pub mod man;
pub mod matrix;
pub mod measured;
pub mod mpi;
pub mod peer;
pub mod pingpong;
pub mod place;
pub mod report;
pub mod schema;
pub mod suite;
pub mod sweep;
pub mod topo;
pub mod topo_measure;
pub mod trial;
