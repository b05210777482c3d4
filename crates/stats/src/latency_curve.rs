//! A curve of latency against the traffic beside it, from idle to all that can be made: where it begins to
//! climb, and at which traffic the latency is twice the idle one.
//!
//! Only what is certain is said: a latency is above a multiple of the idle one where the low end of its
//! interval is above that multiple of the high end of the idle one's. Points whose medians are known without
//! an interval decide nothing.

use crate::interval::Interval;

/// A latency, and the traffic beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The traffic, bytes/s; 0 where there is none.
    pub bytes_per_s: f64,
    /// The latency, ns.
    pub latency_ns: f64,
    /// Its 95 % interval, ns; `None` with too few blocks.
    pub interval_ns: Option<Interval>,
}

/// Whether the latency comes to twice the idle one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Twice {
    /// It does, between two points that follow each other.
    Reached {
        /// The traffic at which the line between the two points is at twice the idle latency, bytes/s.
        bytes_per_s: f64,
        /// The traffic of the two points, bytes/s.
        between: [f64; 2],
    },
    /// It surely does not at any point.
    NotReached,
    /// The intervals do not tell.
    Undecided,
}

/// The multiple of the idle latency that counts.
const TWICE: f64 = 2.0;
/// A curve that rises by less than this has no place where it begins to climb.
const RISES: f64 = 1.25;
/// A knee is so far below the straight line from the first point to the last, as a part of the rise.
const BELOW: f64 = 0.1;

/// How many times the idle latency a point's is, at least and at most.
fn times(idle: &CurvePoint, point: &CurvePoint) -> Option<[f64; 2]> {
    let (idle, point) = (idle.interval_ns?, point.interval_ns?);
    Some([point.low / idle.high, point.high / idle.low])
}

/// At which traffic the latency is twice that of the first point, which is idle; points in the order of the
/// traffic that was asked for.
pub fn twice_idle(points: &[CurvePoint]) -> Twice {
    let Some((idle, rest)) = points.split_first() else { return Twice::Undecided };
    let bounds: Option<Vec<[f64; 2]>> = rest.iter().map(|point| times(idle, point)).collect();
    let Some(bounds) = bounds.filter(|bounds| !bounds.is_empty()) else { return Twice::Undecided };
    if let Some(first) = bounds.iter().position(|[low, _]| *low >= TWICE) {
        // What lies before is below twice by its median, or the crossing is not between these two.
        let wanted = TWICE * idle.latency_ns;
        let Some(from) = points[..=first].iter().rposition(|point| point.latency_ns < wanted) else {
            return Twice::Undecided;
        };
        let [low, high] = [points[from], points[from + 1]];
        let part = (wanted - low.latency_ns) / (high.latency_ns - low.latency_ns);
        let bytes_per_s = low.bytes_per_s + part * (high.bytes_per_s - low.bytes_per_s);
        return Twice::Reached { bytes_per_s, between: [low.bytes_per_s, high.bytes_per_s] };
    }
    if bounds.iter().all(|[_, high]| *high < TWICE) { Twice::NotReached } else { Twice::Undecided }
}

