//! Figures that are the CPU cache's: said beside the first figures, because a rate of 136 GB/s from one core is taken for its memory's otherwise.

use report::Document;
use report::result::{Outcome, RankResult};
use stats::flag::Flag;

/// Whether what a result moved fits into the CPU's cache.
pub fn is_cached(result: &RankResult) -> bool {
    matches!(&result.outcome, Outcome::Measured { flags, .. } if flags.contains(&Flag::Cached))
}

/// The sentence; none where no figure is the cache's.
pub fn sentence(document: &Document) -> Option<String> {
    let measured = || document.cases.iter().flat_map(|case| &case.ranks).filter(|result| result.summary().is_some());
    let (cached, all) = (measured().filter(|result| is_cached(result)).count(), measured().count());
    let which = match cached {
        0 => return None,
        some if some == all => "All figures show".to_owned(),
        1 => format!("1 of {all} figures shows"),
        some => format!("{some} of {all} figures show"),
    };
    Some(format!(
        "{which} the CPU's cache and not its memory: what was moved fits into the cache. For memory ask for several times as much as the cache has."
    ))
}
