//! One rank's PUs against its GPUs' NUMA domains; against the nodes alone where it has no GPU.
//!
//! Near is "L3-local or NUMA-local". Another node of the same package is not: on nodes with four of them in a
//! package, taking the wrong one is the mistake that people make.

use stats::{IdSet, PciAddress};
use topo::model::Topology;
use topo::visibility::Visible;

use super::by_gpu::ByGpu;
use super::room::Room;
use super::{
    FindingKind, Found, JobResources, Observed, PlacementVerdict, RankJudgement, gpu_in_words, homes,
    nodes_in_words, pus_in_words,
};
use crate::{Closeness, TargetId, verdict};

/// What all ranks are judged by.
pub(super) struct Among<'a> {
    pub(super) topology: &'a Topology,
    pub(super) pool: &'a JobResources,
    pub(super) by_gpu: &'a ByGpu,
    pub(super) room: &'a Room,
}

/// What is said of the rank of this number, and what was found.
pub(super) fn near(among: &Among<'_>, number: usize, rank: &Observed) -> (RankJudgement, Vec<Found>) {
    let topology = among.topology;
    let mut own = RankJudgement {
        placed: PlacementVerdict::Well,
        nodes: IdSet::default(),
        closeness: None,
        why: String::new(),
    };
    let all: IdSet = topology.pus.iter().map(|pu| pu.os_index).collect();
    let pus = match &rank.pus {
        Ok(pus) => pus.minus(&topology.allowed.offline_pus),
        Err(reason) => {
            return (
                own,
                vec![unknown(
                    FindingKind::NotSeen,
                    format!("the PUs of {} are not known: {reason}", rank.name),
                )],
            );
        }
    };

    let strange = pus.minus(&all);
    if pus.is_empty() {
        let text = format!("{} may run on no PU that is online", rank.name);
        return (own, vec![unknown(FindingKind::NotSeen, text)]);
    }

    if !strange.is_empty() {
        let text =
            format!("{} may run on {}, which this machine does not have", rank.name, pus_in_words(&strange));
        return (own, vec![unknown(FindingKind::NotSeen, text)]);
    }

    own.nodes = homes(topology, &pus);
    let found = match &rank.gpus {
        Err(reason) => Some(unknown(
            FindingKind::GpuNotKnown,
            format!("the GPUs of {} are not known: {reason}", rank.name),
        )),
        Ok(gpus) if gpus.is_empty() => spans(rank, &pus, &own.nodes),
        Ok(gpus) => of_gpus(among, (number, rank), &pus, gpus, &mut own),
    };
    (own, found.into_iter().collect())
}

fn unknown(kind: FindingKind, text: String) -> Found {
    (kind, PlacementVerdict::Unknown, text)
}

/// Without a GPU: all on one node.
fn spans(rank: &Observed, pus: &IdSet, nodes: &IdSet) -> Option<Found> {
    let text = format!(
        "{} has no GPU and may run on {}, which are of NUMA {}",
        rank.name,
        pus_in_words(pus),
        nodes_in_words(nodes)
    );
    (nodes.len() > 1).then(|| unknown(FindingKind::SpansNodes, text))
}

/// A GPU, and what is near it.
struct Domain {
    pci: PciAddress,
    words: String,
    /// The rank's PUs near to it.
    own: IdSet,
    /// The pool's.
    in_pool: IdSet,
    /// Every PU of the machine's.
    all: IdSet,
}

