//! Whether a rank that is far from its GPU could be near, given the other ranks: far is wrong only where it
//! need not be.
//!
//! What the launch gives stands: how many ranks there are, and how many cores each has. Within that a far
//! rank could be near
//!
//! * where near cores have room: no rank is on them, or fewer than on the rank's own core, or ranks share
//!   them without need;
//! * where ranks exchange their places so that one more of them is near and none less: it takes the place of
//!   a rank that is far, or has no GPU, or that is near but would be so elsewhere too, and so on (an
//!   augmenting path, as in bipartite matching).
//!
//! A plan that fills near cores first leaves neither, so what `place` gives is not called wrong. Left out:
//! places of different widths are exchanged as they are.

use std::collections::{BTreeMap, BTreeSet};

use stats::{IdSet, PciAddress};
use topo::model::Topology;

use super::by_gpu::ByGpu;
use super::{JobResources, Observed};
use crate::Closeness;

/// Who is on which core, and what is near to which GPU.
pub(super) struct Room {
    /// By core (its smallest PU): what the pool has of it.
    cores: BTreeMap<u32, Core>,
    /// The most hardware threads of a core.
    widest: usize,
    /// The core of each PU.
    core_of: BTreeMap<u32, u32>,
    near: BTreeMap<PciAddress, IdSet>,
    places: Vec<Place>,
}

#[derive(Default)]
struct Core {
    pus: IdSet,
    ranks: usize,
    /// What ranks need of it where they share: one core of all that each of them may run on.
    needed: f64,
}

/// A rank's place.
struct Place {
    /// Its cores; none where they are not known.
    cores: BTreeSet<u32>,
    /// Where it must stay; `None` where it is far from all its GPUs, or has none.
    must: Option<Must>,
    /// The GPUs that its PUs are all near to.
    near: BTreeSet<PciAddress>,
}

/// What a rank's place is near to that another one must be too.
enum Must {
    /// One of these, all of which it can use.
    NearOneOf(Vec<PciAddress>),
    /// What it uses is not known: it may need this very place.
    Here,
}

impl Room {
    pub(super) fn of(topology: &Topology, pool: &JobResources, ranks: &[Observed], by_gpu: &ByGpu) -> Self {
        let gpus: BTreeSet<PciAddress> =
            ranks.iter().flat_map(|rank| known(rank).unwrap_or_default()).collect();
        let near: BTreeMap<PciAddress, IdSet> =
            gpus.into_iter().map(|pci| (pci, by_gpu.within(pci, Closeness::NumaLocal))).collect();
        let first = |core: &topo::model::Core| core.pus.first().map(|first| (core.pus.clone(), first));
        let named = topology.cores.iter().filter_map(first);
        let core_of: BTreeMap<u32, u32> =
            named.flat_map(|(pus, first)| pus.0.into_iter().map(move |pu| (pu, first))).collect();
        let mut room = Self { cores: BTreeMap::new(), widest: 1, core_of, near, places: Vec::new() };
        for pu in pool.pus.minus(&topology.allowed.offline_pus).iter() {
            let core = room.core(pu);
            room.cores.entry(core).or_default().pus.0.insert(pu);
        }

        room.widest = room.cores.values().map(|core| core.pus.len()).max().unwrap_or(1).max(1);

        for rank in ranks {
            let place = room.place(rank);
            for core in &place.cores {
                let on = room.cores.entry(*core).or_default();
                on.ranks += 1;
                on.needed += 1.0 / place.cores.len() as f64;
            }
            room.places.push(place);
        }
        room
    }

    fn core(&self, pu: u32) -> u32 {
        self.core_of.get(&pu).copied().unwrap_or(pu)
    }

