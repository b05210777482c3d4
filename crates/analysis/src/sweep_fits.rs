//! The fits of time against size that a document's cases give, and the sentences on them.

use std::ops::Range;

use report::Document;
use report::case::Case;
use report::rank::Rank;
use report::result::BlockSample;
use report::settings::Direction;
use report::sweep_fit::{SweepDip, SweepFit, SweepLine};
use stats::alike::grouped;
use stats::alpha::ALPHA;
use stats::block_interval::BlockValue;
use stats::interval::Interval;
use stats::line_fit::{Contrast, LEAST_SIZES, Line, LineFit, SizeTimes, line_fit, sure_dips};
use stats::units;

use crate::headline;
use crate::matrix_analysis::row_sweep;
use crate::words::{self, three_digits};

/// A rate this much below that of both neighbours (as it is expected between them) is a dip, where it is
/// surely below.
const DIP: f64 = 0.05;
/// A size this much off the lines is told.
const MISFIT: f64 = 0.05;
/// A line's rate that is by so much above every rate measured is no peak: no size came to it.
const UNREACHED: f64 = 0.05;
/// Lines that a size is so far off describe nothing (levels of a CPU's cache): what was measured at both ends
/// of the sweep is told in their place.
const NO_LINE: f64 = 0.25;

/// The fits of a document whose cases are copies of several sizes. All sizes of all fits are one family: a
/// dip that is none is claimed in one document of twenty at most (Holm).
pub fn sweep_fits(document: &Document) -> Vec<SweepFit> {
    let mut all = Vec::new();
    // Accesses by the CPU are of a range, and cases of a group of some ranks: neither is a size of a sweep.
    let copies = document.cases.iter().filter(|case| case.range_bytes.is_none() && case.group.is_none());
    let sweeps: Vec<(_, Vec<&Case>)> =
        grouped(copies.map(|case| ((case.order, case.memory, case.direction), case)));
    for (_, cases) in sweeps {
        let sweep = |rank: &Rank| Some((rank.rank, *cases.first()?, points(rank.rank, &cases)?));
        all.extend(document.ranks.iter().filter_map(sweep));
    }

    let fits = all.len();
    let mut found = Vec::new();
    for (rank, case, points) in all {
        found.extend(line_fit(&points, fits).map(|fit| (rank, case, points.len(), fit)));
    }
    let contrasts: Vec<&Contrast> = found.iter().flat_map(|(.., fit)| &fit.contrasts).collect();
    let mut sure = sure_dips(&contrasts).into_iter();
    let document_of = |(rank, case, sizes, fit): (u32, &Case, usize, LineFit)| {
        let ways = ways(case);
        let dip = |(contrast, p): (&Contrast, f64)| {
            (p < ALPHA && contrast.ratio < 1.0 - DIP)
                .then_some(SweepDip { bytes: (contrast.bytes / ways) as u64, ratio: contrast.ratio })
        };
        let dips = fit.contrasts.iter().zip(sure.by_ref()).filter_map(dip).collect();
        let line = |line: &Line| SweepLine {
            from_bytes: (line.from_bytes / ways) as u64,
            latency_ns: line.latency_ns,
            latency_interval_ns: line.latency_interval_ns,
            bytes_per_s: line.bytes_per_s,
            interval_bytes_per_s: line.interval_bytes_per_s,
        };
        let (first, last) = (fit.lines.first()?, fit.lines.last()?);
        Some(SweepFit {
            rank,
            order: case.order,
            memory: case.memory,
            direction: case.direction,
            sizes: sizes as u32,
            latency_ns: first.latency_ns,
            latency_interval_ns: first.latency_interval_ns,
            bytes_per_s: last.bytes_per_s,
            interval_bytes_per_s: last.interval_bytes_per_s,
            half_rate_bytes: fit.half_rate_bytes / ways,
            dips,
            lines: fit.lines.iter().filter(|_| fit.lines.len() > 1).map(line).collect(),
            misfit: Some(fit.misfit),
        })
    };
    found.into_iter().filter_map(document_of).collect()
}

