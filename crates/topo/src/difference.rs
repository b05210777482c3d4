//! What changed between two machines, or between two days of one, in words: `numabench topo diff`.
//!
//! Things are matched by what names them: nodes by OS index, GPUs by PCI address, PUs and cores by OS ids. Left out, because they
//! change without anything being different: free memory, the path and host a description came from, hwloc's version, a GPU's
//! PCIe generation now (idle links train down; the width and what the link can do are compared), and memory sizes by less
//! than [`MEMORY_STEP_PERCENT`].

use schemars::JsonSchema;
use serde::Serialize;
use stats::IdSet;
use stats::units::rounded_size;

use crate::huge_pages::HugePages;
use crate::model::{Core, Gpu, Link, NodeKind, NumaNode, Topology};
use crate::nics::Nic;
use crate::settings::Setting;
use crate::survey::Survey;

/// A node's memory must differ by this much to count, percent: another kernel reserves a little more or less, a DIMM that is gone
/// is at least one of the 24 or 32 that a socket has.
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
    let mut found = Found(Vec::new());
    packages(old, new, &mut found);
    cores(old, new, &mut found);
    l3s(old, new, &mut found);
    nodes(old, new, &mut found);
    distances(old, new, &mut found);
    gpus(old, new, &mut found);
    nics(&before.nics, &after.nics, &mut found);
    huge_pages(&before.huge_pages, &after.huge_pages, &mut found);
    allowed(old, new, &mut found);
    settings(&before.settings, &after.settings, &mut found);
    found.0
}

struct Found(Vec<Difference>);

impl Found {
    fn say(&mut self, what: DifferenceSubject, words: String) {
        self.0.push(Difference { what, words });
    }

    /// Ids that are gone and ids that are new, of something that is a set of ids.
    fn sets(&mut self, what: DifferenceSubject, noun: &str, old: &IdSet, new: &IdSet) {
        let (gone, added) = (old.minus(new), new.minus(old));
        if !gone.is_empty() {
            self.say(what, format!("{noun} {gone} gone"));
        }
        if !added.is_empty() {
            self.say(what, format!("{noun} {added} new"));
        }
    }
}

/// What is not known, in a sentence.
fn or_unknown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "not known".to_owned(), |value| value.to_string())
}

fn packages(old: &Topology, new: &Topology, found: &mut Found) {
    if old.packages.len() != new.packages.len() {
        found.say(DifferenceSubject::Package, format!("{} packages, were {}", new.packages.len(), old.packages.len()));
        return;
    }
    for (was, is) in old.packages.iter().zip(&new.packages) {
        if let (Some(was), Some(now)) = (&was.cpu_model, &is.cpu_model)
            && was != now
        {
            found.say(
                DifferenceSubject::Package,
                format!("package {}: CPU model {now}, was {was}", or_unknown(is.os_index)),
            );
        }
    }
}

fn online(topology: &Topology) -> IdSet {
    topology.cores.iter().fold(IdSet::default(), |all, core| all.or(&core.pus))
}

/// Cores that are there in both, with other threads, are SMT; PUs of no such core came or went with their cores.
fn cores(old: &Topology, new: &Topology, found: &mut Found) {
    let (was, is) = (online(old), online(new));
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
        found.say(DifferenceSubject::Core, format!("SMT {switched}: {now} PU(s) a core, were {before}; {change}"));
        return;
    }
    let mut one_way = |pus: &IdSet, cores: usize, change: &str| {
        let whole = if cores == 0 { String::new() } else { format!(", {cores} whole core(s) of them") };
        if !pus.is_empty() {
            found.say(DifferenceSubject::Core, format!("PUs {pus} {change}{whole}"));
        }
    };
    one_way(&gone, whole_gone, "gone or offline");
    one_way(&added, whole_added, "new or online again");
    let regrouped = |core: &&Core| {
        let of_first = core.pus.first().and_then(|pu| new.core_of(pu));
        of_first.is_some_and(|now| now.pus.and(&was) != core.pus.and(&is))
    };
    let regrouped: IdSet = old.cores.iter().filter(regrouped).filter_map(|core| core.pus.first()).collect();
    if !regrouped.is_empty() {
        found.say(DifferenceSubject::Core, format!("the cores of PUs {regrouped} have other PUs than before"));
    }
}

fn l3s(old: &Topology, new: &Topology, found: &mut Found) {
    if old.l3s.len() != new.l3s.len() {
        found.say(DifferenceSubject::L3, format!("{} L3 caches, were {}", new.l3s.len(), old.l3s.len()));
        return;
    }
    let both = online(old).and(&online(new));
    for (was, is) in old.l3s.iter().zip(&new.l3s) {
        if was.pus.and(&both) != is.pus.and(&both) {
            found.say(DifferenceSubject::L3, format!("an L3 is shared by PUs {}, was by {}", is.pus, was.pus));
        } else if was.size_bytes != is.size_bytes {
            let size = |bytes: Option<u64>| or_unknown(bytes.map(rounded_size));
            let (now, before) = (size(is.size_bytes), size(was.size_bytes));
            found.say(DifferenceSubject::L3, format!("the L3 of PUs {} has {now}, had {before}", is.pus));
        }
    }
}

