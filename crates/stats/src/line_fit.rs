//! The time of a copy against its size: t = α + n/β, what a copy costs whatever its size, and the rate that large ones come to.
//!
//! Hockney's model ("The communication challenge for MPP", 1994). Times span six decades, so each is weighted by one over its square: the fit
//! has the least relative error, and small sizes count as much as large ones. The intervals are percentiles of a bootstrap that draws
//! blocks within each size (10 000 would take seconds over fifty sizes; 1000 move the ends by a tenth of the width). A size that is more than
//! so much slower than the fit and both of its neighbours is a dip: a change of the driver's way of copying shows so.

use crate::interval::{Interval, median, quantile, sorted};
use crate::random::SplitMix64;

const RESAMPLES: usize = 1000;
const CONFIDENCE: f64 = 0.95;
/// Fewer sizes make no line worth an interval.
pub const LEAST_SIZES: usize = 4;
/// A rate this much below that of both neighbours (as it is expected between them) is a dip.
const DIP: f64 = 0.05;

/// The times of one size: one value a block, nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The size of one copy, bytes.
    pub bytes: f64,
    /// Nanoseconds, a value a block.
    pub blocks_ns: Vec<f64>,
}

/// A line through times against sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct LineFit {
    /// α: what a copy costs whatever its size, nanoseconds.
    pub latency_ns: f64,
    /// Its 95 % interval.
    pub latency_interval_ns: Interval,
    /// β: the rate that large copies come to, bytes/s.
    pub bytes_per_s: f64,
    /// Its 95 % interval.
    pub interval_bytes_per_s: Interval,
    /// n½: the size at which half of that rate is reached, α·β, bytes.
    pub half_rate_bytes: f64,
    /// Sizes that are slower than those around them.
    pub dips: Vec<Dip>,
}

/// A size that is slower than those around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dip {
    /// The size, bytes.
    pub bytes: f64,
    /// Its rate over the one expected from its neighbours: 0.8 is 20 % less.
    pub ratio: f64,
}

/// The fit through these points, by size; `None` with fewer than [`LEAST_SIZES`] sizes, or a value that is not a positive number.
pub fn line_fit(points: &[Point], seed: u64) -> Option<LineFit> {
    let is_time = |ns: &f64| ns.is_finite() && *ns > 0.0;
    let whole = |point: &Point| point.bytes > 0.0 && !point.blocks_ns.is_empty() && point.blocks_ns.iter().all(is_time);
    if points.len() < LEAST_SIZES || !points.iter().all(whole) {
        return None;
    }
    let medians: Vec<(f64, f64)> =
        points.iter().map(|point| Some((point.bytes, median(&point.blocks_ns)?))).collect::<Option<_>>()?;
    let (latency_ns, ns_a_byte) = weighted(&medians)?;
    let mut random = SplitMix64::new(seed);
    let mut drawn: Vec<(f64, f64)> = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let resampled: Option<Vec<(f64, f64)>> = points
            .iter()
            .map(|Point { bytes, blocks_ns }| {
                let draws: Vec<f64> = blocks_ns.iter().map(|_| blocks_ns[random.below(blocks_ns.len())]).collect();
                Some((*bytes, median(&draws)?))
            })
            .collect();
        drawn.extend(weighted(&resampled?));
    }
    let interval = |values: Vec<f64>| {
        let values = sorted(&values);
        let at = |q| quantile(&values, q);
        let tail = (1.0 - CONFIDENCE) / 2.0;
        Some(Interval { low: at(tail)?, high: at(1.0 - tail)?, confidence: CONFIDENCE })
    };
    let bytes_per_s = 1e9 / ns_a_byte;
    Some(LineFit {
        latency_ns,
        latency_interval_ns: interval(drawn.iter().map(|(latency, _)| *latency).collect())?,
        bytes_per_s,
        interval_bytes_per_s: interval(drawn.iter().map(|(_, slope)| 1e9 / slope).collect())?,
        half_rate_bytes: latency_ns / ns_a_byte,
        dips: dips(&medians),
    })
}

/// Least squares of relative errors: (α, 1/β). `None` where the sizes give no slope, or not one that is positive.
fn weighted(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    // Sums are of ratios, n/t and 1/t, so that gibibytes beside bytes lose no digits.
    let (mut ww, mut wn, mut nn, mut w, mut n) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (bytes, ns) in points {
        let (weight, x) = (1.0 / ns, bytes / ns);
        ww += weight * weight;
        wn += weight * x;
        nn += x * x;
        w += weight;
        n += x;
    }
    let determinant = ww * nn - wn * wn;
    let (latency, slope) = ((w * nn - n * wn) / determinant, (n * ww - w * wn) / determinant);
    (latency.is_finite() && slope.is_finite() && slope > 0.0).then_some((latency.max(0.0), slope))
}

