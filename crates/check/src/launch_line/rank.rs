//! The ranks of a line: what it says, given to each rank of one node.

use std::collections::BTreeMap;

use stats::IdSet;
use topo::process::{MemoryPolicy, PolicyMode};
use topo::running::{Pages, Running, Threads, UsableGpus};
use topo::visibility::Visible;
use topo::{Cgroup, Topology};

use super::{Launched, LineError, Policy, Said};
use crate::seen::{LAUNCH_LINE, Seen};

/// Which GPUs each rank has, by index.
#[derive(Debug)]
pub(super) enum Gpus {
    /// A list for each rank, which begins again where there are more ranks.
    Lists(Vec<Vec<usize>>),
    /// A GPU for every so many ranks.
    Blocks(usize),
}

impl Gpus {
    fn lists(&self) -> Option<&Vec<Vec<usize>>> {
        match self {
            Self::Lists(lists) if !lists.is_empty() => Some(lists),
            _ => None,
        }
    }
}

impl Said<'_> {
    /// The ranks, on this machine.
    pub(super) fn launched(self) -> Result<Launched, LineError> {
        if self.through_exec {
            let what = "numabench exec works out each rank's place itself: see numabench place for where that is";
            return Err(LineError::NotSaid(what.to_owned()));
        }
        let pus = self.pus.as_ref().filter(|pus| !pus.is_empty());
        let lists = pus.map(Vec::len).or(self.gpus.as_ref().and_then(Gpus::lists).map(Vec::len));
        let here = self.count.here(lists.unwrap_or(1))?;
        if pus.is_none() && !self.unbound {
            let default = self.other_binding.unwrap_or_else(|| "the launcher's default binding".to_owned());
            return Err(LineError::NotSaid(format!(
                "{default} depends on the site: write the cores of each rank (--cpu-bind=map_cpu:… or mask_cpu:…, -bind-to user:…, taskset, \
                 numactl), or run numabench check inside of the launch"
            )));
        }
        let topology = self.topology;
        let unbound = &topology.allowed.pus;
        let cpuset = self.cpuset();
        let gpus: Vec<_> = topology.gpus.iter().map(|gpu| gpu.pci).collect();
        let seen = |rank: usize| Seen {
            rank: Some(rank),
            running: running(
                rank,
                pus.map_or(unbound, |pus| &pus[rank % pus.len()]).clone(),
                self.gpus_of(rank),
                self.memory.get(rank % self.memory.len().max(1)).cloned().flatten(),
            ),
            pool_pus: cpuset.clone(),
            pool_gpus: gpus.clone(),
            threads: Threads::default(),
            nic_variables: BTreeMap::new(),
            omp_threads: None,
        };
        let ranks = (0..here).map(seen).collect();
        Ok(Launched { ranks, launcher: self.launcher, of: self.count.beyond(here), notes: self.notes })
    }

    /// The PUs that a job may use here, whatever this process is bound to.
    pub(super) fn cpuset(&self) -> IdSet {
        self.topology.allowed.pus.or(&self.topology.allowed.not_in_affinity_pus)
    }

    /// The GPUs of a rank: by index in PCI order, which is what Slurm and the runtimes count.
    fn gpus_of(&self, rank: usize) -> UsableGpus {
        let all = self.topology.gpus.len();
        match (&self.gpus, self.gpus_per_task, &self.visible) {
            (Some(Gpus::Blocks(each)), ..) => {
                usable(self.topology, [rank / each.max(&1)], "the line gives it this GPU".to_owned())
            }
            (Some(Gpus::Lists(lists)), ..) if !lists.is_empty() => {
                let own = lists[rank % lists.len()].iter().copied();
                usable(self.topology, own, "the line gives it this GPU".to_owned())
            }
            (_, Some(each), _) => {
                let first = rank.saturating_mul(each);
                // One that is not there is enough to be told.
                let last = first.saturating_add(each).min(all.max(first) + 1);
                usable(self.topology, first..last, format!("--gpus-per-task={each}"))
            }
            (_, _, Some(value)) => {
                let listed = value.split(',').filter(|entry| !entry.is_empty()).map(|entry| entry.trim().parse());
                let listed = listed.collect::<Result<Vec<usize>, _>>().unwrap_or_else(|_| (0..all).collect());
                usable(self.topology, listed, format!("it is shown {value}"))
            }
            _ => usable(self.topology, 0..all, "nothing hides one".to_owned()),
        }
    }
}

/// The GPUs of these indices, and those of them that are not there.
fn usable(topology: &Topology, asked: impl IntoIterator<Item = usize>, reason: String) -> UsableGpus {
    let (mut devices, mut missing) = (Vec::new(), Vec::new());
    for index in asked {
        match topology.gpus.get(index) {
            Some(gpu) => devices.push(Visible { pci: Some(gpu.pci), part: None }),
            None => missing.push(index.to_string()),
        }
    }
    let absent = (!missing.is_empty()).then(|| format!("GPU {} of {}", missing.join(","), topology.gpus.len()));
    UsableGpus {
        devices: Some(devices),
        reason,
        variables: BTreeMap::new(),
        open: None,
        refused: None,
        absent,
        closed: Vec::new(),
        in_use: None,
    }
}

/// A process that does not run, with what the line gives it.
fn running(rank: usize, pus: IdSet, gpus: UsableGpus, memory: Option<Policy>) -> Running {
    let not_run = || Some("it is not running".to_owned());
    let (mode, nodes) = memory.unwrap_or((PolicyMode::Default, IdSet::default()));
    let policy = MemoryPolicy { mode: Some(mode), nodes, flags: None, source: LAUNCH_LINE.to_owned(), reason: None };
    Running {
        pid: u32::try_from(rank).unwrap_or_default(),
        program: None,
        first_thread_pus: Some(pus.clone()),
        pus: Some(pus),
        memory_nodes: None,
        policy,
        cgroup: Cgroup {
            pus: None,
            nodes: None,
            source: None,
            reason: not_run(),
            memory_bytes: None,
            memory_source: None,
        },
        pages: Pages { nodes: None, reason: not_run() },
        gpus,
    }
}
