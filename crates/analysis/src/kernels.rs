//! Kernels that compute: their figures in each place, what a far place costs, what the bandwidths of the same run predict of that, and from how many iterations on it fades.
//!
//! The rows and columns are the document's matrix; the figures are the cases'. A loss is the ratio of times of two places of one kernel, judged as every comparison is, with
//! one alpha over all of a document. What is predicted is the share of transfers in the near time, times how much longer the same copies take
//! at the far place's rates.

use report::Document;
use report::case::{Case, CaseStatus};
use report::kernels::{COPIES, KernelFigures, KernelLoss, KernelPlace, RESIDENT};
use report::matrix::{Compares, Matrix};
use report::result::{BlockSample, RankResult};
use report::settings::Direction;
use stats::alike::{distinct, grouped};
use stats::alpha::CONFIDENCE;
use stats::block_interval::{BlockValue, block_interval};
use stats::compare::{TwoSampleVerdict, compare_among};
use stats::flag::NOISY;
use stats::interval::{median, range};
use stats::units::{self, carried};

use crate::matrix_analysis::MatrixFigures;

/// A loss below this is none that a user would look for.
const FADED: f64 = 0.01;
/// A GPU that multiplies matrices in double precision at less than this part of single precision's rate is made for the latter: others have a half, or all of it.
const WEAK_DOUBLE: f64 = 1.0 / 8.0;
/// A loss is as predicted where the two are at most so far apart.
const AS_PREDICTED: f64 = 0.03;

/// The document's kernels with their figures and losses.
pub fn kernels(document: &Document) -> Vec<KernelFigures> {
    let Some(matrix) = matrix(document) else { return document.kernels.clone() };
    let pairs = pairs(matrix);
    let tests = pairs.len() * document.kernels.len();
    let figures = |kernel: &KernelFigures| {
        let places = matrix.places().filter_map(|place| figure(document, matrix, kernel, place)).collect();
        let loss = |pair: &Pair| loss(document, matrix, kernel, pair, tests);
        KernelFigures { places, losses: pairs.iter().filter_map(loss).collect(), ..kernel.clone() }
    };
    document.kernels.iter().map(figures).collect()
}

/// The matrix in whose rows and columns kernels stand.
fn matrix(document: &Document) -> Option<&Matrix> {
    document.matrices.iter().find(|matrix| matrix.rows.iter().all(|row| row.group.as_deref() == Some(COPIES)))
}

/// A row and a column.
type Place = (usize, usize);

/// Two places of one GPU, or of one row of cores.
struct Pair {
    near: Place,
    far: Place,
}

/// Each place with the near one: that which the platform declares to be local, or the first.
fn pairs(matrix: &Matrix) -> Vec<Pair> {
    let is_local = |(row, column): Place| {
        let nodes = matrix.columns[column].declared_nodes.value.as_ref();
        let node = matrix.rows[row].memory_node;
        nodes.zip(node).is_some_and(|(nodes, node)| nodes.contains(node))
    };
    let measured = |place: &Place| matrix.rows[place.0].reason.is_none();
    let lines: Vec<Vec<Place>> = match matrix.compares {
        Compares::Columns => {
            (0..matrix.rows.len()).map(|row| (0..matrix.columns.len()).map(|column| (row, column)).collect()).collect()
        }
        _ => {
            (0..matrix.columns.len()).map(|column| (0..matrix.rows.len()).map(|row| (row, column)).collect()).collect()
        }
    };
    let of_line = |line: Vec<Place>| {
        let line: Vec<Place> = line.into_iter().filter(measured).collect();
        let near = line.iter().copied().find(|place| is_local(*place)).or(line.first().copied());
        // Other places that are local too are not far.
        let far = move |place: &Place| Some(*place) != near && !(near.is_some_and(is_local) && is_local(*place));
        let far: Vec<Place> = line.iter().copied().filter(far).collect();
        near.into_iter()
            .flat_map(move |near| far.clone().into_iter().map(move |far| Pair { near, far }))
            .collect::<Vec<_>>()
    };
    lines.into_iter().flat_map(of_line).collect()
}

/// The results of a place in the case that `is` finds.
fn results<'d>(
    document: &'d Document,
    matrix: &Matrix,
    (row, column): Place,
    is: impl Fn(&Case) -> bool,
) -> Option<Vec<&'d RankResult>> {
    let ranks = matrix.rows[row].ranks.and(&matrix.columns[column].ranks);
    let here = |result: &&RankResult| ranks.contains(result.rank);
    let cases = document.cases.iter().filter(|case| case.status != CaseStatus::Invalid && is(case));
    let mut found = cases.map(|case| case.ranks.iter().filter(here).collect::<Vec<_>>());
    let found = found.find(|results| !results.is_empty())?;
    found.iter().all(|result| result.summary().is_some()).then_some(found)
}

