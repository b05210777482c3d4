//! What every plan must keep, whatever the machine: said once, held against real captures and against random
//! machines.
//!
//! The rules are derived from the topology anew, not with the crate's own functions, so that a mistake there
//! shows here.

use placement::{
    ChosenBy, Closeness, Member, Membind, NodePlanError, NodeRequest, Plan, PlanError, RankPlanError,
    Request, Target, TargetId, plan, plan_node,
};
use stats::IdSet;
use topo::model::{Allowed, NodeKind, NumaNode, Rung, Topology};

/// A request that leaves every choice to the plan: these targets, memory on each PU's own node.
pub fn automatic(targets: Vec<Target>) -> Request {
    Request { cpus: None, targets: None, available: targets, membind: Membind::Local }
}

/// Plans and holds the plan against every rule; the plan, if one was to be made.
pub fn check(topology: &Topology, request: &Request) -> Result<Option<Plan>, String> {
    let made = plan(topology, request);
    if made != plan(topology, request) {
        return Err("the same request gave two plans".to_owned());
    }
    let host_memory = topology.nodes.iter().any(|node| node.allowed && holds_host_memory(node.kind));
    match made {
        Ok(plan) => ranks(topology, &plan, |_| &topology.allowed).map(|()| Some(plan)),
        Err(PlanError::Rank(RankPlanError::NoPu { .. })) if topology.allowed.pus.is_empty() => Ok(None),
        Err(PlanError::NoTarget) if request.available.is_empty() => Ok(None),
        Err(PlanError::Rank(RankPlanError::Node(_))) if !host_memory => Ok(None),
        Err(error) => Err(format!("refused without need: {error}")),
    }
}

/// Plans for launched processes that leave every choice to the plan, and holds that against every rule; the
/// plan, if one was to be made.
pub fn check_node(topology: &Topology, members: &[Member]) -> Result<Option<Plan>, String> {
    let owns_memory = |member: &Member| {
        let may = |node: &&NumaNode| member.allowed.nodes.contains(node.os_index);
        topology.nodes.iter().filter(may).any(|node| holds_host_memory(node.kind))
    };
    let seen: Vec<Vec<TargetId>> =
        members.iter().map(|member| member.visible.iter().map(|target| target.id).collect()).collect();
    let one_each = each_its_own(&seen, &mut Vec::new());
    match plan_node(topology, members, &NodeRequest::default()) {
        Ok(plan) => {
            let on = |id| plan.ranks.iter().filter(|rank| rank.target.id == id).count();
            for (rank, seen) in plan.ranks.iter().zip(&seen) {
                let id = rank.target.id;
                if !seen.contains(&id) {
                    return Err(format!("a rank does not see its device: {rank:?}, it sees {seen:?}"));
                }
                if on(id) > 1 && one_each {
                    return Err(format!("{id} is shared, and each could have one of its own: {seen:?}"));
                }
            }
            ranks(topology, &plan, |rank| &members[rank].allowed).map(|()| Some(plan))
        }
        Err(NodePlanError::Rank(RankPlanError::NoPu { .. }))
            if members.iter().any(|m| m.allowed.pus.is_empty()) =>
        {
            Ok(None)
        }
        Err(NodePlanError::Rank(RankPlanError::Node(_))) if !members.iter().all(owns_memory) => Ok(None),
        Err(NodePlanError::NoTarget) if seen.iter().all(Vec::is_empty) => Ok(None),
        Err(NodePlanError::Blind { .. }) if seen.iter().any(Vec::is_empty) => Ok(None),
        Err(NodePlanError::Crowded { .. }) if !one_each => Ok(None),
        Err(error) => Err(format!("refused without need: {error}")),
    }
}

/// Whether the remaining processes can each have a device that none before them has: by trying everything.
fn each_its_own(seen: &[Vec<TargetId>], taken: &mut Vec<TargetId>) -> bool {
    let Some((first, rest)) = seen.split_first() else { return true };
    first.iter().any(|id| {
        if taken.contains(id) {
            return false;
        }
        taken.push(*id);
        let found = each_its_own(rest, taken);
        taken.pop();
        found
    })
}

fn holds_host_memory(kind: NodeKind) -> bool {
    matches!(kind, NodeKind::Normal | NodeKind::MemoryOnly)
}

fn ranks<'a>(topology: &Topology, plan: &Plan, of: impl Fn(usize) -> &'a Allowed) -> Result<(), String> {
    let mut before: Vec<u32> = Vec::new();
    for rank in &plan.ranks {
        let Allowed { pus: allowed, nodes, .. } = of(rank.rank);
        let say = |what: &str| {
            Err(format!("rank {} ({}): {what}: {rank:?}, before it {before:?}", rank.rank, rank.target.id))
        };
        let local = local_pus(topology, rank.target.id);
        let usable = local.as_ref().map(|pus| pus.and(allowed)).filter(|pus| !pus.is_empty());
        let pool = usable.clone().unwrap_or_else(|| allowed.clone());
        let taken = |pu: u32| before.contains(&pu);
        let core_taken =
            |pu: u32| taken(pu) || topology.core_of(pu).is_some_and(|core| core.pus.iter().any(taken));
        if !allowed.contains(rank.pu) {
            return say("the PU is not allowed");
        }
        if !pool.contains(rank.pu) {
            return say("the PU is outside the domain, of which some are allowed");
        }
        if taken(rank.pu) && pool.iter().any(|pu| !taken(pu)) {
            return say("the PU was taken while another was free");
        }
        if core_taken(rank.pu) && pool.iter().any(|pu| !core_taken(pu)) {
            return say("the core was taken while another was free");
        }
        let on = |pu: u32| before.iter().filter(|other| **other == pu).count();
        if pool.iter().any(|pu| on(pu) < on(rank.pu)) {
            return say("another PU has fewer ranks");
        }
        let node = topology.node(rank.memory_node);
        if !node.is_some_and(|node| nodes.contains(node.os_index) && holds_host_memory(node.kind)) {
            return say("the memory node cannot hold host memory");
        }
        let says_domain = matches!(rank.chosen_by, ChosenBy::Domain { .. } | ChosenBy::DomainShared { .. });
        if says_domain != usable.is_some() || rank.chosen_by.text().is_empty() {
            return say("the reason does not fit the choice");
        }
        let closeness = rank.verdict.closeness;
        if (closeness == Closeness::Unknown) != local.is_none() || rank.verdict.reason.is_empty() {
            return say("the verdict does not fit what is known");
        }
        if usable.is_some() && closeness > Closeness::NumaLocal {
            return say("a local PU is not called local");
        }
        before.push(rank.pu);
    }
    Ok(())
}

/// The PUs the platform says are local, allowed or not; `None` where it does not say.
fn local_pus(topology: &Topology, target: TargetId) -> Option<IdSet> {
    match target {
        TargetId::Node(node) => topology.nodes.iter().find(|n| n.os_index == node).map(|n| n.pus.clone()),
        TargetId::Gpu(pci) => {
            let locality = &topology.gpus.iter().find(|gpu| gpu.pci == pci)?.locality;
            (locality.rung != Rung::Unknown).then(|| locality.pus.or(&locality.outside_pus))
        }
    }
}
