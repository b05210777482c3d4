//! Whether the ranks of a node are well placed: a topology and what was observed become a [`Judgement`].
//!
//! Three answers, and the middle one must be earned:
//!
//! * **misplaced** only for what is certain and could be otherwise here: every PU of a rank is outside its
//!   GPU's NUMA domain while it could be inside with the same ranks on as many cores each; a launch line
//!   gives it PUs that the job may not use; a rank with GPUs of one domain may run both in it and outside
//!   (nothing binds it); a GPU that it asks for is not there; ranks have fewer PUs, or fewer cores, between
//!   them than they are, while others are free; a memory policy names no node that is local to the rank; most
//!   of the memory of a rank lies on nodes that are not; ranks share a GPU while no rank uses another one;
//! * **unknown** where what decides cannot be seen: PUs, GPUs or a GPU's locality are not known; a rank sees
//!   GPUs of several domains, of which its program chooses; it has no GPU and may run on several nodes;
//!   nothing in the pool is near its GPU, or other ranks have all that is, so that it is far and cannot be
//!   nearer (a rank of several GPUs: to none of them);
//! * **well placed** otherwise. That says that the rank is where the platform calls near, not that it is
//!   fastest there: a measurement says that.
//!
//! The rest is remarks, which decide nothing: a GPU that the user may not open, several GPUs that ranks
//! see alike (which of them each uses, its program decides), a nearer L3, sets that overlap without need,
//! reserved cores, GPU-to-GPU IPC that a cgroup cuts. `near` judges a rank's PUs and GPUs, `room` whether
//! it could be nearer beside the other ranks, `memory` its memory, `apart` whether ranks share PUs or
//! cores, `devices` whether they share GPUs. Left out: what a program does with several GPUs, caches other
//! than L3, and network adapters.

mod apart;
mod by_gpu;
mod devices;
mod memory;
mod near;
mod room;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use stats::{IdSet, PciAddress};
use topo::model::Topology;
use topo::process::PolicyMode;
use topo::visibility::Visible;

use crate::Closeness;

pub use devices::Ipc;
pub use memory::{Elsewhere, mostly_elsewhere};

/// A rank as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// What sentences call it: `rank 3`.
    pub name: String,
    /// The PUs that it may run on; or why they are not known.
    pub pus: Result<IdSet, String>,
    /// Its memory policy; or why it is not known.
    pub policy: Result<PolicyMode, String>,
    /// The nodes that the policy names.
    pub policy_nodes: IdSet,
    /// The nodes that it may allocate on; `None` where that is not known.
    pub memory_nodes: Option<IdSet>,
    /// Bytes of its memory by node; empty where that is not known.
    pub pages: BTreeMap<u32, u64>,
    /// The GPUs that it can use; or why they are not known.
    pub gpus: Result<Vec<Visible>, String>,
    /// What it asks for by a variable or an option and is not there, in words.
    pub absent: Option<String>,
    /// GPUs that are here and that its user may not open, in words with the reason.
    pub closed: Option<String>,
    /// GPUs that a device cgroup refuses it; `None` where that is not known.
    pub refused: Option<Vec<PciAddress>>,
    /// PUs that it names and the job may not use: of a launch line that is not run. A rank that runs has what
    /// it has.
    pub denied: IdSet,
}

/// What the ranks could have had between them: the step's, or the machine's where nothing confines them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobResources {
    /// PUs.
    pub pus: IdSet,
    /// GPUs.
    pub gpus: Vec<PciAddress>,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlacementVerdict {
    /// Nothing is against it, and all that decides was seen.
    Well,
    /// What decides cannot be seen, or cannot be better here.
    Unknown,
    /// Certainly not as it could be.
    Misplaced,
}

impl PlacementVerdict {
    /// As documents and tables name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Well => "well placed",
            Self::Unknown => "unknown",
            Self::Misplaced => "misplaced",
        }
    }
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// A rank's PUs, or what it may allocate on, are not known, or are not this machine's.
    NotSeen,
    /// A launch line gives a rank PUs that the job may not use.
    PusDenied,
    /// All PUs of a rank are outside its GPU's domain.
    FarFromGpu,
    /// A GPU that a rank is to use is not there.
    GpuAbsent,
    /// A GPU is there that a rank's user may not open.
    GpuClosed,
    /// A rank may run inside and outside of its GPU's domain.
    NotBound,
    /// A rank's GPUs are not known, are of several domains, or are several that other ranks see too.
    GpuNotKnown,
    /// Where a rank's GPU is, nobody says.
    LocalityNotKnown,
    /// A rank without a GPU may run on several nodes.
    SpansNodes,
    /// A PU that shares the GPU's L3 is in the pool, and a rank has none.
    NearerL3,
    /// Memory may only be, or is first, allocated on nodes that are not local.
    MemoryElsewhere,
    /// Most of a rank's memory is on nodes that are not local.
    PagesElsewhere,
    /// Ranks run on the same PUs.
    SharedPus,
    /// Ranks run on the same cores, as siblings.
    SharedCores,
    /// Ranks use one GPU.
    SharedGpu,
    /// A rank may run on cores that the site keeps from jobs.
    ReservedCores,
    /// Device cgroups cut IPC between ranks' GPUs.
    IpcCut,
}