/// The time in which all of a place's ranks do one round each, in each block.
fn times(results: &[&RankResult]) -> Vec<BlockValue> {
    let blocks = results.iter().map(|result| result.blocks.len()).min().unwrap_or(0);
    let rate = |block: &BlockSample| block.rounds as f64 * f64::from(block.copies_per_round.max(1)) / block.elapsed_ns;
    let of_block = |at: usize| BlockValue {
        value: results.len() as f64 / results.iter().map(|result| rate(&result.blocks[at])).sum::<f64>(),
        allocation: results[0].blocks[at].allocation,
    };
    (0..blocks).map(of_block).collect()
}

/// Times of one kind of case, with their median.
struct Times {
    blocks: Vec<f64>,
    median: f64,
    interval: Option<stats::interval::Interval>,
    threads: usize,
    /// The same by the host's clock, where a device timed the blocks.
    host_median: Option<f64>,
}

fn times_where(document: &Document, matrix: &Matrix, place: Place, is: impl Fn(&Case) -> bool) -> Option<Times> {
    let results = results(document, matrix, place, is)?;
    let values = times(&results);
    let blocks: Vec<f64> = values.iter().map(|block| block.value).collect();
    Some(Times {
        median: median(&blocks)?,
        interval: block_interval(&values, CONFIDENCE),
        blocks,
        threads: results.len(),
        host_median: results.first().and_then(|result| median(&result.host_round_ns)),
    })
}

/// Whether a case is a kernel's: with its transfers, or on CPUs (`resident` false), or on data that stays on the device.
fn is_of(case: &Case, kernel: &KernelFigures, resident: bool) -> bool {
    let Some(rest) = case.group.as_deref().and_then(|group| group.strip_prefix(&kernel.name)) else { return false };
    case.direction == Direction::Kernel
        && if resident { rest == RESIDENT } else { rest.is_empty() || rest.starts_with(',') }
}

fn figure(document: &Document, matrix: &Matrix, kernel: &KernelFigures, place: Place) -> Option<KernelPlace> {
    let with = times_where(document, matrix, place, |case| is_of(case, kernel, false))?;
    let resident = times_where(document, matrix, place, |case| is_of(case, kernel, true));
    let a_second = |runs: f64, ns: f64| kernel.amount * runs / ns * 1e9;
    let runs = f64::from(kernel.iterations);
    let (row, column) = (&matrix.rows[place.0], &matrix.columns[place.1]);
    Some(KernelPlace {
        row: row.name.clone(),
        column: column.name.clone(),
        ranks: row.ranks.and(&column.ranks),
        median_ns: with.median,
        interval_ns: with.interval,
        host_ns: with.host_median,
        per_s: a_second(runs * with.threads as f64, with.median),
        resident_ns: resident.as_ref().map(|times| times.median),
        host_resident_ns: resident.as_ref().and_then(|times| times.host_median),
        resident_interval_ns: resident.as_ref().and_then(|times| times.interval),
        resident_per_s: resident.as_ref().map(|times| a_second(1.0, times.median)),
        transfer_share: resident.map(|times| (1.0 - runs * times.median / with.median).clamp(0.0, 1.0)),
    })
}

fn loss(
    document: &Document,
    matrix: &Matrix,
    kernel: &KernelFigures,
    Pair { near, far }: &Pair,
    tests: usize,
) -> Option<KernelLoss> {
    let with = |place: Place| times_where(document, matrix, place, |case| is_of(case, kernel, false));
    let (at_near, at_far) = (with(*near)?, with(*far)?);
    let comparison = compare_among(&at_near.blocks, &at_far.blocks, tests, document.settings.seed);
    let longer = at_far.median - at_near.median;
    let is_slower = comparison.as_ref().is_some_and(|comparison| comparison.verdict == TwoSampleVerdict::Higher);
    let resident = times_where(document, matrix, *near, |case| is_of(case, kernel, true));
    let fades = resident
        .filter(|_| is_slower)
        .map(|resident| fades_from(kernel.iterations, at_near.median, longer, resident.median));
    let [near_name, far_name, of] = match matrix.compares {
        Compares::Columns => [&matrix.columns[near.1].name, &matrix.columns[far.1].name, &matrix.rows[near.0].name],
        _ => [&matrix.rows[near.0].name, &matrix.rows[far.0].name, &matrix.columns[near.1].name],
    };
    Some(KernelLoss {
        near: near_name.clone(),
        far: far_name.clone(),
        of: of.clone(),
        comparison,
        loss: longer / at_near.median,
        predicted_loss: predicted(document, matrix, kernel, (*near, *far)),
        below_one_percent_from_iterations: fades,
    })
}

