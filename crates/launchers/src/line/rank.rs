//! The ranks of a line: what it says, given to each rank of one node.

use std::collections::BTreeMap;

use stats::IdSet;
use topo::Topology;
use topo::process::PolicyMode;
use topo::running::UsableGpus;
use topo::visibility::Visible;

use super::{Launched, LineError, Said};

/// One rank, as the line would start it.
#[derive(Clone, Debug)]
pub struct LineRank {
    /// Its number on its node.
    pub rank: usize,
    /// The PUs that it may run on.
    pub pus: IdSet,
    /// Its memory policy, and the nodes that the policy names.
    pub policy: (PolicyMode, IdSet),
    /// The GPUs that it can use.
    pub gpus: UsableGpus,
}

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
        let of = |rank: usize| LineRank {
            rank,
            pus: pus.map_or(unbound, |pus| &pus[rank % pus.len()]).clone(),
            policy: self
                .memory
                .get(rank % self.memory.len().max(1))
                .cloned()
                .flatten()
                .unwrap_or((PolicyMode::Default, IdSet::default())),
            gpus: self.gpus_of(rank),
        };
        let ranks = (0..here).map(of).collect();
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
