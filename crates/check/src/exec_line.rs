//! The ranks of a line whose program `numabench exec` starts: where exec puts each, by the plan that it makes
//! itself.
//!
//! Exec decides by what it finds: the ranks of its node, the PUs that they have together, the GPUs that they
//! see. A line says all of that, so its ranks are judged as certainly as those of any other line.

use std::collections::BTreeMap;

use exec::{Asked, NodeUse, Pool, PoolOwner, RankSlot, Wish, plan_in};
use launchers::line::{LineError, LineRank};
use launchers::{ExecCall, Launcher};
use placement::Ask;
use stats::IdSet;
use topo::process::PolicyMode;
use topo::visibility::{Runtime, Visibility, Visible};
use topo::{Start, Topology};

/// The ranks as exec puts them; those that it does not start stay as they are. `known`: what was found for
/// ranks of the line's other readings.
///
/// # Errors
/// [`LineError`]: exec would refuse what it is asked, or what it goes by does not follow from the line.
pub fn placed(
    launcher: Launcher,
    ranks: Vec<LineRank>,
    topology: &Topology,
    known: &mut Vec<(LineRank, LineRank)>,
) -> Result<Vec<LineRank>, LineError> {
    let size = ranks.len();
    let mut all = Vec::with_capacity(size);
    for rank in ranks {
        // What a launcher did before matters to exec only in this, so that the ways that a line may mean have
        // one plan.
        let same = |before: &LineRank| {
            (before.rank, &before.exec, &before.gpus) == (rank.rank, &rank.exec, &rank.gpus)
                && before.policy == rank.policy
        };
        let keeps = rank.exec.as_ref().is_some_and(|call| call.value("keep-cpus").is_some());
        let placed =
            known.iter().find(|(before, _)| !keeps && same(before)).map(|(_, placed)| placed.clone());
        let placed = match placed {
            Some(placed) => placed,
            None => {
                let placed = one(launcher, rank.clone(), size, topology)?;
                if rank.exec.is_some() {
                    known.push((rank, placed.clone()));
                }
                placed
            }
        };
        all.push(placed);
    }

    Ok(all)
}

fn one(launcher: Launcher, rank: LineRank, size: usize, topology: &Topology) -> Result<LineRank, LineError> {
    let Some(call) = &rank.exec else { return Ok(rank) };
    let Some(devices) = rank.gpus.devices.clone() else { return Err(LineError::NotSaid(rank.gpus.reason)) };
    // exec shows GPUs of CUDA and HIP alone, whatever others the plan of the node counts.
    if topology.gpus.iter().any(|gpu| Runtime::of_vendor(gpu.vendor_id).is_none()) {
        let why =
            "some GPUs of this machine are neither NVIDIA's nor AMD's: numabench exec shows none of those";
        return Err(LineError::NotSaid(why.to_owned()));
    }

    let asked = asked(call)?;
    let pool = match (asked.keep_cpus, &rank.pus) {
        (true, Err(why)) => return Err(LineError::NotSaid(why.clone())),
        (true, Ok(pus)) => Pool { pus: pus.clone(), owner: PoolOwner::Unchanged, how: String::new() },
        (false, _) => Pool { pus: call.pool.clone(), owner: PoolOwner::AllRanks, how: String::new() },
    };
    let slot = RankSlot {
        launcher,
        of_all: None,
        local_rank: asked.rank.unwrap_or(rank.rank),
        local_size: asked.ranks.unwrap_or(size),
    };
    let setup = plan_in(slot, pool, &start(topology, &devices), &asked, &BTreeMap::new())
        .map_err(|error| LineError::Wrong(format!("numabench exec refuses it: {error}")))?;

    let policy = match setup.bound_memory() {
        Some(nodes) => Ok((policy_mode(setup.place.memory_use), nodes.clone())),
        None => rank.policy.clone(),
    };
    let mut gpus = rank.gpus.clone();
    if !asked.shows_all && !topology.gpus.is_empty() {
        let driven = |gpu: &exec::VisibleGpu| Visible { pci: gpu.target.id.gpu(), part: gpu.part.clone() };
        gpus.devices = Some(setup.drives.iter().map(driven).collect());
        gpus.reason = "numabench exec shows it this GPU".to_owned();
    }
    let pus = setup.bound_pus().cloned().map_or(rank.pus.clone(), Ok);
    Ok(LineRank { pus, policy, gpus, exec: None, ..rank })
}

fn policy_mode(memory_use: NodeUse) -> PolicyMode {
    match memory_use {
        NodeUse::Bind => PolicyMode::Bind,
        NodeUse::Interleave => PolicyMode::Interleave,
        NodeUse::WeightedInterleave => PolicyMode::WeightedInterleave,
    }
}

/// What exec finds where the rank starts: these GPUs, by each vendor's runtime, on this machine.
fn start(topology: &Topology, devices: &[Visible]) -> Start {
    let runtime = |device: &Visible| Runtime::of_vendor(topology.gpu_at(device.pci?)?.vendor_id);
    let mut visibility: Vec<Visibility> = Vec::new();
    for device in devices {
        let Some(runtime) = runtime(device) else { continue };
        match visibility.iter_mut().find(|one| one.runtime == runtime) {
            Some(one) => one.devices.iter_mut().for_each(|devices| devices.push(device.clone())),
            None => visibility.push(Visibility {
                runtime,
                variables: BTreeMap::new(),
                devices: Some(vec![device.clone()]),
                reason: None,
                notes: Vec::new(),
            }),
        }
    }

    let rocr = topology.gpus.iter().map(|gpu| gpu.pci).collect();
    Start { topology: topology.clone(), visibility, hidden: IdSet::default(), rocr, step: None }
}

/// Exec's options as it takes them.
fn asked(call: &ExecCall) -> Result<Asked, LineError> {
    fn read<T: std::str::FromStr>(call: &ExecCall, name: &str) -> Result<Option<T>, LineError> {
        let wrong =
            |value: &str| LineError::Wrong(format!("numabench exec --{name} does not take \"{value}\""));
        call.value(name).map(|value| value.parse().map_err(|_| wrong(value))).transpose()
    }

    let ask = Ask {
        cores_per_rank: read(call, "cores-per-rank")?,
        smt: call.value("smt").is_some(),
        strategy: read(call, "strategy")?.unwrap_or_default(),
        reserve: read(call, "reserve")?.unwrap_or_default(),
        ..Ask::default()
    };
    let wish = Wish { ask, memory: read(call, "membind")?.unwrap_or_default() };

    Ok(Asked {
        rank: read(call, "rank")?,
        ranks: read(call, "ranks")?,
        gpus: read(call, "gpus")?,
        shows_all: call.value("gpu") == Some("near"),
        keep_cpus: call.value("keep-cpus").is_some(),
        from: None,
        wish,
    })
}
