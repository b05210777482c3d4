//! What MPI does with device memory, as the document of `numabench mpi` has it: whether it takes it, which
//! way it goes, how each operation ended, and the evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NEWER;

/// What MPI does with device memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MpiDeviceMemory {
    /// Whether MPI takes it.
    pub awareness: Awareness,
    /// Which way it goes.
    pub transport: Transport,
    /// The operations that do not work.
    pub failing: Vec<DeviceOperation>,
    /// Those that were not tried, because the session ended before.
    pub not_tried: Vec<DeviceOperation>,
    /// The smallest message from which MPI's own way is faster than a staged copy of ours; null where no size
    /// is significantly faster.
    pub faster_than_staged_from_bytes: Option<u64>,
    /// The largest message at which a staged copy of ours is significantly faster than MPI's own way; null
    /// where no size is. The crossover lies between both.
    pub slower_than_staged_up_to_bytes: Option<u64>,
    /// The evidence.
    pub witnesses: Vec<MpiWitness>,
    /// Why there are no peer copies, or that the driver stages them; null where they are direct, or were not
    /// tried (`--matrix`).
    pub peer_copies: Option<String>,
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MpiWitness {
    /// Its kind.
    pub name: EvidenceKind,
    /// What it shows.
    pub says: EvidenceFinding,
    /// The figures or errors that show it.
    pub detail: String,
}

/// An operation on device memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MpiOperation {
    /// The operation.
    pub operation: DeviceOperation,
    /// Bytes of a message.
    pub bytes: u64,
    /// How it ended.
    pub outcome: OperationOutcome,
    /// More of that; null where it works or was not tried.
    pub detail: Option<String>,
}

/// Whether MPI takes device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Awareness {
    /// In every operation that was tried.
    Aware,
    /// In some operations.
    HalfAware,
    /// Not even in MPI_Send.
    NotAware,
    /// Nothing was tried, or not to its end.
    Unknown,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl Awareness {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aware => "aware",
            Self::HalfAware => "half-aware",
            Self::NotAware => "not-aware",
            Self::Unknown => "unknown",
            Self::Newer => NEWER,
        }
    }
}

/// Which way device memory goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// From device to device.
    Direct,
    /// Through host memory.
    Staged,
    /// The evidence does not decide.
    Unknown,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl Transport {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Staged => "staged",
            Self::Unknown => "unknown",
            Self::Newer => NEWER,
        }
    }
}

/// An operation of MPI on device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceOperation {
    /// MPI_Send and MPI_Recv.
    Send,
    /// MPI_Isend and MPI_Irecv.
    Isend,
    /// MPI_Sendrecv.
    Sendrecv,
    /// MPI_Bcast.
    Bcast,
    /// MPI_Put between fences.
    Put,
    /// MPI_Get between fences.
    Get,
    /// MPI_Alltoall.
    Alltoall,
    /// MPI_Allreduce: sums, which the library must compute where the data are.
    Allreduce,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl DeviceOperation {
    /// All that this version tries, those first that fewer libraries fail in.
    pub const ALL: [Self; 8] = [
        Self::Send,
        Self::Isend,
        Self::Sendrecv,
        Self::Bcast,
        Self::Put,
        Self::Get,
        Self::Alltoall,
        Self::Allreduce,
    ];

    /// As documents and users name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Isend => "isend",
            Self::Sendrecv => "sendrecv",
            Self::Bcast => "bcast",
            Self::Put => "put",
            Self::Get => "get",
            Self::Alltoall => "alltoall",
            Self::Allreduce => "allreduce",
            Self::Newer => NEWER,
        }
    }

    /// The names of some, with commas between.
    pub fn names(operations: &[Self]) -> String {
        operations.iter().map(|operation| operation.name()).collect::<Vec<_>>().join(", ")
    }
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OperationOutcome {
    /// All bytes are right.
    Works,
    /// It returned, and the bytes are wrong.
    Garbage,
    /// It returned an error.
    Error,
    /// The process ended in it.
    Crash,
    /// It did not return within the time limit.
    Hang,
    /// It was not called, because the session ended before.
    NotTried,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl OperationOutcome {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Garbage => "garbage",
            Self::Error => "error",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::NotTried => "not-tried",
            Self::Newer => NEWER,
        }
    }
}

/// A kind of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// How the operations ended.
    Operations,
    /// The rate of large messages, beside the copies that bound a staged and a direct path.
    Rate,
    /// Bytes that the GPUs' links counted.
    Counters,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl EvidenceKind {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Rate => "rate",
            Self::Counters => "counters",
            Self::Newer => NEWER,
        }
    }
}

/// What a piece of evidence shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceFinding {
    /// No operation fails.
    Works,
    /// An operation fails.
    Fails,
    /// Device memory goes from device to device.
    Direct,
    /// Device memory goes through host memory.
    Staged,
    /// Either way could be.
    #[serde(rename = "does not decide")]
    DoesNotDecide,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl EvidenceFinding {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Fails => "fails",
            Self::Direct => "direct",
            Self::Staged => "staged",
            Self::DoesNotDecide => "does not decide",
            Self::Newer => NEWER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::word;

    #[test]
    fn names_are_the_words_of_documents() {
        for awareness in [Awareness::Aware, Awareness::HalfAware, Awareness::NotAware, Awareness::Unknown] {
            assert_eq!(word(&awareness), awareness.name());
        }
        for transport in [Transport::Direct, Transport::Staged, Transport::Unknown] {
            assert_eq!(word(&transport), transport.name());
        }
        for operation in DeviceOperation::ALL {
            assert_eq!(word(&operation), operation.name());
        }

        use OperationOutcome as Outcome;
        let errors = [Outcome::Garbage, Outcome::Error, Outcome::Crash, Outcome::Hang];
        for outcome in [Outcome::Works, Outcome::NotTried].into_iter().chain(errors) {
            assert_eq!(word(&outcome), outcome.name());
        }
        for kind in [EvidenceKind::Operations, EvidenceKind::Rate, EvidenceKind::Counters] {
            assert_eq!(word(&kind), kind.name());
        }

        use EvidenceFinding as Shows;
        for shows in [Shows::Works, Shows::Fails, Shows::Direct, Shows::Staged, Shows::DoesNotDecide] {
            assert_eq!(word(&shows), shows.name());
        }
    }
}
