//! Cores to ranks: first each one's own part, then what is wanting, from what is nearest and free.
//!
//! Everyone has a core before anyone has a second one, so that many ranks on one GPU do not crowd beside one that has all of its
//! neighbour's share. A PU is given twice only when none is free, and a rank goes away from its target only when nothing near is free:
//! a second hardware thread near comes before a core far away.

use std::collections::{BTreeMap, BTreeSet};

use stats::IdSet;

use super::pool::Pool;

/// What a rank is to get.
pub(super) struct Wish<'a> {
    /// Its own part of the cores.
    pub(super) part: Vec<usize>,
    /// How far a core is from what the rank needs: the tier, and the order within it.
    pub(super) away: Box<dyn Fn(usize) -> (u32, u64) + 'a>,
}

/// What a rank got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hand {
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

/// Deals the pool's cores out, `each` to every rank where that is asked. The pool has a core.
pub(super) fn deal(pool: &Pool<'_>, wishes: &[Wish<'_>], each: Option<usize>, smt: bool) -> Vec<Hand> {
    let parts = wishes.iter().flat_map(|wish| wish.part.iter().copied()).collect();
    let mut deal = Deal { pool, smt, parts, ranks_on: BTreeMap::new() };
    let mut hands = vec![Hand::default(); wishes.len()];
    // One core for everyone before anyone has a second.
    for (wish, hand) in wishes.iter().zip(&mut hands) {
        deal.give_own(hand, wish, each.unwrap_or(1));
    }
    for (wish, hand) in wishes.iter().zip(&mut hands) {
        match each {
            Some(each) => deal.fill_up(hand, wish, each),
            None if hand.pus.is_empty() => deal.give_nearest(hand, wish),
            None => {}
        }
    }
    for (wish, hand) in wishes.iter().zip(&mut hands).filter(|_| each.is_none()) {
        deal.give_own(hand, wish, usize::MAX);
    }
    hands
}

struct Deal<'p> {
    pool: &'p Pool<'p>,
    smt: bool,
    /// The cores that are some rank's own part: taken by others after those that are nobody's.
    parts: BTreeSet<usize>,
    ranks_on: BTreeMap<u32, usize>,
}

impl Deal<'_> {
    fn is_free(&self, core: usize) -> bool {
        !self.pool.seats[core].pus.iter().any(|pu| self.ranks_on.contains_key(&pu))
    }

    /// So many of the rank's own part, as far as they are free.
    fn give_own(&mut self, hand: &mut Hand, wish: &Wish<'_>, most: usize) {
        let free: Vec<usize> = wish.part.iter().copied().filter(|core| self.is_free(*core)).take(most).collect();
        free.into_iter().for_each(|core| self.give_core(hand, core));
    }

    fn give_core(&mut self, hand: &mut Hand, core: usize) {
        let threads = if self.smt { usize::MAX } else { 1 };
        let pus: Vec<u32> = self.pool.seats[core].pus.iter().take(threads).collect();
        pus.into_iter().for_each(|pu| self.give(hand, pu));
    }

    fn give(&mut self, hand: &mut Hand, pu: u32) {
        if hand.pus.is_empty() {
            hand.first = pu;
        }
        hand.pus.0.insert(pu);
        *self.ranks_on.entry(pu).or_default() += 1;
    }

    /// The nearest free cores until the rank has so many.
    fn fill_up(&mut self, hand: &mut Hand, wish: &Wish<'_>, each: usize) {
        let seats = &self.pool.seats;
        let own = seats.iter().filter(|seat| !hand.pus.and(&seat.pus).is_empty()).count();
        let mut free: Vec<usize> = (0..seats.len()).filter(|core| own < each && self.is_free(*core)).collect();
        free.sort_by_cached_key(|core| ((wish.away)(*core), *core));
        for core in free.into_iter().take(each - own) {
            hand.elsewhere = hand.elsewhere.or(&seats[core].pus);
            self.give_core(hand, core);
        }
    }

    /// One PU, for a rank that has none: a free one in the nearest tier that has one, on a free core if there is one there; the one
    /// with the fewest ranks, and then the nearest, where none is free at all.
    fn give_nearest(&mut self, hand: &mut Hand, wish: &Wish<'_>) {
        let ranks = |pu: u32| self.ranks_on.get(&pu).copied().unwrap_or(0);
        let seats = &self.pool.seats;
        let every = (0..seats.len()).flat_map(|core| seats[core].pus.iter().map(move |pu| (core, pu)));
        let away: Vec<(u32, u64)> = (0..seats.len()).map(|core| (wish.away)(core)).collect();
        let nearest = every.min_by_key(|(core, pu)| {
            let (tier, order) = away[*core];
            (ranks(*pu), tier, !self.is_free(*core), self.parts.contains(core), order, *core, *pu)
        });
        let Some((core, pu)) = nearest else { return };
        if !wish.part.contains(&core) {
            hand.elsewhere = seats[core].pus.clone();
        }
        if self.is_free(core) {
            return self.give_core(hand, core);
        }
        hand.shared = ranks(pu) > 0;
        hand.thread_only = !hand.shared;
        self.give(hand, pu);
    }
}
