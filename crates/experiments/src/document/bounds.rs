//! What part of its link's rate a figure reaches.
//!
//! A rate above its bound is proof against the bound: the copies went over something else than the link that
//! it was worked out from. No figure is then given as a part of it. What was measured stands; the device says
//! that its bound is not known, and why.

use report::Known;
use report::case::Case;
use report::device::Device;
use report::rank::Rank;
use report::result::{Outcome, RankResult};
use report::settings::Direction;
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

/// What part of a link's rate one way this rate is, in percent; `None` of what goes over no link, as what a
/// kernel works through in the GPU's own memory, and of latencies, which are no part of a rate.
pub(super) fn percent_of_bound(direction: Direction, bytes_per_s: f64, bound: Option<f64>) -> Option<f64> {
    let ways = match direction {
        Direction::H2d | Direction::D2h | Direction::RoundTrip => 1.0,
        Direction::Bidirectional => 2.0,
        _ => return None,
    };
    bound.map(|bound| bytes_per_s / (bound * ways) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_alone_have_a_part_of_the_links_rate() {
        let of = |direction| percent_of_bound(direction, 50e9, Some(100e9));
        assert_eq!([Direction::H2d, Direction::RoundTrip].map(of), [Some(50.0); 2]);
        assert_eq!(of(Direction::Bidirectional), Some(25.0), "the link has this rate each way");
        for direction in [Direction::Load, Direction::CoreToGpu, Direction::Kernel, Direction::Peer] {
            assert_eq!(of(direction), None, "{direction:?}");
        }
        assert_eq!(percent_of_bound(Direction::H2d, 50e9, None), None, "a link that is not known");
    }
}
