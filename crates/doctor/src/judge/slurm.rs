//! What Slurm's configuration says of this node, against its topology.

use std::str::FromStr;

use launchers::gres_conf::{
    AutoDetect, GresConf, GresGpu, core_numbers, file_number, near_pus, pus_of_cores,
};
use launchers::node_gres::socket;
use report::doctor::{Check, Part};
use stats::IdSet;
use stats::units::counted;
use topo::model::{Gpu, Topology};

use super::probe::{Probe, listed};
use crate::facts::SystemFacts;
use crate::facts::slurm::{Slurm, SlurmFile};

const GRES: Probe = Probe {
    name: "slurm.gres-cores",
    part: Part::Slurm,
    why: "Slurm gives a job the cores that Cores= names for its GPU: wrong ones are far from it, none at all \
        are anywhere",
    source: "gres.conf(5), Cores",
};

const BINDING: Probe = Probe {
    name: "slurm.binding",
    part: Part::Slurm,
    why: "without a task plugin that binds, --cpu-bind and --mem-bind do nothing and ranks wander",
    source: "slurm.conf(5), TaskPlugin",
};

const CGROUP: Probe = Probe {
    name: "slurm.cgroup",
    part: Part::Slurm,
    why: "without these limits a task can leave its cores, and sees the GPUs of other jobs",
    source: "cgroup.conf(5), ConstrainCores, ConstrainDevices",
};

const SOCKETS: Probe = Probe {
    name: "slurm.sockets",
    part: Part::Slurm,
    why: "--gpus-per-socket, --ntasks-per-socket and --distribution count sockets, which are larger than \
        what belongs together here",
    source: "slurm.conf(5), SlurmdParameters",
};

const MEND: &str = "put what `numabench place --emit gres-conf` prints into gres.conf and restart slurmd";
const BOTH_PLUGINS: &str = "TaskPlugin=task/cgroup,task/affinity in slurm.conf";
const NOT_SHOWN: &str = "Slurm's configuration is not shown on this node";
const SITE: &str = "the site's administrators";

pub(super) fn gres_cores(facts: &SystemFacts<'_>) -> Option<Check> {
    let slurm = facts.slurm.as_ref()?;
    let topology = &facts.survey.topology;
    if topology.gpus.is_empty() {
        return None;
    }
    if slurm.folder.is_none() {
        return GRES.open(NOT_SHOWN, SITE);
    }
    if let Some(unread) = unread(&slurm.gres) {
        return GRES.open(unread, SITE);
    }
    let Some(text) = &slurm.gres.text else {
        let counted = slurm.conf.parameter("GresTypes").map(|types| types.to_lowercase().contains("gpu"));
        return match (counted, unread(&slurm.conf)) {
            (Some(true), _) => {
                GRES.costs("there is no gres.conf beside slurm.conf: no GPU has cores of its own", MEND)
            }
            (None, Some(unread)) => GRES.open(unread, SITE),
            _ => GRES.remark(
                "Slurm does not count the GPUs of this node (GresTypes has no gpu)",
                "GresTypes=gpu in slurm.conf; and gres.conf as `numabench place --emit gres-conf` prints it",
            ),
        };
    };

    let host = slurm.node.as_deref().or(topology.hostname.as_deref());
    let conf = match GresConf::from_str(text).and_then(|conf| conf.of_node(host)) {
        Ok(conf) => conf,
        Err(error) if slurm.gres.includes => {
            return GRES
                .costs(format!("{error} (counted with the lines of the files that it includes)"), MEND);
        }
        Err(error) => return GRES.costs(error.to_string(), MEND),
    };
    let detects = conf.auto_detect.filter(|word| word.finds_cores());
    let listed_gpus = conf.gpus();
    if listed_gpus.is_empty() {
        return match detects {
            Some(word) => GRES.ok(format!("AutoDetect={word}: slurmd asks the driver which cores are near")),
            None => GRES.costs("gres.conf has no line for this node's GPUs", MEND),
        };
    }

    let cores: Vec<Cores> = (0..).zip(&listed_gpus).map(|(at, gpu)| cores(facts, at, gpu, detects)).collect();
    let wrong: Vec<&str> = cores
        .iter()
        .filter_map(|cores| if let Cores::Wrong(words) = cores { Some(words.as_str()) } else { None })
        .collect();
    if !wrong.is_empty() {
        return GRES.costs(listed(&wrong), MEND);
    }

    let unknown = cores.iter().filter(|cores| matches!(cores, Cores::Unknown)).count();
    match (unknown, detects) {
        (0, None) => GRES.ok(format!("the cores of {} are near them", counted(cores.len(), "GPU"))),
        (0, Some(word)) => GRES.ok(format!(
            "AutoDetect={word}: slurmd asks the driver which cores are near, and no line says others"
        )),
        (unknown, _) => GRES.open(
            format!("which cores are near is not known of {unknown} of {}", counted(cores.len(), "GPU")),
            super::HOST,
        ),
    }
}