impl FindingKind {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotSeen => "not-seen",
            Self::PusDenied => "pus-denied",
            Self::FarFromGpu => "far-from-gpu",
            Self::GpuAbsent => "gpu-absent",
            Self::GpuClosed => "gpu-closed",
            Self::NotBound => "not-bound",
            Self::GpuNotKnown => "gpu-not-known",
            Self::LocalityNotKnown => "locality-not-known",
            Self::SpansNodes => "spans-nodes",
            Self::NearerL3 => "nearer-l3",
            Self::MemoryElsewhere => "memory-elsewhere",
            Self::PagesElsewhere => "pages-elsewhere",
            Self::SharedPus => "shared-pus",
            Self::SharedCores => "shared-cores",
            Self::SharedGpu => "shared-gpu",
            Self::ReservedCores => "reserved-cores",
            Self::IpcCut => "ipc-cut",
        }
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// What it makes of the ranks; [`PlacementVerdict::Well`] for a remark.
    pub weight: PlacementVerdict,
    /// The ranks it is about, by their place in what was given.
    pub ranks: Vec<usize>,
    /// In words.
    pub text: String,
}

/// What is said of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankJudgement {
    /// Whether it is well placed.
    pub placed: PlacementVerdict,
    /// The NUMA nodes that its PUs belong to.
    pub nodes: IdSet,
    /// How close its PUs are to its GPUs: the farthest pair; `None` without a GPU, or where one of both is
    /// not known.
    pub closeness: Option<Closeness>,
    /// Why so close.
    pub why: String,
}

/// What is said of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Whether all are well placed.
    pub placed: PlacementVerdict,
    /// Of each rank.
    pub ranks: Vec<RankJudgement>,
    /// The worst first.
    pub findings: Vec<Finding>,
    /// Whether the ranks' GPUs can reach one another's memory.
    pub ipc: Ipc,
}

impl Judgement {
    /// Whether ranks see the same GPUs, each of them near, and which of these each uses is not seen.
    pub fn leaves_gpus_to_programs(&self) -> bool {
        let is_left = |found: &Finding| {
            found.kind == FindingKind::GpuNotKnown && found.weight == PlacementVerdict::Well
        };
        self.findings.iter().any(is_left)
    }
}

/// Judges the ranks of a node together.
pub fn judge(topology: &Topology, pool: &JobResources, ranks: &[Observed]) -> Judgement {
    let mut findings = Vec::new();
    let mut judged = Vec::new();
    let by_gpu = by_gpu::ByGpu::of(topology, ranks);
    let room = room::Room::of(topology, pool, ranks, &by_gpu);
    let among = near::Among { topology, pool, by_gpu: &by_gpu, room: &room };
    let reserved = reserved(topology);

    for (number, rank) in ranks.iter().enumerate() {
        let (own, found) = near::near(&among, number, rank);
        let found = found
            .into_iter()
            .chain(memory::memory(topology, rank))
            .chain(denied(topology, rank, &reserved))
            .chain(on_reserved(rank, &reserved))
            .chain(absent(rank))
            .chain(closed(rank));
        findings.extend(found.map(|(kind, weight, text)| Finding {
            kind,
            weight,
            ranks: vec![number],
            text,
        }));
        judged.push(own);
    }

    findings = nowhere(findings, &judged);
    findings.extend(apart::apart(topology, pool, ranks));
    findings.extend(devices::shared(topology, pool, ranks));
    let is_open = |found: &&Finding| found.kind == FindingKind::GpuNotKnown;
    let open = findings.iter().filter(is_open).flat_map(|found| found.ranks.clone()).collect();
    findings.extend(devices::undecided(ranks, &open));
    let ipc = devices::ipc(ranks);
    findings.extend(ipc.finding(ranks));

    for finding in &findings {
        for rank in &finding.ranks {
            judged[*rank].placed = judged[*rank].placed.max(finding.weight);
        }
    }

    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.weight), finding.kind));
    let placed = findings.iter().map(|finding| finding.weight).max().unwrap_or(PlacementVerdict::Well);
    Judgement { placed, ranks: judged, findings, ipc }
}

