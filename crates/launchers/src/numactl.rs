//! numactl's options: the PUs (`--physcpubind`, `--cpunodebind`) and the memory policy.
//!
//! numactl(8): without an option for PUs it binds to none. What it takes from the machine where it runs
//! (`netdev:`, `pci:`) is not known here.

use stats::IdSet;
use topo::Topology;
use topo::model::NodeKind;
use topo::process::PolicyMode;

use crate::error::LineError;
use crate::grammar::{Given, Grammar, Style};
use crate::process::Process;
use crate::unknown::is_unknown;
use crate::value::{ids, wrong};

const NUMACTL: Grammar = Grammar {
    tool: "numactl",
    style: Style::Getopt,
    letters: "abi:w:p:P:c:N:C:m:slHS:f:o:L:tM:dDI:uTVhv",
    names: "all balancing show localalloc hardware strict dump dump-nodes huge touch verify help version \
        interleave: weighted-interleave: preferred: preferred-many: cpubind: cpunodebind: physcpubind: \
        membind: shm: file: offset: length: shmmode: shmid:",
    is_open: false,
};

/// What numactl makes of the process; the words of its program.
///
/// # Errors
/// [`LineError`]: numactl would refuse its options, or they depend on the machine where it runs.
pub(crate) fn apply<'l>(process: &mut Process<'_>, words: &'l [&'l str]) -> Result<&'l [&'l str], LineError> {
    let (given, program) = NUMACTL.read(words)?;
    let all = given.iter().any(|one| matches!(one.name, "a" | "all"));
    let topology = process.topology;
    let allowed = if all { topology.allowed.cpuset() } else { topology.allowed.pus.clone() };
    let nodes = Nodes {
        topology,
        all: topology.nodes.iter().map(|node| node.os_index).collect(),
        allowed: topology.allowed.nodes.clone(),
    };
    let mut same = None;
    let mut bound = None;
    let mut policy = None;

    for one in &given {
        if is_unknown(one.value()) {
            let why = || format!("the value of numactl {} does not follow from the line", one.spelled());
            match one.name {
                "C" | "physcpubind" | "N" | "cpunodebind" | "c" | "cpubind" => bound = Some(Err(why())),
                _ => policy = Some(Err(why())),
            }
            continue;
        }
        let mut named = || nodes.named_by(one, &mut same);
        let mode = match one.name {
            "C" | "physcpubind" => {
                bound = Some(Ok(chosen(one, &allowed)?));
                continue;
            }
            "N" | "cpunodebind" | "c" | "cpubind" => {
                bound = Some(Ok(pus_of(process, one, &named()?, &allowed)?));
                continue;
            }
            "l" | "localalloc" => {
                policy = Some(Ok((PolicyMode::Local, IdSet::default())));
                continue;
            }
            "m" | "membind" => PolicyMode::Bind,
            "i" | "interleave" => PolicyMode::Interleave,
            "w" | "weighted-interleave" => PolicyMode::WeightedInterleave,
            "p" | "preferred" => PolicyMode::Preferred,
            "P" | "preferred-many" => PolicyMode::PreferredMany,
            "s" | "show" | "H" | "hardware" => {
                return Err(LineError::Wrong(format!("numactl {} starts no program", one.spelled())));
            }
            _ => continue,
        };
        policy = Some(Ok((mode, named()?)));
    }

    if let Some(bound) = bound {
        process.bind(bound);
    }
    if let Some(policy) = policy {
        process.policy = policy;
    }
    Ok(program)
}

/// The PUs of these nodes that may be used.
fn pus_of(
    process: &Process<'_>,
    option: &Given<'_>,
    nodes: &IdSet,
    allowed: &IdSet,
) -> Result<IdSet, LineError> {
    let home = |kind| matches!(kind, NodeKind::Normal | NodeKind::CpuOnly);
    let of = process.topology.nodes.iter().filter(|node| home(node.kind) && nodes.contains(node.os_index));
    let pus = IdSet::of_all(of.map(|node| &node.pus)).and(allowed);
    if pus.is_empty() {
        let wanted = "these nodes have no PUs that this job may use";
        return Err(wrong(&format!("numactl {}", option.spelled()), option.value(), wanted));
    }
    Ok(pus)
}

/// `all`, `0-3`, `+0-3` (among those that are allowed), `!0-3` (all others).
fn chosen(option: &Given<'_>, allowed: &IdSet) -> Result<IdSet, LineError> {
    let name = format!("numactl {}", option.spelled());
    let text = option.value();
    let (is_others, list) = text.strip_prefix('!').map_or((false, text), |list| (true, list));
    let named = match list.strip_prefix('+') {
        _ if list == "all" => allowed.clone(),
        None => ids(&name, list)?,
        Some(relative) => {
            let places = ids(&name, relative)?;
            let (own, most) = (allowed.iter().collect::<Vec<u32>>(), allowed.len());
            let at = |place: u32| own.get(place as usize).copied();
            let out_of = || {
                wrong(
                    &name,
                    text,
                    format!("{most} are allowed: write places from +0 to +{}", most.max(1) - 1),
                )
            };
            places.iter().map(at).collect::<Option<IdSet>>().ok_or_else(out_of)?
        }
    };
    let chosen = if is_others { allowed.minus(&named) } else { named };

    if chosen.is_empty() { Err(wrong(&name, text, "this leaves none")) } else { Ok(chosen) }
}

/// The nodes of the machine.
struct Nodes<'t> {
    topology: &'t Topology,
    all: IdSet,
    allowed: IdSet,
}

impl Nodes<'_> {
    fn named_by(&self, option: &Given<'_>, same: &mut Option<IdSet>) -> Result<IdSet, LineError> {
        let (name, value) = (format!("numactl {}", option.spelled()), option.value());
        if ["netdev:", "file:", "ip:", "block:", "pci:"].iter().any(|kind| value.contains(kind)) {
            let what = format!(
                "{name}={value} depends on the machine where numactl runs: write the number of the NUMA node"
            );
            return Err(LineError::NotSaid(what));
        }

        let nodes = match (value, same.take()) {
            ("same", Some(nodes)) => nodes,
            ("same", None) => return Err(wrong(&name, value, "no option before it names nodes")),
            _ => chosen(option, &self.allowed)?,
        };
        if !nodes.minus(&self.all).is_empty() {
            return Err(wrong(&name, value, format!("the NUMA nodes of this machine are {}", self.all)));
        }

        // libnuma counts nodes with memory alone (numa_parse_nodestring(3): numa_all_nodes_ptr).
        let is_without = |node: &u32| {
            self.topology
                .node(*node)
                .is_some_and(|node| matches!(node.kind, NodeKind::CpuOnly | NodeKind::Empty))
        };

        if let Some(without) = nodes.iter().find(is_without) {
            let some: IdSet = self.all.iter().filter(|node| !is_without(node)).collect();
            let what = format!(
                "numactl refuses NUMA node {without}, which has no memory; nodes with memory are {some}"
            );
            return Err(wrong(&name, value, what));
        }

        *same = Some(nodes.clone());
        Ok(nodes)
    }
}
