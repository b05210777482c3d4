//! What is normal for a class of hardware, learned from one's own nodes: the lowest rate that a well node
//! shows.
//!
//! Fixed thresholds by product fail healthy nodes, because boards, firmware and sites differ; so a class is
//! what the documents themselves say: GPU model, best link, CPU model, and how near the rank is to the GPU.
//! `learning` says how.
//!
//! Copies between GPUs go ways of different length in every node. Pairs of one NUMA node and of two are two
//! classes where their medians lie apart, else one (so three nodes whose GPUs are behind switches are enough
//! to learn from). NVLinks that are up are no part of a class: a GPU that has lost some would have a class of
//! its own, and nothing to be compared with. A place that is unlike the others on half of the nodes, three at
//! least, is so by how the nodes are built: it stays in and is named, for otherwise it would be found slow on
//! every node.

mod learning;

use std::collections::BTreeMap;

pub use learning::{NotLearned, OddPlace, learn, odd_of_few};
use report::Document;
use report::device::{Device, DeviceKind, name_on_node};
use report::document::Tool;
use report::matrix::engine_group;
use report::other_end::other_ends;
use report::quantity::Quantity;
use report::rank::Locality;
use report::read::SavedDocument;
use report::row::{Row, RowStatus};
use report::settings::{Direction, Membind};
use report::versioned::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::flag::Flag;

use crate::column::within_id;
use crate::figure::BETWEEN;
use crate::lost_figure::LostFigure;

/// The fewest GPUs that a class is learned from.
pub const LEAST_GPUS: usize = 8;
/// The fewest nodes that they must be of.
pub const LEAST_NODES: usize = 3;

/// What is normal, by class of hardware.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Always `numabench.baseline`.
    pub schema: String,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// How many documents it was learned from.
    pub documents: u32,
    /// What is normal, for each class and case.
    pub normals: Vec<Normal>,
    /// Classes and cases that there were too few GPUs of, in words.
    pub too_few: Vec<String>,
    /// GPUs that are unlike the others of their class and were left out, in words.
    pub left_out: Vec<String>,
    /// Places that are unlike the others of their class on half of the nodes or more, three at least, and
    /// stay in, in words.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub built_unlike: Vec<String>,
}

/// A class of hardware.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Class {
    /// The GPU's name, as the driver gives it.
    pub gpu: String,
    /// What copies to and from host memory go over at best, `PCIe 5 x16`, `NVLink-C2C`; null where it is not
    /// known.
    pub best_link: Option<String>,
    /// The CPU's model; null where it is not told.
    pub cpu: Option<String>,
    /// How near the rank's PU is to the GPU, as documents name it but without hyphens (`numalocal`); `own
    /// memory` for copies within a GPU's memory; for copies between GPUs `peer`, or `peer, staged`, and with
    /// `, one NUMA node` or `, two NUMA nodes` those of pairs that are told apart so.
    pub locality: String,
}

/// What ends the locality of pairs of GPUs of one NUMA node, and of two.
const NUMA_NODES: [&str; 2] = [", one NUMA node", ", two NUMA nodes"];

impl Class {
    /// The class that pairs of GPUs are of where it does not matter whether they are of one NUMA node; `None`
    /// where that is not told apart.
    pub fn of_all_pairs(&self) -> Option<Self> {
        let locality = NUMA_NODES.iter().find_map(|end| self.locality.strip_suffix(end))?.to_owned();
        Some(Self { locality, ..self.clone() })
    }
}

/// What one case normally gives on a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Normal {
    /// The class.
    pub class: Class,
    /// The case's `id`.
    pub case: String,
    /// How many nodes it was learned from.
    pub nodes: u32,
    /// How many GPUs; of copies between GPUs how many pairs, each way counted.
    pub gpus: u32,
    /// How many values.
    pub values: u32,
    /// The median rate over GPUs.
    pub median_bytes_per_s: f64,
    /// The deviation between GPUs, a fraction.
    pub between: f64,
    /// The deviation between runs on one GPU, a fraction; null where no GPU was run twice.
    pub within: Option<f64>,
    /// Below this a GPU is a suspect.
    pub limit_bytes_per_s: f64,
}

