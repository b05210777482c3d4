//! Whether a node is well: its GPUs against what is normal for their class, pass by pass.
//!
//! A single pass flaps, so nobody is drained for one. A figure below the limit makes its GPU a suspect, and
//! suspects are measured again, up to [`PASSES`] passes. A finding is one that is below in all of them; one
//! that is below in most is undecided; below once is a disturbed pass. The decision is a function of the
//! figures alone, so that a simulated fleet tests the very code that gates a real one.
//! `passes` adds slower twins, and copies without a figure.

mod passes;

use std::collections::BTreeSet;

pub use passes::{CheckPass, PassesVerdict, judge_passes};
use report::Document;
use report::device::Device;
use report::document::Tool;
use report::rank::Locality;
use report::read::SavedDocument;
use report::slower_twin::SlowerTwin;
use report::versioned::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::baseline::{Baseline, Class, Normals, Value};
use crate::figure::BETWEEN;
use crate::lost_figure::LostFigure;

/// So many passes at most.
pub const PASSES: usize = 3;

/// What comes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// Every figure is normal.
    Well,
    /// The passes do not agree, a copy has no figure, or nothing normal is known for a GPU.
    Undecided,
    /// A GPU is below the limit in every pass, or fails in every one.
    Finding,
}

/// What the passes so far come to.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Another pass is needed.
    Again,
    /// It is decided.
    Decided(Gate, Vec<Suspect>),
}

/// A GPU below the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suspect {
    /// Its host.
    pub host: String,
    /// The device's `id`.
    pub device: String,
    /// The case's `id`.
    pub case: String,
    /// Its rate in the last pass.
    pub bytes_per_s: f64,
    /// What is normal for its class; null where the baseline has nothing for it.
    pub normal_bytes_per_s: Option<f64>,
    /// The lowest that is normal; null where the baseline has nothing for it.
    pub limit_bytes_per_s: Option<f64>,
    /// In how many passes it was below that.
    pub below: u32,
    /// Of how many.
    pub passes: u32,
}

/// Decides on the passes so far, each with the figures of all GPUs.
pub fn decide(baseline: &Baseline, passes: &[Vec<Value>]) -> Decision {
    let Some(last) = passes.last().filter(|last| !last.is_empty()) else {
        return Decision::Decided(Gate::Undecided, Vec::new());
    };
    let normals = Normals::of(baseline);
    let suspects: Vec<Suspect> = last.iter().filter_map(|value| suspect(&normals, passes, value)).collect();

    // A suspect of an earlier pass that is not measured any more would be forgotten.
    let earlier = passes.iter().flatten().filter(|value| !last.iter().any(|other| same(value, other)));
    let earlier: Vec<Suspect> = earlier.filter_map(|value| suspect(&normals, passes, value)).collect();
    let unknown = suspects.iter().any(|suspect| suspect.limit_bytes_per_s.is_none());
    let known = || suspects.iter().chain(&earlier).filter(|suspect| suspect.limit_bytes_per_s.is_some());
    let (all, most) = (
        known().any(|suspect| suspect.below == PASSES as u32),
        known().any(|suspect| suspect.below * 2 > PASSES as u32),
    );
    let undecided_yet = passes.len() < PASSES && known().next().is_some();
    if undecided_yet {
        return Decision::Again;
    }
    let kept = |suspect: &Suspect| suspect.limit_bytes_per_s.is_none() || suspect.below * 2 > PASSES as u32;
    let named = suspects.into_iter().chain(earlier).filter(kept).collect();

    match () {
        () if all => Decision::Decided(Gate::Finding, named),
        () if most || unknown => Decision::Decided(Gate::Undecided, named),
        () => Decision::Decided(Gate::Well, Vec::new()),
    }
}

/// What a figure is suspected of: `None` where it was normal in every pass.
fn suspect(normals: &Normals<'_>, passes: &[Vec<Value>], value: &Value) -> Option<Suspect> {
    let normal = normals.find(&value.class, &value.case);
    let rates: Vec<f64> =
        passes.iter().flatten().filter(|other| same(value, other)).map(|other| other.rate).collect();
    let below =
        normal.map_or(0, |normal| rates.iter().filter(|rate| **rate < normal.limit_bytes_per_s).count());
    (normal.is_none() || below > 0).then(|| Suspect {
        host: value.host.clone(),
        device: value.device.clone(),
        case: value.case.clone(),
        bytes_per_s: value.rate,
        normal_bytes_per_s: normal.map(|normal| normal.median_bytes_per_s),
        limit_bytes_per_s: normal.map(|normal| normal.limit_bytes_per_s),
        below: below as u32,
        passes: rates.len() as u32,
    })
}

fn same(value: &Value, other: &Value) -> bool {
    (&value.host, &value.device, &value.case) == (&other.host, &other.device, &other.case)
}

/// The GPU that a figure is named by: of a pair the first one.
fn own_device(device: &str) -> String {
    device.split(BETWEEN).next().unwrap_or_default().to_owned()
}

/// What ends the case of a copy within a GPU's memory.
const WITHIN: &str = "/within";