fn kind(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Normal => "CPUs and memory",
        NodeKind::CpuOnly => "CPUs without memory",
        NodeKind::MemoryOnly => "memory without CPUs",
        NodeKind::GpuMemory => "a GPU's memory",
        NodeKind::Empty => "neither memory nor CPUs",
    }
}

fn nodes(old: &Topology, new: &Topology, found: &mut Found) {
    let both = online(old).and(&online(new));
    for node in old.nodes.iter().filter(|node| new.node(node.os_index).is_none()) {
        found.say(DifferenceSubject::Node, format!("NUMA node {} gone ({})", node.os_index, described(node)));
    }
    for node in &new.nodes {
        match old.node(node.os_index) {
            None => {
                found.say(DifferenceSubject::Node, format!("NUMA node {} new ({})", node.os_index, described(node)))
            }
            Some(was) => same_node(was, node, &both, found),
        }
    }
}

fn described(node: &NumaNode) -> String {
    format!("{}, {}", kind(node.kind), rounded_size(node.total_bytes))
}

fn same_node(was: &NumaNode, is: &NumaNode, both: &IdSet, found: &mut Found) {
    let id = is.os_index;
    if was.kind != is.kind {
        found.say(DifferenceSubject::Node, format!("NUMA node {id}: {}, was {}", kind(is.kind), kind(was.kind)));
    }
    let (before, now) = (was.total_bytes, is.total_bytes);
    let step = u128::from(before.max(now)) * u128::from(MEMORY_STEP_PERCENT);
    if u128::from(before.abs_diff(now)) * 100 >= step && before != now {
        let (change, by) = (if now < before { "less" } else { "more" }, rounded_size(before.abs_diff(now)));
        let (before, now) = (rounded_size(before), rounded_size(now));
        found.say(DifferenceSubject::Node, format!("NUMA node {id}: {now} of memory, was {before} ({by} {change})"));
    }
    // PUs that came or went are said once, with the cores: here only those that are there in both.
    let (before, now) = (was.pus.and(both), is.pus.and(both));
    let has_cpus = |node: &NumaNode| matches!(node.kind, NodeKind::Normal | NodeKind::CpuOnly);
    if has_cpus(was) && has_cpus(is) && before != now {
        found.say(DifferenceSubject::Node, format!("NUMA node {id} has PUs {}, had {}", is.pus, was.pus));
    }
}

fn distances(old: &Topology, new: &Topology, found: &mut Found) {
    match (&old.distances, &new.distances) {
        (Some(was), Some(is)) if was.nodes == is.nodes => {
            let mut changes = Vec::new();
            for (from, (was, is_row)) in is.nodes.iter().zip(was.rows.iter().zip(&is.rows)) {
                for (to, (before, now)) in is.nodes.iter().zip(was.iter().zip(is_row)).filter(|(_, (a, b))| a != b) {
                    changes.push(format!("distance from NUMA node {from} to {to}: {now}, was {before}"));
                }
            }
            let more = changes.len().saturating_sub(MOST_DISTANCES);
            changes.truncate(MOST_DISTANCES);
            if more > 0 {
                changes.push(format!("{more} more distances"));
            }
            changes.into_iter().for_each(|change| found.say(DifferenceSubject::Distances, change));
        }
        (Some(_), None) => found.say(DifferenceSubject::Distances, "the distances are not given any more".to_owned()),
        (None, Some(_)) => found.say(DifferenceSubject::Distances, "the distances are given now".to_owned()),
        // Other nodes are news of their own.
        (Some(_), Some(_)) | (None, None) => {}
    }
}

fn called(gpu: &Gpu) -> String {
    let name = gpu.name.value.clone();
    let name = name.unwrap_or_else(|| format!("PCI {:04x}:{:04x}", gpu.vendor_id, gpu.device_id));
    let part = gpu.partition.map_or_else(String::new, |part| format!(", partition {} of {}", part.number, part.of));
    format!("GPU {} ({name}{part})", gpu.pci)
}

fn gpus(old: &Topology, new: &Topology, found: &mut Found) {
    for gpu in old.gpus.iter().filter(|gpu| new.gpu_exactly_at(gpu.pci).is_none()) {
        found.say(DifferenceSubject::Gpu, format!("{} gone", called(gpu)));
    }
    for gpu in &new.gpus {
        match old.gpu_exactly_at(gpu.pci) {
            None => found.say(DifferenceSubject::Gpu, format!("{} new", called(gpu))),
            Some(was) => same_gpu(was, gpu, found),
        }
    }
}

