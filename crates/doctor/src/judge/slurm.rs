//! What Slurm's configuration says of this node, against its topology.

use std::str::FromStr;

use launchers::gres_conf::{GresConf, GresGpu, core_numbers, pus_of_cores};
use launchers::node_gres::{near_pus, socket};
use report::doctor::{Check, Part};
use stats::IdSet;
use stats::units::counted;
use topo::model::{Gpu, Topology};

use super::probe::{Probe, listed};
use crate::facts::SystemFacts;
use crate::facts::slurm::Slurm;

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
/// The number of the first render node that Linux gives out.
const FIRST_RENDER_NODE: usize = 128;
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
    let Some(text) = &slurm.gres else {
        let counted = slurm.parameters.get("grestypes").is_some_and(|types| types.contains("gpu"));
        return match counted {
            true => GRES.costs("there is no gres.conf beside slurm.conf: no GPU has cores of its own", MEND),
            false => GRES.remark(
                "Slurm does not count the GPUs of this node (GresTypes has no gpu)",
                "GresTypes=gpu in slurm.conf; and gres.conf as `numabench place --emit gres-conf` prints it",
            ),
        };
    };

    let host = slurm.node.as_deref().or(topology.hostname.as_deref());
    let conf = match GresConf::from_str(text).and_then(|conf| conf.of_node(host)) {
        Ok(conf) => conf,
        Err(error) => return GRES.costs(error.to_string(), MEND),
    };
    let detects = conf.auto_detect.filter(|word| word.to_string() != "off");
    let listed_gpus = conf.gpus();

    match (detects, listed_gpus.is_empty()) {
        (Some(word), true) => {
            return GRES.ok(format!("AutoDetect={word}: slurmd asks the driver which cores are near"));
        }
        (None, true) => return GRES.costs("gres.conf has no line for this node's GPUs", MEND),
        (_, false) => {}
    }

    let wrong: Vec<String> = (0..).zip(&listed_gpus).filter_map(|(at, gpu)| wrong(facts, at, gpu)).collect();
    if wrong.is_empty() {
        return GRES.ok(format!("the cores of {} are near them", counted(listed_gpus.len(), "GPU")));
    }
    GRES.costs(listed(&wrong), MEND)
}

/// What is wrong with the cores of Slurm's GPU at this place in its list; `None` where nothing is, or nobody
/// says what is near.
fn wrong(facts: &SystemFacts<'_>, at: usize, listed: &GresGpu) -> Option<String> {
    let topology = &facts.survey.topology;
    let gpu = gpu_of(facts, at, listed)?;
    let near = near_pus(gpu)?;
    let name = format!("GPU {}", gpu.index);
    let Some(cores) = &listed.cores else {
        return (near != topology.online_pus()).then(|| format!("{name} has no Cores="));
    };
    let pus = match pus_of_cores(topology, cores) {
        Ok(pus) => pus,
        Err(beyond) => {
            return Some(format!(
                "{name}: Cores={cores}, and {beyond} are no cores here (Slurm counts cores, not PUs)"
            ));
        }
    };

    let are_near = || core_numbers(topology, &near);
    if pus.and(&near).is_empty() {
        return Some(format!("{name}: Cores={cores} are far from it; {} are near", are_near()));
    }

    // Its NUMA node is what Slurm's own detection gives, also where an L3 of that node is nearest.
    let node = node_pus(topology, gpu).or(&near);

    (!pus.is_subset(&node))
        .then(|| format!("{name}: Cores={cores} has far ones too; {} are near", are_near()))
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
    let digits = &file[file.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
    let number: Option<usize> = digits.parse().ok();
    let number = if file.contains("renderD") {
        number.and_then(|number| number.checked_sub(FIRST_RENDER_NODE))
    } else {
        number
    };
    survey.topology.gpus.get(number.unwrap_or(at))
}

pub(super) fn binding(facts: &SystemFacts<'_>) -> Option<Check> {
    facts.slurm.as_ref()?;
    let Some(slurm) = read(facts) else { return BINDING.open(NOT_SHOWN, SITE) };
    let plugins = slurm.parameters.get("taskplugin");
    if plugins.is_none() && slurm.includes {
        return BINDING.open(
            "TaskPlugin is not in slurm.conf itself; files that its Include lines name are not read",
            SITE,
        );
    }

    let plugins = plugins.map_or("none", String::as_str);
    if ["affinity", "cgroup"].iter().any(|plugin| plugins.contains(plugin)) {
        return BINDING.ok(format!("TaskPlugin={plugins}"));
    }

    BINDING.costs(
        format!("TaskPlugin={plugins}: nothing binds tasks"),
        "TaskPlugin=task/cgroup,task/affinity in slurm.conf",
    )
}

/// The configuration, where one can be read.
fn read<'f>(facts: &'f SystemFacts<'_>) -> Option<&'f Slurm> {
    facts.slurm.as_ref().filter(|slurm| slurm.folder.is_some())
}

pub(super) fn cgroup(facts: &SystemFacts<'_>) -> Option<Check> {
    facts.slurm.as_ref()?;
    let Some(slurm) = read(facts) else { return CGROUP.unknown(NOT_SHOWN, SITE) };
    let value = |name: &str| Some(slurm.cgroup.as_ref()?.get(&name.to_lowercase())?.to_lowercase());
    let is_on = |name: &str| value(name).is_some_and(|value| ["yes", "true", "1"].contains(&value.as_str()));
    let mut limits = vec!["ConstrainCores"];
    if !facts.survey.topology.gpus.is_empty() {
        limits.push("ConstrainDevices");
    }
    let off: Vec<&str> = limits.into_iter().filter(|name| !is_on(name)).collect();

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
    let set = slurm.parameters.get("slurmdparameters").map_or("", String::as_str).to_lowercase();

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
