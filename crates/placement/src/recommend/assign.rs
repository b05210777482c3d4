//! Cores to ranks: first each one's own part, then what is wanting, from what is nearest and free.
//!
//! Everyone has a core before anyone has a second one, so that many ranks on one GPU do not crowd beside one that has all of its
//! neighbour's share. A rank without a core of its own part gets, in this order: a free core near (of the GPU's package), a second
//! hardware thread near, a free core elsewhere, a thread elsewhere. Only where no PU is free are PUs shared: near, with as few others as
//! there are, and elsewhere only where every PU near has clearly more ranks.

use std::collections::{BTreeMap, BTreeSet};

use stats::IdSet;

use super::pool::Pool;

/// What a rank is to get.
pub(super) struct Wish<'a> {
    /// Its own part of the cores.
    pub(super) part: Vec<usize>,
    /// How far a core is from what the rank needs.
    pub(super) distance: Box<dyn Fn(usize) -> Distance + 'a>,
}

/// How far a core is from what a rank needs; the smaller, the nearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Distance {
    /// Not on the package where the rank should be.
    pub(super) is_far: bool,
    /// The tier among those.
    pub(super) tier: u32,
    /// The order within the tier.
    pub(super) order: u64,
}

/// What a rank got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Assignment {
    /// The PUs it is bound to.
    pub(super) pus: IdSet,
    /// The PU to bind it to where a launcher takes only one: of its own part as far as it has one.
    pub(super) first: u32,
    /// Cores that are not of its own part.
    pub(super) elsewhere: IdSet,
    /// It has a hardware thread of a core that another rank is on.
    pub(super) thread_only: bool,
    /// Its PU is another rank's too.
    pub(super) shared: bool,
}

/// Assigns the pool's cores out, `each` to every rank where that is asked. The pool has a core.
pub(super) fn assign_cores(pool: &Pool<'_>, wishes: &[Wish<'_>], each: Option<usize>, smt: bool) -> Vec<Assignment> {
    let parts = wishes.iter().flat_map(|wish| wish.part.iter().copied()).collect();
    let mut assigner = Assigner { pool, smt, parts, ranks_on: BTreeMap::new() };
    let mut assignments = vec![Assignment::default(); wishes.len()];
    // One core for everyone before anyone has a second.
    for (wish, assignment) in wishes.iter().zip(&mut assignments) {
        assigner.give_own(assignment, wish, each.unwrap_or(1));
    }
    for (wish, assignment) in wishes.iter().zip(&mut assignments) {
        each.into_iter().for_each(|each| assigner.fill_up(assignment, wish, each));
    }
    assigner.give_the_rest(&mut assignments, wishes);
    for (wish, assignment) in wishes.iter().zip(&mut assignments).filter(|_| each.is_none()) {
        assigner.give_own(assignment, wish, usize::MAX);
    }
    assignments
}

struct Assigner<'p> {
    pool: &'p Pool<'p>,
    smt: bool,
    /// The cores that are some rank's own part: taken by others after those that are nobody's.
    parts: BTreeSet<usize>,
    ranks_on: BTreeMap<u32, usize>,
}

