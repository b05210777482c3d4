//! What one rank, or one running process, is seen to have: as it travels to the rank that judges the node.

use std::collections::BTreeMap;

use launchers::line::LineRank;
use launchers::{Launch, Launcher, Situation};
use placement::judge::{JobResources, Observed};
use placement::nic;
use serde::{Deserialize, Serialize};
use stats::{IdSet, PciAddress};
use topo::gpu_users::GpuUsers;
use topo::model::{NodeKind, NumaNode, TopologySource};
use topo::process::{MemoryPolicy, PolicyMode};
use topo::running::{
    NoProcess, Pages, ProcessThreads, Running, UsableGpus, Who, environment, running, threads,
};
use topo::{Cgroup, Topology, ancestor};

use crate::machine::Machine;

/// Where a policy is from that a pasted launch line gives.
pub const LAUNCH_LINE: &str = "the launch line";

/// What is seen of one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObservedRank {
    /// Its number in its launch, where it is a rank.
    pub rank: Option<usize>,
    /// The process.
    pub running: Running,
    /// PUs that it could have had.
    pub pool_pus: IdSet,
    /// GPUs that it could have had.
    pub pool_gpus: Vec<PciAddress>,
    /// Its threads, and the processes that it started.
    pub threads: ProcessThreads,
    /// The variables by which it is told of a network adapter.
    pub nic_variables: BTreeMap<String, String>,
    /// How many threads OpenMP is told to have (the outermost level); `None` where it is not told.
    pub omp_threads: Option<u32>,
    /// Why the PUs are not known, where a launch line does not say them.
    pub pus_unknown: Option<String>,
}

impl ObservedRank {
    /// This process.
    pub fn of_this(machine: &Machine, launch: &Launch) -> Result<Self, NoProcess> {
        let variables = environment(Who::This).unwrap_or_default();
        let rank = if launch.launcher == Launcher::Nobody { None } else { launch.rank };
        Ok(Self {
            rank,
            running: running(machine.judged_by(), Who::This)?,
            pool_pus: pus(machine, launch.launcher),
            pool_gpus: gpus(machine),
            // Of this program, which is none that matters.
            threads: ProcessThreads::default(),
            omp_threads: omp_threads(&variables),
            nic_variables: nic::of_adapters(variables),
            pus_unknown: None,
        })
    }

    /// Another process, whose GPUs are those on which `users` has it.
    pub fn of_pid(machine: &Machine, pid: u32, users: &GpuUsers) -> Result<Self, NoProcess> {
        let mut running = running(machine.judged_by(), Who::Pid(pid))?;
        running.gpus = running.gpus.by_use(pid, users);
        let variables = environment(Who::Pid(pid)).unwrap_or_default();
        let launch = Launch::sensed(|name| variables.get(name).cloned());
        let rank = if launch.launcher == Launcher::Nobody { None } else { launch.rank };

        // Its affinity may be widened to its cpuset by whoever may change it at all.
        let here = machine.here().map(|here| &here.topology.allowed).cloned().unwrap_or_default();
        let online = running.cgroup.pus.clone().unwrap_or_else(|| here.cpuset()).minus(&here.offline_pus);

        Ok(Self {
            rank,
            running,
            pool_pus: online,
            pool_gpus: Vec::new(),
            threads: threads(Who::Pid(pid)),
            omp_threads: omp_threads(&variables),
            nic_variables: nic::of_adapters(variables),
            pus_unknown: None,
        })
    }