/// From how many runs on data that stays the loss is below 1 %: what is longer stays, and the time grows by a run each.
fn fades_from(iterations: u32, near_ns: f64, longer_ns: f64, run_ns: f64) -> u64 {
    let more = ((longer_ns / FADED - near_ns) / run_ns).floor() + 1.0;
    u64::from(iterations) + more.max(0.0) as u64
}

/// The share of transfers in the near time, times how much longer the kernel's copies take from the far place at the rates that were measured beside it.
fn predicted(document: &Document, matrix: &Matrix, kernel: &KernelFigures, (near, far): (Place, Place)) -> Option<f64> {
    let copies_ns = |place: Place| {
        let of = |direction: Direction, bytes: u64| {
            let is = |case: &Case| case.direction == direction && case.group.as_deref() == Some(COPIES);
            let copied = document.cases.iter().find(|case| is(case))?.bytes;
            Some(times_where(document, matrix, place, is)?.median / copied as f64 * bytes as f64)
        };
        Some(of(Direction::H2d, kernel.input_bytes)? + of(Direction::D2h, kernel.output_bytes)?)
    };
    let share = figure(document, matrix, kernel, near)?.transfer_share?;
    Some(share * (copies_ns(far)? / copies_ns(near)? - 1.0))
}

/// The places in which kernels have figures: a row and a column.
pub fn places(document: &Document) -> Vec<(&str, &str)> {
    let places = document.kernels.iter().flat_map(|kernel| &kernel.places);
    distinct(places.map(|place| (&place.row[..], &place.column[..])))
}

/// The kernels that have figures in a place.
pub fn in_place<'d>(
    document: &'d Document,
    (row, column): (&'d str, &'d str),
) -> impl Iterator<Item = (&'d KernelFigures, &'d KernelPlace)> {
    let here = move |kernel: &'d KernelFigures| {
        let place = kernel.places.iter().find(|place| place.row == row && place.column == column)?;
        Some((kernel, place))
    };
    document.kernels.iter().filter_map(here)
}

/// What a loss is of, the far place and the near one.
pub type LossPair<'d> = [&'d str; 3];
/// A kernel with a loss of it.
pub type LossOf<'d> = (&'d KernelFigures, &'d KernelLoss);

/// The losses of each two places.
pub fn losses_by_pair(document: &Document) -> Vec<(LossPair<'_>, Vec<LossOf<'_>>)> {
    let losses = document.kernels.iter().flat_map(|kernel| kernel.losses.iter().map(move |loss| (kernel, loss)));
    grouped(losses.map(|(kernel, loss)| ([&loss.of[..], &loss.far, &loss.near], (kernel, loss))))
}

/// What the losses say, the answer first: a sentence for each two places.
pub fn verdict(document: &Document) -> Vec<String> {
    if document.kernels.is_empty() {
        return Vec::new();
    }
    let pairs = losses_by_pair(document);
    if pairs.is_empty() && document.kernels.iter().any(|kernel| !kernel.places.is_empty()) {
        let rates = format!("{}. One NUMA node: no near/far comparison.", rates(document));
        return [rates].into_iter().chain(weak_double(document)).chain(vendors(document)).collect();
    }
    let losses = pairs.into_iter().map(|(pair, losses)| losses_sentence(pair, &losses));
    losses.chain(weak_double(document)).chain(vendors(document)).collect()
}

/// Which GPUs have no double precision worth naming, by the rates of data that stays there.
fn weak_double(document: &Document) -> Vec<String> {
    let best = |name: &str, column: &str| {
        let kernel = document.kernels.iter().find(|kernel| kernel.name == name)?;
        let here = kernel.places.iter().filter(|place| place.column == column);
        here.filter_map(|place| place.resident_per_s).max_by(f64::total_cmp)
    };
    let places = document.kernels.iter().flat_map(|kernel| &kernel.places);
    let columns = distinct(places.map(|place| &place.column[..]));
    let weak = |column: &str| {
        let found = [("sgemm", "dgemm"), ("md", "md-dp")].into_iter().find_map(|(single, double)| {
            let part = best(double, column)? / best(single, column)?;
            (part < WEAK_DOUBLE).then(|| format!("{double} at 1/{:.0} of the rate of {single}", 1.0 / part))
        })?;
        Some(format!("{column} computes little in double precision: {found}."))
    };
    columns.into_iter().filter_map(weak).collect()
}

/// Which kernels a vendor's library computed.
fn vendors(document: &Document) -> Option<String> {
    let named = |kernel: &KernelFigures| Some(format!("{} by {}", kernel.name, kernel.by.as_ref()?));
    let by: Vec<String> = document.kernels.iter().filter_map(named).collect();
    (!by.is_empty()).then(|| format!("Computed by the GPU vendor's libraries: {}.", by.join(", ")))
}

