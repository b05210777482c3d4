//! The time of a copy against its size: t = α + n/β, what a copy costs whatever its size, and the rate that
//! large ones come to.
//!
//! Hockney's model ("The communication challenge for MPP", 1994). Times span six decades, so each is weighted
//! by one over its square: the fit has the least relative error, and small sizes count as much as large ones.
//!
//! *Intervals* know two things, and the wider one counts. All sizes of a pass share an allocation and a
//! moment, so each allocation gives a fit of its own, and Student's t of these says how far fits differ
//! (passes, where there are fewer than three allocations; Davison and Hinkley, "Bootstrap methods", 1997,
//! 3.8; Kalibera and Jones 2013). And sizes lie off the line: by the usual error of a regression, which
//! figures that are rounded, or a model that is wrong, widen.
//!
//! *Two lines* are fitted where one does not do, as where a driver changes its way of copying: the break with
//! the least error, if it explains more than chance would of any break (F test, Bonferroni over breaks), if
//! no size is over 5 % off the two, and if no break elsewhere does nearly as well: a break that moves from
//! run to run is none. A size is a *dip* by its contrast with its two neighbours: the model's rate is concave
//! in the logarithms, so a rate surely below the line between them is below what any α and β allow. Left out:
//! correction over the fits and sizes of a document, which is the caller's.
//!
//! Some 480 lines because its tests simulate each claim on the same machines.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::alpha::{ALPHA, CONFIDENCE};
use crate::block_interval::{BlockValue, allocations_of, values};
use crate::family::{NOISIER, by_itself_or_beside, normal_p};
use crate::interval::{Interval, mean_and_reach, mean_and_squares, median, student};
use crate::level::Level;
use crate::scatter::Scatter;

/// Fewer sizes make no line worth an interval.
pub const LEAST_SIZES: usize = 4;
/// Fewer sizes make no part of a broken line.
const LEAST_OF_PART: usize = 3;
/// Student's t of two is 12.7 standard errors.
const LEAST_CLUSTERS: usize = 3;
/// One line does where no size is further off it than this part.
const CLOSE: f64 = 0.01;
/// Two lines stand only where no size is further off them than this part: a curve of another shape has a best
/// break too.
const DESCRIBED: f64 = 0.05;
/// Nor where a break that is not beside the best one leaves squares of less than so many times as much. Of 8
/// sweeps of one H100, whose small copies follow no line, the best break was at 32 KiB in six and at 1 and 2
/// KiB in two, in which others were within 8 %.
const AS_GOOD: f64 = 1.25;
/// How many differences the other sizes' deviation counts for beside a size's own.
const OF_OTHERS: f64 = 4.0;
/// The part of the level that the test for two lines has: the deviations by which it weighs sizes are
/// estimates, which makes it wrong more often than it says.
const OF_LEVEL: f64 = 0.1;

/// The times of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTimes {
    /// The size of one copy, bytes.
    pub bytes: f64,
    /// Nanoseconds, a value a block, in the order measured.
    pub blocks: Vec<BlockValue>,
}

/// A line through times against sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The smallest size it goes through, bytes.
    pub from_bytes: f64,
    /// α: what a copy costs whatever its size, nanoseconds.
    pub latency_ns: f64,
    /// Its 95 % interval.
    pub latency_interval_ns: Interval,
    /// β: the rate that large copies come to, bytes/s.
    pub bytes_per_s: f64,
    /// Its 95 % interval.
    pub interval_bytes_per_s: Interval,
}

/// The lines through times against sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct LineFit {
    /// One, or two where one does not do, by size.
    pub lines: Vec<Line>,
    /// n½: the size at which half of the last line's rate is reached, bytes.
    pub half_rate_bytes: f64,
    /// The part by which the size is off that is furthest off the lines.
    pub misfit: f64,
    /// Each size that has two neighbours.
    pub contrasts: Vec<Contrast>,
}

/// A size against the two around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The size, bytes.
    pub bytes: f64,
    /// Its rate over the one expected from its neighbours: 0.8 is 20 % less.
    pub ratio: f64,
    /// How likely it is so low where it is not lower than that: one-sided, of this size alone.
    pub p_value: f64,
    /// The same if its error were the second widest of all sizes; `None` of few sizes.
    pub p_beside: Option<f64>,
}

