//! numactl's options: the PUs (`--physcpubind`, `--cpunodebind`) and the memory policy.
//!
//! numactl(8): without an option for PUs it binds to none. What it takes from the machine where it runs
//! (`netdev:`, `pci:`) is not known here.

use stats::IdSet;
use topo::model::NumaNode;
use topo::process::PolicyMode;

use crate::error::LineError;
use crate::grammar::{Given, Grammar, Style};
use crate::process::Process;
use crate::unknown::is_unknown;
use crate::value::{decimal_or_hex, ids, wrong};

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
    let has_memory = |node: &&NumaNode| node.kind.has_memory();
    let nodes = Nodes {
        all: topology.nodes.iter().map(|node| node.os_index).collect(),
        memory: topology.nodes.iter().filter(has_memory).map(|node| node.os_index).collect(),
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
        let mode = match one.name {
            "C" | "physcpubind" => {
                bound = Some(Ok(chosen(one, &allowed)?));
                continue;
            }
            "N" | "cpunodebind" | "c" | "cpubind" => {
                bound = Some(Ok(pus_of(process, one, &nodes.named_by(one, &mut same)?, &allowed)?));
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
        let named = nodes.named_by(one, &mut same)?;
        policy = Some(Ok((mode, nodes.with_memory(one, &named)?)));
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
    let is_named = |node: &&NumaNode| node.kind.has_cpus() && nodes.contains(node.os_index);
    let of = process.topology.nodes.iter().filter(is_named);
    let pus = IdSet::of_all(of.map(|node| &node.pus)).and(allowed);
    if pus.is_empty() {
        let wanted = "these nodes have no PUs that this job may use";
        return Err(wrong(&format!("numactl {}", option.spelled()), option.value(), wanted));
    }
    Ok(pus)
}

/// CPUs: `all`, `0-3`, `+0-3` (among those that are allowed), `!0-3` (all others).
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
struct Nodes {
    all: IdSet,
    memory: IdSet,
    allowed: IdSet,
}

impl Nodes {
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
            _ => self.parsed(&name, value)?,
        };
        *same = Some(nodes.clone());
        Ok(nodes)
    }

    /// `all`, `0-3`, `+0-3`, `!0-3`, as libnuma reads them (`__numa_parse_nodestring`): `all`, places and the
    /// inside of a range are of nodes with memory alone.
    fn parsed(&self, name: &str, text: &str) -> Result<IdSet, LineError> {
        let (is_others, list) = text.strip_prefix('!').map_or((false, text), |list| (true, list));
        let usable = self.allowed.and(&self.memory);
        let mut named = IdSet::default();
        let (is_relative, list) = list.strip_prefix('+').map_or((false, list), |list| (true, list));
        for item in list.split(',') {
            if item == "all" {
                named = named.or(&usable);
                continue;
            }
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let end = |end: &str| match is_relative {
                true => Self::place(name, text, end, &usable),
                false => self.end(name, text, end),
            };
            let (first, last) = (end(first)?, end(last)?);
            named.0.insert(first);
            named.0.extend(self.memory.iter().filter(|node| (first..=last).contains(node)));
        }

        // What is turned round are the first numbers, as many as there are nodes with memory.
        let turned: IdSet = (0..self.memory.len() as u32).collect();
        let nodes = if is_others { turned.minus(&named).or(&named.minus(&turned)) } else { named };
        if nodes.is_empty() { Err(wrong(name, text, "this leaves none")) } else { Ok(nodes) }
    }

    /// A node by its number.
    fn end(&self, name: &str, text: &str, number: &str) -> Result<u32, LineError> {
        let node = index(name, text, number)?;
        match () {
            () if !self.all.contains(node) => {
                Err(wrong(name, text, format!("the NUMA nodes of this machine are {}", self.all)))
            }
            () if !self.memory.contains(node) => {
                let memory = &self.memory;
                let what = format!(
                    "numactl refuses NUMA node {node}, which has no memory; nodes with memory are {memory}"
                );
                Err(wrong(name, text, what))
            }
            () => Ok(node),
        }
    }

    /// A node by its place among those that may be used.
    fn place(name: &str, text: &str, place: &str, usable: &IdSet) -> Result<u32, LineError> {
        let most = usable.len();
        let wanted = || format!("{most} are allowed: write places from +0 to +{}", most.max(1) - 1);
        usable.iter().nth(index(name, text, place)? as usize).ok_or_else(|| wrong(name, text, wanted()))
    }

    /// Those of the nodes that memory may be on: the kernel leaves out the others.
    fn with_memory(&self, option: &Given<'_>, nodes: &IdSet) -> Result<IdSet, LineError> {
        let some = nodes.and(&self.memory);
        let why = || wrong(&format!("numactl {}", option.spelled()), option.value(), "this leaves none");
        if some.is_empty() { Err(why()) } else { Ok(some) }
    }
}

fn index(name: &str, text: &str, number: &str) -> Result<u32, LineError> {
    let index = decimal_or_hex(number).and_then(|index| u32::try_from(index).ok());
    index.ok_or_else(|| wrong(name, text, "write NUMA nodes: 0-3,8"))
}
