//! numactl's options: the PUs (`--physcpubind`, `--cpunodebind`) and the memory policy.
//!
//! numactl(8): without an option for PUs it binds to none. What it takes from the machine where it runs
//! (`netdev:`, `pci:`) is not known here.

use stats::IdSet;
use topo::model::NumaNode;
use topo::process::PolicyMode;

use crate::error::LineError;
use crate::grammar::{Given, Grammar, Style, is_among};
use crate::process::{Known, Process};
use crate::unknown::is_unknown;
use crate::value::wrong;

const NUMACTL: Grammar = Grammar {
    tool: "numactl",
    style: Style::Getopt,
    letters: "abi:w:p:P:c:N:C:m:slHS:f:o:L:tM:dDI:uTVhv",
    names: "all balancing show localalloc hardware strict dump dump-nodes huge touch verify help version \
        cpu-compress interleave: weighted-interleave: preferred: preferred-many: cpubind: cpunodebind: \
        physcpubind: membind: shm: file: offset: length: shmmode: shmid:",
    is_open: false,
};

/// What numactl makes of the process; the words of its program.
///
/// # Errors
/// [`LineError`]: numactl would refuse its options, or they depend on the machine where it runs.
pub(crate) fn apply<'l>(process: &mut Process<'_>, words: &'l [&'l str]) -> Result<&'l [&'l str], LineError> {
    let (given, program) = NUMACTL.read(words)?;
    let topology = process.topology;
    let has_memory = |node: &&NumaNode| node.kind.has_memory();
    let mut nodes = Nodes {
        all: topology.nodes.iter().map(|node| node.os_index).collect(),
        memory: topology.nodes.iter().filter(has_memory).map(|node| node.os_index).collect(),
        allowed: topology.allowed.nodes.clone(),
        is_all: false,
    };
    let mut names_places = false;
    let mut same = None;
    let mut bound = None;
    let mut policy = None;

    for one in &given {
        let mode = mode(one.name);
        check_order(one, names_places, mode.is_some(), policy.is_some())?;
        let is_of_pus = is_among("C physcpubind N cpunodebind c cpubind", one.name);
        names_places |= is_of_pus || mode.is_some_and(|mode| mode != PolicyMode::Local);

        match (one.name, mode) {
            _ if is_unknown(one.value()) => {
                let why = format!("the value of numactl {} does not follow from the line", one.spelled());
                if is_of_pus {
                    bound = Some(Err(why));
                } else if mode.is_some() {
                    policy = Some(Err(why));
                }
            }
            ("a" | "all", _) => nodes.is_all = true,
            ("C" | "physcpubind", _) => bound = Some(chosen(process, one, nodes.is_all)?),
            (_, None) if is_of_pus => {
                bound = Some(Ok(pus_of(process, one, &nodes.named_by(one, &mut same)?)?));
            }
            (_, Some(PolicyMode::Local)) => policy = Some(Ok((PolicyMode::Local, IdSet::default()))),
            (_, Some(mode)) => {
                let named = nodes.named_by(one, &mut same)?;
                policy = Some(Ok((mode, nodes.with_memory(one, mode, &named)?)));
            }
            _ => {}
        }
    }

    if let Some(bound) = bound {
        process.bind(bound);
    }
    if let Some(policy) = policy {
        process.policy = policy;
    }
    Ok(program)
}

/// The memory policy of an option; `None` for one that has none.
fn mode(option: &str) -> Option<PolicyMode> {
    Some(match option {
        "l" | "localalloc" => PolicyMode::Local,
        "m" | "membind" => PolicyMode::Bind,
        "i" | "interleave" => PolicyMode::Interleave,
        "w" | "weighted-interleave" => PolicyMode::WeightedInterleave,
        "p" | "preferred" => PolicyMode::Preferred,
        "P" | "preferred-many" => PolicyMode::PreferredMany,
        _ => return None,
    })
}

