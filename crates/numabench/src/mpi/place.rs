//! Where this rank belongs, before MPI is started: binding comes first, and the GPU's context before MPI_Init. So it is the launcher's word which of its node's
//! ranks this one is.

use anyhow::anyhow;
use placement::{Membind, Plan, RankPlan, Request, Selection, Target};
use ranks::Launch;
use stats::IdList;
use stats::units::counted;
use topo::Topology;

use super::channel::RankFacts;
use super::matrix::Spot;
use crate::exit::Exit;
use crate::fault::Fault;
use experiments::backends::{Found, targets};
use experiments::driver::chosen;

/// Options of where ranks go.
pub struct Asked<'a> {
    /// A PU for each rank of a node.
    pub cpus: Option<&'a IdList>,
    /// A GPU for each rank of a node, or one for all.
    pub gpus: Option<&'a Selection>,
    /// Where host memory lies.
    pub membind: Membind,
}

/// The place of this rank: its spot of a matrix where it has one; else as in a plan for all ranks of its node, or, where it cannot have what they have (a launcher
/// bound each to its own cores), for it alone.
///
/// # Errors
/// What was asked for is not here, or the launcher does not say which of its node's ranks this is.
pub fn place(
    args: &Asked,
    launch: &Launch,
    topology: &Topology,
    found: &Found,
    spots: Option<&[Spot]>,
) -> Result<RankPlan, Fault> {
    let (rank, size) = on_node(launch)?;
    let available = targets(&*found.platform);
    let all = chosen(args.gpus, available.clone())?;
    if all.is_empty() {
        return Err(Fault::new(Exit::Absent, anyhow!("this machine shows neither a GPU nor a NUMA node for a rank")));
    }
    if args.gpus.is_some() && all.len() != size && all.len() != 1 {
        let text = format!(
            "--gpus names {} for the {} of this node: name one for each rank, or one for all",
            counted(all.len(), "GPU"),
            counted(size, "rank")
        );
        return Err(Fault::usage(anyhow!(text)));
    }
    let of_rank = |rank: usize| all[rank % all.len()].clone();
    let everybody: Vec<Target> = (0..size).map(of_rank).collect();
    let ask = |cpus: Option<IdList>, targets: Vec<Target>, membind: Membind| {
        placement::plan(topology, &Request { cpus, targets: Some(targets), available: available.clone(), membind })
    };
    if let Some(spots) = spots {
        let pus = IdList(spots.iter().map(|spot| spot.pu).collect());
        let mut plan = the(ask(Some(pus), everybody, args.membind).map_err(Fault::usage)?, rank)?;
        // Memory without cores is used from elsewhere.
        plan.memory_node = spots.get(rank).map_or(plan.memory_node, |spot| spot.node);
        return Ok(plan);
    }
    let plan = match ask(args.cpus.cloned(), everybody, args.membind) {
        Ok(plan) => plan,
        // Of its own it may have less than all ranks need.
        Err(error) if args.cpus.is_some() => return Err(Fault::usage(error)),
        Err(error) => {
            let alone = ask(None, vec![of_rank(rank)], args.membind).map_err(|_| Fault::usage(error))?;
            return the(alone, 0);
        }
    };
    the(plan, rank)
}

fn the(plan: Plan, number: usize) -> Result<RankPlan, Fault> {
    let count = plan.ranks.len();
    let missing = || Fault::usage(anyhow!("the plan has {count} places and this is rank {number} of its node"));
    plan.ranks.into_iter().nth(number).ok_or_else(missing)
}

/// Which of its node's ranks this is, and of how many; a process that nothing launched is alone.
///
/// # Errors
/// The launcher does not say.
pub fn on_node(launch: &Launch) -> Result<(usize, usize), Fault> {
    match (launch.local_rank, launch.local_size) {
        _ if launch.is_alone() => Ok((0, 1)),
        (Some(rank), Some(size)) if rank < size => Ok((rank, size)),
        _ => Err(Fault::usage(anyhow!(
            "{} does not say which of its node's ranks this process is: start it with srun, mpirun or mpiexec",
            launch.launcher.name()
        ))),
    }
}

/// Two ranks on one PU would wait for each other's turn.
///
/// # Errors
/// Which two, and what to do about it.
pub fn apart(ranks: &[RankFacts]) -> Result<(), Fault> {
    for (at, one) in ranks.iter().enumerate() {
        let same = |other: &&RankFacts| other.host == one.host && other.pu == one.pu;
        if let Some(other) = ranks[at + 1..].iter().find(same) {
            let text = format!(
                "ranks {} and {} would both run on PU {} of {}: give them cores of their own (mpirun --bind-to none, srun -c 1), or name PUs: --cpus LIST",
                one.rank, other.rank, one.pu, one.host
            );
            return Err(Fault::usage(anyhow!(text)));
        }
    }
    Ok(())
}
