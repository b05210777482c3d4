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
    /// As `Domain`, but all its cores were taken already: the PU shares its core, or is itself shared.
    DomainShared {
        /// The domain's PUs.
        cores: IdSet,
    },
    /// None of the domain's PUs is allowed here: a core elsewhere.
    DomainNotAllowed {
        /// The domain's PUs.
        cores: IdSet,
    },
    /// No PU at all is local to the target (a device or memory on a node without CPUs): the first free allowed core.
    NoLocalPu,
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
            Self::NoLocalPu => "no PU is local to the device: first free allowed core".to_owned(),
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
    let mut taken: Vec<u32> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let mut note = |text: String| {
        if !notes.contains(&text) {
            notes.push(text);
        }
    };
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
                let (node, why) = own_node(topology, pu)?;
                why.into_iter().for_each(&mut note);
                node
            }
        };
        if taken.contains(&pu) {
            note(format!(
                "PU {pu} is given to more than one rank: they take turns on it, and simultaneous figures show that"
            ));
        }
        taken.push(pu);
        let verdict = verdict(topology, pu, target.id);
        ranks.push(RankPlan { rank, pu, chosen_by, memory_node, target, verdict });
    }
    Ok(Plan { ranks, notes })
}

/// One target a rank: those asked for, or the first ones, or all.
fn targets(request: &Request) -> Result<Vec<Target>, PlanError> {
    let available = &request.available;
    if available.is_empty() && request.targets.is_none() {
        return Err(PlanError::NoTarget);
    }
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

#[cfg(test)]
mod tests {
    use topo::model::PuStatus;

    use super::*;
    use crate::Closeness;
    use crate::machine::{machine, without, without_nodes};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// A request as typed: `gpus` by index.
    fn request(topology: &Topology, cpus: Option<&str>, gpus: Option<&[usize]>) -> Request {
        let available = Target::gpus_of(topology);
        Request {
            cpus: cpus.map(|text| text.parse().expect("a list of PUs")),
            targets: gpus.map(|gpus| gpus.iter().map(|index| available[*index].clone()).collect()),
            available,
            membind: Membind::Local,
        }
    }

    fn pus(plan: &Plan) -> Vec<u32> {
        plan.ranks.iter().map(|rank| rank.pu).collect()
    }

    fn refusal(topology: &Topology, request: &Request) -> String {
        plan(topology, request).map_or_else(|error| error.to_string(), |plan| format!("planned: {plan:?}"))
    }

    #[test]
    fn rank_i_takes_the_ith_pu_and_the_ith_device() -> Outcome {
        let topology = machine();
        let plan = plan(&topology, &request(&topology, Some("7,0"), Some(&[1, 0])))?;
        let rows: Vec<_> = plan.ranks.iter().map(|r| (r.rank, r.pu, r.memory_node, r.target.index)).collect();
        assert_eq!(rows, [(0, 7, 1, 1), (1, 0, 0, 0)]);
        for rank in &plan.ranks {
            assert_eq!((&rank.chosen_by, rank.verdict.closeness), (&ChosenBy::Asked, Closeness::L3Local));
        }
        assert_eq!(plan.notes, [""; 0]);
        Ok(())
    }

    #[test]
    fn without_pus_every_device_gets_a_core_of_its_own_domain() -> Outcome {
        let topology = machine();
        let plan = plan(&topology, &request(&topology, None, None))?;
        assert_eq!(pus(&plan), [0, 6, 4, 1, 2]);
        Ok(())
    }

    #[test]
    fn ranks_that_share_a_device_get_cores_of_their_own() -> Outcome {
        let topology = machine();
        let plan = plan(&topology, &request(&topology, None, Some(&[0, 0, 0, 0, 0])))?;
        assert_eq!(pus(&plan), [0, 1, 8, 9, 0]);
        assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
        assert!(plan.notes[0].contains("PU 0 is given to more than one rank"), "{:?}", plan.notes);
        Ok(())
    }

    #[test]
    fn a_pu_asked_for_twice_is_given_twice_and_said_once() -> Outcome {
        let topology = machine();
        let plan = plan(&topology, &request(&topology, Some("16,16,5,16"), Some(&[0, 1, 2, 2])))?;
        assert_eq!(pus(&plan), [16, 16, 5, 16]);
        let said: Vec<_> = plan.notes.iter().filter(|note| note.contains("more than one rank")).collect();
        assert_eq!(said.len(), 1, "{:?}", plan.notes);
        assert_eq!(plan.notes.len(), 2, "and once that PU 16 has no memory of its own: {:?}", plan.notes);
        Ok(())
    }

    #[test]
    fn lists_of_unequal_lengths_are_refused_with_both_numbers() {
        let topology = machine();
        let text = refusal(&topology, &request(&topology, Some("0-2"), Some(&[0, 1])));
        assert!(text.contains("3 PUs (0,1,2)") && text.contains("2 devices"), "{text}");
        let text = refusal(&topology, &request(&topology, Some("5"), Some(&[0, 0])));
        assert!(text.contains("1 PUs (5)") && text.contains("2 devices"), "{text}");
    }

    #[test]
    fn pus_alone_take_the_first_devices_and_no_more_than_there_are() -> Outcome {
        let topology = machine();
        let two = plan(&topology, &request(&topology, Some("3,4"), None))?;
        assert_eq!(two.ranks.iter().map(|rank| rank.target.index).collect::<Vec<_>>(), [0, 1]);
        let text = refusal(&topology, &request(&topology, Some("0-5"), None));
        assert!(text.contains("6 PUs") && text.contains("only 5 devices"), "{text}");
        Ok(())
    }

    #[test]
    fn nothing_to_copy_to_is_said_as_that_whatever_else_was_asked() {
        let mut topology = machine();
        topology.gpus.clear();
        for cpus in [None, Some("0-1")] {
            assert_eq!(plan(&topology, &request(&topology, cpus, None)), Err(PlanError::NoTarget), "{cpus:?}");
        }
    }

    #[test]
    fn a_process_without_pus_is_told_so() {
        let topology = without(machine(), "0-17", PuStatus::NotInAffinity);
        assert_eq!(plan(&topology, &request(&topology, None, None)), Err(PlanError::NoPu));
    }

    #[test]
    fn a_pu_or_node_that_cannot_be_had_is_refused_before_anything_is_planned() {
        let topology = without_nodes(without(machine(), "3", PuStatus::Offline), "1");
        let asked = request(&topology, Some("3"), Some(&[0]));
        assert!(matches!(plan(&topology, &asked), Err(PlanError::Pu(PuError::Offline { pu: 3, .. }))));
        let asked = Request { membind: Membind::Node(1), ..request(&topology, None, None) };
        assert!(matches!(plan(&topology, &asked), Err(PlanError::Node(NodeError::NotAllowed { node: 1, .. }))));
    }

    #[test]
    fn a_node_asked_for_is_every_ranks_and_local_is_each_ranks_own() -> Outcome {
        let topology = machine();
        let nodes = |plan: &Plan| -> Vec<u32> { plan.ranks.iter().map(|rank| rank.memory_node).collect() };
        let local = request(&topology, Some("0,4"), None);
        assert_eq!(nodes(&plan(&topology, &local)?), [0, 1]);
        assert_eq!(nodes(&plan(&topology, &Request { membind: Membind::Node(2), ..local })?), [2, 2]);
        Ok(())
    }

    #[test]
    fn node_targets_are_those_with_memory_that_is_allowed() {
        let indices: Vec<u32> = Target::nodes_of(&without_nodes(machine(), "1")).iter().map(|t| t.index).collect();
        assert_eq!(indices, [0, 2, 3]);
    }
}
