//! What a site's Slurm takes for a socket and for a CPU of a node: slurm.conf's line of it, or what `scontrol
//! show node` prints.
//!
//! slurm.conf(5), NODE CONFIGURATION: `Sockets=` (or `Boards=` × `SocketsPerBoard=`), `CoresPerSocket=`,
//! `ThreadsPerCore=`, `CPUs=` (`CPUTot=` of scontrol). A socket is whatever part of the machine there are as
//! many of: a package, or a NUMA node or an L3 where SlurmdParameters says so. A CPU is a core where `CPUs=`
//! is the number of cores, else a hardware thread. What scontrol prints has Slurm's version too.

use std::collections::BTreeMap;
use std::str::FromStr;

use stats::IdSet;
use stats::units::counted;
use topo::Topology;

use crate::conf_lines::{conf_lines, included, last_value};
use crate::error::LineError;
use crate::host_list;
use crate::objects::{JobMachine, Part};

/// What a file says of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmNodes {
    /// In order.
    nodes: Vec<SlurmNode>,
    /// What `TaskPluginParam=` binds tasks to; `None` where the file is no slurm.conf with `TaskPlugin=`.
    default_binding: Option<DefaultBinding>,
    /// Whether a step gets its whole node, by `SelectType=`; `None` where the file does not say it.
    gives_whole_nodes: Option<bool>,
    /// Whether tasks are laid out by blocks by default; `None` where the file does not say it.
    has_blocks: Option<bool>,
}

/// What tasks are bound to by `TaskPluginParam=` where their line does not say it (slurm.conf(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultBinding {
    /// `None`, `Cores`, `Sockets`, `Threads`: as `--cpu-bind` with this word.
    Always(Option<Part>),
    /// `autobind=…`: where Slurm finds no binding by itself.
    Otherwise(Option<Part>),
}

/// A node's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SlurmNode {
    names: Vec<String>,
    sockets: usize,
    cores: usize,
    threads_per_core: usize,
    cpus: usize,
    /// Cores that Slurm keeps from jobs (`CoreSpecCount=`, `CpuSpecList=`).
    kept: usize,
    /// Its Slurm's release, where scontrol prints it.
    release: Option<SlurmRelease>,
}

/// The year and the month of a release: `22.05`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SlurmRelease(u32, u32);

impl SlurmRelease {
    /// The last one that gives tasks GPUs as they are numbered.
    pub const V22_05: Self = Self(22, 5);
    /// The one behind it.
    pub const NEWER: Self = Self(23, 2);

    /// `24.05.8`.
    fn read(version: &str) -> Option<Self> {
        let (year, rest) = version.split_once('.')?;
        let month = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
        Some(Self(year.parse().ok()?, month.parse().ok()?))
    }
}

/// The text has no node's line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlurmNodesError {
    /// None at all.
    #[error(
        "no NodeName= with Sockets= and CoresPerSocket=: give slurm.conf, its line of the node, or what \
         `scontrol show node NAME` prints"
    )]
    None,
    /// A value that is no number, or no list of CPUs.
    #[error("{key}={value} is not a number from 1 to 1048576, or a list of CPUs where one belongs (0-3,8)")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
    },
}

/// A socket and a CPU of Slurm on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    /// What a socket is.
    pub socket: Part,
    /// What a CPU is: a core or a hardware thread.
    pub cpu: Part,
}

type Keys = BTreeMap<String, usize>;

const KEYS: [&str; 9] = [
    "sockets",
    "boards",
    "socketsperboard",
    "corespersocket",
    "threadspercore",
    "cpus",
    "cputot",
    "corespeccount",
    "cpuspeclist",
];

