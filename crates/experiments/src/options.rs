//! What is to be measured, as values: the options of every experiment, with the defaults of the command line.
//!
//! A command line, a test or another program fills them in; nothing here knows how they were typed. Kinds of
//! memory, directions and clocks are those of the crates that carry them out.

use std::time::Duration;

use device::{CopyBy, Direction, MemoryKind, PeerEnd, PlatformKind};
use engine::EngineConfig;
use hostmem::Access;
use kernels::{Kernel, ProblemSize, Scattered, TransferMethod};
use pingpong::TimingChoice;
use placement::{Membind, RowSelection, RowsBy, Selection};
use report::settings::OrderAsked;
use stats::IdList;

use crate::fault::Fault;
use crate::for_one_platform::ForOnePlatform;
use crate::memory_range;

/// Which devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// CUDA where there is a GPU, else HIP, else host memory.
    #[default]
    Auto,
    /// NVIDIA GPUs.
    Cuda,
    /// AMD GPUs.
    Hip,
    /// The memory of NUMA nodes; no GPU takes part.
    Host,
}

impl Backend {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cuda => "cuda",
            Self::Hip => "hip",
            Self::Host => "host",
        }
    }

    /// Why no GPU takes part, where this was asked for.
    pub(crate) fn without_gpu(self) -> &'static str {
        match self {
            Self::Host => "none takes part here (--backend host)",
            Self::Auto | Self::Cuda | Self::Hip => "none takes part here",
        }
    }
}

/// What all experiments have in common: which devices, and how they are measured.
#[derive(Clone, Debug, Default)]
pub struct Measuring {
    /// The GPUs; all of them where none is named.
    pub gpus: Option<Selection>,
    /// Which devices.
    pub backend: Backend,
    /// How it is measured; without a time for measuring, as long as the number of cases needs.
    pub engine: EngineConfig,
    /// What was asked for and says something of one platform only.
    pub for_one_platform: ForOnePlatform,
}

impl Measuring {
    /// Refuses what was asked for and says nothing on this platform.
    ///
    /// # Errors
    /// Exit 2: which options, and what to do.
    pub fn refuse_on(&self, kind: PlatformKind) -> Result<(), Fault> {
        self.for_one_platform.refuse_on(kind, self.backend.without_gpu())
    }
}

/// Copies of each rank's memory to its device and back, under a placement.
#[derive(Clone, Debug)]
pub struct PingPongOptions {
    /// One PU for each rank.
    pub cpus: Option<IdList>,
    /// Where host memory lies.
    pub membind: Membind,
    /// Sizes of one copy, bytes; 128 MiB where none is named, or what goes beyond the caches where no GPU
    /// takes part.
    pub sizes: Vec<u64>,
    /// The size as a number of 4-byte floats, where it was given so.
    pub floats: Option<u64>,
    /// Kinds of host memory; the platform's own where none is named.
    pub memory: Vec<MemoryKind>,
    /// Directions.
    pub directions: Vec<Direction>,
    /// What moves the bytes.
    pub engine: CopyBy,
    /// The clock.
    pub timing: TimingChoice,
    /// All ranks at once, one after the other, or both.
    pub order: Option<OrderAsked>,
    /// What every measurement has.
    pub measuring: Measuring,
}

/// Rows of the machine against its GPUs, or where no GPU takes part against its memory nodes.
#[derive(Clone, Debug)]
pub struct MatrixOptions {
    /// What a row is.
    pub rows: RowsBy,
    /// The size of one copy, bytes.
    pub size: u64,
    /// Kinds of host memory, for GPUs; pinned where none is named.
    pub memory: Vec<MemoryKind>,
    /// Directions, for GPUs.
    pub directions: Vec<Direction>,
    /// What moves the bytes.
    pub engines: Vec<CopyBy>,
    /// Copies to all GPUs at once in each row, instead of to one after the other.
    pub concurrent: bool,
    /// The latency of a load too.
    pub latency: bool,
    /// Accesses by the CPU, where no GPU takes part.
    pub access: Vec<Access>,
    /// Threads of a row that read, write or copy at once; one on each core where no number is given.
    pub threads: Option<usize>,
    /// The range of each thread, or of the loads of GPUs, bytes.
    pub range: Option<u64>,
    /// What every measurement has.
    pub measuring: Measuring,
}

