//! The document of `numabench doctor`: one check a setting of a node, each with what was seen, why it matters
//! and how to change it.
//!
//! A document of its own beside the result document, because nothing in it is measured. A check's name is the
//! same in every version, so that the nodes of a fleet and the days of a node can be compared. The rules of
//! the result document hold here too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::Tool;

/// What `numabench doctor` says of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorDocument {
    /// Always `numabench.doctor`.
    pub schema: String,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// The command line as it was given, the program's name first.
    pub argv: Vec<String>,
    /// When the command began, RFC 3339 in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// The name of the host whose settings these are, where it is known.
    pub host: Option<String>,
    /// The saved machine (`--input`) by whose cores, NUMA nodes and GPUs the host's settings were judged;
    /// absent where it was the host itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("since" = "1.1"))]
    pub judged_by: Option<SavedMachine>,
    /// 0, 5 where a check costs placement or bandwidth, 6 where none does and one that could is unknown.
    pub exit_code: u8,
    /// The answer, in sentences.
    pub verdict: Vec<String>,
    /// The checks, part by part. What this node has no such thing for is left out.
    pub checks: Vec<Check>,
}

/// A machine that was read from files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavedMachine {
    /// Its name, where it is known.
    pub hostname: Option<String>,
    /// The file it was read from; several with commas between.
    pub file: String,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Its name, the same in every version, e.g. `memory.numa-balancing`.
    pub name: String,
    /// What it is a setting of.
    pub part: Part,
    /// How it is.
    pub state: State,
    /// Whether it decides the exit code: what was seen costs placement or bandwidth, or what is unknown
    /// could. Always false where it is `ok`.
    pub costs: bool,
    /// What was seen, or why nothing could be.
    pub seen: String,
    /// Why it matters.
    pub why: String,
    /// Who says so.
    pub source: String,
    /// How to change it; null where there is nothing to change.
    pub change: Option<String>,
    /// Who could know it; null where it is known.
    pub who: Option<String>,
}

/// What a setting is a setting of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Bridges, links and what lies between devices.
    Pcie,
    /// Memory.
    Memory,
    /// Cores.
    Cpu,
    /// GPUs and their driver.
    Gpu,
    /// What a container lets a program do.
    Container,
    /// Slurm.
    Slurm,
    /// Kubernetes.
    Kubernetes,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// How a setting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing to look at.
    Ok,
    /// Look at this.
    Look,
    /// It cannot be known from here.
    Unknown,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl Check {
    /// Whether it costs placement or bandwidth for certain.
    pub fn is_costly(&self) -> bool {
        self.costs && self.state == State::Look
    }

    /// Whether it is unknown and could cost placement or bandwidth.
    pub fn is_open(&self) -> bool {
        self.costs && self.state == State::Unknown
    }
}
