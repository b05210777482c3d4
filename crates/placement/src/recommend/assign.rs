//! Cores to ranks: first each one's own part, then what is wanting, from what is nearest and free.
//!
//! Everyone has a core before anyone has a second one, so that many ranks on one GPU do not crowd beside one
//! that has all of its neighbour's share. Where some rank has no core of its own part, all of them are seated
//! together (`seats`).

use stats::IdSet;
use std::collections::BTreeMap;

use super::cost::Cost;
use super::pool::Pool;
use super::seats::{Seat, seats};
use super::wish::Wish;

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
pub(super) fn assign_cores(
    pool: &Pool<'_>,
    wishes: &[Wish],
    each: Option<usize>,
    smt: bool,
) -> Vec<Assignment> {
    let mut assigner = Assigner { pool, smt, ranks_on: BTreeMap::new() };
    let mut assignments = vec![Assignment::default(); wishes.len()];
    // One core for everyone before anyone has a second.
    if wishes.iter().all(|wish| !wish.part.is_empty()) {
        for (wish, assignment) in wishes.iter().zip(&mut assignments) {
            assigner.give_own(assignment, wish, 1);
        }
    } else {
        let seats = seats(pool, wishes);
        for ((wish, assignment), seat) in wishes.iter().zip(&mut assignments).zip(seats) {
            assigner.seat(assignment, wish, seat);
        }
    }

    for (wish, assignment) in wishes.iter().zip(&mut assignments) {
        assigner.give_own(assignment, wish, each.map_or(usize::MAX, |each| each - 1));
    }
    let needs: BTreeMap<usize, &[Cost]> = wishes.iter().map(|wish| (wish.group, &*wish.costs)).collect();
    for (wish, assignment) in wishes.iter().zip(&mut assignments) {
        each.into_iter().for_each(|each| assigner.fill_up(assignment, wish, each, &needs));
    }
    assignments
}

struct Assigner<'p> {
    pool: &'p Pool<'p>,
    smt: bool,
    ranks_on: BTreeMap<u32, usize>,
}

impl Assigner<'_> {
    fn is_free(&self, core: usize) -> bool {
        !self.pool.cores[core].pus.iter().any(|pu| self.ranks_on.contains_key(&pu))
    }

    /// So many of the rank's own part, as far as they are free.
    fn give_own(&mut self, assignment: &mut Assignment, wish: &Wish, most: usize) {
        let free: Vec<usize> =
            wish.part.iter().copied().filter(|core| self.is_free(*core)).take(most).collect();
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

    /// The core of a seat where it is the first there, else one of its hardware threads, else a PU of another
    /// rank's.
    fn seat(&mut self, assignment: &mut Assignment, wish: &Wish, seat: Seat) {
        let core = &self.pool.cores[seat.core];
        if !wish.part.contains(&seat.core) {
            assignment.elsewhere = core.pus.clone();
        }
        if seat.row == 0 {
            return self.give_core(assignment, seat.core);
        }
        let threads = core.pus.len();
        assignment.shared = seat.row >= threads;
        assignment.thread_only = !assignment.shared;
        core.pus.iter().nth(seat.row % threads).into_iter().for_each(|pu| self.give(assignment, pu));
    }

    /// The nearest free cores until the rank has so many; of cores as near, those that are no nearer to
    /// another rank. `needs` has the costs of each group of ranks.
    fn fill_up(
        &mut self,
        assignment: &mut Assignment,
        wish: &Wish,
        each: usize,
        needs: &BTreeMap<usize, &[Cost]>,
    ) {
        let cores = &self.pool.cores;
        let own = cores.iter().filter(|core| !assignment.pus.and(&core.pus).is_empty()).count();
        let mut free: Vec<usize> =
            (0..cores.len()).filter(|core| own < each && self.is_free(*core)).collect();
        let is_nearer_to_others = |core: usize| needs.values().any(|costs| costs[core] < wish.costs[core]);
        free.sort_by_cached_key(|core| (wish.costs[*core], is_nearer_to_others(*core), *core));
        for core in free.into_iter().take(each.saturating_sub(own)) {
            assignment.elsewhere = assignment.elsewhere.or(&cores[core].pus);
            self.give_core(assignment, core);
        }
    }
}
