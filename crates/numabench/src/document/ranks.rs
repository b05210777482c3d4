//! The ranks and the placement asked of them.

use pingpong::RunState;
use placement::{ChosenBy, Closeness, RankPlan};
use report::rank::{ChosenBy as By, Locality, Placement, Rank};

use super::{Facts, hostname};

pub(super) fn ranks(facts: &Facts, state: &RunState) -> Vec<Rank> {
    facts.plan.ranks.iter().map(|plan| rank(facts, state, plan)).collect()
}

fn rank(facts: &Facts, state: &RunState, plan: &RankPlan) -> Rank {
    let sharers = facts.plan.ranks.iter().filter(|other| other.target.id == plan.target.id).count();
    let mut notes = Vec::new();
    if sharers > 1 {
        notes.push(format!("{sharers} ranks share this device"));
    }
    Rank {
        rank: plan.rank as u32,
        node: 0,
        node_rank: plan.rank as u32,
        host: hostname(facts.topology),
        process_id: std::process::id(),
        thread_id: state.ranks.get(plan.rank).and_then(|rank| rank.thread_id),
        visible_devices: Some(facts.found.platform.devices().len() as u32),
        asked: Placement { pu: plan.pu, memory_node: Some(plan.memory_node), device: plan.target.id.to_string() },
        chosen_by: match &plan.chosen_by {
            ChosenBy::Asked => By::User,
            other => By::Automatic { rule: other.text() },
        },
        locality: match plan.verdict.closeness {
            Closeness::L3Local => Locality::L3Local,
            Closeness::NumaLocal => Locality::NumaLocal,
            Closeness::SamePackage => Locality::SamePackage,
            Closeness::Remote => Locality::Remote,
            Closeness::Unknown => Locality::Unknown,
        },
        locality_reason: plan.verdict.reason.clone(),
        notes,
    }
}
