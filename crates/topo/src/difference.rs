//! What changed between two machines, or between two days of one, in words: `numabench topo diff`.
//!
//! Things are matched by what names them: nodes by OS index, GPUs by PCI address, PUs and cores by OS ids.
//! Left out, because they change without anything being different: free memory, the path and host a
//! description came from, hwloc's version, a GPU's PCIe generation now (idle links train down; the width and
//! what the link can do are compared), and memory sizes by less than [`MEMORY_STEP_PERCENT`].

mod coverage;
mod devices;
mod hidden;
mod links;

use schemars::JsonSchema;
use serde::Serialize;
use stats::IdSet;
use stats::units::rounded_size;

use crate::huge_pages::HugePages;
use crate::model::{Core, L3, MemoryLimit, NodeKind, NumaNode, Package, Topology, Unsaid};
use crate::settings::Setting;
use crate::survey::Survey;
pub use coverage::not_compared;
use coverage::{is_text, lists_node, says};
pub(crate) use hidden::hidden;

/// A node's memory must differ by this much to count, percent: another kernel reserves a little more or less,
/// a DIMM that is gone is at least one of the 24 or 32 that a socket has.
pub const MEMORY_STEP_PERCENT: u64 = 2;

/// How many distances are named one by one: a firmware setting can change all of them.
const MOST_DISTANCES: usize = 8;

/// One thing that is different.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// What it is about.
    pub what: DifferenceSubject,
    /// The change, in words: what was, what is.
    pub words: String,
}

/// What a difference is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "What")]
pub enum DifferenceSubject {
    /// Packages and their CPU models.
    Package,
    /// Cores and their hardware threads.
    Core,
    /// L3 caches.
    L3,
    /// NUMA nodes and their memory.
    Node,
    /// Distances between nodes.
    Distances,
    /// GPUs.
    Gpu,
    /// Network adapters.
    Nic,
    /// Links between devices: NVLink, xGMI, the way over PCIe.
    #[schemars(extend("since" = "1.2"))]
    Interconnect,
    /// The reserve of huge pages.
    HugePages,
    /// What the process may use.
    Allowed,
    /// A setting that `doctor` looks at.
    Setting,
}

/// What is different in `after` from `before`; empty where nothing is.
pub fn differences(before: &Survey, after: &Survey) -> Vec<Difference> {
    let (old, new) = (&before.topology, &after.topology);
    let if_said = |part: Unsaid, compare: fn(&Topology, &Topology) -> Vec<String>| {
        if says(before, part) && says(after, part) { compare(old, new) } else { Vec::new() }
    };
    let found = [
        (DifferenceSubject::Package, if_said(Unsaid::Packages, packages)),
        (DifferenceSubject::Core, if_said(Unsaid::Cpus, cores)),
        (DifferenceSubject::L3, if_said(Unsaid::L3s, l3s)),
        (DifferenceSubject::Node, nodes(before, after)),
        (DifferenceSubject::Distances, if_said(Unsaid::Distances, distances)),
        (DifferenceSubject::Gpu, devices::gpus(before, after)),
        (DifferenceSubject::Nic, devices::nics(before, after)),
        (DifferenceSubject::Interconnect, links::links(before, after)),
        (DifferenceSubject::HugePages, huge_pages(&before.huge_pages, &after.huge_pages)),
        (DifferenceSubject::Allowed, [allowed(before, after), memory_limit(before, after)].concat()),
        (DifferenceSubject::Setting, settings(&before.settings, &after.settings)),
    ];

    let of_subject = |(what, all): (DifferenceSubject, Vec<String>)| {
        all.into_iter().map(move |words| Difference { what, words })
    };
    found.into_iter().flat_map(of_subject).collect()
}

/// A value that is another one; what one description does not say is no change.
fn changed<T: PartialEq>(was: Option<T>, is: Option<T>) -> Option<(T, T)> {
    was.zip(is).filter(|(was, is)| was != is)
}

/// What happened to a thing that one of two descriptions has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Gone,
    New,
}

