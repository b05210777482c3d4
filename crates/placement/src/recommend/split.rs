//! Cores to parts: evenly, in one piece each, and along L3s where that leaves nobody short.

use super::pool::Pool;

/// `count` as evenly as it goes in `parts`, the larger ones first.
pub(super) fn sizes(count: usize, parts: usize) -> Vec<usize> {
    (0..parts).map(|part| count / parts + usize::from(part < count % parts)).collect()
}

/// The cores in `parts` disjoint parts that are together all of them; empty ones last where there are fewer
/// cores than parts.
///
/// Whole L3s where every part can have as many, and L3s that no part straddles where every L3 can have as
/// many parts, unless a part would then get less than half of an even one: an L3 of which a job has one core
/// is no share. Parts of several L3s each (POWER9's are of two cores) must be as even as without them.
pub(super) fn split(pool: &Pool<'_>, cores: &[usize], parts: usize) -> Vec<Vec<usize>> {
    if parts == 0 {
        return Vec::new();
    }
    let l3s = by_l3(pool, cores);
    let along_l3s: Vec<Vec<usize>> = if l3s.len().is_multiple_of(parts) {
        l3s.chunks((l3s.len() / parts).max(1)).map(<[_]>::concat).collect()
    } else if !l3s.is_empty() && parts.is_multiple_of(l3s.len()) {
        l3s.iter().flat_map(|l3| evenly(l3, parts / l3s.len())).collect()
    } else {
        Vec::new()
    };

    let enough = |part: &Vec<usize>| part.len() * 2 >= cores.len() / parts && !part.is_empty();
    let even = |part: &Vec<usize>| {
        l3s.len() <= parts || (cores.len() / parts..=cores.len().div_ceil(parts)).contains(&part.len())
    };
    if along_l3s.len() == parts && along_l3s.iter().all(|part| enough(part) && even(part)) {
        return along_l3s;
    }
    evenly(&l3s.concat(), parts)
}

/// The cores L3 by L3, those without one together.
fn by_l3(pool: &Pool<'_>, cores: &[usize]) -> Vec<Vec<usize>> {
    let mut sorted = cores.to_vec();
    // L3s in the order of their first core here, so that what is in order stays so.
    let first = |core: usize| {
        cores.iter().copied().filter(|other| pool.cores[*other].l3 == pool.cores[core].l3).min()
    };
    sorted.sort_by_cached_key(|core| (first(*core), *core));
    sorted.chunk_by(|one, other| pool.cores[*one].l3 == pool.cores[*other].l3).map(<[_]>::to_vec).collect()
}

fn evenly(cores: &[usize], parts: usize) -> Vec<Vec<usize>> {
    let mut rest = cores.iter().copied();
    sizes(cores.len(), parts).into_iter().map(|size| rest.by_ref().take(size).collect()).collect()
}
