//! Which GPU each rank drives, where it is not named: as many ranks on each GPU as on any other, or one more,
//! neighbours in rank on one.
//!
//! Who gets the one more, or one at all where ranks are fewer than GPUs, goes by what is near: a GPU of whose
//! cores the job has none is the last to be driven. Of GPUs as near those are taken that leave gaps of one
//! size, so that ranks are spread over packages and links.

use super::cost::{Cost, costs};
use super::pool::Pool;
use super::seats::Classes;
use super::transport::{Bounds, cheapest};
use crate::Target;

/// The GPU of each of so many ranks, of these.
pub(super) fn choice(pool: &Pool<'_>, gpus: &[Target], ranks: usize) -> Vec<Target> {
    if gpus.is_empty() {
        return Vec::new();
    }
    let mut counts = vec![ranks / gpus.len(); gpus.len()];
    with_one_more(pool, gpus, ranks).into_iter().for_each(|gpu| counts[gpu] += 1);
    gpus.iter().zip(counts).flat_map(|(gpu, count)| std::iter::repeat_n(gpu.clone(), count)).collect()
}

/// The GPUs that get one rank more than the others, by their place in the list.
fn with_one_more(pool: &Pool<'_>, gpus: &[Target], ranks: usize) -> Vec<usize> {
    let (each, more) = (ranks / gpus.len(), ranks % gpus.len());
    let in_gaps: Vec<usize> = gaps(gpus.len(), more).collect();
    if more == 0 || pool.cores.is_empty() {
        return in_gaps;
    }
    let costs: Vec<Vec<Cost>> = gpus.iter().map(|gpu| costs(pool, gpu.id)).collect();
    let mut kinds: Vec<&[Cost]> = costs.iter().map(Vec::as_slice).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let of_kind = |kind: &[Cost]| (0..gpus.len()).filter(|gpu| costs[*gpu] == kind).collect();
    let equals: Vec<Vec<usize>> = kinds.iter().map(|kind| of_kind(kind)).collect();
    let classes = Classes::of(pool, ranks, &kinds);
    let seated = |bounds: &dyn Fn(&[usize]) -> Bounds| {
        let demands: Vec<Bounds> = equals.iter().map(|equal| bounds(equal)).collect();
        cheapest(ranks, &demands, &classes.bounds, |kind, class| kinds[kind][classes.cores[class][0]])
    };
    let open = seated(&|equal| Bounds { least: each * equal.len(), most: (each + 1) * equal.len() });
    let by_gaps = seated(&|equal| {
        Bounds::exactly(each * equal.len() + equal.iter().filter(|gpu| in_gaps.contains(gpu)).count())
    });
    if by_gaps.cost <= open.cost {
        return in_gaps;
    }
    let more_of = |kind: usize| open.seated[kind].iter().sum::<usize>() - each * equals[kind].len();
    let chosen = equals
        .iter()
        .enumerate()
        .flat_map(|(kind, equal)| gaps(equal.len(), more_of(kind)).map(|at| equal[at]));

    chosen.collect()
}

/// So many of a list's places, with gaps of one size.
fn gaps(places: usize, some: usize) -> impl Iterator<Item = usize> {
    (0..some).map(move |one| one * places / some)
}