impl Change {
    fn word(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::New => "new",
        }
    }
}

/// What is gone, what is new, and what is different of the rest, of things that `key` names; `listed`:
/// whether both descriptions would have such a thing, so that one that lacks it says something.
fn matched<T, K: PartialEq>(
    old: &[T],
    new: &[T],
    key: impl Fn(&T) -> K,
    listed: impl Fn(&T) -> bool,
    said: impl Fn(&T, Change) -> String,
    different: impl Fn(&T, &T) -> Vec<String>,
) -> Vec<String> {
    let named_as = |one: &T, other: &&T| key(one) == key(other);
    let is_gone = |one: &&T| listed(one) && !new.iter().any(|other| named_as(one, &other));
    let gone = old.iter().filter(is_gone).map(|one| said(one, Change::Gone));
    let rest = new.iter().flat_map(|one| match old.iter().find(|was| named_as(one, was)) {
        None if !listed(one) => Vec::new(),
        None => vec![said(one, Change::New)],
        Some(was) => different(was, one),
    });
    gone.chain(rest).collect()
}

/// The first `most` of these changes, and how many more there are of the same kind.
fn capped(mut changes: Vec<String>, most: usize, of_what: &str) -> Vec<String> {
    let more = changes.len().saturating_sub(most);
    changes.truncate(most);
    changes.extend((more > 0).then(|| format!("{more} more {of_what}")));
    changes
}

/// What is not known, in a sentence.
fn or_unknown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "not known".to_owned(), |value| value.to_string())
}

fn packages(old: &Topology, new: &Topology) -> Vec<String> {
    if old.packages.len() != new.packages.len() {
        return vec![format!("{} packages, were {}", new.packages.len(), old.packages.len())];
    }
    let different = |(was, is): (&Package, &Package)| {
        let (before, now) = changed(was.cpu_model.as_ref(), is.cpu_model.as_ref())?;
        Some(format!("package {}: CPU model {now}, was {before}", or_unknown(is.os_index)))
    };
    old.packages.iter().zip(&new.packages).filter_map(different).collect()
}

/// Cores that are there in both, with other threads, are SMT; PUs of no such core came or went with their
/// cores.
fn cores(old: &Topology, new: &Topology) -> Vec<String> {
    let (was, is) = (old.online_pus(), new.online_pus());
    let of = |topology: &Topology, pus: &IdSet| -> usize {
        topology.cores.iter().filter(|core| core.pus.is_subset(pus)).count()
    };
    let threads = |topology: &Topology| topology.cores.iter().map(|core| core.pus.len()).max().unwrap_or(0);
    let (gone, added) = (was.minus(&is), is.minus(&was));
    let (whole_gone, whole_added) = (of(old, &gone), of(new, &added));

    if old.cores.len() == new.cores.len() && threads(old) != threads(new) && whole_gone + whole_added == 0 {
        let (before, now) = (threads(old), threads(new));
        let switched = if now < before { "off" } else { "on" };
        let change = if now < before { format!("PUs {gone} gone") } else { format!("PUs {added} new") };
        return vec![format!("SMT {switched}: {now} PU(s) a core, were {before}; {change}")];
    }

    let one_way = |pus: &IdSet, cores: usize, change: &str| {
        let whole = if cores == 0 { String::new() } else { format!(", {cores} whole core(s) of them") };
        (!pus.is_empty()).then(|| format!("PUs {pus} {change}{whole}"))
    };
    let regrouped = |core: &&Core| {
        let of_first = core.pus.first().and_then(|pu| new.core_of(pu));
        of_first.is_some_and(|now| now.pus.and(&was) != core.pus.and(&is))
    };
    let regrouped: IdSet = old.cores.iter().filter(regrouped).filter_map(|core| core.pus.first()).collect();
    let all = [
        one_way(&gone, whole_gone, "gone or offline"),
        one_way(&added, whole_added, "new or online again"),
        (!regrouped.is_empty()).then(|| format!("the cores of PUs {regrouped} have other PUs than before")),
    ];
    all.into_iter().flatten().collect()
}