    fn place(&self, rank: &Observed) -> Place {
        let none = IdSet::default();
        let pus = rank.pus.as_ref().unwrap_or(&none);
        let near: BTreeSet<PciAddress> = self
            .near
            .iter()
            .filter(|(_, near)| !pus.is_empty() && pus.is_subset(near))
            .map(|(pci, _)| *pci)
            .collect();

        Place {
            cores: pus.iter().map(|pu| self.core(pu)).collect(),
            must: match known(rank) {
                None => Some(Must::Here),
                Some(gpus) if gpus.iter().any(|pci| near.contains(pci)) => Some(Must::NearOneOf(gpus)),
                Some(_) => None,
            },
            near,
        }
    }

    /// Whether this rank, of whose PUs none is near to the GPU, could be near to one of these GPUs.
    pub(super) fn could_be_near(&self, rank: usize, gpus: Vec<PciAddress>) -> bool {
        let own = &self.places[rank];
        let mut waiting = gpus;
        let mut tried = BTreeSet::new();
        while let Some(gpu) = waiting.pop() {
            if !tried.insert(gpu) {
                continue;
            }
            // One who had to give way may take this rank's place.
            if self.has_room(own, gpu) || own.near.contains(&gpu) {
                return true;
            }
            let there =
                self.places.iter().enumerate().filter(|(at, place)| *at != rank && place.near.contains(&gpu));
            for (_, place) in there {
                match &place.must {
                    Some(Must::NearOneOf(gpus)) => waiting.extend(gpus),
                    Some(Must::Here) => {}
                    None => return true,
                }
            }
        }

        false
    }

    /// How many cores near to the GPU no rank has, and how many this rank has.
    pub(super) fn free_and_own(&self, rank: usize, gpu: PciAddress) -> (usize, usize) {
        let free = self.near_cores(gpu).filter(|(_, core)| core.ranks == 0).count();
        (free, self.places[rank].cores.len())
    }

    /// Whether all near cores that this rank has none of are other ranks' own, and there are such: a rank
    /// that is wider than what is left near to its GPU reaches beyond, as it was asked to.
    pub(super) fn fills_what_is_left(&self, rank: usize, gpu: PciAddress) -> bool {
        let own = &self.places[rank].cores;
        let is_alone = own.iter().all(|core| self.cores.get(core).is_some_and(|core| core.ranks == 1));
        let mut others = self.near_cores(gpu).filter(|(core, _)| !own.contains(core)).peekable();
        is_alone && others.peek().is_some() && others.all(|(_, core)| core.ranks > 0)
    }

    fn near_cores(&self, gpu: PciAddress) -> impl Iterator<Item = (&u32, &Core)> {
        let near = self.near.get(&gpu);
        let is_near = move |core: &Core| near.is_some_and(|near| core.pus.iter().any(|pu| near.contains(pu)));
        self.cores.iter().filter(move |(_, core)| is_near(core))
    }

    /// Whether the cores near to a GPU take another rank that is as wide as the one of this place, on none as
    /// late as it sits now.
    fn has_room(&self, own: &Place, gpu: PciAddress) -> bool {
        let here = own.cores.iter().filter_map(|core| self.cores.get(core));
        let latest = here.clone().map(|core| self.row(core, core.ranks.saturating_sub(1))).max().unwrap_or(0);
        let shares = here.clone().any(|core| core.ranks > 1);
        let needed = if shares { 1.0 } else { own.cores.len() as f64 };
        let room =
            self.near_cores(gpu).filter(|(first, _)| !own.cores.contains(first)).map(|(_, core)| match core
                .ranks
            {
                ranks if self.row(core, ranks) <= latest => 1.0,
                0 | 1 => 0.0,
                _ => (1.0 - core.needed).max(0.0),
            });
        // Sums of thirds are not exact.
        room.sum::<f64>() > needed - 1e-6
    }

    /// How late one sits on a core that has so many before: each core's first hardware thread, each core's
    /// second, and then again.
    fn row(&self, core: &Core, before: usize) -> usize {
        let threads = core.pus.len().max(1);
        before / threads * self.widest + before % threads
    }
}

/// The GPUs that a rank can use; `None` where they are not known.
fn known(rank: &Observed) -> Option<Vec<PciAddress>> {
    rank.gpus.as_ref().ok()?.iter().map(|gpu| gpu.pci).collect()
}
