//! Learning what is normal from many GPUs' figures. Pure.
//!
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
//! Together they are to keep 999 of 1,000 measurements in 95 of 100 learnings, for fleets of each of these
//! shapes (`cargo xtask calibrate baseline`), which is why `gate` measures a suspect again before it is
//! called one. The unit is the node: its GPUs share a board, a cooling and a setting, so that the limit is
//! that of a one-way random model (`stats::tolerance`). Few nodes say little of how nodes differ, and their
//! limit lies far below the median: of three nodes 21 deviations between nodes, of ten 8, of twenty 6.5.
//! Several runs of one GPU tell its own spread from that between GPUs.

use std::collections::{BTreeMap, BTreeSet};

use report::document::Tool;
use report::read::SavedDocument;
use stats::alpha::CONFIDENCE;
use stats::interval::{mean_and_squares, median};
use stats::peer_outlier::{a_fifth, peer_outliers};
use stats::tolerance::GroupedValues;
use stats::units::counted;

use super::{Baseline, Class, LEAST_GPUS, LEAST_NODES, NUMA_NODES, Normal, Value};
use crate::figure::BETWEEN;

/// The share of measurements of well GPUs that lie above the limit, with the usual confidence. A thousand
/// nodes of eight GPUs, each measured once a day, are 240,000 of them a month each way.
const SHARE: f64 = 0.999_999;

/// The limit is at least so far below the lowest GPU, however alike the GPUs that it was learned from are.
const LEAST_MARGIN: f64 = 0.03;

/// Medians of pairs of one NUMA node and of two that are further apart, as logarithms, are two classes.
const PAIRS_APART: f64 = 0.03;

/// Fewer nodes may not show how low a skewed fleet reaches: learned from twenty of them the other two limits
/// keep their share in 89 % of learnings.
const NODES_THAT_SHOW_ALL: usize = 30;

/// Of fewer nodes the limit is at least so far below the median.
const FEW_NODES_MARGIN: f64 = 0.1;

/// The limit is so many times as far below the median as the lowest GPU.
const BEYOND_LOWEST: f64 = 1.5;

/// Nothing can be learned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotLearned {
    /// No GPU has a figure.
    #[error(
        "no document has a figure of a GPU: give documents of `numabench pingpong --order alone --json \
         FILE`, or of `numabench peer --pairs ring --json FILE`"
    )]
    NoGpu,
    /// All classes have too few.
    #[error(
        "there is too little to learn from: {0}; a class needs {LEAST_GPUS} GPUs of {LEAST_NODES} nodes, so \
         run on more of them"
    )]
    TooFew(String),
}

/// Learns what is normal from the figures of several documents.
///
/// # Errors
/// [`NotLearned`]: no class has enough GPUs.
pub fn learn(tool: Tool, documents: u32, values: &[Value]) -> Result<Baseline, NotLearned> {
    let groups = groups(values);
    if groups.is_empty() {
        return Err(NotLearned::NoGpu);
    }

    let (mut normals, mut too_few, mut unlike) = (Vec::new(), Vec::new(), Unlike::default());
    let sets = groups.len();
    for ((class, case), values) in groups {
        match normal(&class, case, &values, sets, &mut unlike) {
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
        left_out: unlike.left_out.iter().map(OddPlace::in_words).collect(),
        built_unlike: unlike.by_build,
    })
}

/// The values by class and case. Pairs of GPUs of one NUMA node and of two are one class unless their medians
/// lie apart.
fn groups(values: &[Value]) -> BTreeMap<(Class, &str), Vec<&Value>> {
    let mut groups: BTreeMap<(Class, &str), Vec<&Value>> = BTreeMap::new();
    for value in values {
        groups.entry((value.class.clone(), &value.case)).or_default().push(value);
    }

    let middle = |values: &[&Value]| median(&values.iter().map(|value| value.rate.ln()).collect::<Vec<_>>());
    let all_pairs: BTreeSet<(Class, &str)> =
        groups.keys().filter_map(|(class, case)| Some((class.of_all_pairs()?, *case))).collect();
    for (class, case) in all_pairs {
        let apart = NUMA_NODES.map(|end| {
            let locality = format!("{}{end}", class.locality);
            (Class { locality, ..class.clone() }, case)
        });
        let middles = apart.each_ref().map(|key| groups.get(key).and_then(|values| middle(values)));
        let is_apart = matches!(middles, [Some(one), Some(two)] if (one - two).abs() > PAIRS_APART);
        if !is_apart {
            let together = apart.iter().filter_map(|key| groups.remove(key)).flatten().collect::<Vec<_>>();
            groups.entry((class, case)).or_default().extend(together);
        }
    }
    groups
}