fn l3s(old: &Topology, new: &Topology) -> Vec<String> {
    if old.l3s.len() != new.l3s.len() {
        return vec![format!("{} L3 caches, were {}", new.l3s.len(), old.l3s.len())];
    }
    let both = old.online_pus().and(&new.online_pus());
    let different = |(was, is): (&L3, &L3)| {
        if was.pus.and(&both) != is.pus.and(&both) {
            return Some(format!("an L3 is shared by PUs {}, was by {}", is.pus, was.pus));
        }
        let (before, now) = changed(was.size_bytes, is.size_bytes)?;
        let (before, now) = (rounded_size(before), rounded_size(now));
        Some(format!("the L3 of PUs {} has {now}, had {before}", is.pus))
    };
    old.l3s.iter().zip(&new.l3s).filter_map(different).collect()
}

fn kind(topology: &Topology, node: &NumaNode) -> &'static str {
    match node.kind {
        NodeKind::Normal => "CPUs and memory",
        NodeKind::CpuOnly => "CPUs without memory",
        NodeKind::MemoryOnly if topology.hides_cpus_of(node) => "memory; the file shows no CPUs of it",
        NodeKind::MemoryOnly => "memory without CPUs",
        NodeKind::GpuMemory => "a GPU's memory",
        NodeKind::Empty => "neither memory nor CPUs",
    }
}

fn nodes(before: &Survey, after: &Survey) -> Vec<String> {
    if !says(before, Unsaid::Nodes) || !says(after, Unsaid::Nodes) {
        return Vec::new();
    }
    let (old, new) = (&before.topology, &after.topology);
    let has_sizes = says(before, Unsaid::MemorySizes) && says(after, Unsaid::MemorySizes);
    let both = old.online_pus().and(&new.online_pus());

    let said = |node: &NumaNode, change: Change| {
        let topology = if change == Change::Gone { old } else { new };
        let kind = kind(topology, node);
        let size = if has_sizes { format!(", {}", rounded_size(node.total_bytes)) } else { String::new() };
        format!("NUMA node {} {} ({kind}{size})", node.os_index, change.word())
    };
    let different = |was: &NumaNode, is: &NumaNode| {
        let mut words = Vec::new();
        // What CPUs a file leaves out of a node is no change, nor memory that one does not say.
        if has_sizes && was.kind != is.kind && !old.hides_cpus_of(was) && !new.hides_cpus_of(is) {
            let (before, now) = (kind(old, was), kind(new, is));
            words.push(format!("NUMA node {}: {now}, was {before}", is.os_index));
        }
        let sizes = old.memory_bytes(was.os_index).zip(new.memory_bytes(is.os_index));
        words.extend(sizes.filter(|_| has_sizes).and_then(|sizes| another_size(is.os_index, sizes)));
        // PUs that came or went are said once, with the cores: here only those that are there in both.
        if was.kind.has_cpus() && is.kind.has_cpus() && was.pus.and(&both) != is.pus.and(&both) {
            words.push(format!("NUMA node {} has PUs {}, had {}", is.os_index, is.pus, was.pus));
        }
        words
    };

    let listed = |node: &NumaNode| lists_node(before, node) && lists_node(after, node);
    matched(&old.nodes, &new.nodes, |node| node.os_index, listed, said, different)
}

fn another_size(id: u32, (before, now): (u64, u64)) -> Option<String> {
    let step = u128::from(before.max(now)) * u128::from(MEMORY_STEP_PERCENT);

    if u128::from(before.abs_diff(now)) * 100 < step || before == now {
        return None;
    }
    let (change, by) = (if now < before { "less" } else { "more" }, rounded_size(before.abs_diff(now)));
    let (before, now) = (rounded_size(before), rounded_size(now));
    Some(format!("NUMA node {id}: {now} of memory, was {before} ({by} {change})"))
}

