//! What two runs must have in common to be the same experiment, and what differs: said before any figure.
//!
//! Most differences are the very thing one wants to see the effect of (a driver, a kernel, a link that lost
//! lanes), so they are named and no more. Some make the comparison meaningless: another kind of device,
//! another GPU model, a simulation, another number of ranks at once, another clock. Those are refused unless
//! the user insists, also where runs of one side differ so and have a case in common.

use std::collections::{BTreeMap, BTreeSet};

use report::Document;
use report::device::{Device, DeviceKind, name_on_node};
use report::document::PlatformKind;
use report::json::word;
use report::pair_sample::PairSample;
use report::settings::{CopyEngine, Membind, OrderAsked};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::units::rounded_size;

use crate::difference::ALIKE;
use crate::words::{self, lanes};

/// How many ranks copied at once.
pub(crate) const RANKS_AT_ONCE: &str = "ranks at once";
/// Which pairs of GPUs were measured: all of them, or a sample.
pub(crate) const PAIRS: &str = "pairs of GPUs";
pub(crate) const ALL_PAIRS: &str = "all";

/// One fact that a run was under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its name; the same in every run.
    pub fact: String,
    /// Its value, in words.
    pub value: String,
    /// Whether a different value makes the runs different experiments.
    pub essential: bool,
}

/// A fact whose values differ between the two sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Differing {
    /// Its name.
    pub fact: String,
    /// What the runs of the base have, in words.
    pub base: Vec<String>,
    /// What the new runs have.
    pub new: Vec<String>,
    /// Whether it makes the comparison meaningless.
    pub essential: bool,
}

impl Condition {
    /// A fact with its value.
    pub(crate) fn new(fact: impl Into<String>, value: impl Into<String>, essential: bool) -> Self {
        Self { fact: fact.into(), value: value.into(), essential }
    }
}

impl Differing {
    /// What the base has, and what the new side has.
    pub fn sides(&self) -> (String, String) {
        (self.base.join(" and "), self.new.join(" and "))
    }

    /// `driver version: 550, then 560`: of a change in time.
    pub fn then(&self) -> String {
        let (before, after) = self.sides();
        format!("{}: {before}, then {after}", self.fact)
    }
}

/// Said where a fact is not in a document.
pub(crate) const NOT_KNOWN: &str = "not known";

/// What a document's run was under.
pub fn conditions<B>(document: &Document<B>) -> Vec<Condition> {
    let mut all = Vec::new();
    let mut add =
        |essential: bool, fact: &str, value: String| all.push(Condition::new(fact, value, essential));
    let platform = &document.platform;
    let kind = match platform.kind {
        PlatformKind::Cuda => "CUDA",
        PlatformKind::Hip => "HIP",
        PlatformKind::Host => "host memory",
        PlatformKind::Newer => "known to a newer numabench",
    };
    add(true, "platform", kind.to_owned());
    add(true, "simulated devices", if platform.simulated.is_some() { "yes" } else { "no" }.to_owned());
    if document.settings.order != OrderAsked::Alone {
        add(true, RANKS_AT_ONCE, document.ranks.len().to_string());
    }
    if platform.kind != PlatformKind::Host {
        add(true, "GPU model", names(document));
    }
    // Of a case without a figure the clock is not known.
    let is_timed = |case: &&report::case::Case<B>| case.ranks.iter().any(|result| result.summary().is_some());
    for case in document.cases.iter().filter(is_timed) {
        add(true, &format!("clock of {}", case.id), word(&case.timing));
    }

    for case in &document.cases {
        if let Some(range) = case.range_bytes {
            add(false, &format!("range of {}", words::direction(case.direction)), rounded_size(range));
        }
    }

    add(false, "host", hosts(document));
    add(false, "driver version", platform.driver_version.clone().unwrap_or(NOT_KNOWN.to_owned()));
    add(false, "driver API", platform.api_version.clone().unwrap_or(NOT_KNOWN.to_owned()));
    add(false, "numabench", document.tool.version.clone());
    let settings = &document.settings;
    let membind = match &settings.membind {
        Membind::Local => "on each PU's own node".to_owned(),
        other => words::membind(other),
    };
    add(false, "host memory", membind);
    add(false, "huge pages", if settings.huge_pages { "on" } else { "off" }.to_owned());
    let engine = match settings.engine {
        CopyEngine::Ce => "the copy engines",
        CopyEngine::Sm => "a kernel",
        CopyEngine::Tma => "TMA",
        CopyEngine::Newer => words::NEWER,
    };
    add(false, "copies by", engine.to_owned());
    let sampled = |sample: &PairSample| format!("a sample of {} of {}", sample.chosen, sample.of);
    match &document.pair_sample {
        Some(sample) => add(false, PAIRS, sampled(sample)),
        None if document.command == "peer" => add(false, PAIRS, ALL_PAIRS.to_owned()),
        None => {}
    }
    // The driver's version is added above.
    for name in ALIKE.iter().filter(|name| !name.starts_with("driver.")) {
        let probe = document.environment.probes.iter().find(|probe| probe.name == *name);
        let value = probe.and_then(|probe| probe.value.as_ref()).map(|value| value.to_string());
        add(false, name, value.map_or(NOT_KNOWN.to_owned(), |value| value.trim_matches('"').to_owned()));
    }
    let digest = document.nodes.first().and_then(|node| node.facts.topology_digest.value.clone());
    add(false, "topology", digest.unwrap_or(NOT_KNOWN.to_owned()));
    for device in document.devices.iter().filter(|device| device.kind == DeviceKind::Gpu) {
        let name = device_name(document, device);
        add(false, &format!("link of {name}"), link(device));
        let held_back =
            device.conditions.as_ref().and_then(|known| Some(known.value.as_ref()?.held_back_by()));
        held_back.into_iter().for_each(|by| add(false, &format!("held back on {name}"), by));
        add(false, &format!("UUID of {name}"), device.uuid.clone().unwrap_or(NOT_KNOWN.to_owned()));
    }
    all
}

