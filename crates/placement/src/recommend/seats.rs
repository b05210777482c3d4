//! One PU for each rank where ranks are more than their own parts have cores for.
//!
//! The order of what is wanted:
//!
//! 1. one rank a core while cores are free; then one a PU while PUs are free; then as many ranks on each PU
//!    as on any other, or one more;
//! 2. within that as many ranks near their GPU as there can be, closeness by closeness;
//! 3. GPUs that are as close to every core have as many ranks near, and as many far, as each other, or one
//!    more;
//! 4. within that the cores that [`cost`](super::cost) calls nearest of those of one closeness.
//!
//! The first is a matter of counting: every core has a first seat, then every core that has one its second
//! hardware thread, and when all PUs have a rank all of that again. Of the *rows* of seats that come about,
//! all but the last are full. The second is solved exactly (`transport`), over kinds of ranks and classes of
//! cores, the third by dealing what equal GPUs have together out in turn, and the fourth as the second, for
//! the ranks of each closeness.

use std::collections::BTreeMap;

use super::cost::{Cost, by_closeness};
use super::pool::Pool;
use super::transport::{Bounds, cheapest};
use super::wish::Wish;

/// Where a rank sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seat {
    /// How many ranks have a seat on this core before it.
    pub(super) row: usize,
    pub(super) core: usize,
}

/// How many seats of each core are taken by so many ranks: those that are certainly, and whether one more may
/// be.
pub(super) fn taken(pool: &Pool<'_>, ranks: usize) -> Vec<Bounds> {
    let threads = |core: usize| pool.cores[core].pus.len();
    let widest = (0..pool.cores.len()).map(threads).max().unwrap_or(0);
    let all: usize = (0..pool.cores.len()).map(threads).sum();
    if all == 0 {
        return Vec::new();
    }
    let mut bounds: Vec<Bounds> =
        (0..pool.cores.len()).map(|core| Bounds::exactly(ranks / all * threads(core))).collect();
    let mut left = ranks % all;

    for thread in 0..widest {
        let row: Vec<usize> = (0..pool.cores.len()).filter(|core| threads(*core) > thread).collect();
        let is_full = row.len() <= left;
        if left == 0 {
            break;
        }
        for core in &row {
            bounds[*core].most += 1;
            bounds[*core].least += usize::from(is_full);
        }
        left = if is_full { left - row.len() } else { 0 };
    }
    bounds
}

/// Cores that are as far from every kind of rank as each other.
pub(super) struct Classes {
    pub(super) cores: Vec<Vec<usize>>,
    pub(super) bounds: Vec<Bounds>,
}

impl Classes {
    /// Of the pool's cores, on which so many ranks are to sit; `kinds` are each kind's costs core by core.
    pub(super) fn of(pool: &Pool<'_>, ranks: usize, kinds: &[&[Cost]]) -> Self {
        let taken = taken(pool, ranks);
        let mut by_cost: BTreeMap<(Option<u32>, Vec<Cost>), Vec<usize>> = BTreeMap::new();
        for core in 0..pool.cores.len() {
            let costs = kinds.iter().map(|kind| kind[core]).collect();
            by_cost.entry((pool.cores[core].node, costs)).or_default().push(core);
        }
        let cores: Vec<Vec<usize>> = by_cost.into_values().collect();
        let sum = |cores: &Vec<usize>| Bounds {
            least: cores.iter().map(|core| taken[*core].least).sum(),
            most: cores.iter().map(|core| taken[*core].most).sum(),
        };
        Self { bounds: cores.iter().map(sum).collect(), cores }
    }
}

/// Ranks of one GPU, or of none.
struct Owner<'w> {
    costs: &'w [Cost],
    ranks: Vec<usize>,
}

