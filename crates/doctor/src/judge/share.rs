//! What this process was given of the node: cores, memory nodes, and whether they are near to its GPUs. In a
//! job, a pod or a shell alike.

use report::doctor::{Check, Part};
use stats::IdSet;
use topo::model::{Gpu, NodeKind, Rung};

use super::UNREADABLE;
use super::probe::{Probe, listed};
use crate::facts::SystemFacts;

const CPUS: Probe = Probe {
    name: "cpu.cpuset",
    part: Part::Cpu,
    why: "a task that is held to fewer cores than its job has leaves cores idle; one that is held to none \
        takes its neighbours'",
    source: "kernel, admin-guide/cgroup-v2 (cpuset); sched_setaffinity(2)",
};

const MEMS: Probe = Probe {
    name: "cpu.memory-nodes",
    part: Part::Cpu,
    why: "cores whose own node's memory is not allowed have none but far memory",
    source: "kernel, admin-guide/cgroup-v2 (cpuset.mems); set_mempolicy(2)",
};

const NEAR: [Probe; 3] = [
    near("cpu.near-gpus", Part::Cpu, "numactl(8); cpuset(7)"),
    near(
        "slurm.step-gpus",
        Part::Slurm,
        "srun(1), --gpu-bind, --gres-flags=enforce-binding; gres.conf(5), Cores",
    ),
    near(
        "kubernetes.near-gpus",
        Part::Kubernetes,
        "Kubernetes, Control Topology Management Policies on a node",
    ),
];

const fn near(name: &'static str, part: Part, source: &'static str) -> Probe {
    Probe {
        name,
        part,
        why: "copies from cores and memory that are far from their GPU go over the link between packages",
        source,
    }
}

const POD: Probe = Probe {
    name: "kubernetes.cpuset",
    part: Part::Kubernetes,
    why: "a pod of the shared pool runs on every core of the node, and its threads and memory wander",
    source: "Kubernetes, Control CPU Management Policies on the Node",
};

pub(super) fn cpus(facts: &SystemFacts<'_>) -> Option<Check> {
    let (topology, allowed) = (&facts.survey.topology, &facts.survey.topology.allowed);
    let online = topology.online_pus();
    let seen = format!("PUs {} of {}", allowed.pus, online.len());
    if facts.survey.process.as_ref().is_some_and(|process| process.affinity.is_none()) {
        return CPUS.open(
            "/proc/self/status cannot be read: what holds this process to its PUs is not known",
            UNREADABLE,
        );
    }

    let given = facts.survey.step.as_ref().and_then(|step| step.cpus.count);
    let usable = u32::try_from(allowed.pus.len()).unwrap_or(u32::MAX);

    match given {
        Some(given) if given < usable => CPUS.costs(
            format!("{seen}; Slurm gave the step {given}, and nothing holds it to them"),
            "TaskPlugin=task/cgroup,task/affinity in slurm.conf and ConstrainCores=yes in cgroup.conf",
        ),
        Some(given) if given > usable && usable == 1 => {
            CPUS.ok(format!("{seen}: this task is bound to one; the step has {given}"))
        }
        _ => CPUS.ok(seen),
    }
}

pub(super) fn memory_nodes(facts: &SystemFacts<'_>) -> Option<Check> {
    let topology = &facts.survey.topology;
    let allowed = &topology.allowed;
    if facts.survey.process.as_ref().is_some_and(|process| process.memory_nodes.is_none()) {
        return MEMS.open("the memory nodes of this process cannot be read (/proc/self/status)", UNREADABLE);
    }
    let near: IdSet = topology
        .nodes
        .iter()
        .filter(|node| node.kind == NodeKind::Normal && !node.pus.and(&allowed.pus).is_empty())
        .map(|node| node.os_index)
        .collect();
    let missing = near.minus(&allowed.nodes);

    if !missing.is_empty() {
        let pus = topology.nodes.iter().filter(|node| missing.contains(node.os_index));
        let pus = pus.fold(IdSet::default(), |all, node| all.or(&node.pus)).and(&allowed.pus);
        return MEMS.costs(
            format!("PUs {pus} are on NUMA nodes {missing}, whose memory this process may not use"),
            "give the job the memory nodes of its cores (cpuset.mems), or only cores of its memory nodes",
        );
    }

    let has_memory = |node: &u32| topology.node(*node).is_none_or(|node| node.total_bytes > 0);
    let usable: IdSet = allowed.nodes.iter().filter(has_memory).collect();
    let far = usable.minus(&near);

    match far.is_empty() {
        true => MEMS.ok(format!("NUMA nodes {usable}: those of its cores")),
        false => MEMS.ok(format!("NUMA nodes {usable}: those of its cores, and {far} when they are full")),
    }
}