/// What was found unlike the others of its class.
#[derive(Default)]
struct Unlike {
    left_out: Vec<OddPlace>,
    by_build: Vec<String>,
}

/// A GPU, a pair or another place whose rate is unlike that of its class.
#[derive(Clone, Debug, PartialEq)]
pub struct OddPlace {
    /// The node's host.
    pub host: String,
    /// What it is called there.
    pub device: String,
    /// The case.
    pub case: String,
    /// Its rate, in the unit of the values.
    pub rate: f64,
    /// The median of all, its own among them.
    pub normal: f64,
    /// How many others there are.
    pub others: usize,
}

impl OddPlace {
    fn in_words(&self) -> String {
        let Self { host, device, case, rate, others, .. } = self;
        format!("{host}, {device}: {:.1} GB/s in {case}, unlike the {others} others", rate / 1e9)
    }
}

/// A GPU, or a pair of them, by its host and its name there.
type Place<'v> = (&'v str, &'v str);

/// The places of a class in a case: what is normal is learned from those that are not odd.
struct Places<'v> {
    values: BTreeMap<Place<'v>, Vec<f64>>,
    medians: Vec<(Place<'v>, f64)>,
    unlike: Unlike,
}

impl<'v> Places<'v> {
    fn of(values: &[&'v Value], sets: usize, case: &str) -> Self {
        let mut all: BTreeMap<Place<'v>, Vec<f64>> = BTreeMap::new();
        for value in values {
            all.entry((&value.host, &value.device)).or_default().push(value.rate);
        }
        let mut medians: Vec<(Place<'v>, f64)> =
            all.iter().filter_map(|(gpu, rates)| Some((*gpu, median(rates)?))).collect();

        let unlike = outliers(&medians, sets, case);
        let is_odd = |(host, device): &Place<'_>| {
            unlike.left_out.iter().any(|odd| odd.host == *host && odd.device == *device)
        };
        medians.retain(|(gpu, _)| !is_odd(gpu));
        all.retain(|gpu, _| !is_odd(gpu));
        Self { values: all, medians, unlike }
    }

    fn nodes(&self) -> usize {
        self.medians.iter().map(|((host, _), _)| host).collect::<BTreeSet<_>>().len()
    }

    fn are_too_few(&self) -> bool {
        self.medians.len() < LEAST_GPUS || self.nodes() < LEAST_NODES
    }
}

/// Places that are unlike the others of a class of which too few are left to say what is normal.
pub fn odd_of_few(values: &[Value]) -> Vec<OddPlace> {
    let groups = groups(values);
    let sets = groups.len();
    let places = groups.into_iter().map(|((_, case), values)| Places::of(&values, sets, case));
    places.filter(Places::are_too_few).flat_map(|places| places.unlike.left_out).collect()
}

fn normal(
    class: &Class,
    case: &str,
    values: &[&Value],
    sets: usize,
    unlike: &mut Unlike,
) -> Result<Normal, String> {
    let places = Places::of(values, sets, case);
    let nodes = places.nodes();
    let is_too_few = places.are_too_few();
    let Places { values: gpus, medians, unlike: found } = places;

    if is_too_few {
        let is_of_pairs = medians.iter().any(|((_, device), _)| device.contains(BETWEEN));
        let gpus = match is_of_pairs {
            true => format!("{} of GPUs", counted(medians.len(), "pair")),
            false => counted(medians.len(), "GPU"),
        };
        let nodes = counted(nodes, "node");
        let have = if medians.len() == 1 { "has" } else { "have" };
        let odd: String = found.left_out.iter().map(|odd| format!(" ({})", odd.in_words())).collect();
        return Err(format!("{gpus} of {nodes} {have} {case} on {}{odd}", class.gpu));
    }
    unlike.left_out.extend(found.left_out);
    unlike.by_build.extend(found.by_build);

    let logs: Vec<f64> = medians.iter().map(|(_, rate)| rate.ln()).collect();
    let within = within(gpus.values());
    Ok(Normal {
        class: class.clone(),
        case: case.to_owned(),
        nodes: nodes as u32,
        gpus: logs.len() as u32,
        values: gpus.values().map(Vec::len).sum::<usize>() as u32,
        median_bytes_per_s: median(&logs).unwrap_or_default().exp(),
        between: deviation(&logs),
        within: (within.1 > 0.0).then(|| (within.0 / within.1).sqrt()),
        limit_bytes_per_s: limit(&medians, within, nodes).exp(),
    })
}

/// What is unlike the others, and is left out unless nodes are built so.
fn outliers(medians: &[(Place<'_>, f64)], sets: usize, case: &str) -> Unlike {
    let rates: Vec<f64> = medians.iter().map(|(_, rate)| *rate).collect();
    let hosts = medians.iter().map(|((host, _), _)| host).collect::<BTreeSet<_>>().len();
    // With few nodes all GPUs of one of them may be outliers.
    let most = a_fifth(rates.len()).max(rates.len().div_ceil(hosts.max(1)));
    let odd: BTreeSet<usize> = peer_outliers(&rates, sets, most)
        .map(|judged| judged.outliers.iter().map(|one| one.index).collect())
        .unwrap_or_default();

    let mut unlike = Unlike::default();
    let by_build = built_unlike(medians, &odd);
    for (device, nodes) in &by_build {
        unlike.by_build.push(format!("{device}: on {} unlike the others in {case}", counted(*nodes, "node")));
    }
    for at in odd.iter().filter(|at| !by_build.contains_key(medians[**at].0.1)) {
        let ((host, device), rate) = medians[*at];
        unlike.left_out.push(OddPlace {
            host: host.to_owned(),
            device: device.to_owned(),
            case: case.to_owned(),
            rate,
            normal: median(&rates).unwrap_or_default(),
            others: rates.len() - 1,
        });
    }
    unlike
}

/// The limit's logarithm, from the medians of so many nodes' GPUs and the spread of each one's own values.
fn limit(medians: &[(Place<'_>, f64)], within: (f64, f64), nodes: usize) -> f64 {
    let mut by_node: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    medians.iter().for_each(|((host, _), rate)| by_node.entry(host).or_default().push(rate.ln()));
    let by_node: Vec<Vec<f64>> = by_node.into_values().collect();
    let logs = by_node.concat();
    let center = median(&logs).unwrap_or_default();

    // A new measurement has all three spreads; that of medians of single runs holds the runs' already.
    let limit = GroupedValues::of(&by_node).and_then(|nodes| nodes.lower_limit(within, SHARE, CONFIDENCE));
    let lowest = logs.iter().copied().fold(f64::MAX, f64::min);
    let below_lowest = center - BEYOND_LOWEST * (center - lowest) + (1.0 - LEAST_MARGIN).ln();
    let of_few = if nodes < NODES_THAT_SHOW_ALL { center + (1.0 - FEW_NODES_MARGIN).ln() } else { f64::MAX };
    limit.unwrap_or(f64::NEG_INFINITY).min(below_lowest).min(of_few)
}

/// Of the GPUs that are `odd`, the places that are so on half of the nodes that have them, and on three at
/// least, with the number of nodes.
fn built_unlike<'v>(medians: &[(Place<'v>, f64)], odd: &BTreeSet<usize>) -> BTreeMap<&'v str, usize> {
    let nodes_with = |device: &str| medians.iter().filter(|((_, other), _)| *other == device).count();
    let mut nodes: BTreeMap<&str, usize> = BTreeMap::new();
    odd.iter().for_each(|at| *nodes.entry(medians[*at].0.1).or_default() += 1);
    nodes.retain(|device, odd| *odd >= LEAST_NODES && *odd * 2 >= nodes_with(device));
    nodes
}

/// The sample deviation.
fn deviation(values: &[f64]) -> f64 {
    (mean_and_squares(values).1 / (values.len() as f64 - 1.0)).sqrt()
}

/// The squared distances of the logarithms of each GPU's own values from their mean, and their degrees of
/// freedom: 0 where none has two.
fn within<'v>(gpus: impl Iterator<Item = &'v Vec<f64>>) -> (f64, f64) {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for rates in gpus {
        let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
        squares += mean_and_squares(&logs).1;
        freedom += logs.len() as f64 - 1.0;
    }
    (squares, freedom)
}