fn distances(old: &Topology, new: &Topology) -> Vec<String> {
    match (&old.distances, &new.distances) {
        (Some(was), Some(is)) if was.nodes == is.nodes => {
            let mut changes = Vec::new();
            for (from, (was, is_row)) in is.nodes.iter().zip(was.rows.iter().zip(&is.rows)) {
                for (to, (before, now)) in
                    is.nodes.iter().zip(was.iter().zip(is_row)).filter(|(_, (a, b))| a != b)
                {
                    changes.push(format!("distance from NUMA node {from} to {to}: {now}, was {before}"));
                }
            }
            capped(changes, MOST_DISTANCES, "distances")
        }
        (Some(_), None) => vec!["the distances are not given any more".to_owned()],
        (None, Some(_)) => vec!["the distances are given now".to_owned()],
        // Other nodes are news of their own.
        (Some(_), Some(_)) | (None, None) => Vec::new(),
    }
}

/// A size that one description does not list is no change.
fn huge_pages(old: &[HugePages], new: &[HugePages]) -> Vec<String> {
    let different = |pages: &HugePages| {
        let same = |was: &&HugePages| (was.node, was.page_bytes) == (pages.node, pages.page_bytes);
        let was = old.iter().find(same).filter(|was| was.total != pages.total)?;
        let (size, now, before) = (rounded_size(pages.page_bytes), pages.total, was.total);
        Some(format!("NUMA node {}: {now} huge pages of {size}, were {before}", pages.node))
    };
    new.iter().filter_map(different).collect()
}

/// Of what is there in both: what is not there at all is said elsewhere.
fn allowed(before: &Survey, after: &Survey) -> Vec<String> {
    if is_text(before) || is_text(after) {
        return Vec::new();
    }
    let (old, new) = (&before.topology, &after.topology);
    let ids = |topology: &Topology| -> IdSet { topology.nodes.iter().map(|node| node.os_index).collect() };
    let (pus, nodes) = (old.online_pus().and(&new.online_pus()), ids(old).and(&ids(new)));
    let sets = [
        ("allowed PUs", old.allowed.pus.and(&pus), new.allowed.pus.and(&pus)),
        ("allowed NUMA nodes", old.allowed.nodes.and(&nodes), new.allowed.nodes.and(&nodes)),
    ];

    let different = |(noun, was, is): (&str, IdSet, IdSet)| {
        let ways = [(was.minus(&is), Change::Gone), (is.minus(&was), Change::New)]
            .into_iter()
            .filter(|(set, _)| !set.is_empty());
        ways.map(|(set, change)| format!("{noun} {set} {}", change.word())).collect::<Vec<_>>()
    };
    sets.into_iter().flat_map(different).collect()
}

/// The smallest limit on memory, where both descriptions say what a process had. The group that sets it has
/// the job's number in its name and is not compared.
fn memory_limit(old: &Survey, new: &Survey) -> Vec<String> {
    if old.process.is_none() || new.process.is_none() {
        return Vec::new();
    }
    let limit = |survey: &Survey| survey.topology.allowed.memory_limit().cloned();
    let bytes = |limit: &Option<MemoryLimit>| limit.as_ref().map(|limit| limit.bytes);
    let (was, is) = (limit(old), limit(new));
    let words = |limit: Option<MemoryLimit>| {
        let said = |limit: MemoryLimit| format!("{} ({})", rounded_size(limit.bytes), limit.source);
        limit.map_or_else(|| "none".to_owned(), said)
    };
    if bytes(&was) == bytes(&is) {
        return Vec::new();
    }
    vec![format!("memory limit: {}, was: {}", words(is), words(was))]
}

/// Settings that both descriptions have: one that another version did not look at is no change.
fn settings(old: &[Setting], new: &[Setting]) -> Vec<String> {
    let different = |setting: &Setting| {
        let was = old.iter().find(|was| was.name == setting.name)?;
        ((&was.seen, &was.state) != (&setting.seen, &setting.state))
            .then(|| format!("{}: {}; was: {}", setting.name, setting.seen, was.seen))
    };
    new.iter().filter_map(different).collect()
}

#[cfg(test)]
mod tests;