impl Default for MatrixOptions {
    fn default() -> Self {
        Self {
            rows: RowsBy::Node,
            size: memory_range::COPY_BYTES,
            memory: Vec::new(),
            directions: vec![Direction::H2d, Direction::D2h, Direction::Bidirectional],
            engines: vec![CopyBy::Engine],
            concurrent: false,
            latency: false,
            access: vec![Access::Read, Access::Load],
            threads: None,
            range: None,
            measuring: Measuring::default(),
        }
    }
}

/// Between what a flag goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// From each core to each other one: half of a round trip.
    Cores,
    /// From the core of each row to each GPU and back.
    Gpus,
}

/// Kernels that compute, between the memory of each row and each GPU, or on the cores of each row with the
/// memory of each node.
#[derive(Clone, Debug)]
pub struct ComputingOptions {
    /// The kernels; all of them where none is named.
    pub kernels: Vec<Kernel>,
    /// The size of their problems.
    pub size: ProblemSize,
    /// Whether the GPU vendor's libraries compute where they can.
    pub vendor: bool,
    /// Runs between the copy of the input to a GPU and that of the result back.
    pub iterations: u32,
    /// What a row is.
    pub rows: RowsBy,
    /// Threads of a row that compute at once, where no GPU takes part; one on each core where no number is
    /// given.
    pub threads: Option<usize>,
    /// What every measurement has.
    pub measuring: Measuring,
}

impl Default for ComputingOptions {
    fn default() -> Self {
        Self {
            kernels: Vec::new(),
            size: ProblemSize::default(),
            vendor: false,
            iterations: 1,
            rows: RowsBy::Node,
            threads: None,
            measuring: Measuring::default(),
        }
    }
}

/// How long loads of memory take, or flags.
#[derive(Clone, Debug, Default)]
pub struct LatencyOptions {
    /// What a row is.
    pub rows: RowsBy,
    /// The range that is loaded from, bytes.
    pub range: Option<u64>,
    /// Flags instead of loads.
    pub between: Option<Between>,
    /// Loads beside this traffic of other cores.
    pub loaded: Option<Access>,
    /// The PUs that make the traffic.
    pub beside_cpus: Option<IdList>,
    /// The PUs between which flags go.
    pub cpus: Option<IdList>,
    /// What every measurement has.
    pub measuring: Measuring,
}

/// Pairs of GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GpuPairs {
    /// Every two, one way and both ways at once, and the smallest copy.
    #[default]
    All,
    /// Each with the next one, one way: every GPU sends once and receives once, in a time that grows with
    /// their number and not with its square.
    Ring,
    /// None: only within each GPU's memory.
    None,
}

/// Copies between the memory of every two GPUs and within each.
#[derive(Clone, Debug)]
pub struct PeerOptions {
    /// The size of one copy, bytes; 512 MiB where none is given, or an eighth of a GPU's memory where that is
    /// less.
    pub size: Option<u64>,
    /// Which pairs of GPUs.
    pub pairs: GpuPairs,
    /// A sample of so many of all pairs; all where none is given.
    pub sample: Option<usize>,
    /// Which of the two GPUs copies.
    pub by: PeerEnd,
    /// What moves the bytes.
    pub engine: CopyBy,
    /// The latency of a load too.
    pub latency: bool,
    /// The range of these loads, bytes; 64 MiB where none is given.
    pub range: Option<u64>,
    /// All at once too.
    pub all: bool,
    /// What every measurement has.
    pub measuring: Measuring,
}

impl Default for PeerOptions {
    fn default() -> Self {
        Self {
            size: None,
            pairs: GpuPairs::All,
            sample: None,
            by: PeerEnd::Source,
            engine: CopyBy::Engine,
            latency: false,
            range: None,
            all: false,
            measuring: Measuring::default(),
        }
    }
}