/// `Rates: triad 18.2 GB/s, sgemm 71.2 to 73.5 GFLOP/s`: of all places of each kernel, with transfers where there are some; with their interval where it is wide.
fn rates(document: &Document) -> String {
    let rate = |kernel: &KernelFigures| {
        let half =
            |place: &KernelPlace| place.interval_ns.map(|interval| interval.relative_half_width(place.median_ns));
        let widest = kernel.places.iter().filter_map(half).fold(0.0, f64::max);
        let (least, most) = range(kernel.places.iter().map(|place| place.per_s / 1e9)).unwrap_or_default();
        let range = match widest > NOISY {
            true => {
                let [least, most] = [least, most].map(|rate| carried(rate, Some(rate * widest), 3));
                if least == most { most } else { format!("{least}–{most}") }
            }
            false => units::range(least, most),
        };
        let width = if widest > NOISY { format!(" ± {:.0} %", widest * 100.0) } else { String::new() };
        format!("{} {range} {}{width}", kernel.name, kernel.unit.giga())
    };
    let measured = document.kernels.iter().filter(|kernel| !kernel.places.is_empty());
    format!("Rates: {}", measured.map(rate).collect::<Vec<_>>().join(", "))
}

fn losses_sentence([of, far, near]: LossPair<'_>, losses: &[LossOf<'_>]) -> String {
    let with = |wanted: &[TwoSampleVerdict]| {
        let verdict =
            |loss: &KernelLoss| loss.comparison.as_ref().map_or(TwoSampleVerdict::Undecided, |found| found.verdict);
        let found = losses.iter().filter(|(_, loss)| wanted.contains(&verdict(loss)));
        let mut found: Vec<(&str, &KernelLoss)> = found.map(|(kernel, loss)| (&kernel.name[..], *loss)).collect();
        found.sort_by(|(_, one), (_, other)| other.loss.abs().total_cmp(&one.loss.abs()));
        found
    };
    let percent = |part: f64| match part.abs() * 100.0 {
        small if small < 9.95 => format!("{small:.1} %"),
        large => format!("{large:.0} %"),
    };
    let list = |found: &[(&str, &KernelLoss)], word: &str| {
        let one = |(at, (name, loss)): (usize, &(&str, &KernelLoss))| {
            let takes = if at == 0 {
                format!(" takes {} {word}", percent(loss.loss))
            } else {
                format!(" {}", percent(loss.loss))
            };
            format!("{name}{takes}")
        };
        found.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
    };
    let names = |found: &[(&str, &KernelLoss)]| found.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let [slower, faster] = [with(&[TwoSampleVerdict::Higher]), with(&[TwoSampleVerdict::Lower])];
    let [alike, undecided] = [with(&[TwoSampleVerdict::NoMeasurableDifference]), with(&[TwoSampleVerdict::Undecided])];
    let mut parts = Vec::new();
    if !slower.is_empty() {
        let follows = |(_, loss): &(&str, &KernelLoss)| {
            loss.predicted_loss.map(|predicted| (predicted - loss.loss).abs() <= AS_PREDICTED)
        };
        let follows: Option<Vec<bool>> = slower.iter().map(follows).collect();
        let why = match follows {
            Some(all) if all.iter().all(|as_predicted| *as_predicted) => {
                ": the loss follows the share of time in transfers"
            }
            Some(_) => "; not all of it is what the transfers' share predicts (see the table)",
            None => "",
        };
        parts.push(format!("{}{why}", list(&slower, "longer")));
    }
    if !faster.is_empty() {
        parts.push(list(&faster, "less time"));
    }
    if !alike.is_empty() {
        parts.push(format!("no measurable difference: {}", names(&alike)));
    }
    if !undecided.is_empty() {
        parts.push(format!("not significant: {} (try a longer --max-time)", names(&undecided)));
    }
    if parts.is_empty() {
        parts.push("nothing was measured in both places".to_owned());
    }
    format!("{of}, {far} instead of {near}: {}.", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_fades_when_the_runs_have_become_a_hundred_times_as_long_as_it() {
        // 100 ns of transfers and one run of 10, 27.9 longer from afar: below 1 % where the whole is above 2,790 ns.
        let from = fades_from(1, 110.0, 27.9, 10.0);
        let loss = |iterations: u64| 27.9 / (100.0 + 10.0 * iterations as f64);
        assert!(loss(from) < FADED && loss(from - 1) >= FADED, "{from}: {} {}", loss(from), loss(from - 1));
        assert_eq!(fades_from(4, 110.0, 0.5, 10.0), 4, "a loss that is below 1 % already");
    }
}