/// What the fits say: a sentence each, and which sizes are slow.
pub fn verdict(document: &Document) -> Vec<String> {
    let sentence = |fit: &SweepFit| {
        let rank = document.ranks.iter().find(|rank| rank.rank == fit.rank);
        let device =
            rank.and_then(|rank| document.devices.iter().find(|device| device.id == rank.asked.device));
        let gpu = device
            .filter(|_| document.devices.len() > 1)
            .map_or(String::new(), |device| format!("GPU {}, ", device.index));
        let row = row_sweep::row_of(document, fit.rank).map_or(String::new(), |row| format!("{row}, "));
        let of = format!("{gpu}{row}");

        let (way, memory) = (words::direction_in(document, fit.direction), words::memory(fit.memory));

        // A latency that may be none (sizes of memory behind a cache) is no figure.
        let line = |latency_ns: f64, interval: &Interval, rate: &str| {
            // A wide one may be the line's that does not fit, and no noise.
            let half_width = interval.relative_half_width(latency_ns);
            let latency = match headline::is_known(half_width) {
                true => format!("latency {}, ", time(latency_ns)),
                false if interval.low > 0.0 => format!("latency not known (± {:.0} %), ", half_width * 100.0),
                false => String::new(),
            };
            format!("{latency}{rate}")
        };

        let peak = |sizes: Range<u64>, bytes_per_s: f64| Peak::of(document, fit, sizes, bytes_per_s);
        let lines = match &fit.lines[..] {
            [first, last] => {
                let from = units::size(last.from_bytes);
                let [early, late] =
                    [(first, first.from_bytes..last.from_bytes), (last, last.from_bytes..u64::MAX)].map(
                        |(one, sizes)| {
                            let rate = peak(sizes, one.bytes_per_s).words();
                            line(one.latency_ns, &one.latency_interval_ns, &rate)
                        },
                    );
                format!("{early} below {from}, {late} from {from} on")
            }
            _ => line(fit.latency_ns, &fit.latency_interval_ns, &peak(0..u64::MAX, fit.bytes_per_s).words()),
        };

        let from = fit.lines.last().map_or(0, |line| line.from_bytes);
        let latency_half_width = fit.latency_interval_ns.relative_half_width(fit.latency_ns);
        let half = match peak(from..u64::MAX, fit.bytes_per_s) {
            Peak::Reached { half_width, .. } if headline::is_known(half_width.max(latency_half_width)) => {
                format!(", half of it from {} on", size(fit.half_rate_bytes))
            }
            _ => String::new(),
        };
        let misfit = misfit(fit).map_or(String::new(), |misfit| format!("; {misfit}"));
        let ends = if fit.misfit > Some(NO_LINE) { ends(document, fit) } else { None };
        let figures = match ends {
            Some(ends) => ends,
            None => format!("{lines}{half}{misfit}"),
        };

        let dips: Vec<String> = fit
            .dips
            .iter()
            .map(|dip| {
                format!(
                    "{} ({:.0} % below its neighbours)",
                    units::size(dip.bytes),
                    (1.0 - dip.ratio) * 100.0
                )
            })
            .collect();
        let dips = if dips.is_empty() { String::new() } else { format!("; slow at {}", dips.join(", ")) };
        format!("{of}{way}, {memory} memory: {figures}{dips}.")
    };

    document.fits.iter().map(sentence).collect()
}

/// The rate that a line comes to, bytes/s.
enum Peak {
    /// A size came to it; half of the interval of the largest size, as a part of its figure.
    Reached { bytes_per_s: f64, half_width: f64 },
    /// No size did: the line goes on beyond what was measured, and its rate is no figure. What the largest
    /// size had.
    NotReached { bytes: u64, bytes_per_s: f64, half_width: f64 },
}

impl Peak {
    /// Of a line of a fit through these sizes.
    fn of(document: &Document, fit: &SweepFit, sizes: Range<u64>, of_line: f64) -> Self {
        let of_part = || figures(document, fit).into_iter().filter(|size| sizes.contains(&size.bytes));
        let most = of_part().map(|size| size.bytes_per_s).fold(0.0, f64::max);
        match of_part().max_by_key(|size| size.bytes) {
            Some(SizeFigure { bytes, bytes_per_s, half_width, .. }) if of_line > most * (1.0 + UNREACHED) => {
                Self::NotReached { bytes, bytes_per_s, half_width }
            }
            largest => Self::Reached {
                bytes_per_s: of_line,
                half_width: largest.map_or(0.0, |largest| largest.half_width),
            },
        }
    }