impl Assigner<'_> {
    fn is_free(&self, core: usize) -> bool {
        !self.pool.cores[core].pus.iter().any(|pu| self.ranks_on.contains_key(&pu))
    }

    /// So many of the rank's own part, as far as they are free.
    fn give_own(&mut self, assignment: &mut Assignment, wish: &Wish<'_>, most: usize) {
        let free: Vec<usize> = wish.part.iter().copied().filter(|core| self.is_free(*core)).take(most).collect();
        free.into_iter().for_each(|core| self.give_core(assignment, core));
    }

    fn give_core(&mut self, assignment: &mut Assignment, core: usize) {
        let threads = if self.smt { usize::MAX } else { 1 };
        let pus: Vec<u32> = self.pool.cores[core].pus.iter().take(threads).collect();
        pus.into_iter().for_each(|pu| self.give(assignment, pu));
    }

    fn give(&mut self, assignment: &mut Assignment, pu: u32) {
        if assignment.pus.is_empty() {
            assignment.first = pu;
        }
        assignment.pus.0.insert(pu);
        *self.ranks_on.entry(pu).or_default() += 1;
    }

    /// The nearest free cores until the rank has so many.
    fn fill_up(&mut self, assignment: &mut Assignment, wish: &Wish<'_>, each: usize) {
        let cores = &self.pool.cores;
        let own = cores.iter().filter(|core| !assignment.pus.and(&core.pus).is_empty()).count();
        let mut free: Vec<usize> = (0..cores.len()).filter(|core| own < each && self.is_free(*core)).collect();
        free.sort_by_cached_key(|core| ((wish.distance)(*core), *core));
        for core in free.into_iter().take(each - own) {
            assignment.elsewhere = assignment.elsewhere.or(&cores[core].pus);
            self.give_core(assignment, core);
        }
    }

    /// One PU for each rank that has none.
    fn give_the_rest(&mut self, assignments: &mut [Assignment], wishes: &[Wish<'_>]) {
        let left: Vec<usize> = (0..assignments.len()).filter(|rank| assignments[*rank].pus.is_empty()).collect();
        let distance = |rank: usize| (0..self.pool.cores.len()).map(|core| (wishes[rank].distance)(core)).collect();
        let distances: Vec<Vec<Distance>> = left.iter().map(|rank| distance(*rank)).collect();
        for stage in [Stage::NearCore, Stage::NearThread, Stage::Core, Stage::Thread] {
            for (rank, distances) in
                left.iter().zip(&distances).filter(|(rank, _)| assignments[**rank].pus.is_empty()).collect::<Vec<_>>()
            {
                self.give_free(&mut assignments[*rank], &wishes[*rank], distances, stage);
            }
        }
        let crowded: Vec<(usize, &[Distance])> = left
            .into_iter()
            .zip(distances.iter().map(Vec::as_slice))
            .filter(|(rank, _)| assignments[*rank].pus.is_empty())
            .collect();
        for (rank, distances) in &crowded {
            let near = self.pus(distances).filter(|(_, _, at)| is_near(*at, distances));
            let fewest = near.min_by_key(|(core, pu, at)| (self.ranks(*pu), at.tier, at.order, *core, *pu));
            if let Some((core, pu, _)) = fewest {
                self.share(&mut assignments[*rank], &wishes[*rank], core, pu);
            }
        }
        self.even_out(assignments, wishes, &crowded);
    }

    /// Every PU with its core, and how far it is.
    fn pus<'s>(&'s self, distances: &'s [Distance]) -> impl Iterator<Item = (usize, u32, Distance)> + 's {
        let cores = self.pool.cores.iter().zip(distances).enumerate();
        cores.flat_map(|(at, (core, distance))| core.pus.iter().map(move |pu| (at, pu, *distance)))
    }

    fn ranks(&self, pu: u32) -> usize {
        self.ranks_on.get(&pu).copied().unwrap_or(0)
    }

    /// The nearest free PU that the stage allows.
    fn give_free(&mut self, assignment: &mut Assignment, wish: &Wish<'_>, distances: &[Distance], stage: Stage) {
        let fits = |core: usize, at: Distance| match stage {
            Stage::NearCore => is_near(at, distances) && self.is_free(core),
            Stage::NearThread => is_near(at, distances),
            Stage::Core => self.is_free(core),
            Stage::Thread => true,
        };
        let free = self.pus(distances).filter(|(core, pu, at)| self.ranks(*pu) == 0 && fits(*core, *at));
        let key = |core: usize, at: Distance| (at.is_far, at.tier, self.parts.contains(&core), at.order);
        let Some((core, pu, _)) = free.min_by_key(|(core, pu, at)| (key(*core, *at), *core, *pu)) else { return };
        if !wish.part.contains(&core) {
            assignment.elsewhere = self.pool.cores[core].pus.clone();
        }
        if self.is_free(core) {
            return self.give_core(assignment, core);
        }
        assignment.thread_only = true;
        self.give(assignment, pu);
    }

    fn share(&mut self, assignment: &mut Assignment, wish: &Wish<'_>, core: usize, pu: u32) {
        *assignment = Assignment { shared: true, ..Assignment::default() };
        if !wish.part.contains(&core) {
            assignment.elsewhere = self.pool.cores[core].pus.clone();
        }
        self.give(assignment, pu);
    }

    /// Sends a rank away from where it is near only as long as every PU there then still has more ranks than its new one.
    fn even_out(&mut self, assignments: &mut [Assignment], wishes: &[Wish<'_>], crowded: &[(usize, &[Distance])]) {
        for _ in crowded {
            let step = |(rank, distances): &(usize, &[Distance])| {
                let first = assignments[*rank].first;
                let near = self.pus(distances).filter(|(_, _, at)| is_near(*at, distances));
                let fewest = near.map(|(_, pu, _)| self.ranks(pu)).min()?;
                let is_there = self.pus(distances).any(|(_, pu, at)| pu == first && is_near(at, distances));
                let far = self.pus(distances).filter(|(_, _, at)| !is_near(*at, distances));
                let (core, pu, _) = far.min_by_key(|(_, pu, at)| (self.ranks(*pu), *at, *pu))?;
                let gain = fewest.checked_sub(self.ranks(pu) + 3).filter(|_| is_there)?;
                Some(((gain, self.ranks(first), *rank), (core, pu)))
            };
            let best = crowded.iter().filter_map(step).max_by_key(|(gain, _)| *gain);
            let Some(((_, _, rank), (core, pu))) = best else { return };
            self.ranks_on.entry(assignments[rank].first).and_modify(|ranks| *ranks -= 1);
            self.share(&mut assignments[rank], &wishes[rank], core, pu);
        }
    }
}

/// Whether a core that is so far is among the nearest that there are.
fn is_near(at: Distance, all: &[Distance]) -> bool {
    !at.is_far || all.iter().all(|distance| distance.is_far)
}

/// What a rank without a core of its own may be given.
#[derive(Clone, Copy)]
enum Stage {
    NearCore,
    NearThread,
    Core,
    Thread,
}