/// The point from which the latency climbs: the one farthest below the straight line from the first to the
/// last (Satopää and others, "Finding a kneedle in a haystack", ICDCS workshops 2011, without its smoothing).
/// `None` where the latency does not surely rise by a quarter, or where no point surely lies below that line
/// by a tenth of the rise: with the high end of its interval, below the line between the low ends of the
/// first and the last.
pub fn knee(points: &[CurvePoint]) -> Option<CurvePoint> {
    let (idle, rest) = points.split_first()?;
    let (full, between) = rest.split_last()?;
    let rate = full.bytes_per_s - idle.bytes_per_s;
    if times(idle, full)?[0] < RISES || rate <= 0.0 {
        return None;
    }
    let line = |point: &CurvePoint| (point.bytes_per_s - idle.bytes_per_s) / rate;
    let below = |point: &CurvePoint, latency: f64, idle: f64, full: f64| {
        line(point) - (latency - idle) / (full - idle)
    };
    let seen = |point: &CurvePoint| below(point, point.latency_ns, idle.latency_ns, full.latency_ns);
    let farthest = between.iter().max_by(|a, b| seen(a).total_cmp(&seen(b))).copied()?;
    // A point that lies below the line is nearer to it the lower either end of the line is.
    let (from, to) = (idle.interval_ns?.low, full.interval_ns?.low);
    (to > from && below(&farthest, farthest.interval_ns?.high, from, to) >= BELOW).then_some(farthest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (GB/s, ns), each latency known to 1 %.
    fn points(given: &[(f64, f64)]) -> Vec<CurvePoint> {
        known_to(0.01, given)
    }

    fn known_to(part: f64, given: &[(f64, f64)]) -> Vec<CurvePoint> {
        let point = |(gb, ns): &(f64, f64)| CurvePoint {
            bytes_per_s: gb * 1e9,
            latency_ns: *ns,
            interval_ns: Some(Interval { low: ns * (1.0 - part), high: ns * (1.0 + part), confidence: 0.95 }),
        };
        given.iter().map(point).collect()
    }

    /// As a server's curve is: flat, and then steep.
    const STEEP: [(f64, f64); 6] =
        [(0.0, 100.0), (40.0, 102.0), (80.0, 106.0), (120.0, 118.0), (150.0, 180.0), (160.0, 320.0)];

    #[test]
    fn twice_the_idle_latency_is_between_the_points_around_it() {
        let Twice::Reached { bytes_per_s, between } = twice_idle(&points(&STEEP)) else {
            panic!("it is reached")
        };
        assert_eq!(between, [150e9, 160e9]);
        // A seventh of the way from 180 to 320 ns.
        assert!((bytes_per_s - (150.0 + 10.0 / 7.0) * 1e9).abs() < 1e6, "{bytes_per_s}");
    }

    #[test]
    fn twice_is_not_claimed_where_it_is_not_reached_or_not_sure() {
        assert_eq!(twice_idle(&points(&STEEP[..5])), Twice::NotReached);
        let nearly = [(0.0, 100.0), (40.0, 140.0), (50.0, 201.0)];
        assert_eq!(
            twice_idle(&points(&nearly)),
            Twice::Undecided,
            "above by its median, not by its interval"
        );
        let mut without = points(&STEEP);
        without[0].interval_ns = None;
        assert_eq!(twice_idle(&without), Twice::Undecided);
        assert_eq!((twice_idle(&[]), twice_idle(&points(&STEEP[..1]))), (Twice::Undecided, Twice::Undecided));
    }

    #[test]
    fn a_curve_that_saturates_at_once_crosses_twice_where_it_first_does() {
        // More is asked for and less is got, as when traffic is beyond what the memory gives.
        let back = [(0.0, 100.0), (90.0, 150.0), (100.0, 300.0), (95.0, 310.0)];
        assert!(matches!(twice_idle(&points(&back)), Twice::Reached { between: [90e9, 100e9], .. }));
    }

    #[test]
    fn the_knee_is_where_the_latency_begins_to_climb() {
        assert_eq!(knee(&points(&STEEP)).map(|point| point.bytes_per_s), Some(120e9));
    }

    #[test]
    fn a_straight_line_a_flat_one_and_a_noisy_one_have_no_knee() {
        let straight = [(0.0, 100.0), (40.0, 150.0), (80.0, 200.0), (120.0, 250.0)];
        assert_eq!(knee(&points(&straight)), None);
        let flat = [(0.0, 100.0), (40.0, 100.0), (80.0, 101.0), (120.0, 110.0)];
        assert_eq!(knee(&points(&flat)), None);
        assert_eq!(knee(&known_to(0.3, &STEEP[..5])), None, "intervals that allow a straight line");
        assert_eq!((knee(&[]), knee(&points(&STEEP[..1])), knee(&points(&STEEP[..2]))), (None, None, None));
    }
}