/// The fit through these points, by size, one of so many that are made; `None` with fewer than
/// [`LEAST_SIZES`] sizes, fewer than three blocks of one, or a value that is not a positive number.
pub fn line_fit(points: &[SizeTimes], fits: usize) -> Option<LineFit> {
    let is_time = |block: &BlockValue| block.value.is_finite() && block.value > 0.0;
    let whole = |point: &SizeTimes| {
        point.bytes > 0.0 && point.blocks.len() >= LEAST_CLUSTERS && point.blocks.iter().all(is_time)
    };
    if points.len() < LEAST_SIZES || !points.iter().all(whole) {
        return None;
    }
    let medians: Vec<Time> =
        points.iter().map(|point| Some((point.bytes, median_of(&point.blocks)?))).collect::<Option<_>>()?;
    let clusters = clusters(points)?;
    let from = broken(&medians, &weights(points), fits);
    let part = |range: std::ops::Range<usize>| {
        let of_clusters: Vec<&[Time]> = clusters.iter().map(|cluster| &cluster[range.clone()]).collect();
        line(&medians[range], &of_clusters)
    };

    // A part of so few and small sizes that no allocation shows a rate is no line.
    let two = from.and_then(|from| Some(vec![part(0..from)?, part(from..points.len())?]));
    let lines = two.or_else(|| Some(vec![part(0..points.len())?]))?;
    let off = |time: &Time| {
        let line = lines.iter().rev().find(|line| line.from_bytes <= time.0).unwrap_or(&lines[0]);
        (time.1 / (line.latency_ns + time.0 / line.bytes_per_s * 1e9) - 1.0).abs()
    };
    let misfit = medians.iter().map(off).fold(0.0, f64::max);
    Some(LineFit { half_rate_bytes: half_rate(&lines), misfit, contrasts: contrasts(points)?, lines })
}

/// A size, bytes, and its time, nanoseconds.
type Time = (f64, f64);

fn median_of(blocks: &[BlockValue]) -> Option<f64> {
    median(&values(blocks))
}

/// The times of all sizes, one for each allocation that all of them have, or for each pass where these are
/// too few. Allocations go by their order in a size: small sizes may be measured in a phase of their own.
fn clusters(points: &[SizeTimes]) -> Option<Vec<Vec<Time>>> {
    let by_allocation: Vec<Vec<Option<f64>>> =
        points.iter().map(|point| allocations_of(&point.blocks).map(median_of).collect()).collect();
    let by_pass =
        || points.iter().map(|point| point.blocks.iter().map(|block| Some(block.value)).collect()).collect();
    let count = |all: &[Vec<Option<f64>>]| all.iter().map(Vec::len).min().unwrap_or(0);
    let values: Vec<Vec<Option<f64>>> =
        if count(&by_allocation) >= LEAST_CLUSTERS { by_allocation } else { by_pass() };
    let cluster = |at: usize| {
        points.iter().zip(&values).map(|(point, values)| Some((point.bytes, values[at]?))).collect()
    };
    (0..count(&values)).map(cluster).collect()
}

/// The sums of least squares of relative errors.
#[derive(Clone, Copy)]
struct Weighted {
    latency_ns: f64,
    ns_a_byte: f64,
    /// The sum of the squares of relative errors.
    squares: f64,
    /// What times the variance of a relative error is the variance of the latency, and of the time of a byte.
    of_latency: f64,
    of_byte: f64,
}

impl Weighted {
    fn of(times: &[Time]) -> Option<Self> {
        Self::with(times, &vec![1.0; times.len()])
    }

    /// Each relative error times its weight; `None` where the sizes give no slope, or not one that is
    /// positive.
    fn with(times: &[Time], weights: &[f64]) -> Option<Self> {
        // Sums are of ratios, n/t and 1/t, so that gibibytes beside bytes lose no digits.
        let (mut ww, mut wn, mut nn, mut w, mut n) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for ((bytes, ns), of_size) in times.iter().zip(weights) {
            let (weight, x) = (of_size / ns, of_size * bytes / ns);
            ww += weight * weight;
            wn += weight * x;
            nn += x * x;
            w += of_size * weight;
            n += of_size * x;
        }

        let determinant = ww * nn - wn * wn;
        let (latency, slope) = ((w * nn - n * wn) / determinant, (n * ww - w * wn) / determinant);
        // No latency is below 0: then the line goes through the origin, and its slope is that line's.
        let (latency_ns, slope) = if latency < 0.0 { (0.0, n / nn) } else { (latency, slope) };
        let error = |(bytes, ns): &Time| (latency_ns + slope * bytes) / ns - 1.0;
        let squares = times.iter().zip(weights).map(|(time, of_size)| (of_size * error(time)).powi(2)).sum();
        let (of_latency, of_byte) = (nn / determinant, ww / determinant);

        (latency.is_finite() && slope.is_finite() && slope > 0.0).then_some(Self {
            latency_ns,
            ns_a_byte: slope,
            squares,
            of_latency,
            of_byte,
        })
    }
}

