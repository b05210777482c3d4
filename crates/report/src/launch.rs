//! How the ranks came to be processes, and which of them are missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The launch of a run whose ranks are processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Launch {
    /// What launched them, e.g. `srun`, `mpirun`.
    pub launcher: String,
    /// How many processes it launched.
    pub tasks: u32,
    /// On how many nodes.
    pub nodes: u32,
    /// The MPI library, as it names itself; null where none was used.
    pub mpi_library: Option<String>,
}

/// A rank that was lost, or never came. What it had finished is in the cases all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingRank {
    /// The rank.
    pub rank: u32,
    /// Its host; null when it was lost before it said.
    pub host: Option<String>,
    /// What is known of its end.
    pub why: String,
}