/// GPUs that nobody knows the place of, said once for each reason: on a virtual machine it is the same for
/// all ranks.
fn nowhere(findings: Vec<Finding>, judged: &[RankJudgement]) -> Vec<Finding> {
    let (unknown, mut rest): (Vec<Finding>, Vec<Finding>) =
        findings.into_iter().partition(|finding| finding.kind == FindingKind::LocalityNotKnown);
    let mut by_reason: BTreeMap<&str, (Vec<usize>, Vec<String>)> = BTreeMap::new();
    for Finding { ranks, text, .. } in unknown {
        for rank in ranks {
            let (of, words) = by_reason.entry(&judged[rank].why).or_default();
            of.push(rank);
            words.push(text.clone());
        }
    }
    rest.extend(by_reason.into_iter().map(|(why, (ranks, words))| {
        let text = format!("{}: locality unknown ({why})", words.join(", "));
        Finding { kind: FindingKind::LocalityNotKnown, weight: PlacementVerdict::Unknown, ranks, text }
    }));
    rest
}

/// A finding on one rank.
type Found = (FindingKind, PlacementVerdict, String);

/// A GPU that is asked for and is not there: the program finds none, or another.
fn absent(rank: &Observed) -> Option<Found> {
    let what = rank.absent.as_ref()?;
    Some((
        FindingKind::GpuAbsent,
        PlacementVerdict::Misplaced,
        format!("{} asks for a GPU that is not there: {what}", rank.name),
    ))
}

/// A GPU that is there and may not be opened: the program will say that there is none.
fn closed(rank: &Observed) -> Option<Found> {
    let which = rank.closed.as_ref()?;
    Some((FindingKind::GpuClosed, PlacementVerdict::Well, format!("{} cannot open {which}", rank.name)))
}

/// The PUs of cores that the site keeps from jobs, as far as the cpuset of the process that read the machine
/// shows it.
fn reserved(topology: &Topology) -> IdSet {
    let mut unbound = topology.clone();
    unbound.allowed.pus = topology.allowed.cpuset();
    IdSet::of_all(unbound.reserved_cores().iter().map(|core| &core.pus))
}

/// PUs that a line names in vain: the launcher refuses it, or the rank runs elsewhere.
fn denied(topology: &Topology, rank: &Observed, reserved: &IdSet) -> Option<Found> {
    let denied = &rank.denied;
    let here: IdSet = topology.pus.iter().map(|pu| pu.os_index).collect();
    let why = if !denied.minus(&here).is_empty() {
        "which this machine does not have"
    } else if denied.is_subset(reserved) {
        "which this site keeps from jobs (as many in every L3)"
    } else {
        "which this job may not use"
    };
    let text = format!("the line gives {} {}, {why}", rank.name, pus_in_words(denied));
    (!denied.is_empty()).then_some((FindingKind::PusDenied, PlacementVerdict::Misplaced, text))
}

/// A rank that may run on reserved cores all the same.
fn on_reserved(rank: &Observed, reserved: &IdSet) -> Option<Found> {
    let used = rank.pus.as_ref().ok()?.and(reserved).minus(&rank.denied);
    let text = format!(
        "{} may run on {}, which this site keeps from jobs (as many in every L3)",
        rank.name,
        pus_in_words(&used)
    );
    (!used.is_empty()).then_some((FindingKind::ReservedCores, PlacementVerdict::Well, text))
}

/// The nodes with CPUs that these PUs belong to.
fn homes(topology: &Topology, pus: &IdSet) -> IdSet {
    let nodes = topology.nodes.iter().filter(|node| node.kind.has_cpus() && !node.pus.and(pus).is_empty());
    nodes.map(|node| node.os_index).collect()
}

/// `PU 3`, `PUs 0-3`.
fn pus_in_words(pus: &IdSet) -> String {
    format!("{} {pus}", if pus.len() == 1 { "PU" } else { "PUs" })
}

/// `node 3`, `nodes 0-3`.
fn nodes_in_words(nodes: &IdSet) -> String {
    format!("{} {nodes}", if nodes.len() == 1 { "node" } else { "nodes" })
}

/// `GPU 3 at 0000:c1:00.0`.
fn gpu_in_words(topology: &Topology, device: &Visible) -> String {
    let part = device.part.as_ref().map(|part| format!(", part {part}")).unwrap_or_default();
    match device.pci.map(|pci| (pci, topology.gpu_at(pci))) {
        Some((pci, Some(gpu))) => format!("GPU {} at {pci}{part}", gpu.index),
        Some((pci, None)) => format!("the GPU at {pci}{part}"),
        None => device.part.clone().unwrap_or_default(),
    }
}

/// `ranks 0-2,5`; `process 12 (a.out) and process 17 (b.out)` where they are not all called by numbers of
/// ranks.
fn names(ranks: &[Observed], which: &[usize]) -> String {
    let names: Vec<&str> = which.iter().map(|rank| ranks[*rank].name.as_str()).collect();
    let number = |name: &&str| name.strip_prefix("rank ")?.parse::<u32>().ok();
    if let (2.., Some(numbers)) = (names.len(), names.iter().map(number).collect::<Option<IdSet>>()) {
        return format!("ranks {numbers}");
    }
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}