/// A line with its intervals: by the fits of clusters, and by how far sizes are off; whichever is wider.
fn line(times: &[Time], clusters: &[&[Time]]) -> Option<Line> {
    let fit = Weighted::of(times)?;
    let fits: Vec<Weighted> = clusters.iter().filter_map(|cluster| Weighted::of(cluster)).collect();
    let freedom = times.len() as f64 - 2.0;
    let variance = fit.squares / freedom;
    let of_sizes = |part: f64| Some(student(freedom, CONFIDENCE)? * (variance * part).max(0.0).sqrt());
    let latencies: Vec<f64> = fits.iter().map(|fit| fit.latency_ns).collect();
    let slopes: Vec<f64> = fits.iter().map(|fit| fit.ns_a_byte.ln()).collect();
    let latency = around(fit.latency_ns, of_sizes(fit.of_latency)?, &latencies)?;
    let slope = around(fit.ns_a_byte.ln(), of_sizes(fit.of_byte)? / fit.ns_a_byte, &slopes)?;
    let interval = |low: f64, high: f64| Interval { low, high, confidence: CONFIDENCE };

    Some(Line {
        from_bytes: times.first()?.0,
        latency_ns: fit.latency_ns,
        latency_interval_ns: interval(latency[0].max(0.0), latency[1]),
        bytes_per_s: 1e9 / fit.ns_a_byte,
        interval_bytes_per_s: interval(1e9 / slope[1].exp(), 1e9 / slope[0].exp()),
    })
}

/// The smallest interval that holds what the sizes say of a value, and Student's of the fits of clusters,
/// around their mean and around the value: the fit through all medians weighs allocations by their blocks,
/// and the clusters do not.
fn around(value: f64, of_sizes: f64, fits: &[f64]) -> Option<[f64; 2]> {
    let (mean, reach) = mean_and_reach(fits, CONFIDENCE).filter(|_| fits.len() >= LEAST_CLUSTERS)?;
    let wider = of_sizes.max(reach);
    Some([(value - wider).min(mean - reach), (value + wider).max(mean + reach)])
}

/// One over the deviation of each size's blocks, each taken together with a middling one that counts for
/// [`OF_OTHERS`] differences: three blocks tell little of theirs.
fn weights(points: &[SizeTimes]) -> Vec<f64> {
    let variance = |point: &SizeTimes| {
        let logs: Vec<f64> = point.blocks.iter().map(|block| block.value.ln()).collect();
        mean_and_squares(&logs).1 / (logs.len() as f64 - 1.0)
    };
    let variances: Vec<f64> = points.iter().map(variance).collect();
    let middling = median(&variances).unwrap_or(0.0);
    let weight = |(point, variance): (&SizeTimes, &f64)| {
        let own = point.blocks.len() as f64 - 1.0;
        let both = (OF_OTHERS * middling + own * variance) / (OF_OTHERS + own);
        if middling > 0.0 { 1.0 / both.sqrt() } else { 1.0 }
    };
    points.iter().zip(&variances).map(weight).collect()
}

/// The part by which the size is off that is furthest off the line through these.
fn furthest_off(times: &[Time]) -> Option<f64> {
    let line = Weighted::of(times)?;
    let off = |(bytes, ns): &Time| ((line.latency_ns + line.ns_a_byte * bytes) / ns - 1.0).abs();
    Some(times.iter().map(off).fold(0.0, f64::max))
}