    fn words(&self) -> String {
        match *self {
            Self::Reached { bytes_per_s, half_width } => format!("peak {}", rate(bytes_per_s, half_width)),
            Self::NotReached { bytes, bytes_per_s, half_width } => {
                format!("peak not reached ({} at {})", rate(bytes_per_s, half_width), units::size(bytes))
            }
        }
    }
}

/// A rate in words, where it is known well enough.
fn rate(bytes_per_s: f64, half_width: f64) -> String {
    headline::figure(format!("{} GB/s", three_digits(bytes_per_s / 1e9)), half_width)
}

/// A size of a fit as measured.
struct SizeFigure {
    bytes: u64,
    /// Of a round.
    ns: f64,
    bytes_per_s: f64,
    /// Half of its interval, as a part of the figure.
    half_width: f64,
}

/// The sizes of a fit as measured.
fn figures(document: &Document, fit: &SweepFit) -> Vec<SizeFigure> {
    let alike = (fit.order, fit.memory, fit.direction);
    let cases = document.cases.iter().filter(|case| {
        case.range_bytes.is_none()
            && case.group.is_none()
            && (case.order, case.memory, case.direction) == alike
    });
    let figure = |case: &Case| {
        let summary = case.ranks.iter().find(|result| result.rank == fit.rank)?.summary()?;
        let (ns, bytes_per_s) = (summary.median_ns, summary.median_bytes_per_s);
        Some(SizeFigure { bytes: case.bytes, ns, bytes_per_s, half_width: headline::of_summary(summary) })
    };
    cases.filter_map(figure).collect()
}

/// That a size is so far off the fit that their figures are to be read with care; `None` where none is.
pub fn misfit(fit: &SweepFit) -> Option<String> {
    let off = fit.misfit.filter(|off| *off > MISFIT)?;
    Some(format!("a rough fit: a size is {:.0} % off it", off * 100.0))
}

/// `4 B in 29.1 ns, 1 GiB at 20.3 GB/s`: the smallest and the largest size of a fit, as measured.
fn ends(document: &Document, fit: &SweepFit) -> Option<String> {
    let figures = figures(document, fit);
    let smallest = figures.iter().min_by_key(|size| size.bytes)?;
    let largest = figures.iter().max_by_key(|size| size.bytes)?;
    let [small, large] = [smallest.bytes, largest.bytes].map(units::size);
    let least = headline::figure(time(smallest.ns), smallest.half_width);
    Some(format!("{small} in {least}, {large} at {}", rate(largest.bytes_per_s, largest.half_width)))
}

/// `2.05 µs`: what a fit is known to.
fn time(ns: f64) -> String {
    match ns {
        ns if ns >= 1e6 => format!("{} ms", three_digits(ns / 1e6)),
        ns if ns >= 1e3 => format!("{} µs", three_digits(ns / 1e3)),
        ns => format!("{} ns", three_digits(ns)),
    }
}

/// `48 KiB`: where half of the rate is reached is known roughly.
fn size(bytes: f64) -> String {
    match bytes {
        bytes if bytes >= 1024.0 * 1024.0 => format!("{:.1} MiB", bytes / 1024.0 / 1024.0),
        bytes if bytes >= 1024.0 => format!("{:.0} KiB", bytes / 1024.0),
        bytes => format!("{bytes:.0} B"),
    }
}

/// How many times its size a round copies: both ways of a round trip, and of copies in both directions at
/// once.
fn ways(case: &Case) -> f64 {
    if matches!(case.direction, Direction::RoundTrip | Direction::Bidirectional) { 2.0 } else { 1.0 }
}

/// The times of a rank by size, ascending; `None` of a rank that has none.
fn points(rank: u32, alike: &[&Case]) -> Option<Vec<SizeTimes>> {
    let block = |block: &BlockSample| BlockValue {
        value: block.elapsed_ns / (block.rounds as f64 * f64::from(block.copies_per_round.max(1))),
        allocation: block.allocation,
    };
    let point = |case: &&Case| {
        let result = case.ranks.iter().find(|result| result.rank == rank)?;
        result.summary()?;
        Some(SizeTimes {
            bytes: case.bytes as f64 * ways(case),
            blocks: result.blocks.iter().map(block).collect(),
        })
    };
    let mut points: Vec<SizeTimes> = alike.iter().filter_map(point).collect();
    points.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
    (points.len() >= LEAST_SIZES).then_some(points)
}