    /// A rank of a line that is not run.
    pub fn of_line(rank: LineRank, topology: &Topology) -> Self {
        let not_run = || Some("it is not running".to_owned());
        let (mode, nodes, reason) = match rank.policy {
            Ok((mode, nodes)) => (Some(mode), nodes, None),
            Err(why) => (None, IdSet::default(), Some(why)),
        };
        let policy = MemoryPolicy { mode, nodes, flags: None, source: LAUNCH_LINE.to_owned(), reason };
        let cgroup = Cgroup {
            pus: None,
            nodes: None,
            source: None,
            reason: not_run(),
            memory_bytes: None,
            memory_source: None,
        };

        let own = rank.pus.clone().unwrap_or_default();
        let is_asked = |index: usize| rank.asked_gpus.as_ref().is_none_or(|asked| asked.contains(&index));
        let pool_gpus =
            topology.gpus.iter().enumerate().filter(|(index, _)| is_asked(*index)).map(|(_, gpu)| gpu.pci);
        let running = Running {
            pid: u32::try_from(rank.rank).unwrap_or_default(),
            program: None,
            first_thread_pus: rank.pus.as_ref().ok().cloned(),
            pus: rank.pus.as_ref().ok().cloned(),
            memory_nodes: None,
            policy,
            cgroup,
            pages: Pages { nodes: None, reason: not_run() },
            gpus: rank.gpus,
        };

        Self {
            rank: Some(rank.rank),
            running,
            // What `place` plans in; what this process was only bound away from is not offered, and not
            // refused either.
            pool_pus: topology.allowed.pus.or(&own.and(&topology.allowed.cpuset())),
            pool_gpus: pool_gpus.collect(),
            threads: ProcessThreads::default(),
            nic_variables: BTreeMap::new(),
            omp_threads: None,
            pus_unknown: rank.pus.err(),
        }
    }

    /// How much of its memory is neither on these nodes nor on memory beside them, from 0 to 1, what it gave
    /// to GPUs left out; `None` where it is not known, or there is none.
    pub fn remote_share(&self, topology: &Topology, near: &IdSet) -> Option<f64> {
        let nodes = self.running.pages.nodes.as_ref().filter(|_| !near.is_empty())?;
        let near = with_memory_beside(topology, near);
        let is_host = |node: u32| topology.node(node).is_some_and(|node| node.kind.has_host_memory());
        let bytes = |is_counted: &dyn Fn(u32) -> bool| -> u64 {
            let counted = nodes.iter().filter(|pages| is_host(pages.node) && is_counted(pages.node));
            counted.map(|pages| pages.bytes).sum()
        };
        let all = bytes(&|_| true);
        (all > 0).then(|| bytes(&|node| !near.contains(node)) as f64 / all as f64)
    }

    /// What messages call it.
    pub fn name(&self) -> String {
        match (self.rank, &self.running.program) {
            (Some(rank), _) => format!("rank {rank}"),
            (None, _) if self.running.pid == std::process::id() => "this process".to_owned(),
            (None, Some(program)) => format!("process {} ({program})", self.running.pid),
            (None, None) => format!("process {}", self.running.pid),
        }
    }

    /// As a judge takes it. By a saved machine memory is not judged: its nodes are not those that the kernel
    /// here speaks of; those of a line are.
    pub fn observed(&self, judged_by: &Topology) -> Observed {
        let here = self.observed_here();
        if judged_by.source == TopologySource::ThisSystem || self.is_of_line() {
            return here;
        }
        Observed {
            policy: Ok(PolicyMode::Default),
            policy_nodes: IdSet::default(),
            memory_nodes: None,
            pages: BTreeMap::new(),
            ..here
        }
    }

    /// The GPU that it can use, where that is one; `None` of several, or where it is not known which it is.
    pub fn only_gpu(&self) -> Option<PciAddress> {
        match self.running.gpus.devices.as_deref() {
            Some([one]) => one.pci,
            _ => None,
        }
    }

    /// Whether it is a rank of a line that is not run: what that gives it is only asked for.
    pub fn is_of_line(&self) -> bool {
        self.running.policy.source == LAUNCH_LINE
    }

    /// The PUs among these that it would not get.
    pub fn denied(&self, pus: &IdSet) -> IdSet {
        if self.is_of_line() { pus.minus(&self.pool_pus) } else { IdSet::default() }
    }

    fn observed_here(&self) -> Observed {
        let seen = &self.running;
        let not_read = || "its files in /proc cannot be read".to_owned();

        Observed {
            name: self.name(),
            pus: seen.pus.clone().ok_or_else(|| self.pus_unknown.clone().unwrap_or_else(not_read)),
            policy: seen.policy.mode.ok_or_else(|| seen.policy.reason.clone().unwrap_or_else(not_read)),
            policy_nodes: seen.policy.nodes.clone(),
            memory_nodes: seen.memory_nodes.clone(),
            pages: seen
                .pages
                .nodes
                .iter()
                .flatten()
                .map(|pages| (pages.node, pages.bytes))
                .collect::<BTreeMap<_, _>>(),
            gpus: seen.gpus.devices.clone().ok_or_else(|| seen.gpus.reason.clone()),
            absent: seen.gpus.absent.clone(),
            closed: closed(&seen.gpus),
            refused: seen.gpus.refused.clone(),
            denied: seen.pus.as_ref().map(|pus| self.denied(pus)).unwrap_or_default(),
        }
    }
}

