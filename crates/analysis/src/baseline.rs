//! What is normal for a class of hardware, learned from one's own nodes: the lowest rate that a well node
//! shows.
//!
//! Fixed thresholds by product fail healthy nodes, because boards, firmware and sites differ; so a class is
//! what the documents themselves say: GPU model, best link, CPU model, and how near the rank is to the GPU.
//! Per class and case the values of all GPUs are taken on a log scale; a GPU unlike the others
//! (`stats::peer_outlier`) is left out and named, since a fleet is never all well. The limit is the lowest of
//! three:
//!
//! * the one-sided tolerance limit above which 999,999 of a million measurements of well GPUs lie with 95 %
//!   confidence *if GPUs and nodes differ normally*;
//! * half as far below the lowest GPU as that lies below the median, and 3 % more: where a part of the nodes
//!   is slower, or the law is skewed, more nodes show it;
//! * 10 % below the median with fewer than thirty nodes, which may not show it.
//!
//! Together they are to keep 999 of 1,000 measurements in 95 of 100 learnings, whatever of these a fleet is
//! (`cargo xtask calibrate baseline`), which is why `gate` measures a suspect again before it is called one.
//! The unit is the node: its GPUs share a board, a cooling and a setting, so that the limit is that of a
//! one-way random model (`stats::tolerance`). Few nodes say little of how nodes differ, and their limit lies
//! far below the median: of three nodes 21 deviations between nodes, of ten 8, of twenty 6.5. Several runs of
//! one GPU tell its own spread from that between GPUs.

use std::collections::{BTreeMap, BTreeSet};

use report::Document;
use report::device::{Device, DeviceKind, Link, name_on_node};
use report::document::Tool;
use report::rank::Locality;
use report::read::SavedDocument;
use report::row::{Row, RowStatus};
use report::versioned::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::alpha::CONFIDENCE;
use stats::interval::median;
use stats::peer_outlier::{a_fifth, peer_outliers};
use stats::tolerance::GroupedValues;
use stats::units::counted;

use crate::column::within_id;
use report::other_end::other_ends;

/// The fewest GPUs that a class is learned from.
pub const LEAST_GPUS: usize = 8;
/// The fewest nodes that they must be of.
pub const LEAST_NODES: usize = 3;

/// The share of measurements of well GPUs that lie above the limit, with the usual confidence. A thousand
/// nodes of eight GPUs are 240,000 of them a month each way.
const SHARE: f64 = 0.999_999;

/// The limit is at least so far below the lowest GPU, however alike the GPUs that it was learned from are.
const LEAST_MARGIN: f64 = 0.03;

/// Fewer nodes may not show how low a skewed fleet reaches: learned from twenty of them the other two limits
/// keep their share in 89 % of learnings.
const SHOWS_ALL: usize = 30;

/// Of fewer nodes the limit is at least so far below the median.
const MARGIN_OF_FEW: f64 = 0.1;

/// The limit is so many times as far below the median as the lowest GPU.
const BEYOND_LOWEST: f64 = 1.5;

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
}

/// A class of hardware.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Class {
    /// The GPU's name, as the driver gives it.
    pub gpu: String,
    /// The best its link can be, `PCIe 5 x16`; null where it is not known.
    pub best_link: Option<String>,
    /// The CPU's model; null where it is not told.
    pub cpu: Option<String>,
    /// How near the rank's PU is to the GPU, as documents name it; `own memory` and `peer` for copies within
    /// a GPU's memory and between GPUs.
    pub locality: String,
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
    /// How many GPUs.
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

/// One figure of one GPU, with what it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The GPU's class.
    pub class: Class,
    /// The case's `id`.
    pub case: String,
    /// Its host.
    pub host: String,
    /// The device's `id`.
    pub device: String,
    /// Its rate, bytes/s.
    pub rate: f64,
}

/// Nothing can be learned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotLearned {
    /// No GPU has a figure.
    #[error(
        "no document has a figure of a GPU: give documents of `numabench check --bandwidth --json FILE` or \
         `numabench pingpong --order alone`"
    )]
    NoGpu,
    /// All classes have too few.
    #[error(
        "there is too little to learn from: {0}; a class needs {LEAST_GPUS} GPUs of {LEAST_NODES} nodes, so \
         run on more of them"
    )]
    TooFew(String),
}

/// The figures of a document's GPUs by which a node is judged: rates of copies of 1 MiB and more. Copies
/// within a GPU's memory are a case of their own.
pub fn values(document: &Document) -> Vec<Value> {
    let devices: BTreeMap<&str, &Device> =
        document.devices.iter().map(|device| (&device.id[..], device)).collect();
    let others = other_ends(document);

    let value = |row: &Row| {
        let device = devices.get(&row.device[..]).filter(|device| device.kind == DeviceKind::Gpu)?;
        let rate = row.median_bytes_per_s.filter(|rate| row.status == RowStatus::Measured && *rate > 0.0)?;
        let class = class_of(document, device, row.locality);
        let (host, id) = (row.host.clone(), row.device.clone());
        let value = match others.get(&row.rank) {
            _ if row.bytes < 1 << 20 => return None,
            None => Value { class, case: row.case.clone(), host, device: id, rate },
            // Where the PU that drives it is matters to none of these.
            Some(other) if other == name_on_node(&id) => {
                let class = Class { locality: "own memory".to_owned(), ..class };
                Value { class, case: within_id(&row.case), host, device: id, rate }
            }
            Some(other) => {
                let locality = if is_staged(document, row.rank) { "peer, staged" } else { "peer" };
                let class = Class { locality: locality.to_owned(), ..class };
                Value { class, case: row.case.clone(), host, device: format!("{id} with {other}"), rate }
            }
        };
        Some(value)
    };
    document.rows.iter().filter_map(value).collect()
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
    let link = |link: &Link| Some(format!("PCIe {} x{}", link.max_generation?, link.max_width?));
    let models = match document.nodes.get(device.node as usize) {
        Some(node) => node.facts.cpu_models.clone(),
        None => {
            document.environment.topology.packages.iter().map(|package| package.cpu_model.clone()).collect()
        }
    };
    Class {
        gpu: device.name.clone(),
        best_link: device.link.value.as_ref().and_then(link),
        cpu: models.into_iter().flatten().next(),
        locality: format!("{locality:?}").to_lowercase(),
    }
}

