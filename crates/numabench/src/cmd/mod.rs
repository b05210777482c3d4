//! One file a command: each reads as the list of steps it takes. A measurement whose options are all that it
//! has is `measured` and has no file.

pub mod baseline;
pub mod check;
pub mod check_bandwidth;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod exec;
pub mod export;
pub mod history;
pub mod import;
pub mod laplace;
pub mod man;
pub mod matrix;
pub mod measured;
pub mod mpi;
pub mod pingpong;
pub mod place;
pub mod reference;
pub mod report;
pub mod schema;
pub mod sweep;
pub mod topo;
pub mod topo_measure;
pub mod trial;
pub mod witness;