/// The size, by its number, from which on a second line goes; `None` where one line does.
///
/// Sizes that scatter more weigh less here: the errors of an F test have one deviation.
fn broken(times: &[Time], weights: &[f64], tests: usize) -> Option<usize> {
    if furthest_off(times)? <= CLOSE {
        return None;
    }
    let breaks = LEAST_OF_PART..(times.len() + 1).saturating_sub(LEAST_OF_PART);
    let one = Weighted::with(times, weights)?;
    let part =
        |range: std::ops::Range<usize>| Some(Weighted::with(&times[range.clone()], &weights[range])?.squares);
    let squares = |at: usize| Some((at, part(0..at)? + part(at..times.len())?));
    let count = breaks.len();
    let fits: Vec<(usize, f64)> = breaks.filter_map(squares).collect();
    let (at, two) = fits.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_elsewhere = |(other, squares): &(usize, f64)| other.abs_diff(at) > 1 && *squares < two * AS_GOOD;

    if fits.iter().any(is_elsewhere)
        || furthest_off(&times[..at])?.max(furthest_off(&times[at..])?) > DESCRIBED
    {
        return None;
    }

    let freedom = times.len() as f64 - 4.0;
    if freedom < 1.0 {
        return None;
    }
    let p = match (one.squares - two) / 2.0 / (two / freedom) {
        ratio if ratio.is_finite() => FisherSnedecor::new(2.0, freedom).ok()?.sf(ratio.max(0.0)),
        _ => 0.0,
    };
    (p * (count * tests.max(1)) as f64 <= OF_LEVEL * ALPHA).then_some(at)
}

/// The size at which half of the last line's rate is reached.
fn half_rate(lines: &[Line]) -> f64 {
    let ns_a_byte = |line: &Line| 1e9 / line.bytes_per_s;
    let at = |line: &Line, rate: f64| line.latency_ns / (2e9 / rate - ns_a_byte(line));
    match lines {
        [first, last] => {
            let (early, late) = (at(first, last.bytes_per_s), at(last, last.bytes_per_s));
            if early > 0.0 && early < last.from_bytes { early } else { late.max(last.from_bytes) }
        }
        _ => lines.first().map_or(0.0, |line| at(line, line.bytes_per_s)),
    }
}

/// Each size against the two around it.
fn contrasts(points: &[SizeTimes]) -> Option<Vec<Contrast>> {
    let scatter = Scatter::of(points.iter().map(|point| &point.blocks[..]));
    let rate = |point: &SizeTimes| Some(Level::of(&point.blocks, &scatter)?.times(-1.0));
    let levels: Vec<Level> = points.iter().map(rate).collect::<Option<_>>()?;
    let contrast = |at: usize| {
        let [before, own, after] = [at - 1, at, at + 1].map(|at| points[at].bytes.ln());
        let part = (own - before) / (after - before);
        let expected = levels[at - 1].times(1.0 - part).plus(levels[at + 1].times(part));
        // Rates are bytes over time; the logarithms of the bytes cancel, because the size lies between its
        // neighbours by the same part. Another allocation is another one of each of the three.
        let unseen = [(at - 1, 1.0 - part), (at, 1.0), (at + 1, part)]
            .map(|(at, of_it)| Level::of_another_allocation(&points[at].blocks).times(of_it));
        let found = unseen.into_iter().fold(levels[at].over(expected), Level::plus);
        (points[at].bytes, found)
    };

    let found: Vec<(f64, Level)> = (1..points.len() - 1).map(contrast).collect();
    let mut errors: Vec<f64> = found.iter().map(|(_, found)| found.squared_error()).collect();
    errors.sort_unstable_by(|a, b| b.total_cmp(a));
    let widest =
        if errors.len() > NOISIER { Some(errors[1].sqrt()).filter(|error| *error > 0.0) } else { None };
    let contrast = |(bytes, found): (f64, Level)| {
        let beside = |error: f64| if found.mean < 0.0 { normal_p(found.mean / error) / 2.0 } else { 1.0 };
        Contrast { bytes, ratio: found.mean.exp(), p_value: found.p_below(0.0), p_beside: widest.map(beside) }
    };
    Some(found.into_iter().map(contrast).collect())
}