/// The GPUs that are this process's, as far as its step says.
fn own_gpus<'f>(facts: &'f SystemFacts<'_>) -> Vec<&'f Gpu> {
    let mine =
        facts.survey.step.as_ref().map(|step| &step.gpus.share.usable).filter(|usable| !usable.is_empty());
    facts.survey.topology.gpus.iter().filter(|gpu| mine.is_none_or(|mine| mine.contains(gpu.index))).collect()
}

pub(super) fn near_gpus(facts: &SystemFacts<'_>) -> Option<Check> {
    let (probe, change) = match (&facts.pod, &facts.survey.step) {
        (Some(_), _) => (
            &NEAR[2],
            "topologyManagerPolicy: single-numa-node (or restricted) and cpuManagerPolicy: static in the \
             kubelet's configuration",
        ),
        (None, Some(_)) => (
            &NEAR[1],
            "mend Cores= in gres.conf (`numabench place --emit gres-conf`), and ask with \
             --gres-flags=enforce-binding or --gpu-bind=closest",
        ),
        (None, None) => (&NEAR[0], "start it with cores of its GPU: `numabench place` has the line"),
    };

    let allowed = &facts.survey.topology.allowed;
    let known: Vec<&Gpu> =
        own_gpus(facts).into_iter().filter(|gpu| gpu.locality.rung != Rung::Unknown).collect();

    if known.is_empty() {
        let own = own_gpus(facts);
        let unknown =
            format!("locality of {} not reported", if own.len() == 1 { "its GPU" } else { "its GPUs" });
        return (!own.is_empty())
            .then(|| probe.open(unknown, "the platform; `numabench topo --measure` measures it"))
            .flatten();
    }

    let is_far = |gpu: &&&Gpu| gpu.locality.all_pus().and(&allowed.pus).is_empty();
    let far: Vec<String> = known.iter().filter(is_far).map(|gpu| format!("GPU {}", gpu.index)).collect();

    // A task that is bound to one GPU's cores among several is as it should be, unless it is near to none.
    let bound_near_one =
        facts.survey.step.is_none() && far.len() < known.len() && allowed.not_in_cgroup_pus.is_empty();

    if far.is_empty() || bound_near_one {
        return probe.ok(match far.len() {
            0 => {
                format!(
                    "this process has cores near {}",
                    if known.len() == 1 { "its GPU" } else { "each of its GPUs" }
                )
            }
            some => format!("this process has cores near {} of {} GPUs", known.len() - some, known.len()),
        });
    }
    probe.costs(format!("this process has none of the cores near {}", listed(&far)), change)
}

pub(super) fn pod(facts: &SystemFacts<'_>) -> Option<Check> {
    let pod = facts.pod.as_ref()?;
    let topology = &facts.survey.topology;
    let online = topology.online_pus();
    let cgroup = facts.survey.process.as_ref().and_then(|process| process.cgroup.pus.clone());
    let Some(pus) = cgroup else {
        return POD.open(
            format!("a pod ({}), whose cpuset is not shown here", pod.evidence),
            "a user of the node, outside of the pod",
        );
    };

    if online.is_subset(&pus) {
        return POD.costs(
            format!("the pod has all {} PUs: the shared pool", online.len()),
            "cpuManagerPolicy: static in the kubelet's configuration, and whole CPUs with requests equal to \
             limits in the pod (QoS Guaranteed)",
        );
    }
    POD.ok(format!("the pod has PUs {} for itself", pus.and(&online)))
}