/// Whether numactl takes the option behind those before it (numactl.c: `setpolicy`, `nopolicy`,
/// `check_all_parse`, `noshm`).
///
/// # Errors
/// [`LineError::Wrong`]: it does not, or starts no program with it.
fn check_order(
    option: &Given<'_>,
    is_behind_places: bool,
    is_policy: bool,
    is_behind_policy: bool,
) -> Result<(), LineError> {
    let name = option.spelled();
    let why = match option.name {
        _ if is_policy && is_behind_policy => {
            format!("numactl refuses a second memory policy, {name} (\"Conflicting policies\"): leave one")
        }
        "a" | "all" if is_behind_places => {
            format!("numactl refuses {name} behind options that name CPUs or nodes: write it first")
        }
        "b" | "balancing" if is_behind_policy => {
            format!("numactl refuses {name} behind a memory policy: write it first")
        }
        known if is_among(STARTING_NONE, known) => format!("numactl {name} starts no program"),
        _ => return Ok(()),
    };

    Err(LineError::Wrong(why))
}

/// Options that print, or are of shared memory.
const STARTING_NONE: &str = "s show H hardware h help v version S shm f file o offset L length M shmmode \
    u huge T touch V verify d dump D dump-nodes";

/// The PUs of these nodes that the kernel lets the process run on: those of the cpuset, whatever numactl is
/// bound to.
fn pus_of(process: &Process<'_>, option: &Given<'_>, nodes: &IdSet) -> Result<IdSet, LineError> {
    let is_named = |node: &&NumaNode| node.kind.has_cpus() && nodes.contains(node.os_index);
    let of = process.topology.nodes.iter().filter(is_named);
    let pus = IdSet::of_all(of.map(|node| &node.pus)).and(&process.topology.allowed.cpuset());
    if pus.is_empty() {
        let wanted = "these nodes have no PUs that this job may use";
        return Err(wrong(&format!("numactl {}", option.spelled()), option.value(), wanted));
    }
    Ok(pus)
}

/// The CPUs of `--physcpubind`, counted along the affinity that numactl is started with (`numa_all_cpus_ptr`;
/// tried with 2.0.16), behind `--all` along all of the machine. The kernel leaves out those beyond the
/// cpuset, which `!` may name.
fn chosen(process: &Process<'_>, option: &Given<'_>, is_all: bool) -> Result<Known<IdSet>, LineError> {
    let (name, text) = (format!("numactl {}", option.spelled()), option.value());
    let all: IdSet = process.topology.pus.iter().map(|pu| pu.os_index).collect();
    let usable = match &process.pus {
        _ if is_all => &all,
        Ok(pus) => pus,
        Err(why) => return Ok(Err(format!("{name} takes only PUs that numactl is started on: {why}"))),
    };

    let named = listed(text, usable, &all).map_err(|refusal| {
        let wanted = match refusal {
            Refusal::Unreadable => "write CPUs as numactl reads them: 0-3,8".to_owned(),
            Refusal::NoPlace => places(usable),
            Refusal::NotUsable => format!(
                "numactl refuses PUs other than those that it is started on, which are {usable}: leave out \
                 the binding before it, or write numactl --all {}",
                option.spelled()
            ),
        };
        wrong(&name, text, wanted)
    })?;
    let chosen = named.and(&process.topology.allowed.cpuset());
    if chosen.is_empty() { Err(wrong(&name, text, "this leaves none")) } else { Ok(Ok(chosen)) }
}

/// Why numactl refuses a list.
enum Refusal {
    /// It is no list.
    Unreadable,
    /// A place lies beyond those that may be named.
    NoPlace,
    /// This number may not be named.
    NotUsable,
}