/// Sizes whose rate lies below the line between their neighbours' (in the logarithms of both).
fn dips(points: &[(f64, f64)]) -> Vec<Dip> {
    let rate = |(bytes, ns): &(f64, f64)| bytes / ns;
    let dip = |near: &[(f64, f64)]| {
        let [before, at, after] = near else { return None };
        let part = (at.0 / before.0).ln() / (after.0 / before.0).ln();
        let expected = (rate(before).ln() * (1.0 - part) + rate(after).ln() * part).exp();
        // The rate of growing sizes is concave in the logarithms, so a point below the chord is below what the model allows.
        let ratio = rate(at) / expected;
        (ratio < 1.0 - DIP).then_some(Dip { bytes: at.0, ratio })
    };
    points.windows(3).filter_map(dip).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;

    /// Six blocks of each size, 4 B to 1 GiB, of a link with this latency and rate (bytes a nanosecond), with this part of noise.
    fn link(latency_ns: f64, rate: f64, noise_part: f64) -> Vec<Point> {
        let mut random = SplitMix64::new(5);
        let point = |power: i32, random: &mut SplitMix64| {
            let bytes = 4.0 * 2f64.powi(power);
            let ns = latency_ns + bytes / rate;
            Point { bytes, blocks_ns: (0..6).map(|_| ns * (1.0 + noise_part * noise::normal(random))).collect() }
        };
        (0..29).map(|power| point(power, &mut random)).collect()
    }

    #[test]
    fn a_link_of_known_latency_and_rate_is_found_within_its_intervals() {
        let fit = line_fit(&link(6_700.0, 55.0, 0.01), 1).expect("a fit");
        assert!(fit.latency_interval_ns.contains(6_700.0), "{:?}", fit.latency_interval_ns);
        assert!(fit.interval_bytes_per_s.contains(55e9), "{:?}", fit.interval_bytes_per_s);
        assert!((fit.half_rate_bytes / (6_700.0 * 55.0) - 1.0).abs() < 0.02, "{}", fit.half_rate_bytes);
        assert!(fit.interval_bytes_per_s.relative_half_width(fit.bytes_per_s) < 0.01);
        assert_eq!(fit.dips, []);
    }

    #[test]
    fn exact_times_give_the_exact_line() {
        let fit = line_fit(&link(10.0, 2.0, 0.0), 1).expect("a fit");
        assert!((fit.latency_ns - 10.0).abs() < 1e-6 && (fit.bytes_per_s - 2e9).abs() < 1.0, "{fit:?}");
    }

    #[test]
    fn a_dip_at_128_kib_is_marked_and_noise_of_a_per_cent_is_not() {
        let mut points = link(6_700.0, 55.0, 0.01);
        let slow = points.iter_mut().find(|point| point.bytes == 131_072.0).expect("128 KiB");
        slow.blocks_ns.iter_mut().for_each(|ns| *ns *= 1.2);
        let dips = line_fit(&points, 1).expect("a fit").dips;
        assert_eq!(dips.iter().map(|dip| dip.bytes).collect::<Vec<_>>(), [131_072.0]);
        assert!((dips[0].ratio - 1.0 / 1.2).abs() < 0.06, "{dips:?}");
    }

    #[test]
    fn recorded_copies_of_an_h200_come_to_its_latency_and_rate() {
        // Registered memory on PCIe 5 x16, as METHOD has them: half of a round trip of 4 B and of 64 KiB by the host's clock, one H2D copy of 128
        // and of 512 MiB by the device's.
        let recorded =
            [(4.0, 7_065.0), (65_536.0, 9_145.0), (134_217_728.0, 2_436_410.0), (536_870_912.0, 9_680_327.0)];
        let points: Vec<Point> =
            recorded.iter().map(|(bytes, ns)| Point { bytes: *bytes, blocks_ns: vec![*ns; 6] }).collect();
        let fit = line_fit(&points, 1).expect("a fit");
        assert!((fit.latency_ns / 7_065.0 - 1.0).abs() < 0.1, "{fit:?}");
        assert!((fit.bytes_per_s / 55e9 - 1.0).abs() < 0.05, "{fit:?}");
    }

    #[test]
    fn too_few_sizes_or_times_that_are_none_give_no_fit() {
        let points = link(10.0, 2.0, 0.0);
        assert!(line_fit(&points[..LEAST_SIZES - 1], 1).is_none());
        assert!(line_fit(&points[..LEAST_SIZES], 1).is_some());
        let mut wrong = points;
        wrong[3].blocks_ns[0] = 0.0;
        assert!(line_fit(&wrong, 1).is_none());
    }
}