/// How likely each of these sizes is so low where none is lower: adjusted for all of them, each by itself or
/// beside the others.
pub fn sure_dips(contrasts: &[&Contrast]) -> Vec<f64> {
    let own: Vec<f64> = contrasts.iter().map(|contrast| contrast.p_value).collect();
    by_itself_or_beside(&own, |at| contrasts[at].p_beside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    /// The allocations of a run's first ten blocks.
    const ALLOCATIONS: [u32; 10] = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2];

    /// Ten blocks of each size, 4 B to 1 GiB, that take so many nanoseconds, with this part of noise of each
    /// block and of each allocation, which all sizes share.
    fn measured(
        random: &mut SplitMix64,
        ns: impl Fn(f64) -> f64,
        of_block: f64,
        of_allocation: f64,
    ) -> Vec<SizeTimes> {
        let luck = [0; 3].map(|_| of_allocation * noise::normal(random));
        let mut block = |ns: f64, allocation: u32| {
            let value = ns * (1.0 + of_block * noise::normal(random) + luck[allocation as usize]);
            BlockValue { value, allocation }
        };
        let mut point = |power: i32| {
            let bytes = 4.0 * 2f64.powi(power);
            SizeTimes { bytes, blocks: ALLOCATIONS.map(|allocation| block(ns(bytes), allocation)).to_vec() }
        };
        (0..29).map(&mut point).collect()
    }

    fn straight(bytes: f64) -> f64 {
        6_700.0 + bytes / 55.0
    }

    /// Two ways of copying: 20 GB/s below 64 KiB, 55 from there on.
    fn two_ways(bytes: f64) -> f64 {
        if bytes < 65_536.0 { 6_700.0 + bytes / 20.0 } else { 8_000.0 + bytes / 55.0 }
    }

    #[test]
    fn a_line_without_latency_is_the_best_through_the_origin() -> Result<(), &'static str> {
        // 20 GB/s up to 1 MiB, and 10 for the bytes above: the best line cuts the axis below 0.
        let ns = |bytes: f64| bytes.min(1_048_576.0) / 20.0 + (bytes - 1_048_576.0).max(0.0) / 10.0;
        let times: Vec<Time> =
            (0..15).map(|power| 65_536.0 * 2f64.powi(power)).map(|bytes| (bytes, ns(bytes))).collect();
        let fit = Weighted::of(&times).ok_or("no line")?;
        assert_eq!(fit.latency_ns, 0.0);
        let squares =
            |slope: f64| -> f64 { times.iter().map(|(bytes, ns)| (slope * bytes / ns - 1.0).powi(2)).sum() };
        let (own, steeper, flatter) =
            (squares(fit.ns_a_byte), squares(fit.ns_a_byte * 1.01), squares(fit.ns_a_byte * 0.99));
        assert!(own < steeper && own < flatter, "{own} {steeper} {flatter}");
        assert!((own / fit.squares - 1.0).abs() < 1e-9);
        Ok(())
    }

    #[test]
    fn intervals_hold_what_is_true_as_often_as_they_say_whatever_allocations_share() {
        for of_allocation in [0.0, 0.005, 0.01] {
            let mut random = SplitMix64::new(70);
            let (mut latency, mut rate) = (0, 0);
            for _ in 0..200 {
                let fit = line_fit(&measured(&mut random, straight, 0.01, of_allocation), 1).expect("a fit");
                let (first, last) = (fit.lines[0], fit.lines[fit.lines.len() - 1]);
                latency += usize::from(first.latency_interval_ns.contains(6_700.0));
                rate += usize::from(last.interval_bytes_per_s.contains(55e9));
            }
            // 95 % less three deviations.
            assert!(latency >= 181 && rate >= 181, "{of_allocation}: {latency} and {rate} of 200");
        }
    }

    #[test]
    fn two_ways_of_copying_are_two_lines_and_one_way_is_one() {
        let mut random = SplitMix64::new(71);
        let (mut held, mut broken) = (0, 0);
        for _ in 0..100 {
            let fit = line_fit(&measured(&mut random, two_ways, 0.01, 0.005), 1).expect("a fit");
            let [first, last] = fit.lines[..] else { continue };
            let holds =
                first.latency_interval_ns.contains(6_700.0) && last.interval_bytes_per_s.contains(55e9);
            held += usize::from(holds && last.from_bytes == 65_536.0);
            let one = line_fit(&measured(&mut random, straight, 0.05, 0.005), 1).expect("a fit");
            broken += usize::from(one.lines.len() > 1);
        }
        assert!(held >= 90 && broken <= 5, "{held} held, {broken} broken");
    }

    #[test]
    fn a_curve_that_no_two_lines_describe_has_one_line_and_a_misfit() {
        // Small copies of an H100: 7 µs up to 1 KiB, 8 to 10 up to 32 KiB, and a line from there on.
        let copies = |bytes: f64| match bytes {
            small if small <= 1024.0 => 7_000.0,
            middle if middle <= 32_768.0 => 7_800.0 + middle / 12.0,
            large => 9_200.0 + large / 54.0,
        };
        let mut random = SplitMix64::new(76);
        let broken = (0..50).filter(|_| {
            let fit = line_fit(&measured(&mut random, copies, 0.01, 0.005), 1).expect("a fit");
            assert!(fit.misfit > 0.1, "{}", fit.misfit);
            fit.lines.len() > 1
        });
        assert!(broken.count() <= 2);
    }

    #[test]
    fn exact_times_give_the_exact_line_and_rounded_ones_an_interval() {
        let mut random = SplitMix64::new(72);
        let fit = line_fit(&measured(&mut random, |bytes| 10.0 + bytes / 2.0, 0.0, 0.0), 1).expect("a fit");
        let [line] = fit.lines[..] else { panic!("{fit:?}") };
        assert!((line.latency_ns - 10.0).abs() < 1e-6 && (line.bytes_per_s - 2e9).abs() < 1.0, "{line:?}");
        let rounded = |bytes: f64| (10.0 + bytes / 2.0).round() + 3.0;
        let rounded =
            line_fit(&measured(&mut random, |bytes| (rounded(bytes) / 7.0).round() * 7.0, 0.0, 0.0), 1);
        let line = rounded.expect("a fit").lines[0];
        assert!(line.latency_interval_ns.high - line.latency_interval_ns.low > 0.1, "{line:?}");
    }

    #[test]
    fn a_dip_at_128_kib_is_sure_and_a_noisy_straight_line_has_none() {
        let mut random = SplitMix64::new(73);
        let slow = |bytes: f64| straight(bytes) * if bytes == 131_072.0 { 1.2 } else { 1.0 };
        let sure = |points: &[SizeTimes]| -> Vec<f64> {
            let contrasts = line_fit(points, 1).expect("a fit").contrasts;
            let p_values = sure_dips(&contrasts.iter().collect::<Vec<_>>());
            let sure = contrasts.iter().zip(p_values).filter(|(one, p)| *p < 0.05 && one.ratio < 0.95);
            sure.map(|(one, _)| one.bytes).collect()
        };
        assert_eq!(sure(&measured(&mut random, slow, 0.01, 0.005)), [131_072.0]);
        let alarms =
            (0..200).filter(|_| !sure(&measured(&mut random, straight, 0.05, 0.005)).is_empty()).count();
        assert!(alarms <= 10, "{alarms} of 200");
    }

    #[test]
    fn recorded_copies_of_an_h200_come_to_its_latency_and_rate() {
        // Registered memory on PCIe 5 x16: half of a round trip of 4 B and of 64 KiB by the host's clock, one
        // H2D copy of 128 and of 512 MiB by the device's.
        let recorded =
            [(4.0, 7_065.0), (65_536.0, 9_145.0), (134_217_728.0, 2_436_410.0), (536_870_912.0, 9_680_327.0)];
        let point = |(bytes, ns)| SizeTimes { bytes, blocks: BlockValue::on_one_allocation(&[ns; 6]) };
        let line = line_fit(&recorded.map(point), 1).expect("a fit").lines[0];
        assert!((line.latency_ns / 7_065.0 - 1.0).abs() < 0.1, "{line:?}");
        assert!((line.bytes_per_s / 55e9 - 1.0).abs() < 0.05, "{line:?}");
        // The line is above the least time measured, and the interval says that it may be.
        assert!(line.latency_interval_ns.low < 7_065.0, "{line:?}");
    }

    #[test]
    fn too_few_sizes_or_blocks_or_times_that_are_none_give_no_fit() {
        let points = measured(&mut SplitMix64::new(74), straight, 0.0, 0.0);
        assert!(line_fit(&points[..LEAST_SIZES - 1], 1).is_none());
        assert!(line_fit(&points[..LEAST_SIZES], 1).is_some());
        let mut wrong = points.clone();
        wrong[3].blocks[0].value = 0.0;
        assert!(line_fit(&wrong, 1).is_none());
        wrong[3].blocks.truncate(2);
        assert!(line_fit(&wrong, 1).is_none());
    }
}
