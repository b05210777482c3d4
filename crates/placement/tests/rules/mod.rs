//! What every plan must keep, whatever the machine: said once, held against real captures and against random machines.
//!
//! The rules are derived from the topology anew, not with the crate's own functions, so that a mistake there shows here.

use placement::{ChosenBy, Closeness, Membind, Plan, PlanError, Request, Target, TargetId, plan};
use stats::IdSet;
use topo::model::{NodeKind, Rung, Topology};

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
        Ok(plan) => ranks(topology, &plan).map(|()| Some(plan)),
        Err(PlanError::NoPu) if topology.allowed.pus.is_empty() => Ok(None),
        Err(PlanError::NoTarget) if request.available.is_empty() => Ok(None),
        Err(PlanError::Node(_)) if !host_memory => Ok(None),
        Err(error) => Err(format!("refused without need: {error}")),
    }
}

fn holds_host_memory(kind: NodeKind) -> bool {
    matches!(kind, NodeKind::Normal | NodeKind::MemoryOnly)
}

fn ranks(topology: &Topology, plan: &Plan) -> Result<(), String> {
    let allowed = &topology.allowed.pus;
    let mut before: Vec<u32> = Vec::new();
    for rank in &plan.ranks {
        let say = |what: &str| {
            Err(format!("rank {} ({}): {what}: {rank:?}, before it {before:?}", rank.rank, rank.target.id))
        };
        let local = local_pus(topology, rank.target.id);
        let usable = local.as_ref().map(|pus| pus.and(allowed)).filter(|pus| !pus.is_empty());
        let pool = usable.clone().unwrap_or_else(|| allowed.clone());
        let taken = |pu: u32| before.contains(&pu);
        let core_taken = |pu: u32| taken(pu) || topology.core_of(pu).is_some_and(|core| core.pus.iter().any(taken));
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
        if !node.is_some_and(|node| node.allowed && holds_host_memory(node.kind)) {
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
