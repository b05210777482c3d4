//! The result document: everything one run asked for, saw and measured. This is the tool's lasting interface.
//!
//! Rules that hold over all of it:
//! * units are in the field names; rates are bytes per second, fractions are 0..1 (0.01 is one per cent);
//! * each meaning has one place: ranks point to devices by `id`, rank results point to ranks by number,
//!   nothing is copied but into `rows`, which are made of the rest;
//! * what could not be known is null with a reason beside it ([`Known`](crate::Known)), never a magic number;
//! * a minor version may add fields and values of enumerations. A reader must ignore fields it does not know;
//!   this crate's own enumerations read a value they do not know as `Newer`. Anything else is a new major
//!   version. A field that came with a minor version says so in the schema (`since`) and is not required
//!   there.
//!
//! Left out on purpose: results derived from others by one division (percent penalties, speed-ups), which a
//! reader can make.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::contention::Penalty;
use crate::device::Device;
use crate::environment::Environment;
use crate::kernels::KernelFigures;
use crate::laplace::Laplace;
use crate::launch::{Launch, MissingRank};
use crate::loaded_latency::LoadedLatency;
use crate::matrix::Matrix;
use crate::measured_groups::MeasuredGroups;
use crate::node::Node;
use crate::pair_sample::PairSample;
use crate::pieces::Pieces;
use crate::rank::Rank;
use crate::result::BlockSample;
use crate::row::Row;
use crate::settings::Settings;
use crate::size_loss::SizeLoss;
use crate::slower_twin::SlowerTwin;
use crate::sweep_fit::SweepFit;

/// One run of numabench.
// `B` is what is kept of a block (`block`). No doc comment: those are the schema's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Document")]
pub struct Document<B = BlockSample> {
    /// Always `numabench.result`.
    pub schema: String,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// The subcommand, e.g. `pingpong`.
    pub command: String,
    /// The command line as it was given, the program's name first.
    pub argv: Vec<String>,
    /// When the run began, RFC 3339 in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// How long the run has taken so far, in seconds; the whole of it once `status` is final.
    pub elapsed_s: f64,
    /// How the run stands.
    pub status: Status,
    /// Why, in words, where `status` is not `running` or `complete`.
    pub status_reason: Option<String>,
    /// The process's exit code; null while it runs.
    pub exit_code: Option<u8>,
    /// What was found, in sentences, the answer first; empty while it runs.
    #[serde(default)]
    #[schemars(extend("since" = "1.3"))]
    pub verdict: Vec<String>,
    /// The driver whose devices took part.
    pub platform: Platform,
    /// What was asked for.
    pub settings: Settings,
    /// The launch; null where the ranks are threads of one process.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub launch: Option<Launch>,
    /// The machine and its state: the first node's, where there are several.
    pub environment: Environment,
    /// The nodes that took part, in order, also where it is one.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub nodes: Vec<Node>,
    /// The devices that took part, node by node, in index order.
    pub devices: Vec<Device>,
    /// The ranks, in order.
    pub ranks: Vec<Rank>,
    /// Ranks that were lost or never came. Those that had a placement are in `ranks` too.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub missing: Vec<MissingRank>,
    /// The cases finished so far, in the order planned.
    pub cases: Vec<Case<B>>,
    /// The figures of `cases` as a flat table, a row a rank and case.
    #[serde(default)]
    #[schemars(extend("since" = "1.2"))]
    pub rows: Vec<Row>,
    /// How figures stand in rows and columns; empty where they do not.
    #[serde(default)]
    #[schemars(extend("since" = "1.3"))]
    pub matrices: Vec<Matrix>,
    /// Which GPUs and cores belong together by measurement; empty where that was not asked for.
    #[serde(default)]
    #[schemars(extend("since" = "1.4"))]
    pub groups: Vec<MeasuredGroups>,
    /// Latency against the traffic beside it; empty where that was not asked for.
    #[serde(default)]
    #[schemars(extend("since" = "1.4"))]
    pub loaded_latency: Vec<LoadedLatency>,
    /// Kernels that compute; empty where none was asked for.
    #[serde(default)]
    #[schemars(extend("since" = "1.5"))]
    pub kernels: Vec<KernelFigures>,
    /// Jacobi's iteration over the ranks of a launch; null where that was not asked for.
    #[serde(default)]
    #[schemars(extend("since" = "1.5"))]
    pub laplace: Option<Laplace>,
    /// Small pieces sent in several ways; null where that was not asked for.
    #[serde(default)]
    #[schemars(extend("since" = "1.5"))]
    pub pieces: Option<Pieces>,
    /// Time against size, of each rank, kind of memory and direction; empty where there are too few sizes.
    #[serde(default)]
    #[schemars(extend("since" = "1.3"))]
    pub fits: Vec<SweepFit>,
    /// What far rows of a sweep lose at each size; empty of a sweep without rows.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub size_losses: Vec<SizeLoss>,
    /// The pairs of GPUs that were measured in the place of all; null where all were, or no pair.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub pair_sample: Option<PairSample>,
    /// GPUs that copy much slower than those of their node that are like them.
    #[serde(default)]
    #[schemars(extend("since" = "1.2"))]
    pub slower_twins: Vec<SlowerTwin>,
    /// What sharing the machine cost each rank, where both orders were measured.
    pub penalties: Vec<Penalty>,
    /// What the run had to say to its user.
    pub messages: Vec<Message>,
}

/// The program that wrote a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `numabench`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit it was built from; null when built outside a checkout.
    pub git: Option<String>,
}

/// How a run stands. Each final status has its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Under way, or killed so hard that nothing could be written any more.
    Running,
    /// Every case planned was measured. The exit code is 0, 5 where a finding was asked to fail the run
    /// (`--fail-on`), or 6 where the figures do not decide what was asked (`topo --measure`).
    Complete,
    /// Some cases were measured and some were skipped, failed or are invalid.
    Partial,
    /// No case gave a result.
    Failed,
    /// A signal ended the run; finished cases are here.
    Interrupted,
    /// The time limit of the whole run ended it; finished cases are here.
    TimedOut,
    /// Bytes arrived that were not sent.
    DataCorrupt,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// The driver whose devices took part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Platform {
    /// The family.
    pub kind: PlatformKind,
    /// Why this one, when it was not asked for by name: for `host`, why no GPU could take part.
    pub reason: Option<String>,
    /// The version of the driver's API, e.g. `13.0` for CUDA; null where there is no such thing.
    pub api_version: Option<String>,
    /// The version of the kernel driver, e.g. `580.95.05`; null where there is no such thing or it is not
    /// told (then the environment's probes say why).
    pub driver_version: Option<String>,
    /// How many devices rank 0's process could have used: those its visibility variables
    /// (`CUDA_VISIBLE_DEVICES`) and control group leave. `devices` lists those that took part.
    pub visible_devices: u32,
    /// Set when the devices are not real: what the driver itself says of the simulation.
    pub simulated: Option<String>,
}

/// A family of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlatformKind {
    /// NVIDIA GPUs through the CUDA driver API.
    Cuda,
    /// AMD GPUs through HIP.
    Hip,
    /// The memory of NUMA nodes: no GPU took part.
    Host,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// Something the run had to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// How much it matters.
    pub level: Level,
    /// What was seen, why it matters, what to try.
    pub text: String,
}

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Good to know.
    Info,
    /// The numbers may not mean what they seem to.
    Warning,
    /// A part of the run did not work.
    Error,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}