/// What is normal, to be looked up.
pub struct Normals<'b>(BTreeMap<(&'b Class, &'b str), &'b Normal>);

impl<'b> Normals<'b> {
    /// Those of a baseline.
    pub fn of(baseline: &'b Baseline) -> Self {
        Self(baseline.normals.iter().map(|normal| ((&normal.class, &normal.case[..]), normal)).collect())
    }

    /// What is normal for a class and case; of pairs of GPUs that it does not tell apart, for all of them.
    pub fn find(&self, class: &Class, case: &str) -> Option<&'b Normal> {
        let of = |class: &Class| self.0.get(&(class, case)).copied();
        of(class).or_else(|| of(&class.of_all_pairs()?))
    }
}

/// One figure of one GPU, with what it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The GPU's class.
    pub class: Class,
    /// The case's `id`.
    pub case: String,
    /// Its host.
    pub host: String,
    /// The device's `id`; of a copy between GPUs `ID with OTHER`.
    pub device: String,
    /// Its rate, bytes/s.
    pub rate: f64,
}

/// Nothing is learned of these figures beside those of near memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "its host memory was asked for elsewhere than near each core (--membind), and a baseline is learned of \
     near memory"
)]
pub struct OtherMemory;

/// Whether a document's host memory is where a baseline has it: on the node of each rank's PU.
///
/// # Errors
/// [`OtherMemory`].
pub fn has_near_memory<B>(document: &Document<B>) -> Result<(), OtherMemory> {
    if document.settings.membind == Membind::Local { Ok(()) } else { Err(OtherMemory) }
}

/// A row by which a node is judged, with what its figure belongs to.
struct JudgedRow<'d> {
    row: &'d Row,
    class: Class,
    case: String,
    /// The device's `id`; of a copy between GPUs `ID with OTHER`.
    device: String,
}

impl JudgedRow<'_> {
    fn value(self) -> Option<Value> {
        let Self { row, class, case, device } = self;
        let is_measured = row.status == RowStatus::Measured;
        let rate = row.median_bytes_per_s.filter(|rate| is_measured && *rate > 0.0)?;
        Some(Value { class, case, host: row.host.clone(), device, rate })
    }

    /// The copy without its figure; `None` where it has one.
    fn lost_figure(self) -> Option<LostFigure> {
        let Self { row, case, device, .. } = self;
        let reason = row.reason.clone().unwrap_or_default();
        let lost = LostFigure { device, case, status: row.status, reason, lost: 1, passes: 1 };
        (row.status != RowStatus::Measured).then_some(lost)
    }
}

/// The figures of a document's GPUs by which a node is judged: rates of copies of 1 MiB and more. Copies
/// within a GPU's memory are a case of their own.
pub fn values(document: &Document) -> Vec<Value> {
    judged_rows(document).filter_map(JudgedRow::value).collect()
}

/// The copies of which a document has no such figure.
pub fn lost_figures(document: &Document) -> Vec<LostFigure> {
    judged_rows(document).filter_map(JudgedRow::lost_figure).collect()
}

/// What a baseline learns from a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lesson {
    /// The figures that say what the GPUs can do.
    pub values: Vec<Value>,
    /// How many figures were left out.
    pub left_out: u32,
    /// The same by what held their GPUs back.
    pub held_back: BTreeMap<Flag, u32>,
}

/// The figures of a document to learn from: those of GPUs that were neither throttled nor shared.
pub fn lesson(document: &Document) -> Lesson {
    let mut lesson = Lesson::default();
    for judged in judged_rows(document) {
        let held_back = judged.row.flags.iter().copied().filter(|flag| holds_back(*flag));
        let held_back: Vec<Flag> = held_back.collect();
        if held_back.is_empty() {
            lesson.values.extend(judged.value());
        } else {
            lesson.left_out += 1;
            held_back.into_iter().for_each(|flag| *lesson.held_back.entry(flag).or_default() += 1);
        }
    }
    lesson
}