fn same_gpu(was: &Gpu, is: &Gpu, found: &mut Found) {
    if (was.vendor_id, was.device_id) != (is.vendor_id, is.device_id) {
        found.say(DifferenceSubject::Gpu, format!("GPU {}: now {}, was {}", is.pci, called(is), called(was)));
        return;
    }
    let parts = |gpu: &Gpu| gpu.partition.map_or(1, |part| part.of);
    if parts(was) != parts(is) {
        found.say(DifferenceSubject::Gpu, format!("GPU {}: {} partitions, was {}", is.pci, parts(is), parts(was)));
    }
    if let (Some(before), Some(now)) = (&was.uuid, &is.uuid)
        && before != now
    {
        found.say(DifferenceSubject::Gpu, format!("{} is another one: UUID {now}, was {before}", called(is)));
    }
    if let (Some(before), Some(now)) = (&was.link, &is.link) {
        same_link(DifferenceSubject::Gpu, &called(is), before, now, found);
    }
    let (before, now) = (&was.locality, &is.locality);
    if before.rung != now.rung {
        found.say(
            DifferenceSubject::Gpu,
            format!("{}: its locality: {}; was: {}", called(is), now.reason, before.reason),
        );
    }
    let (local_before, local_now) = (before.nodes.or(&before.outside_nodes), now.nodes.or(&now.outside_nodes));
    if before.rung == now.rung && local_before != local_now {
        found.say(DifferenceSubject::Gpu, format!("{}: local NUMA nodes {local_now}, were {local_before}", called(is)));
    }
}

fn same_link(what: DifferenceSubject, device: &str, was: &Link, is: &Link, found: &mut Found) {
    let parts = [
        ("x", "", was.width, is.width),
        ("x", " at most", was.max_width, is.max_width),
        ("gen", " at most", was.max_generation, is.max_generation),
    ];
    for (unit, most, before, now) in parts {
        // What one description does not say is no change.
        if let (Some(before), Some(now)) = (before, now)
            && before != now
        {
            let change = if now < before { "downgraded" } else { "upgraded" };
            found.say(what, format!("{device}: PCIe link {change}: {unit}{now}{most}, was {unit}{before}{most}"));
        }
    }
}

fn nics(old: &[Nic], new: &[Nic], found: &mut Found) {
    let called = |nic: &Nic| match &nic.os_devices[..] {
        [] => format!("NIC {} (PCI {:04x}:{:04x})", nic.pci, nic.vendor_id, nic.device_id),
        names => format!("NIC {} ({})", nic.pci, names.join(", ")),
    };
    let at = |nics: &[Nic], nic: &Nic| nics.iter().position(|other| other.pci == nic.pci);
    for nic in old.iter().filter(|nic| at(new, nic).is_none()) {
        found.say(DifferenceSubject::Nic, format!("{} gone", called(nic)));
    }
    for nic in new {
        let Some(was) = at(old, nic).map(|at| &old[at]) else {
            found.say(DifferenceSubject::Nic, format!("{} new", called(nic)));
            continue;
        };
        if let (Some(before), Some(now)) = (&was.link, &nic.link) {
            same_link(DifferenceSubject::Nic, &called(nic), before, now, found);
        }
    }
}

fn huge_pages(old: &[HugePages], new: &[HugePages], found: &mut Found) {
    for pages in new {
        let same = |was: &&HugePages| (was.node, was.page_bytes) == (pages.node, pages.page_bytes);
        // A size that one description does not list is no change.
        if let Some(was) = old.iter().find(same).filter(|was| was.total != pages.total) {
            let (size, now, before) = (rounded_size(pages.page_bytes), pages.total, was.total);
            found.say(
                DifferenceSubject::HugePages,
                format!("NUMA node {}: {now} huge pages of {size}, were {before}", pages.node),
            );
        }
    }
}

fn allowed(old: &Topology, new: &Topology, found: &mut Found) {
    // What is not there at all was said above.
    let (pus, ids) = (online(old).and(&online(new)), |topology: &Topology| -> IdSet {
        topology.nodes.iter().map(|node| node.os_index).collect()
    });
    let nodes = ids(old).and(&ids(new));
    found.sets(DifferenceSubject::Allowed, "allowed PUs", &old.allowed.pus.and(&pus), &new.allowed.pus.and(&pus));
    found.sets(
        DifferenceSubject::Allowed,
        "allowed NUMA nodes",
        &old.allowed.nodes.and(&nodes),
        &new.allowed.nodes.and(&nodes),
    );
}

/// Settings that both descriptions have: one that another version did not look at is no change.
fn settings(old: &[Setting], new: &[Setting], found: &mut Found) {
    for setting in new {
        let same = |was: &&Setting| was.name == setting.name;
        if let Some(was) = old.iter().find(same).filter(|was| was.seen != setting.seen || was.state != setting.state) {
            found.say(DifferenceSubject::Setting, format!("{}: {}; was: {}", setting.name, setting.seen, was.seen));
        }
    }
}

#[cfg(test)]
mod tests;
