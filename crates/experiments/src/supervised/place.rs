//! Where this rank belongs, before MPI is started: binding comes first, and the GPU's context before
//! MPI_Init. So it is the launcher's word which of its node's ranks this one is. And where each rank says it
//! is, once they have met.

use launchers::Launch;
use placement::{Membind, Plan, RankPlan, Request, Target, TargetId};
use ranks::WorldPlace;
use serde::{Deserialize, Serialize};
use stats::units::counted;
use stats::{IdList, PciAddress};
use topo::Topology;

use super::kind::PlaceAsked;
use super::partners::RankProcess;
use crate::backends::{FoundPlatform, targets};
use crate::driver::chosen;
use crate::exit::Exit;
use crate::fault::Fault;

/// The place of this rank: the PU and the memory node that were `chosen` for each rank of its node; else as
/// in a plan for all of them, or, where it cannot have what they have (a launcher bound each to its own
/// cores), for it alone.
///
/// # Errors
/// What was asked for is not here, or the launcher does not say which of its node's ranks this is.
pub(super) fn place(
    asked: &PlaceAsked,
    launch: &Launch,
    topology: &Topology,
    found: &FoundPlatform,
    chosen_places: Option<&[(u32, u32)]>,
) -> Result<RankPlan, Fault> {
    let (rank, size) = place_on_node(launch)?;
    let available = targets(&*found.platform);
    let all = chosen(asked.gpus.as_ref(), available.clone())?;
    if all.is_empty() {
        return Err(Fault::new(Exit::Absent, "this machine shows neither a GPU nor a NUMA node for a rank"));
    }

    if asked.gpus.is_some() && all.len() != size && all.len() != 1 {
        let text = format!(
            "--gpus names {} for the {} of this node: name one for each rank, or one for all",
            counted(all.len(), "GPU"),
            counted(size, "rank")
        );
        return Err(Fault::usage(text));
    }

    let of_rank = |rank: usize| all[rank % all.len()].clone();
    let everybody: Vec<Target> = (0..size).map(of_rank).collect();
    let ask = |cpus: Option<IdList>, targets: Vec<Target>, membind: Membind| {
        placement::plan(
            topology,
            &Request { cpus, targets: Some(targets), available: available.clone(), membind },
        )
    };

    if let Some(places) = chosen_places {
        let pus = IdList(places.iter().map(|(pu, _)| *pu).collect());
        let mut plan = the(ask(Some(pus), everybody, asked.membind.clone()).map_err(Fault::usage)?, rank)?;
        // Memory without cores is used from elsewhere.
        plan.memory_node = places.get(rank).map_or(plan.memory_node, |(_, node)| *node);
        return Ok(plan);
    }

    let plan = match ask(asked.cpus.clone(), everybody, asked.membind.clone()) {
        Ok(plan) => plan,
        // Of its own it may have less than all ranks need.
        Err(error) if asked.cpus.is_some() => return Err(Fault::usage(error)),
        Err(error) => {
            let alone =
                ask(None, vec![of_rank(rank)], asked.membind.clone()).map_err(|_| Fault::usage(error))?;
            return the(alone, 0);
        }
    };
    the(plan, rank)
}

fn the(plan: Plan, number: usize) -> Result<RankPlan, Fault> {
    let count = plan.ranks.len();
    let missing =
        || Fault::usage(format!("the plan has {count} places and this is rank {number} of its node"));
    plan.ranks.into_iter().nth(number).ok_or_else(missing)
}

/// Which of its node's ranks this is, and of how many; a process that nothing launched is alone.
///
/// # Errors
/// The launcher does not say.
pub fn place_on_node(launch: &Launch) -> Result<(usize, usize), Fault> {
    match (launch.local_rank, launch.local_size) {
        _ if launch.is_alone() => Ok((0, 1)),
        (Some(rank), Some(size)) if rank < size => Ok((rank, size)),
        _ => Err(Fault::usage(format!(
            "{} does not say which of its node's ranks this process is: start it with srun, mpirun or \
             mpiexec",
            launch.launcher.name()
        ))),
    }
}

/// Where a rank is, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankLocation {
    /// Its session.
    pub session: RankProcess,
    /// Its node's number.
    pub node: usize,
    /// The PU that it is bound to.
    pub pu: u32,
    /// The NUMA node of its host memory.
    pub memory_node: u32,
    /// Its GPU.
    pub gpu: Option<PciAddress>,
    /// Why it has none.
    pub why_host: Option<String>,
}

impl RankLocation {
    /// Of this process.
    pub fn own(place: WorldPlace, topology: &Topology, found: &FoundPlatform, plan: &RankPlan) -> Self {
        let gpu = match plan.target.id {
            TargetId::Gpu(pci) => Some(pci),
            TargetId::Node(_) => None,
        };
        Self {
            session: RankProcess::own(place.rank, topology.host()),
            node: place.node,
            pu: plan.pu,
            memory_node: plan.memory_node,
            gpu,
            why_host: found.why_host.clone(),
        }
    }
}

/// Two ranks on one PU would wait for each other's turn.
///
/// # Errors
/// Which two, and what to do about it.
pub fn apart(
    ranks: &[&RankLocation],
    on_one_machine: impl Fn(&RankLocation, &RankLocation) -> bool,
) -> Result<(), Fault> {
    for (at, one) in ranks.iter().enumerate() {
        let same = |other: &&&RankLocation| other.pu == one.pu && on_one_machine(one, other);
        if let Some(other) = ranks[at + 1..].iter().find(same) {
            return Err(Fault::usage(format!(
                "ranks {} and {} would both run on PU {} of {}: give them cores of their own (mpirun \
                 --bind-to none, srun -c 1), or name PUs: --cpus LIST",
                one.session.rank, other.session.rank, one.pu, one.session.host
            )));
        }
    }
    Ok(())
}
