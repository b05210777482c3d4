//! Fills in what a rank's process knows before the run: its part of the document, the environment and the
//! platform.

use ::place::document::locality;
use placement::{ChosenBy, RankPlan};
use report::document::{Platform, PlatformKind};
use report::environment::Environment;
use report::rank::{ChosenBy as By, NodeTurn, Placement, Rank};

use super::rank_part::{Local, RankPart};
use super::{devices, environment, nodes, probe_text};
use crate::backends::FoundPlatform;

impl Local<'_> {
    /// The environment as a document has it.
    pub fn environment(&self) -> Environment {
        environment::environment(self)
    }

    /// The parts of these ranks.
    pub fn parts(&self, ranks: &[usize]) -> Vec<RankPart> {
        let mine = self.plan.ranks.iter().enumerate().filter(|(_, plan)| ranks.contains(&plan.rank));
        mine.filter_map(|(node_rank, plan)| {
            Some(RankPart {
                rank: self.rank(node_rank, plan),
                device: devices::device(self, plan)?,
                notes: self.plan.notes.clone(),
                node: (node_rank == 0).then(|| nodes::facts(self)),
            })
        })
        .collect()
    }

    fn rank(&self, node_rank: usize, plan: &RankPlan) -> Rank {
        let sharers = self.plan.ranks.iter().filter(|other| other.target.id == plan.target.id).count();
        let mut notes = Vec::new();
        if sharers > 1 {
            notes.push(format!("{sharers} ranks share this device"));
        }

        let l3 = self.topology.l3_of(plan.pu);
        Rank {
            time: None,
            l3_bytes: l3.and_then(|l3| l3.size_bytes),
            l3_first_pu: l3.and_then(|l3| l3.pus.first()),
            rank: plan.rank as u32,
            node: self.node as u32,
            node_rank: node_rank as u32,
            host: self.topology.host(),
            process_id: std::process::id(),
            thread_id: None,
            visible_devices: Some(self.found.platform.devices().len() as u32),
            asked: Placement {
                pu: plan.pu,
                memory_node: plan.spread.is_none().then_some(plan.memory_node),
                memory_spread: plan.spread.iter().flat_map(|nodes| &nodes.in_turn).map(turn).collect(),
                device: self.device_id(plan),
            },
            chosen_by: match &plan.chosen_by {
                ChosenBy::Asked => By::User,
                other => By::Automatic { rule: other.text() },
            },
            locality: locality(plan.verdict.closeness),
            locality_reason: plan.verdict.reason.clone(),
            notes,
        }
    }

    /// The platform as this process sees it.
    pub fn platform(&self) -> Platform {
        platform(self.found, self.machine)
    }
}

fn turn((node, pages): (&u32, &u32)) -> NodeTurn {
    NodeTurn { node: *node, pages: *pages }
}

/// The platform as a document has it.
pub fn platform(found: &FoundPlatform, machine: &topo::environment::Environment) -> Platform {
    let known = found.platform.facts();
    let kind = match known.kind {
        device::PlatformKind::Cuda => PlatformKind::Cuda,
        device::PlatformKind::Hip => PlatformKind::Hip,
        device::PlatformKind::Host => PlatformKind::Host,
    };
    let probe = match known.kind {
        device::PlatformKind::Cuda => "driver.nvidia",
        device::PlatformKind::Hip => "driver.amdgpu",
        device::PlatformKind::Host => "",
    };
    let driver =
        machine.probes.iter().find(|found| found.name == probe).and_then(|found| found.value.as_ref());

    Platform {
        kind,
        reason: found.why_host.clone(),
        api_version: known.api_version.clone(),
        driver_version: driver.map(probe_text),
        visible_devices: found.platform.devices().len() as u32,
        simulated: known.simulated.clone(),
    }
}