/// Whether a figure with this flag is not what its GPU can do.
pub(crate) fn holds_back(flag: Flag) -> bool {
    matches!(flag, Flag::Throttled | Flag::SharedGpu)
}

/// The rows by which a node is judged.
fn judged_rows(document: &Document) -> impl Iterator<Item = JudgedRow<'_>> {
    let devices: BTreeMap<&str, &Device> =
        document.devices.iter().map(|device| (&device.id[..], device)).collect();
    let others = other_ends(document);
    // Copies by a kernel are another case than those by copy engines, as in documents of several engines.
    let engine = engine_group(document.settings.engine).map_or(String::new(), |engine| format!("/{engine}"));

    let judged = move |row| {
        let row: &Row = row;
        let device = devices.get(&row.device[..]).filter(|device| device.kind == DeviceKind::Gpu)?;
        // Documents of before 1.6 do not say what a row of a kernel counts.
        let is_copy = row.quantity == Quantity::Bandwidth && row.direction != Direction::Kernel;
        if !is_copy || row.bytes < 1 << 20 {
            return None;
        }
        let class = class_of(document, device, row.locality);
        let id = row.device.clone();
        let case = |id: &str| format!("{id}{engine}");
        Some(match others.get(&row.rank) {
            None => JudgedRow { row, class, case: case(&row.case), device: id },
            // Where the PU that drives it is matters to none of these.
            Some(other) if other == name_on_node(&id) => {
                let class = Class { locality: "own memory".to_owned(), ..class };
                JudgedRow { row, class, case: case(&within_id(&row.case)), device: id }
            }
            Some(other) => {
                let staged = if is_staged(document, row.rank) { ", staged" } else { "" };
                let apart = is_of_two_nodes(document, device, other);
                let numa_nodes = apart.map_or("", |apart| NUMA_NODES[usize::from(apart)]);
                let class = Class { locality: format!("peer{staged}{numa_nodes}"), ..class };
                let device = format!("{id}{BETWEEN}{other}");
                JudgedRow { row, class, case: case(&row.case), device }
            }
        })
    };
    document.rows.iter().filter_map(judged)
}

/// Whether a GPU and another one of its node, by its name there, are local to different NUMA nodes; `None`
/// where that is not known of both.
fn is_of_two_nodes(document: &Document, device: &Device, other: &str) -> Option<bool> {
    let is_other = |one: &&Device| one.node == device.node && name_on_node(&one.id) == other;
    let other = document.devices.iter().find(is_other)?;
    Some(device.numa_node.value? != other.numa_node.value?)
}

/// Whether the driver stages the copies of this place through host memory, as far as its row of the matrix
/// says so.
pub(crate) fn is_staged<B>(document: &Document<B>, rank: u32) -> bool {
    let rows = document
        .matrices
        .iter()
        .flat_map(|matrix| &matrix.rows)
        .filter(|row| row.ranks.iter().any(|one| one == rank));
    rows.filter_map(|row| row.note.as_ref()).any(|note| note.contains("staged"))
}

/// The class of a device of a document, for a rank that is so near to it.
pub(crate) fn class_of<B>(document: &Document<B>, device: &Device, locality: Locality) -> Class {
    let models = match document.nodes.get(device.node as usize) {
        Some(node) => node.facts.cpu_models.clone(),
        None => {
            document.environment.topology.packages.iter().map(|package| package.cpu_model.clone()).collect()
        }
    };
    Class {
        gpu: device.name.clone(),
        best_link: device.best_link(),
        cpu: models.into_iter().flatten().next(),
        locality: format!("{locality:?}").to_lowercase(),
    }
}

impl SavedDocument for Baseline {
    const VERSION: Version = Version { schema: "numabench.baseline", major: 1, minor: 1 };
    const WRITER: &'static str = "numabench baseline -o FILE";
}
