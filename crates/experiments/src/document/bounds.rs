//! A rate above its bound is proof against the bound: the copies went over something else than the link that
//! it was worked out from.
//!
//! No figure is then given as a part of it. What was measured stands; the device says that its bound is not
//! known, and why.

use report::Known;
use report::case::Case;
use report::device::Device;
use report::rank::Rank;
use report::result::{Outcome, RankResult};
use stats::units::rate;

/// Withdraws the bounds that were exceeded, and each figure that is a part of one.
pub(crate) fn withdraw(devices: &mut [Device], ranks: &[Rank], cases: &mut [Case]) {
    for device in devices {
        let is_of_device = |result: &RankResult| {
            ranks.iter().any(|rank| rank.rank == result.rank && rank.asked.device == device.id)
        };
        let own = || cases.iter().flat_map(|case| &case.ranks).filter(|result| is_of_device(result));
        let highest = own().filter_map(|result| Some((part(result)?, result.summary()?.median_bytes_per_s)));
        let highest = highest.max_by(|one, other| one.0.total_cmp(&other.0));
        let (Some((percent, reached)), Some(bound)) = (highest, device.bound_bytes_per_s.value) else {
            continue;
        };
        if percent <= 100.0 {
            continue;
        }
        let reason = format!(
            "it is not {}: {} was measured, {percent:.0} % of it, so copies go over another link",
            rate(bound),
            rate(reached)
        );
        device.bound_bytes_per_s = Known::unknown(device.bound_bytes_per_s.source.clone(), reason);
        let results = cases.iter_mut().flat_map(|case| &mut case.ranks);
        for result in results.filter(|result| is_of_device(result)) {
            if let Outcome::Measured { percent_of_bound, .. } = &mut result.outcome {
                *percent_of_bound = None;
            }
        }
    }
}

fn part(result: &RankResult) -> Option<f64> {
    match &result.outcome {
        Outcome::Measured { percent_of_bound, .. } => *percent_of_bound,
        _ => None,
    }
}