impl SavedDocument for Baseline {
    const VERSION: Version = Version { schema: "numabench.baseline", major: 1, minor: 0 };
    const WRITER: &'static str = "numabench baseline -o FILE";
}

/// Learns what is normal from the figures of several documents.
///
/// # Errors
/// [`NotLearned`]: no class has enough GPUs.
pub fn learn(tool: Tool, documents: u32, values: &[Value]) -> Result<Baseline, NotLearned> {
    let mut groups: BTreeMap<(&Class, &str), Vec<&Value>> = BTreeMap::new();
    for value in values {
        groups.entry((&value.class, &value.case)).or_default().push(value);
    }
    if groups.is_empty() {
        return Err(NotLearned::NoGpu);
    }

    let (mut normals, mut too_few, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    let sets = groups.len();
    for ((class, case), values) in groups {
        match normal(class, case, &values, sets, &mut left_out) {
            Ok(normal) => normals.push(normal),
            Err(few) => too_few.push(few),
        }
    }
    if normals.is_empty() {
        return Err(NotLearned::TooFew(too_few.join("; ")));
    }

    Ok(Baseline {
        schema: Baseline::SCHEMA.to_owned(),
        schema_version: Baseline::VERSION.number(),
        tool,
        documents,
        normals,
        too_few,
        left_out,
    })
}

fn normal(
    class: &Class,
    case: &str,
    values: &[&Value],
    sets: usize,
    left_out: &mut Vec<String>,
) -> Result<Normal, String> {
    let mut gpus: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for value in values {
        gpus.entry((&value.host, &value.device)).or_default().push(value.rate);
    }
    let mut medians: Vec<((&str, &str), f64)> =
        gpus.iter().filter_map(|(gpu, rates)| Some((*gpu, median(rates)?))).collect();

    let rates: Vec<f64> = medians.iter().map(|(_, rate)| *rate).collect();
    let hosts = medians.iter().map(|((host, _), _)| host).collect::<BTreeSet<_>>().len();
    // A whole node of a few, with all of its GPUs.
    let most = a_fifth(rates.len()).max(rates.len().div_ceil(hosts.max(1)));
    let odd: BTreeSet<usize> = peer_outliers(&rates, sets, most)
        .map(|judged| judged.outliers.iter().map(|one| one.index).collect())
        .unwrap_or_default();
    for at in &odd {
        let ((host, device), rate) = medians[*at];
        left_out.push(format!(
            "{host}, {device}: {:.1} GB/s in {case}, unlike the {} others",
            rate / 1e9,
            rates.len() - 1
        ));
        gpus.remove(&(host, device));
    }

    medians.retain(|(gpu, _)| gpus.contains_key(gpu));
    let nodes = medians.iter().map(|((host, _), _)| host).collect::<BTreeSet<_>>().len();
    if medians.len() < LEAST_GPUS || nodes < LEAST_NODES {
        let (gpus, nodes) = (counted(medians.len(), "GPU"), counted(nodes, "node"));
        let have = if medians.len() == 1 { "has" } else { "have" };
        return Err(format!("{gpus} of {nodes} {have} {case} on {}", class.gpu));
    }
    let logs: Vec<f64> = medians.iter().map(|(_, rate)| rate.ln()).collect();
    let center = median(&logs).unwrap_or_default();
    let between = deviation(&logs);
    let within = within(gpus.values());
    let mut by_node: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    medians.iter().for_each(|((host, _), rate)| by_node.entry(host).or_default().push(rate.ln()));
    let by_node: Vec<Vec<f64>> = by_node.into_values().collect();
    // A new measurement has all three spreads; that of medians of single runs holds the runs' already.
    let limit = GroupedValues::of(&by_node).and_then(|nodes| nodes.lower_limit(within, SHARE, CONFIDENCE));
    let lowest = logs.iter().copied().fold(f64::MAX, f64::min);
    let below_lowest = center - BEYOND_LOWEST * (center - lowest) + (1.0 - LEAST_MARGIN).ln();
    let of_few = if nodes < SHOWS_ALL { center + (1.0 - MARGIN_OF_FEW).ln() } else { f64::MAX };
    let limit = limit.unwrap_or(f64::NEG_INFINITY).min(below_lowest).min(of_few);
    Ok(Normal {
        class: class.clone(),
        case: case.to_owned(),
        nodes: nodes as u32,
        gpus: logs.len() as u32,
        values: gpus.values().map(Vec::len).sum::<usize>() as u32,
        median_bytes_per_s: center.exp(),
        between,
        within: (within.1 > 0.0).then(|| (within.0 / within.1).sqrt()),
        limit_bytes_per_s: limit.exp(),
    })
}

/// The sample deviation.
fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)).sqrt()
}

/// The squared distances of the logarithms of each GPU's own values from their mean, and their degrees of
/// freedom: 0 where none has two.
fn within<'v>(gpus: impl Iterator<Item = &'v Vec<f64>>) -> (f64, f64) {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for rates in gpus {
        let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        squares += logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
        freedom += logs.len() as f64 - 1.0;
    }
    (squares, freedom)
}
