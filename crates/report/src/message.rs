//! How messages went, as the document of `numabench mpi` has it: their path, how they follow each
//! other, and where the ranks and their threads run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NEWER;

/// The thread level that MPI gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MpiThreadLevel {
    /// MPI_THREAD_SINGLE: the process has one thread.
    Single,
    /// MPI_THREAD_FUNNELED: one thread makes all calls.
    Funneled,
    /// MPI_THREAD_SERIALIZED: any thread calls, one at a time.
    Serialized,
    /// MPI_THREAD_MULTIPLE: any thread calls at any time.
    Multiple,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl MpiThreadLevel {
    /// As documents and users name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Funneled => "funneled",
            Self::Serialized => "serialized",
            Self::Multiple => "multiple",
            Self::Newer => NEWER,
        }
    }
}

/// How messages follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MessagePattern {
    /// There and back, one at a time: the time one way is half of it (as osu_latency).
    PingPong,
    /// A window of messages one way, then an answer (as osu_bw).
    OneWay,
    /// A window of messages both ways at once (as osu_bibw).
    BothWays,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl MessagePattern {
    /// As documents and users name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PingPong => "ping-pong",
            Self::OneWay => "one-way",
            Self::BothWays => "both-ways",
            Self::Newer => NEWER,
        }
    }
}

/// Where a thread runs that copies to and from its rank's GPU beside messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GpuThreadAt {
    /// On a core near the thread that calls MPI.
    Near,
    /// On the PU that was asked for.
    Apart,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl GpuThreadAt {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Apart => "apart",
            Self::Newer => NEWER,
        }
    }
}

/// The path of a message from the memory of one rank to that of the other, or a copy that bounds such a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MpiPath {
    /// Host memory to host memory, by MPI.
    Host,
    /// Device memory to device memory: copied to pinned host memory, sent by MPI, copied to the device.
    Staged,
    /// As `staged`, in chunks, so that copies and messages overlap.
    Pipelined,
    /// Device memory to device memory: MPI is given the device's addresses.
    GpuAware,
    /// Device memory to device memory by a peer copy of the driver: no message, the bound of a direct path.
    PeerCopy,
    /// The copy from the first rank's device to its host memory: a bound of a staged path.
    D2hCopy,
    /// The copy from the second rank's host memory to its device: the other bound of a staged path.
    H2dCopy,
    /// The copies to and from the GPU, there and back, by a thread near the one that calls MPI, while no
    /// message goes; since 1.1.
    GpuThreadNear,
    /// The same copies by a thread on the PU that was asked for; since 1.1.
    GpuThreadApart,
    /// As `host`, while the copies of `gpu-thread-near` go on in each rank; since 1.1.
    HostGpuThreadNear,
    /// As `host`, while the copies of `gpu-thread-apart` go on in each rank; since 1.1.
    HostGpuThreadApart,
    /// As `host`, while the launch's other ranks send in pairs (an odd one rests, and so does rank 0 where it
    /// leads without being measured); since 1.4.
    HostOthersSend,
    /// As `host-gpu-thread-near`, while the launch's other ranks send in pairs; since 1.4.
    HostGpuThreadNearOthersSend,
    /// As `host-gpu-thread-apart`, while the launch's other ranks send in pairs; since 1.4.
    HostGpuThreadApartOthersSend,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl MpiPath {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Staged => "staged",
            Self::Pipelined => "pipelined",
            Self::GpuAware => "gpu-aware",
            Self::PeerCopy => "peer-copy",
            Self::D2hCopy => "d2h-copy",
            Self::H2dCopy => "h2d-copy",

            Self::GpuThreadNear => "gpu-thread-near",
            Self::GpuThreadApart => "gpu-thread-apart",
            Self::HostGpuThreadNear => "host-gpu-thread-near",
            Self::HostGpuThreadApart => "host-gpu-thread-apart",
            Self::HostOthersSend => "host-others-send",
            Self::HostGpuThreadNearOthersSend => "host-gpu-thread-near-others-send",
            Self::HostGpuThreadApartOthersSend => "host-gpu-thread-apart-others-send",
            Self::Newer => NEWER,
        }
    }
}

/// What a place of a matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MpiPlaceKind {
    /// A NUMA node: its cores and its memory.
    Node,
    /// The cores of an L3, with the memory of their node.
    L3,
    /// A core, with the memory of its node.
    Core,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl MpiPlaceKind {
    /// As documents and users name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::L3 => "l3",
            Self::Core => "core",
            Self::Newer => NEWER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{from_word, word};

    #[test]
    fn names_are_the_words_of_documents() {
        use MpiPath as Path;
        let paths = [
            Path::Host,
            Path::Staged,
            Path::Pipelined,
            Path::GpuAware,
            Path::PeerCopy,
            Path::D2hCopy,
            Path::H2dCopy,
            Path::GpuThreadNear,
            Path::GpuThreadApart,
            Path::HostGpuThreadNear,
            Path::HostGpuThreadApart,
            Path::HostOthersSend,
            Path::HostGpuThreadNearOthersSend,
            Path::HostGpuThreadApartOthersSend,
        ];
        for path in paths {
            assert_eq!((word(&path), from_word(path.name())), (path.name().to_owned(), Some(path)));
        }

        use MessagePattern as Pattern;
        for pattern in [Pattern::PingPong, Pattern::OneWay, Pattern::BothWays] {
            assert_eq!(word(&pattern), pattern.name());
        }
        for at in [GpuThreadAt::Near, GpuThreadAt::Apart] {
            assert_eq!(word(&at), at.name());
        }

        use MpiThreadLevel as Level;
        for level in [Level::Single, Level::Funneled, Level::Serialized, Level::Multiple] {
            assert_eq!(word(&level), level.name());
        }
        for kind in [MpiPlaceKind::Node, MpiPlaceKind::L3, MpiPlaceKind::Core] {
            assert_eq!(word(&kind), kind.name());
        }
    }
}