/// What is known of the step where these ranks were seen.
pub fn situation(machine: &Machine, all: &[ObservedRank]) -> Situation {
    let cpus = machine.step().map(|step| &step.cpus);
    let owns_node = cpus.and_then(|cpus| match (cpus.not_in_step.is_empty(), cpus.untold.is_empty()) {
        (false, _) => Some(false),
        (true, true) => Some(true),
        (true, false) => None,
    });
    let refused = |seen: &ObservedRank| seen.running.gpus.refused.as_ref().map(|refused| !refused.is_empty());
    let refused: Option<Vec<bool>> = all.iter().map(refused).collect();
    let gpus_are_confined = refused.map(|all| all.contains(&true));
    Situation { owns_node, gpus_are_confined, ..Situation::default() }
}

/// What all of them could have had together: also what each has that runs, for that is certainly theirs.
pub fn pool(all: &[ObservedRank]) -> JobResources {
    let mut pool = JobResources::default();
    for seen in all {
        let own = seen.running.pus.as_ref().filter(|_| !seen.is_of_line());
        // Thousands of ranks have the same pool.
        for pus in own.into_iter().chain([&seen.pool_pus]) {
            if !pus.is_subset(&pool.pus) {
                pool.pus = pool.pus.or(pus);
            }
        }
        pool.gpus.extend(seen.running.gpus.devices.iter().flatten().filter_map(|device| device.pci));
        pool.gpus.extend(&seen.pool_gpus);
    }
    pool.gpus.sort_unstable();
    pool.gpus.dedup();
    pool
}

/// The PUs that this process could have been bound to: what the launcher had to share out; without one, the
/// cpuset.
fn pus(machine: &Machine, launcher: Launcher) -> IdSet {
    let Some(here) = machine.here() else { return IdSet::default() };
    match launcher {
        Launcher::Nobody => here.topology.allowed.cpuset(),
        _ => exec::Pool::of(launcher, &here.topology, here.step.as_ref(), ancestor::nearest).pus,
    }
}

/// The GPUs that the scheduler gave the step, its other tasks' too; none where it does not say, or of a saved
/// machine.
fn gpus(machine: &Machine) -> Vec<PciAddress> {
    let Machine::Here(here) = machine else { return Vec::new() };
    let Some(step) = &here.step else { return Vec::new() };
    let of_step = step.gpus.share.usable.or(&step.gpus.share.other_tasks);
    let gpus = here.topology.gpus.iter().filter(|gpu| of_step.contains(gpu.index));
    gpus.map(|gpu| gpu.pci).collect()
}

fn omp_threads(variables: &BTreeMap<String, String>) -> Option<u32> {
    variables.get("OMP_NUM_THREADS")?.split(',').next()?.trim().parse().ok()
}

/// `GPUs 0000:c1:00.0, 0000:c6:00.0: /dev/kfd is of …`; nothing where all may be opened.
fn closed(gpus: &UsableGpus) -> Option<String> {
    let why = gpus.closed.first().map(|gpu| &gpu.why)?;
    let which: Vec<String> = gpus.closed.iter().map(|gpu| gpu.pci.to_string()).collect();
    Some(format!("{} {}: {why}", if which.len() == 1 { "GPU" } else { "GPUs" }, which.join(", ")))
}

/// These nodes, and those with memory around the same PUs, as a CPU's HBM is, or of which nobody says around
/// which.
pub(crate) fn with_memory_beside(topology: &Topology, nodes: &IdSet) -> IdSet {
    let own = topology.nodes.iter().filter(|node| nodes.contains(node.os_index));
    let pus = IdSet::of_all(own.map(|node| &node.pus));
    let is_beside = |node: &NumaNode| {
        let is_lost = node.kind == NodeKind::MemoryOnly && node.pus.is_empty();
        node.kind.has_host_memory() && (is_lost || !node.pus.and(&pus).is_empty())
    };
    let beside = topology.nodes.iter().filter(|node| is_beside(node));
    nodes.or(&beside.map(|node| node.os_index).collect())
}
