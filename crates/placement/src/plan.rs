//! The plan: which PU, memory node and target each rank gets, who chose them, and how close they are.

use stats::{IdList, IdSet};
use topo::model::Topology;

use crate::check_node::{check_node, own_node};
use crate::check_pu::check_pu;
use crate::default_pu::default_pu;
use crate::{Membind, NodeError, PuError, Request, SelectionError, Target, Verdict, verdict};

/// Who chose a rank's PU, and why that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The user.
    Asked,
    /// The first free allowed core of the target's locality domain.
    Domain {
        /// The domain's PUs.
        cores: IdSet,
    },
    /// As `Domain`, but all its cores were taken already.
    DomainShared {
        /// The domain's PUs.
        cores: IdSet,
    },
    /// None of the domain's PUs is allowed here: a core elsewhere.
    DomainNotAllowed {
        /// The domain's PUs.
        cores: IdSet,
    },
    /// Nobody knows the target's locality: the first free allowed core.
    LocalityUnknown,
}

impl ChosenBy {
    /// In words, for outputs.
    pub fn text(&self) -> String {
        match self {
            Self::Asked => "asked for".to_owned(),
            Self::Domain { cores } => format!("first free allowed core of the device's locality domain ({cores})"),
            Self::DomainShared { cores } => {
                format!("shared: every allowed core of the device's locality domain ({cores}) already has a rank")
            }
            Self::DomainNotAllowed { cores } => {
                format!("none of the device's local PUs ({cores}) is allowed here: a core elsewhere")
            }
            Self::LocalityUnknown => "the device's locality is unknown: first free allowed core".to_owned(),
        }
    }
}

/// One rank's placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankPlan {
    /// The rank, 0..
    pub rank: usize,
    /// The PU it is bound to, OS index.
    pub pu: u32,
    /// Who chose the PU.
    pub chosen_by: ChosenBy,
    /// The node its host memory is bound to, OS index.
    pub memory_node: u32,
    /// What it copies to and from.
    pub target: Target,
    /// How close PU and target are.
    pub verdict: Verdict,
}

/// The placement of every rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In rank order.
    pub ranks: Vec<RankPlan>,
    /// What the user should know of the plan beside its rows.
    pub notes: Vec<String>,
}

/// No plan can be made of the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Lists of unequal lengths.
    #[error(
        "--cpus names {cpus} PUs ({cpu_list}) and --gpus names {gpus} devices: rank i takes the i-th of each, so give both the same length"
    )]
    Lengths {
        /// PUs named.
        cpus: usize,
        /// The list of PUs.
        cpu_list: IdList,
        /// Devices named.
        gpus: usize,
    },
    /// More PUs than devices to pair them with.
    #[error(
        "--cpus names {cpus} PUs but there are only {devices} devices: say which device each rank uses with --gpus (one may appear more than once)"
    )]
    MorePusThanDevices {
        /// PUs named.
        cpus: usize,
        /// Devices there are.
        devices: usize,
    },
    /// Nothing to copy to.
    #[error("there is no device to copy to")]
    NoTarget,
    /// This process may use no PU.
    #[error("this process may use no PU at all: its affinity and its cpuset have nothing in common")]
    NoPu,
    /// A PU that cannot be had.
    #[error(transparent)]
    Pu(#[from] PuError),
    /// A node that cannot be had.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A device that is not there.
    #[error(transparent)]
    Selection(#[from] SelectionError),
}

/// Plans the ranks of `request` on `topology`.
///
/// # Errors
/// Every way a request can fail to fit the machine, each naming what would fit.
pub fn plan(topology: &Topology, request: &Request) -> Result<Plan, PlanError> {
    let targets = targets(request)?;
    if let Some(cpus) = &request.cpus {
        cpus.0.iter().try_for_each(|pu| check_pu(topology, *pu))?;
    }
    if let Membind::Node(node) = request.membind {
        check_node(topology, node)?;
    }
    let mut taken = IdSet::default();
    let mut notes = Vec::new();
    let mut ranks = Vec::new();
    for (rank, target) in targets.into_iter().enumerate() {
        let asked = request.cpus.as_ref().and_then(|cpus| cpus.0.get(rank)).map(|pu| (*pu, ChosenBy::Asked));
        let (pu, chosen_by) = match asked {
            Some(choice) => choice,
            None => default_pu(topology, target.id, &taken).ok_or(PlanError::NoPu)?,
        };
        let memory_node = match request.membind {
            Membind::Node(node) => node,
            Membind::Local => {
                let (node, note) = own_node(topology, pu)?;
                notes.extend(note);
                node
            }
        };
        if !taken.0.insert(pu) {
            notes.push(format!(
                "PU {pu} is given to more than one rank: they take turns on it, and simultaneous figures show that"
            ));
        }
        let verdict = verdict(topology, pu, target.id);
        ranks.push(RankPlan { rank, pu, chosen_by, memory_node, target, verdict });
    }
    notes.dedup();
    Ok(Plan { ranks, notes })
}

/// One target a rank: those asked for, or the first ones, or all.
fn targets(request: &Request) -> Result<Vec<Target>, PlanError> {
    let available = &request.available;
    let targets = match (&request.targets, &request.cpus) {
        (Some(targets), Some(cpus)) if targets.len() != cpus.0.len() => {
            return Err(PlanError::Lengths { cpus: cpus.0.len(), cpu_list: cpus.clone(), gpus: targets.len() });
        }
        (Some(targets), _) => targets.clone(),
        (None, Some(cpus)) if cpus.0.len() > available.len() => {
            return Err(PlanError::MorePusThanDevices { cpus: cpus.0.len(), devices: available.len() });
        }
        (None, Some(cpus)) => available[..cpus.0.len()].to_vec(),
        (None, None) => available.clone(),
    };
    if targets.is_empty() { Err(PlanError::NoTarget) } else { Ok(targets) }
}