impl FromStr for SlurmNodes {
    type Err = SlurmNodesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text: String = conf_lines(text).map(|(_, line)| line + "\n").collect();
        let words = text.split_whitespace();
        // What a line leaves out is that of the last NodeName=DEFAULT before it (slurm.conf(5)).
        let (mut default, mut nodes, mut is_default) =
            (Keys::new(), Vec::<(Vec<String>, Keys, Option<SlurmRelease>)>::new(), false);

        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            let key = key.to_ascii_lowercase();
            if key == "nodename" {
                is_default = value.eq_ignore_ascii_case("default");
                if !is_default {
                    // A name that cannot be read is nobody's.
                    nodes.push((host_list::expand(value).unwrap_or_default(), default.clone(), None));
                }
            } else if let ("version", Some((.., release))) = (key.as_str(), nodes.last_mut()) {
                *release = SlurmRelease::read(value);
            } else if KEYS.contains(&key.as_str()) {
                let keys =
                    if is_default { Some(&mut default) } else { nodes.last_mut().map(|(_, keys, _)| keys) };
                let count = count(&key, value)?;
                keys.map(|keys| keys.insert(key, count));
            }
        }

        let nodes: Vec<SlurmNode> =
            nodes.into_iter().filter_map(|(names, keys, release)| of_keys(names, &keys, release)).collect();

        if nodes.is_empty() {
            Err(SlurmNodesError::None)
        } else {
            Ok(Self {
                nodes,
                default_binding: default_binding(&text),
                gives_whole_nodes: gives_whole_nodes(&text),
                has_blocks: has_blocks(&text),
            })
        }
    }
}

/// The last value of a key that has a line of its own, in lower case.
fn value(text: &str, key: &str) -> Option<String> {
    last_value(text, key).map(|value| value.to_ascii_lowercase())
}

/// Whether other files have more of it: what is not in this one may be in those.
fn includes_files(text: &str) -> bool {
    text.lines().any(|line| included(line).is_some())
}

/// Whether slurm.conf gives steps whole nodes: `select/linear` does, `select/cons_tres` and its kin do not.
fn gives_whole_nodes(text: &str) -> Option<bool> {
    match value(text, "selecttype")?.as_str() {
        "select/linear" => Some(true),
        kind if kind.starts_with("select/cons_") => Some(false),
        _ => None,
    }
}

/// Whether slurm.conf lays tasks out by blocks by default: not where it only leaves the parameter out. `None`
/// where files that it includes may have it.
fn has_blocks(text: &str) -> Option<bool> {
    let left_out = || value(text, "selecttype").filter(|_| !includes_files(text)).map(|_| String::new());
    let parameters = value(text, "selecttypeparameters").or_else(left_out)?;
    Some(parameters.split(',').any(|word| word.trim() == "cr_core_default_dist_block"))
}

/// What slurm.conf binds tasks to by default; `None` where it does not say what binds them, or a node or
/// partition has a default of its own, or may have one in a file that is included.
fn default_binding(text: &str) -> Option<DefaultBinding> {
    let binds = value(text, "taskplugin")?.contains("task/affinity");
    let has_own = text.split_whitespace().any(|word| word.to_ascii_lowercase().starts_with("cpubind="));
    if !binds || has_own || includes_files(text) {
        return None;
    }
    let parameter = value(text, "taskpluginparam").unwrap_or_default();
    let words = || parameter.split(',').map(str::trim);
    let part = |word: &str| match word {
        "threads" => Some(Some(Part::Thread)),
        "cores" => Some(Some(Part::Core)),
        "sockets" => Some(Some(Part::Package)),
        "none" => Some(None),
        _ => None,
    };

    let autobind = words().find_map(|word| part(word.strip_prefix("autobind=")?)).flatten();
    let always = words().find_map(part).map(DefaultBinding::Always);
    Some(always.unwrap_or(DefaultBinding::Otherwise(autobind)))
}

/// What a key counts; of a list of CPUs how many it has.
fn count(key: &str, value: &str) -> Result<usize, SlurmNodesError> {
    let is_kept = key.ends_with("speccount");
    let number = match key {
        "cpuspeclist" if value == "(null)" => Some(0),
        "cpuspeclist" => value.parse().ok().map(|cpus: IdSet| cpus.len()),
        _ => value.parse().ok().filter(|count| (1..=1 << 20).contains(count) || is_kept && *count == 0),
    };
    number.ok_or_else(|| SlurmNodesError::Value { key: key.to_owned(), value: stats::printable::name(value) })
}

/// `None` where the line leaves its sockets or cores to slurmd.
fn of_keys(names: Vec<String>, keys: &Keys, release: Option<SlurmRelease>) -> Option<SlurmNode> {
    let key = |name: &str| keys.get(name).copied();
    let per_board =
        key("socketsperboard").and_then(|sockets| sockets.checked_mul(key("boards").unwrap_or(1)));
    let sockets = key("sockets").or(per_board)?;
    let cores = sockets.checked_mul(key("corespersocket")?)?;
    let threads_per_core = key("threadspercore").unwrap_or(1);
    let cpus = key("cpus").or(key("cputot")).or(cores.checked_mul(threads_per_core))?;
    let listed = key("cpuspeclist").unwrap_or(0).div_ceil(threads_per_core);
    let kept = key("corespeccount").unwrap_or(0).max(listed);
    Some(SlurmNode { names, sockets, cores, threads_per_core, cpus, kept, release })
}