/// The seat of each rank.
pub(super) fn seats(pool: &Pool<'_>, wishes: &[Wish]) -> Vec<Seat> {
    let owners = owners(wishes);
    let rows: Vec<&[Cost]> = owners.iter().map(|owner| owner.costs).collect();
    let classes = Classes::of(pool, wishes.len(), &kinds(&rows).0);
    let counts = counts(pool, &owners, &classes);
    let taken = taken(pool, wishes.len());
    let mut whose: Vec<Option<usize>> = vec![None; pool.cores.len()];
    for (at, owner) in owners.iter().enumerate() {
        owner.ranks.iter().flat_map(|rank| &wishes[*rank].part).for_each(|core| whose[*core] = Some(at));
    }
    let mut seats: Vec<Option<Seat>> = vec![None; wishes.len()];
    let mut of_owner: Vec<Vec<Seat>> = vec![Vec::new(); owners.len()];

    for (class, cores) in classes.cores.iter().enumerate() {
        let mut left: Vec<usize> = counts.iter().map(|of_class| of_class[class]).collect();
        let mut class = Class { cores, next: vec![0; cores.len()] };
        // Who has a part of its own begins it.
        for (owner, left) in owners.iter().zip(&mut left) {
            for rank in &owner.ranks {
                let at =
                    wishes[*rank].part.first().and_then(|first| cores.iter().position(|core| core == first));
                if let Some(at) = at.filter(|at| *left > 0 && class.next[*at] == 0) {
                    seats[*rank] = Some(class.take(at));
                    *left -= 1;
                }
            }
        }
        for limit in [|bounds: &Bounds| bounds.least, |bounds: &Bounds| bounds.most] {
            let rows = cores.iter().map(|core| limit(&taken[*core])).max().unwrap_or(0);
            for (row, is_own) in (0..rows).flat_map(|row| [(row, true), (row, false)]) {
                for (at, core) in cores.iter().enumerate() {
                    if class.next[at] != row || row >= limit(&taken[*core]) {
                        continue;
                    }
                    let its_own = whose[*core].filter(|owner| left[*owner] > 0);
                    let owner = if is_own { its_own } else { left.iter().position(|left| *left > 0) };
                    let Some(owner) = owner else { continue };
                    of_owner[owner].push(class.take(at));
                    left[owner] -= 1;
                }
            }
        }
    }

    for (owner, mut free) in owners.iter().zip(of_owner) {
        free.sort_unstable_by_key(|seat| (seat.row, owner.costs[seat.core], seat.core));
        let unseated =
            owner.ranks.iter().filter(|rank| seats[**rank].is_none()).copied().collect::<Vec<usize>>();
        unseated.into_iter().zip(free).for_each(|(rank, seat)| seats[rank] = Some(seat));
    }
    seats.into_iter().flatten().collect()
}

/// Ranks by what they need, in the order of the first of each.
fn owners(wishes: &[Wish]) -> Vec<Owner<'_>> {
    let mut owners: Vec<(usize, Owner<'_>)> = Vec::new();
    for (rank, wish) in wishes.iter().enumerate() {
        match owners.iter_mut().find(|(group, _)| *group == wish.group) {
            Some((_, owner)) => owner.ranks.push(rank),
            None => owners.push((wish.group, Owner { costs: &wish.costs, ranks: vec![rank] })),
        }
    }
    owners.into_iter().map(|(_, owner)| owner).collect()
}