/// What of a file cannot be read, in words.
fn unread(file: &SlurmFile) -> Option<String> {
    (!file.unread.is_empty()).then(|| format!("{} cannot be read", listed(&file.unread)))
}

/// What the cores of a GPU in gres.conf are.
enum Cores {
    /// Near to it, or left to what slurmd detects.
    Near,
    /// Not near, or not all of them, in words.
    Wrong(String),
    /// Nobody says which cores are near, or which GPU a line means.
    Unknown,
}

/// What the cores of Slurm's GPU at this place in its list are.
fn cores(facts: &SystemFacts<'_>, at: usize, listed: &GresGpu, detects: Option<AutoDetect>) -> Cores {
    let topology = &facts.survey.topology;
    if listed.cores.is_none() && detects.is_some() {
        return Cores::Near;
    }
    let Some(gpu) = gpu_of(facts, at, listed) else { return Cores::Unknown };
    let Some(near) = near_pus(gpu) else { return Cores::Unknown };
    let name = format!("GPU {}", gpu.index);
    let Some(cores) = &listed.cores else {
        return match near == topology.online_pus() {
            true => Cores::Near,
            false => Cores::Wrong(format!("{name} has no Cores=")),
        };
    };
    let pus = match pus_of_cores(topology, cores) {
        Ok(pus) => pus,
        Err(beyond) => {
            return Cores::Wrong(format!(
                "{name}: Cores={cores}, and {beyond} are no cores here (Slurm counts cores, not PUs)"
            ));
        }
    };

    let are_near = || core_numbers(topology, &near);
    if pus.and(&near).is_empty() {
        return Cores::Wrong(format!("{name}: Cores={cores} are far from it; {} are near", are_near()));
    }

    // Its NUMA node is what Slurm's own detection gives, also where an L3 of that node is nearest.
    let node = node_pus(topology, gpu).or(&near);
    match pus.is_subset(&node) {
        true => Cores::Near,
        false => Cores::Wrong(format!("{name}: Cores={cores} has far ones too; {} are near", are_near())),
    }
}

fn node_pus(topology: &Topology, gpu: &Gpu) -> IdSet {
    let nodes = gpu.locality.all_nodes();
    topology
        .nodes
        .iter()
        .filter(|node| nodes.contains(node.os_index))
        .fold(IdSet::default(), |all, node| all.or(&node.pus))
}

/// The GPU that a line is about: by its file, else by its number in the file's name, else by its place.
fn gpu_of<'f>(facts: &'f SystemFacts<'_>, at: usize, listed: &GresGpu) -> Option<&'f Gpu> {
    let survey = facts.survey;
    let Some(file) = &listed.file else { return survey.topology.gpus.get(at) };
    let has =
        |identity: &&topo::identity::Identity| identity.device_files.iter().any(|one| one.path == *file);
    if let Some(identity) = survey.identities.iter().find(has) {
        return survey.topology.gpu_at(identity.pci);
    }
    survey.topology.gpus.get(file_number(file).unwrap_or(at))
}