/// What a node's check found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Always `numabench.gate`.
    pub schema: String,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// When the last pass began, RFC 3339 in UTC.
    pub started_at: String,
    /// The node.
    pub host: String,
    /// What it comes to.
    pub gate: Gate,
    /// Set when the devices are not real: what the driver itself says of the simulation.
    pub simulated: Option<String>,
    /// How many passes it took.
    pub passes: u32,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// How many GPUs have a figure.
    pub gpus: u32,
    /// GPUs below the limit, and those that nothing normal is known for.
    pub suspects: Vec<Suspect>,
    /// GPUs slower than those of the node that are like them.
    pub slower_twins: Vec<SlowerTwin>,
    /// What is known of each suspect's link and place that could be the cause, in words.
    pub causes: Vec<String>,
    /// Copies without a figure in most passes, or that failed in one.
    #[serde(default)]
    #[schemars(extend("since" = "1.3"))]
    pub lost: Vec<LostFigure>,
    /// What was compared with nothing, in words; null where everything was judged.
    #[serde(default)]
    #[schemars(extend("since" = "1.2"))]
    pub not_judged: Option<String>,
    /// Every figure of every pass.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub figures: Vec<PassFigure>,
}

/// A figure of a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassFigure {
    /// The pass, 0 first.
    pub pass: u32,
    /// The case's `id`; that of a copy within a GPU's memory ends in `within`.
    pub case: String,
    /// The device's `id`, and the other one's where two take part.
    pub device: String,
    /// The class of hardware that it is compared within.
    pub class: Class,
    /// Its rate.
    pub bytes_per_s: f64,
}

impl SavedDocument for Checked {
    const VERSION: Version = Version { schema: "numabench.gate", major: 1, minor: 3 };
    const WRITER: &'static str = "numabench check --bandwidth --json FILE";
}

impl Checked {
    /// What was found on the node that `document`, the last pass, is of.
    pub fn new(
        document: &Document,
        gate: Gate,
        verdict: PassesVerdict,
        passes: &[CheckPass],
        elapsed_s: f64,
    ) -> Self {
        let figure = |pass: usize, value: &Value| PassFigure {
            pass: pass as u32,
            case: value.case.clone(),
            device: value.device.clone(),
            class: value.class.clone(),
            bytes_per_s: value.rate,
        };
        let figures = passes
            .iter()
            .enumerate()
            .flat_map(|(at, pass)| pass.values.iter().map(move |value| figure(at, value)));
        let figures: Vec<PassFigure> = figures.collect();
        let measured: BTreeSet<String> = figures.iter().map(|figure| own_device(&figure.device)).collect();

        Self {
            schema: Self::SCHEMA.to_owned(),
            schema_version: Self::VERSION.number(),
            tool: document.tool.clone(),
            started_at: document.started_at.clone(),
            host: document.environment.hostname.clone(),
            gate,
            simulated: document.platform.simulated.clone(),
            passes: passes.len() as u32,
            elapsed_s,
            gpus: measured.len() as u32,
            causes: causes(document, &verdict),
            suspects: verdict.suspects,
            slower_twins: verdict.slower_twins,
            lost: verdict.lost,
            not_judged: None,
            figures,
        }
    }

    /// Whether it has figures and nothing on its node to compare them with: in a fleet other nodes tell.
    pub fn is_left_to_other_nodes(&self) -> bool {
        let has_found = !self.suspects.is_empty() || !self.slower_twins.is_empty() || !self.lost.is_empty();
        self.gate == Gate::Undecided && !has_found && !self.figures.is_empty()
    }
}

/// What could be the cause for each GPU that was slow or failed, in words.
fn causes(document: &Document, verdict: &PassesVerdict) -> Vec<String> {
    // Of a GPU that the baseline does not know nothing was found slow.
    let below = verdict.suspects.iter().filter(|one| one.limit_bytes_per_s.is_some());
    let slow = below.map(|one| (&one.device, &one.case));
    let slow = slow.chain(verdict.slower_twins.iter().map(|one| (&one.device, &one.case)));
    let of_memory: BTreeSet<String> =
        slow.clone().filter(|(_, case)| case.ends_with(WITHIN)).map(|(id, _)| own_device(id)).collect();
    let failed = verdict.lost.iter().filter(|lost| lost.has_failed()).map(|lost| (&lost.device, &lost.case));
    let named: BTreeSet<String> = slow.chain(failed).map(|(device, _)| own_device(device)).collect();

    let words = |device: &Device| match of_memory.contains(&device.id) {
        true => OWN_MEMORY.to_owned(),
        false => cause(document, device),
    };
    let causes = document.devices.iter().filter(|device| named.contains(&device.id));
    causes.map(|device| format!("{}: {}", device.id, words(device))).collect()
}

/// What could be the cause where copies within a GPU's memory are slow: no link.
pub const OWN_MEMORY: &str = "its own memory or clocks: look at nvidia-smi -q -d \
    CLOCK,PERFORMANCE,ROW_REMAPPER (rocm-smi --showclocks)";

/// What of a suspect's link and place could be the cause.
fn cause(document: &Document, device: &Device) -> String {
    let state = match device.state() {
        Ok(state) => state,
        Err(fault) => return fault,
    };
    let rank = document.ranks.iter().find(|rank| rank.asked.device == device.id);
    match rank.map(|rank| rank.locality) {
        Some(Locality::Remote | Locality::SamePackage) => {
            format!(
                "{state}; it was measured from a PU that is not near to it: no core near to it is allowed \
                 here"
            )
        }
        _ => format!("{state}: look for Xid and AER messages in the kernel's log (dmesg)"),
    }
}