/// How many ranks of each owner sit in each class.
///
/// First how many at each closeness, where GPUs of the same closeness to every core are dealt the same; then,
/// with that given, which cores of that closeness.
fn counts(pool: &Pool<'_>, owners: &[Owner<'_>], classes: &Classes) -> Vec<Vec<usize>> {
    let coarse: Vec<Vec<Cost>> =
        owners.iter().map(|owner| owner.costs.iter().map(|cost| by_closeness(*cost)).collect()).collect();
    let ranks: Vec<usize> = owners.iter().map(|owner| owner.ranks.len()).collect();
    let total = ranks.iter().sum();
    let rows: Vec<&[Cost]> = coarse.iter().map(Vec::as_slice).collect();
    let (kinds, equals) = kinds(&rows);
    let wide = Classes::of(pool, total, &kinds);
    let wants: Vec<Want> = (0..owners.len())
        .map(|owner| Want { owner, closeness: None, costs: rows[owner], ranks: ranks[owner] })
        .collect();
    let mut of_closeness: BTreeMap<(usize, Cost), usize> = BTreeMap::new();

    for (owner, of_class) in dealt(total, &wants, &equals, &wide).into_iter().enumerate() {
        for (class, count) in of_class.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            *of_closeness.entry((owner, rows[owner][wide.cores[class][0]])).or_default() += count;
        }
    }

    let wants: Vec<Want> = of_closeness
        .into_iter()
        .map(|((owner, closeness), ranks)| Want {
            owner,
            closeness: Some(closeness),
            costs: owners[owner].costs,
            ranks,
        })
        .collect();

    let mut equals: BTreeMap<(Cost, &[Cost]), Vec<usize>> = BTreeMap::new();
    for (at, want) in wants.iter().enumerate() {
        equals.entry((want.closeness.unwrap_or_default(), want.costs)).or_default().push(at);
    }
    let mut counts = vec![vec![0; classes.cores.len()]; owners.len()];
    let equals: Vec<Vec<usize>> = equals.into_values().collect();
    for (want, of_class) in wants.iter().zip(dealt(total, &wants, &equals, classes)) {
        counts[want.owner].iter_mut().zip(of_class).for_each(|(sum, count)| *sum += count);
    }
    counts
}

/// Different rows of costs, and who has each.
fn kinds<'c>(rows: &[&'c [Cost]]) -> (Vec<&'c [Cost]>, Vec<Vec<usize>>) {
    let mut kinds: BTreeMap<&'c [Cost], Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        kinds.entry(row).or_default().push(at);
    }
    kinds.into_iter().unzip()
}

/// Ranks of an owner that are to sit somewhere: at a closeness, or at any.
struct Want<'w> {
    owner: usize,
    closeness: Option<Cost>,
    costs: &'w [Cost],
    ranks: usize,
}

impl Want<'_> {
    fn cost(&self, core: usize) -> Cost {
        let cost = self.costs[core];
        match self.closeness {
            Some(closeness) if closeness != by_closeness(cost) => ELSEWHERE,
            Some(closeness) => cost - closeness,
            None => cost,
        }
    }
}

/// Above every sum of what tells cores of one closeness apart.
const ELSEWHERE: Cost = 1 << 80;

/// How many ranks of each want sit in each class: the cheapest of all ways, where what equal wants have
/// together is dealt out in turn, the nearest first.
fn dealt(total: usize, wants: &[Want<'_>], equals: &[Vec<usize>], classes: &Classes) -> Vec<Vec<usize>> {
    let of = |equal: &Vec<usize>| Bounds::exactly(equal.iter().map(|want| wants[*want].ranks).sum());
    let demands: Vec<Bounds> = equals.iter().map(of).collect();
    let cost = |kind: usize, class: usize| wants[equals[kind][0]].cost(classes.cores[class][0]);
    let seating = cheapest(total, &demands, &classes.bounds, cost);
    let mut counts = vec![vec![0; classes.cores.len()]; wants.len()];

    for (kind, equal) in equals.iter().enumerate() {
        let mut nearest_first: Vec<usize> = (0..classes.cores.len()).collect();
        nearest_first.sort_by_key(|class| cost(kind, *class));
        // Those with the most ranks first, so that who has one more gets the one that is over.
        let mut equal = equal.clone();
        equal.sort_by_key(|want| std::cmp::Reverse(wants[*want].ranks));
        let mut left: Vec<usize> = equal.iter().map(|want| wants[*want].ranks).collect();
        let mut turn = (0..equal.len()).cycle();
        for class in nearest_first {
            for _ in 0..seating.seated[kind][class] {
                let Some(at) = turn.by_ref().take(equal.len()).find(|at| left[*at] > 0) else { break };
                left[at] -= 1;
                counts[equal[at]][class] += 1;
            }
        }
    }
    counts
}

/// The next free seat of each core of a class.
struct Class<'c> {
    cores: &'c [usize],
    next: Vec<usize>,
}

impl Class<'_> {
    fn take(&mut self, at: usize) -> Seat {
        let seat = Seat { row: self.next[at], core: self.cores[at] };
        self.next[at] += 1;
        seat
    }
}
