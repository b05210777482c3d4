//! What a document holds of groups that were measured: how they were asked for, what it came to, and how sure
//! that is. They are worked out in `groups`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;
use stats::grouping::GroupingFinding;

/// What one question said of groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredGroups {
    /// How it was asked, and of what.
    pub by: GroupedBy,
    /// What it came to.
    pub finding: GroupingFinding,
    /// The groups, of two and more each: indices of GPUs, or PUs.
    pub groups: Vec<IdSet>,
    /// Those of no group.
    pub rest: IdSet,
    /// The closest two that are not of one group over the most distant two that are, as a ratio of times or
    /// of rates; null without groups.
    pub margin: Option<f64>,
    /// The p-value of the least sure member, adjusted for all members and questions; null without groups.
    pub p_value: Option<f64>,
    /// The chance that a machine without groups is grouped, at most.
    pub false_alarm_rate: f64,
    /// What the platform declares that is the same; null where it declares nothing like it.
    pub declared: Option<String>,
}

/// How groups are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroupedBy {
    /// Each GPU's rate beside one other.
    GpuPairs,
    /// Each GPU's rate with all others but one at it.
    #[serde(rename = "gpus-but-one")]
    GpusLeaveOneOut,
    /// The time of a handover between two cores.
    Handovers,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}