fn of_gpus(
    among: &Among<'_>,
    (number, rank): (usize, &Observed),
    pus: &IdSet,
    gpus: &[Visible],
    own: &mut RankJudgement,
) -> Option<Found> {
    let Among { topology, pool, by_gpu, room } = among;
    let name = &rank.name;
    let mut domains = Vec::new();
    for gpu in gpus {
        let words = gpu_in_words(topology, gpu);
        let Some(pci) = gpu.pci else {
            return Some(unknown(
                FindingKind::GpuNotKnown,
                format!("{name} uses {words}, and the GPU that it is part of is not known"),
            ));
        };
        let farther =
            |(closeness, _): &(Closeness, u32)| own.closeness.is_none_or(|worst| *closeness > worst);
        if let Some((closeness, pu)) = by_gpu.farthest(pci, pus).filter(farther) {
            (own.closeness, own.why) = (Some(closeness), verdict(topology, pu, TargetId::Gpu(pci)).reason);
        }
        if own.closeness == Some(Closeness::Unknown) {
            // The sentence around it is made where all ranks are known (`judge`).
            return Some(unknown(FindingKind::LocalityNotKnown, format!("{words} ({name})")));
        }
        let all = by_gpu.within(pci, Closeness::NumaLocal);
        domains.push(Domain { pci, words, own: all.and(pus), in_pool: all.and(&pool.pus.or(pus)), all });
    }

    let [first, others @ ..] = domains.as_slice() else { return None };

    if domains.iter().all(|domain| domain.own.is_empty()) {
        let Some(nearest) = domains.iter().find(|domain| !domain.in_pool.is_empty()) else {
            let text = format!(
                "{name} runs on {}, far from {}: this job has none of its cores",
                pus_in_words(pus),
                first.words
            );
            return Some(unknown(FindingKind::FarFromGpu, text));
        };
        let (here, near) = (pus_in_words(pus), pus_in_words(&nearest.in_pool));
        if !room.could_be_near(number, gpus.iter().filter_map(|gpu| gpu.pci).collect()) {
            let (free, own) = room.free_and_own(number, nearest.pci);
            let why = match free {
                0 => format!("other ranks have {near}"),
                _ => format!(
                    "it has {own} cores, and {} of those near to it {} free ({near})",
                    free,
                    if free == 1 { "is" } else { "are" }
                ),
            };
            let text = format!(
                "{name} runs on {here}, far from its {}: {why}; as near as this launch allows",
                nearest.words
            );
            return Some(unknown(FindingKind::FarFromGpu, text));
        }
        let text = format!("{name} runs on {here}, far from its {}: {near} are near to it", nearest.words);
        return Some((
            FindingKind::FarFromGpu,
            PlacementVerdict::Misplaced,
            text.replace(
                "are near to it",
                if nearest.in_pool.len() == 1 { "is near to it" } else { "are near to it" },
            ),
        ));
    }

    if domains.iter().all(|domain| domain.own == *pus) {
        return nearer_l3(pool, rank, pus, gpus, first, by_gpu);
    }

    if others.iter().all(|other| other.all == first.all) {
        let far = pus.minus(&first.own);
        let text = format!(
            "{name} is not bound to the PUs near to its {}: it may run on {} too",
            first.words,
            pus_in_words(&far)
        );
        if let [Visible { pci: Some(pci), .. }] = gpus
            && room.fills_what_is_left(number, *pci)
        {
            return Some(unknown(
                FindingKind::NotBound,
                format!("{text}: other ranks have all others near to it"),
            ));
        }
        return Some((FindingKind::NotBound, PlacementVerdict::Misplaced, text));
    }

    let text = format!(
        "{name} sees {} GPUs that are near to different PUs; its program decides which of them it uses",
        gpus.len()
    );
    Some(unknown(FindingKind::GpuNotKnown, text))
}

/// A remark where a PU on the GPU's own L3 could be had.
fn nearer_l3(
    pool: &JobResources,
    rank: &Observed,
    pus: &IdSet,
    gpus: &[Visible],
    domain: &Domain,
    by_gpu: &ByGpu,
) -> Option<Found> {
    let [Visible { pci: Some(pci), .. }] = gpus else { return None };
    let on_l3 = by_gpu.within(*pci, Closeness::L3Local);
    let nearer = pool.pus.and(&on_l3);
    if !pus.and(&on_l3).is_empty() || nearer.is_empty() {
        return None;
    }
    let text = format!(
        "{} is on the NUMA node of its {}, whose own L3 has {}",
        rank.name,
        domain.words,
        pus_in_words(&nearer)
    );
    Some((FindingKind::NearerL3, PlacementVerdict::Well, text))
}