pub(super) fn binding(facts: &SystemFacts<'_>) -> Option<Check> {
    facts.slurm.as_ref()?;
    let Some(slurm) = read(facts) else { return BINDING.open(NOT_SHOWN, SITE) };
    let Some(plugins) = slurm.conf.parameter("TaskPlugin") else {
        return match unread(&slurm.conf) {
            Some(unread) => {
                BINDING.open(format!("TaskPlugin is not set in what can be read: {unread}"), SITE)
            }
            None => BINDING.costs("TaskPlugin is not set: nothing binds tasks", BOTH_PLUGINS),
        };
    };
    if plugins.contains("affinity") {
        return BINDING.ok(format!("TaskPlugin={plugins}"));
    }
    if !plugins.contains("cgroup") {
        return BINDING.costs(format!("TaskPlugin={plugins}: nothing binds tasks"), BOTH_PLUGINS);
    }

    // It bound tasks in versions before 21.08, where it was told to.
    match (is_on(&slurm.cgroup, "TaskAffinity"), unread(&slurm.cgroup)) {
        (Some(true), _) => BINDING.ok(format!("TaskPlugin={plugins} with TaskAffinity in cgroup.conf")),
        (None, Some(unread)) => BINDING.open(format!("TaskPlugin={plugins}, and {unread}"), SITE),
        _ => BINDING.costs(
            format!(
                "TaskPlugin={plugins} holds a step to its cores and binds no task to its own: --cpu-bind \
                 does nothing"
            ),
            BOTH_PLUGINS,
        ),
    }
}

/// Whether a parameter is switched on; `None` where it is not there.
fn is_on(file: &SlurmFile, name: &str) -> Option<bool> {
    let value = file.parameter(name)?.to_lowercase();
    Some(["yes", "true", "1"].contains(&value.as_str()))
}

/// The configuration, where one can be read.
fn read<'f>(facts: &'f SystemFacts<'_>) -> Option<&'f Slurm> {
    facts.slurm.as_ref().filter(|slurm| slurm.folder.is_some())
}

pub(super) fn cgroup(facts: &SystemFacts<'_>) -> Option<Check> {
    facts.slurm.as_ref()?;
    let Some(slurm) = read(facts) else { return CGROUP.unknown(NOT_SHOWN, SITE) };
    let mut limits = vec!["ConstrainCores"];
    if !facts.survey.topology.gpus.is_empty() {
        limits.push("ConstrainDevices");
    }
    if let Some(unread) = unread(&slurm.cgroup) {
        return CGROUP.unknown(unread, SITE);
    }
    let off: Vec<&str> = limits.into_iter().filter(|name| is_on(&slurm.cgroup, name) != Some(true)).collect();

    match &off[..] {
        [] => CGROUP.ok("tasks are held to their cores and devices"),
        off => CGROUP.remark(
            format!("{} not on: tasks share what they are not bound to", listed(off)),
            "ConstrainCores=yes and ConstrainDevices=yes in cgroup.conf, with \
             TaskPlugin=task/cgroup,task/affinity",
        ),
    }
}

pub(super) fn sockets(facts: &SystemFacts<'_>) -> Option<Check> {
    facts.slurm.as_ref()?;
    let wanted = socket(&facts.survey.topology);
    let Some(slurm) = read(facts) else {
        return wanted.and_then(|_| SOCKETS.unknown(NOT_SHOWN, SITE));
    };
    let set = slurm.conf.parameter("SlurmdParameters");
    if let (None, Some(_), Some(unread)) = (&set, wanted, unread(&slurm.conf)) {
        return SOCKETS.unknown(unread, SITE);
    }
    let set = set.unwrap_or_default().to_lowercase();

    match wanted {
        None => None,
        Some(socket) if set.contains(socket.parameter()) => SOCKETS.ok(format!("SlurmdParameters={set}")),
        Some(socket) => SOCKETS.remark(
            "GPUs belong to parts of a package, and Slurm counts packages as sockets",
            format!(
                "SlurmdParameters={} in slurm.conf, with the sockets and cores that slurmd -C then prints",
                socket.parameter()
            ),
        ),
    }
}