impl SlurmNode {
    /// Whether both count alike, whatever they are called.
    fn counts_as(&self, other: &Self) -> bool {
        let counts = |node: &Self| (node.sockets, node.cores, node.threads_per_core, node.cpus, node.kept);
        counts(self) == counts(other)
    }
}

impl SlurmNodes {
    /// What tasks are bound to where nothing says it; `None` where the file does not say that.
    pub(crate) fn default_binding(&self) -> Option<DefaultBinding> {
        self.default_binding
    }

    /// Whether a step gets its whole node.
    pub(crate) fn gives_whole_nodes(&self) -> Option<bool> {
        self.gives_whole_nodes
    }

    /// Whether tasks are laid out by blocks where `--distribution` does not say it.
    pub(crate) fn has_blocks(&self) -> Option<bool> {
        self.has_blocks
    }

    /// The nodes that may be this machine.
    fn fitting(&self, topology: &Topology) -> Vec<&SlurmNode> {
        let cores = topology.cores.len();
        let mut fitting: Vec<&SlurmNode> = self.nodes.iter().filter(|node| node.cores == cores).collect();
        let is_named = |node: &&SlurmNode| host_list::names(&node.names, topology.hostname.as_deref());
        if fitting.iter().any(is_named) {
            fitting.retain(is_named);
        }
        fitting
    }

    /// The release of this machine's Slurm; `None` where the file does not say it of one.
    pub(crate) fn release(&self, topology: &Topology) -> Option<SlurmRelease> {
        let mut releases = self.fitting(topology).into_iter().filter_map(|node| node.release);
        let first = releases.next()?;
        releases.all(|other| other == first).then_some(first)
    }

    /// What Slurm counts on this machine.
    ///
    /// # Errors
    /// [`LineError::Wrong`]: no node of the file has the machine's cores, or those that have them count
    /// differently; [`LineError::NotSaid`]: Slurm keeps cores for itself, and the machine's description does
    /// not show which.
    pub(crate) fn of_machine(&self, machine: &JobMachine<'_>) -> Result<Units, LineError> {
        let topology = machine.topology;
        let cores = topology.cores.len();
        let mut fitting = self.fitting(topology);
        fitting.dedup_by(|one, other| one.counts_as(other));
        let node = match fitting.as_slice() {
            [node] => *node,
            [] => {
                return Err(LineError::Wrong(format!(
                    "--slurm-conf has no node of {cores} cores (Sockets × CoresPerSocket), which the machine \
                     that is judged by has"
                )));
            }
            _ => {
                return Err(LineError::Wrong(format!(
                    "--slurm-conf has nodes of {cores} cores that differ: keep the line of one"
                )));
            }
        };

        let usable = machine.parts(Part::Core).len();

        if usable > node.cores.saturating_sub(node.kept) {
            return Err(LineError::NotSaid(format!(
                "Slurm keeps {} of the node from jobs (CoreSpecCount, CpuSpecList), and the machine that is \
                 judged by shows all as usable: save it within a job (numabench topo --save)",
                counted(node.kept, "core")
            )));
        }

        let whole = JobMachine::online(topology);
        let parts = [Part::Package, Part::Numa, Part::L3];
        let socket = parts.into_iter().find(|part| whole.parts(*part).len() == node.sockets);
        let socket = socket.ok_or_else(|| {
            let [packages, nodes, l3s] = parts.map(|part| whole.parts(part).len());
            LineError::Wrong(format!(
                "--slurm-conf has {} sockets, and the machine that is judged by {packages} packages, {nodes} \
                 NUMA nodes and {l3s} L3 caches",
                node.sockets
            ))
        })?;
        let counts_threads = node.threads_per_core > 1 && node.cpus > node.cores && whole.has_threads();
        Ok(Units { socket, cpu: if counts_threads { Part::Thread } else { Part::Core } })
    }
}

#[cfg(test)]
mod tests;