/// Time and rate against size.
#[derive(Clone, Debug)]
pub struct SweepOptions {
    /// Sizes of one copy, bytes; from 4 B to 1 GiB or what fits where none is given.
    pub sizes: Option<Vec<u64>>,
    /// Kinds of host memory.
    pub memory: Vec<MemoryKind>,
    /// Directions.
    pub directions: Vec<Direction>,
    /// The clock of every size.
    pub timing: TimingChoice,
    /// What moves the bytes.
    pub engine: CopyBy,
    /// Many small pieces instead of single copies.
    pub pieces: Option<SmallPiecesOptions>,
    /// From which memory, by its own cores; from each GPU's near one where nothing is given.
    pub rows: Option<RowSelection>,
    /// What every measurement has.
    pub measuring: Measuring,
}

/// Many small pieces.
#[derive(Clone, Debug)]
pub struct SmallPiecesOptions {
    /// Sizes of a piece, bytes: multiples of 4 KiB.
    pub sizes: Vec<u64>,
    /// Bytes of all that are sent together.
    pub total: u64,
    /// Where they lie scattered.
    pub scattered: Scattered,
    /// How they are sent.
    pub ways: Vec<TransferMethod>,
}

/// Memory whose pages go to whoever touches them.
#[derive(Clone, Debug)]
pub struct MovingOptions {
    /// The command, as documents name it.
    pub command: &'static str,
    /// One PU for each rank.
    pub cpus: Option<IdList>,
    /// Rows of the machine, each with every GPU; each GPU with its nearest core where nothing is given.
    pub rows: Option<RowsBy>,
    /// The kinds: managed, system.
    pub kinds: Vec<MemoryKind>,
    /// How much is touched, bytes; from 1 MiB to 256 MiB where none is given.
    pub sizes: Option<Vec<u64>>,
    /// Who touches: the GPU (H2D), the core (D2H), or both.
    pub directions: Vec<Direction>,
    /// What every measurement has.
    pub measuring: Measuring,
}

/// What ranks lose when they copy at once.
#[derive(Clone, Debug)]
pub struct ContendOptions {
    /// The ranks' PUs.
    pub cpus: Option<IdList>,
    /// One to so many ranks share each GPU, all GPUs at once, instead of one to all GPUs with a rank each.
    pub ranks_per_gpu: Option<usize>,
    /// The size of one copy, bytes; as for [`PingPongOptions::sizes`] where none is named.
    pub size: Option<u64>,
    /// The kind of host memory.
    pub memory: Option<MemoryKind>,
    /// Directions.
    pub directions: Vec<Direction>,
    /// The clock.
    pub timing: TimingChoice,
    /// Copies beside threads that do this with host memory.
    pub beside: Option<Access>,
    /// The PUs of these threads.
    pub beside_cpus: Option<IdList>,
    /// The range of each of these threads, bytes.
    pub range: Option<u64>,
    /// What every measurement has.
    pub measuring: Measuring,
}

impl Default for ContendOptions {
    fn default() -> Self {
        Self {
            cpus: None,
            ranks_per_gpu: None,
            size: None,
            memory: None,
            directions: vec![Direction::H2d, Direction::D2h],
            timing: TimingChoice::Auto,
            beside: None,
            beside_cpus: None,
            range: None,
            measuring: Measuring::default(),
        }
    }
}

/// Everything that is sensible on a machine, in a time given.
#[derive(Clone, Debug)]
pub struct SuiteOptions {
    /// The time that it may take.
    pub within: Duration,
    /// What every measurement has.
    pub measuring: Measuring,
}

/// Which GPUs and which cores belong together, by measurement.
#[derive(Clone, Debug)]
pub struct GroupsOptions {
    /// Whether GPUs are asked.
    pub gpus: bool,
    /// Whether cores are asked.
    pub cores: bool,
    /// The size of a copy, bytes.
    pub size: Option<u64>,
    /// The time that it may take.
    pub within: Duration,
    /// What every measurement has.
    pub measuring: Measuring,
}
