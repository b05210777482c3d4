//! The comparison document: what a comparison asked, found and why. A document of its own beside the result
//! document; its rules hold here too.

use report::document::Tool;
use report::versioned::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::interval::Interval;

use crate::conditions::Differing;
use crate::figure::{Key, Unit};
use crate::judge::{Basis, ChangeVerdict};
use crate::node_changes::NodeChanges;
use crate::reference_answer::ReferenceAnswer;

/// The schema of this document.
pub const VERSION: Version = Version { schema: "numabench.comparison", major: 1, minor: 8 };

/// Two sides of runs, compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Always `numabench.comparison`.
    pub schema: String,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// What it comes to, in one sentence.
    pub summary: String,
    /// How many cases came to what.
    pub counts: Counts,
    /// The runs compared with.
    pub base: Vec<RunName>,
    /// The runs that are compared with them.
    pub new: Vec<RunName>,
    /// The change that matters for rates, a fraction.
    pub bandwidth_threshold: f64,
    /// The change that matters for times of small copies, a fraction.
    pub latency_threshold: f64,
    /// What the two sides were under that differs, what makes the comparison meaningless first.
    pub differing: Vec<Differing>,
    /// What the reader should know of how much this comparison can tell.
    pub notes: Vec<String>,
    /// The cases that both sides have, regressed ones first, by how much they changed.
    pub cases: Vec<ComparedCase>,
    /// Cases that the base has and the new side has not, or some of its runs have not.
    pub missing: Vec<Lacking>,
    /// Cases that the new side has and the base has not.
    pub added: Vec<Lacking>,
    /// What became of each node; null where a side is of one node.
    #[serde(default)]
    #[schemars(extend("since" = "1.3"))]
    pub nodes: Option<NodeChanges>,
    /// How the figures of each side stand against reference figures: decides nothing.
    #[serde(default)]
    #[schemars(extend("since" = "1.5"))]
    pub reference: Vec<ReferenceAnswer>,
}

impl Comparison {
    /// Whether something is suspected, or the data do not decide it.
    pub fn is_undecided(&self) -> bool {
        let mut nodes = self.nodes.iter().flat_map(|nodes| &nodes.rows);
        self.counts.suspect + self.counts.inconclusive > 0 || nodes.any(|row| row.is_suspect)
    }
}

/// How many cases came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Worse by the threshold or more.
    pub regressed: u32,
    /// Differ by the threshold or more, from too few runs to call it a change.
    #[serde(default)]
    #[schemars(extend("since" = "1.4"))]
    pub suspect: u32,
    /// Better by the threshold or more.
    pub improved: u32,
    /// Changed by less than the threshold.
    pub same: u32,
    /// Not decided.
    pub inconclusive: u32,
    /// In the base only.
    pub missing: u32,
    /// In the new side only.
    pub added: u32,
}

/// A run that took part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunName {
    /// The file.
    pub file: String,
    /// When the run began, RFC 3339 in UTC.
    pub started_at: String,
}

/// A case that both sides have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Compared")]
pub struct ComparedCase {
    /// What was measured, and where.
    #[serde(flatten)]
    pub key: Key,
    /// What the figures count: rates above 64 KiB, times up to it.
    pub unit: Unit,
    /// The base's figure: the median over its runs.
    pub base: f64,
    /// The new figure.
    pub new: f64,
    /// What the values of the statistics are.
    pub basis: Basis,
    /// How many of them the base has.
    pub base_values: u32,
    /// How many of them the new side has.
    pub new_values: u32,
    /// New over base; null with too few values.
    pub ratio: Option<f64>,
    /// The 95 % interval of the ratio; null with too few values.
    pub ratio_interval: Option<Interval>,
    /// The deviation between runs that the interval assumes, a fraction; null where several runs showed it,
    /// and with too few values.
    #[serde(default)]
    #[schemars(extend("since" = "1.4"))]
    pub assumed_run_deviation: Option<f64>,
    /// Cliff's delta, −1 to 1: 1 where every new value is higher than every one of the base; null with too
    /// few values.
    pub cliffs_delta: Option<f64>,
    /// The two-sided p-value of the test for this case alone; null with too few values.
    pub p_value: Option<f64>,
    /// The same, adjusted for all cases of this comparison; null with too few values.
    pub p_adjusted: Option<f64>,
    /// The change that matters, a fraction.
    pub threshold: f64,
    /// From what true change on such runs would be found (of single runs: suspected) in 19 of 20 comparisons,
    /// a fraction; null where no change would be.
    #[serde(default)]
    #[schemars(extend("since" = "1.4"))]
    pub found_from: Option<f64>,
    /// What it comes to.
    pub verdict: ChangeVerdict,
}

impl ComparedCase {
    /// How far the new figure is from the base's, as a part of it; of a share the difference itself.
    pub fn change(&self) -> f64 {
        match self.unit.is_share() {
            true => self.new - self.base,
            false => self.ratio.unwrap_or(self.new / self.base) - 1.0,
        }
    }

    /// Whether it is suspected to have got worse.
    pub fn may_be_worse(&self) -> bool {
        self.verdict == ChangeVerdict::Suspect && (self.change() < 0.0) == self.unit.more_is_better()
    }
}

/// A case that one side has not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lacking {
    /// What was measured, and where.
    #[serde(flatten)]
    pub key: Key,
    /// Why there is no figure, where a document of that side says so, and in how many of its runs where
    /// others have one; null where it does not have the case at all.
    pub reason: Option<String>,
}

/// Whether every case that is no share stands on the blocks of one or two runs a side, so that nothing shows
/// how runs differ.
pub(crate) fn are_of_single_runs(cases: &[ComparedCase]) -> bool {
    let mut measured = cases.iter().filter(|case| !case.unit.is_share()).peekable();
    measured.peek().is_some() && measured.all(|case| case.basis == Basis::Blocks)
}
