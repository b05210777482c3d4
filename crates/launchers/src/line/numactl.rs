//! numactl's options: the PUs (`--physcpubind`, `--cpunodebind`) and the memory policy.
//!
//! numactl(8): without an option for PUs it binds to none. What it takes from the machine where it runs (`netdev:`, `pci:`) is not known here.

use ranks::Launcher;
use stats::IdSet;
use topo::model::NodeKind;
use topo::process::PolicyMode;

use super::grammar::{Given, Grammar, Style};
use super::value::{ids, wrong};
use super::{LineError, Said};

const NUMACTL: Grammar = Grammar {
    tool: "numactl",
    style: Style::Getopt,
    letters: "abi:w:p:P:c:N:C:m:slHS:f:o:L:tM:dDI:uTVhv",
    nothing: &[
        "all",
        "balancing",
        "show",
        "localalloc",
        "hardware",
        "strict",
        "dump",
        "dump-nodes",
        "huge",
        "touch",
        "verify",
        "help",
        "version",
    ],
    value: &[
        "interleave",
        "weighted-interleave",
        "preferred",
        "preferred-many",
        "cpubind",
        "cpunodebind",
        "physcpubind",
        "membind",
        "shm",
        "file",
        "offset",
        "length",
        "shmmode",
        "shmid",
    ],
    maybe: &[],
    two: &[],
    is_open: false,
};

impl Said<'_> {
    pub(super) fn numactl(&mut self, words: &[&str]) -> Result<(), LineError> {
        let (given, program) = NUMACTL.read(words)?;
        let all = given.iter().any(|one| matches!(one.name, "a" | "all"));
        let allowed = if all { self.cpuset() } else { self.topology.allowed.pus.clone() };
        let nodes = Nodes { all: self.nodes(), allowed: self.topology.allowed.nodes.clone() };
        let mut same = None;
        let mut bound = None;
        let mut policy = None;
        for one in &given {
            let mut named = || nodes.of(one, &mut same);
            match one.name {
                "C" | "physcpubind" => bound = Some(chosen(one, &allowed)?),
                "N" | "cpunodebind" | "c" | "cpubind" => bound = Some(self.pus_of(one, &named()?, &allowed)?),
                "m" | "membind" => policy = Some((PolicyMode::Bind, named()?)),
                "i" | "interleave" => policy = Some((PolicyMode::Interleave, named()?)),
                "w" | "weighted-interleave" => policy = Some((PolicyMode::WeightedInterleave, named()?)),
                "p" | "preferred" => policy = Some((PolicyMode::Preferred, named()?)),
                "P" | "preferred-many" => policy = Some((PolicyMode::PreferredMany, named()?)),
                "l" | "localalloc" => policy = Some((PolicyMode::Local, IdSet::default())),
                "s" | "show" | "H" | "hardware" => {
                    return Err(LineError::Wrong(format!("numactl {} starts no program", one.spelled())));
                }
                _ => {}
            }
        }
        match bound {
            Some(pus) => self.pus = Some(vec![pus]),
            // Nothing else can have bound it: the launcher's choice is another matter.
            None if self.launcher == Launcher::Nobody && self.pus.is_none() => self.unbound = true,
            None => {}
        }
        if let Some(policy) = policy {
            self.memory = vec![Some(policy)];
        }
        self.program(program)
    }

    fn nodes(&self) -> IdSet {
        self.topology.nodes.iter().map(|node| node.os_index).collect()
    }

    /// The PUs of these nodes that may be used.
    fn pus_of(&self, option: &Given<'_>, nodes: &IdSet, allowed: &IdSet) -> Result<IdSet, LineError> {
        let home = |kind| matches!(kind, NodeKind::Normal | NodeKind::CpuOnly);
        let of = self.topology.nodes.iter().filter(|node| home(node.kind) && nodes.contains(node.os_index));
        let pus = of.fold(IdSet::default(), |all, node| all.or(&node.pus)).and(allowed);
        if pus.is_empty() {
            let wanted = "these nodes have no PUs that this job may use";
            return Err(wrong(&format!("numactl {}", option.spelled()), option.value(), wanted));
        }
        Ok(pus)
    }
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
            let out_of =
                || wrong(&name, text, format!("{most} are allowed: write places from +0 to +{}", most.max(1) - 1));
            places.iter().map(at).collect::<Option<IdSet>>().ok_or_else(out_of)?
        }
    };
    let chosen = if is_others { allowed.minus(&named) } else { named };
    if chosen.is_empty() { Err(wrong(&name, text, "this leaves none")) } else { Ok(chosen) }
}

/// The nodes of the machine.
struct Nodes {
    all: IdSet,
    allowed: IdSet,
}

impl Nodes {
    fn of(&self, option: &Given<'_>, same: &mut Option<IdSet>) -> Result<IdSet, LineError> {
        let (name, value) = (format!("numactl {}", option.spelled()), option.value());
        if ["netdev:", "file:", "ip:", "block:", "pci:"].iter().any(|kind| value.contains(kind)) {
            let what =
                format!("{name}={value} depends on the machine where numactl runs: write the number of the NUMA node");
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
        *same = Some(nodes.clone());
        Ok(nodes)
    }
}