/// What differs between two sides of runs, essential facts first. A fact that one side lacks altogether (a
/// device, a case) is not compared: what it belongs to is missing, and that is said.
pub fn differing<'c>(
    base: impl Iterator<Item = &'c Condition>,
    new: impl Iterator<Item = &'c Condition>,
) -> Vec<Differing> {
    differing_or_mixed(base, new, &BTreeSet::new())
}

/// The same with these `mixed` facts, which differ within a side.
pub(crate) fn differing_or_mixed<'c>(
    base: impl Iterator<Item = &'c Condition>,
    new: impl Iterator<Item = &'c Condition>,
    mixed: &BTreeSet<&str>,
) -> Vec<Differing> {
    type Values<'c> = BTreeMap<(bool, &'c str), BTreeSet<&'c str>>;
    let gather = |side: &mut dyn Iterator<Item = &'c Condition>| {
        let mut values: Values<'c> = BTreeMap::new();
        for condition in side {
            values.entry((!condition.essential, &condition.fact)).or_default().insert(&condition.value);
        }
        values
    };

    let (mut base, mut new) = (base, new);
    let (base, new) = (gather(&mut base), gather(&mut new));
    let owned = |values: &BTreeSet<&str>| values.iter().map(|value| (*value).to_owned()).collect();
    let both = base.iter().filter_map(|(fact, base)| Some((fact, base, new.get(fact)?)));

    both.filter(|((_, fact), base, new)| base != new || mixed.contains(fact))
        .map(|((not_essential, fact), base, new)| Differing {
            fact: (*fact).to_owned(),
            base: owned(base),
            new: owned(new),
            essential: !not_essential,
        })
        .collect()
}

fn names<B>(document: &Document<B>) -> String {
    // Host memory that a suite measured beside GPUs is no GPU.
    let gpus = document.devices.iter().filter(|device| device.kind == DeviceKind::Gpu);
    let names: BTreeSet<&str> = gpus.map(|device| &device.name[..]).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn hosts<B>(document: &Document<B>) -> String {
    let hosts: BTreeSet<&str> = document.nodes.iter().map(|node| &node.host[..]).collect();
    match hosts.len() {
        0 => document.environment.hostname.clone(),
        1..=4 => hosts.into_iter().collect::<Vec<_>>().join(", "),
        many => format!("{many} hosts"),
    }
}

/// `PCIe 5 x16`: the lanes as read; the generation as read under load, else the highest that it can have,
/// because idle links train down.
fn link(device: &Device) -> String {
    if let Some(other) = device.other_link() {
        return other.to_owned();
    }
    let Some(link) = &device.link.value else { return NOT_KNOWN.to_owned() };
    let loaded = link.generation.filter(|_| link.read_when == report::device::ReadWhen::UnderLoad);
    format!("PCIe {}", lanes(loaded.or(link.max_generation), link.width.or(link.max_width)))
}

fn device_name<B>(document: &Document<B>, device: &Device) -> String {
    let name = name_on_node(&device.id);
    match document.nodes.get(device.node as usize).filter(|_| document.nodes.len() > 1) {
        Some(node) => format!("{name} of {}", node.host),
        None => name.to_owned(),
    }
}