/// `all`, `0-3`, `+0-3` (places among what is usable), `!0-3` (of `turned` the others), as libnuma reads CPUs
/// and nodes (`__numa_parse_cpustring`, `__numa_parse_nodestring`): both ends of a range are usable, what
/// lies between them need not be, and `all` stands last.
fn listed(text: &str, usable: &IdSet, turned: &IdSet) -> Result<IdSet, Refusal> {
    let (is_others, list) = text.strip_prefix('!').map_or((false, text), |list| (true, list));
    let (is_relative, list) = list.strip_prefix('+').map_or((false, list), |list| (true, list));
    let end = |number: &str| {
        let number = as_strtoul(number).ok_or(Refusal::Unreadable)?;
        match is_relative {
            true => usable.iter().nth(number as usize).ok_or(Refusal::NoPlace),
            false => Some(number).filter(|id| usable.contains(*id)).ok_or(Refusal::NotUsable),
        }
    };

    let mut named = IdSet::default();
    let mut items = list.split(',').peekable();
    while let Some(item) = items.next() {
        if item == "all" && items.peek().is_none() {
            named = usable.clone();
            break;
        }
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last) = (end(first)?, end(last)?);
        named.0.insert(first);
        named.0.extend(usable.iter().filter(|id| (first..=last).contains(id)));
    }
    Ok(if is_others { turned.minus(&named).or(&named.minus(turned)) } else { named })
}

/// A number as strtoul(3) reads it with base 0, up to the end of the text.
fn as_strtoul(text: &str) -> Option<u32> {
    let text = text.trim_start();
    let text = text.strip_prefix('+').unwrap_or(text);
    let (digits, base) = match (text.strip_prefix("0x").or(text.strip_prefix("0X")), text.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ => (text, 10),
    };
    u32::from_str_radix(digits, base).ok().filter(|_| !digits.starts_with('+'))
}

/// Which places may be named.
fn places(usable: &IdSet) -> String {
    let most = usable.len();
    format!("{most} are allowed: write places from +0 to +{}", most.max(1) - 1)
}

/// The nodes of the machine.
struct Nodes {
    all: IdSet,
    memory: IdSet,
    allowed: IdSet,
    /// Whether all may be named: behind `--all`.
    is_all: bool,
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

    /// A list of nodes: `all`, places and the inside of a range are of nodes with memory alone.
    fn parsed(&self, name: &str, text: &str) -> Result<IdSet, LineError> {
        let usable = if self.is_all { self.all.clone() } else { self.allowed.and(&self.memory) };
        // What is turned round are the first numbers, as many as there are nodes with memory.
        let turned: IdSet = (0..self.memory.len() as u32).collect();
        let nodes = listed(text, &usable, &turned).map_err(|refusal| {
            let wanted = match refusal {
                Refusal::Unreadable => "write NUMA nodes: 0-3,8".to_owned(),
                Refusal::NoPlace => places(&usable),
                Refusal::NotUsable => self.not_usable(text, &usable),
            };
            wrong(name, text, wanted)
        })?;
        if nodes.is_empty() { Err(wrong(name, text, "this leaves none")) } else { Ok(nodes) }
    }

    /// Why a number of this list may not be named.
    fn not_usable(&self, text: &str, usable: &IdSet) -> String {
        let memory = &self.memory;
        let numbers = text.split(['!', ',', '-']).filter_map(as_strtoul);
        match numbers.into_iter().find(|node| !usable.contains(*node)) {
            Some(node) if self.all.contains(node) && memory.contains(node) => {
                format!("this job may not use NUMA node {node}; those that it may use are {usable}")
            }
            Some(node) if self.all.contains(node) => format!(
                "numactl refuses NUMA node {node}, which has no memory; nodes with memory are {memory}"
            ),
            _ => format!("the NUMA nodes of this machine are {}", self.all),
        }
    }

    /// Those of the nodes that memory may be on: the kernel leaves out the others.
    fn with_memory(&self, option: &Given<'_>, mode: PolicyMode, nodes: &IdSet) -> Result<IdSet, LineError> {
        let name = format!("numactl {}", option.spelled());
        if mode == PolicyMode::Preferred && nodes.len() != 1 {
            return Err(wrong(&name, option.value(), "write one node, or --preferred-many"));
        }
        let some = nodes.and(&self.memory).and(&self.allowed);
        if some.is_empty() { Err(wrong(&name, option.value(), "this leaves none")) } else { Ok(some) }
    }
}
