//! Kernels that compute: their figures in each place, what a far place costs, what the bandwidths of the same
//! run predict of that, and from how many iterations on it fades.
//!
//! The rows and columns are the document's matrix; the figures are the cases'. A loss is the ratio of times
//! of two places of one kernel, judged as every comparison is, with one alpha over all of a document. What is
//! predicted is a model of the round: input, runs and result take what the rates of copies and the time of a
//! run alone say, and of what may go on at once (input beside the first run, the result beside the last, both
//! directions) such a part does as the near place's own time shows.
//!
//! Some 530 lines because the model of a round and its tests on given rounds are read beside the losses that
//! it is held against.

use report::Document;
use report::case::{Case, CaseStatus};
use report::kernels::{COPIES, KernelFigures, KernelLoss, KernelPlace, RESIDENT};
use report::matrix::{Compares, Matrix};
use report::result::{BlockSample, RankResult};
use report::settings::Direction;
use stats::alike::{distinct, grouped};
use stats::alpha::CONFIDENCE;
use stats::block_interval::{BlockValue, block_interval, values};
use stats::compare::{TwoSampleComparison, TwoSampleVerdict};
use stats::interval::{Interval, median, range};
use stats::units;

use crate::family::{CaseFamily, FamilyCase};
use crate::headline;
use crate::matrix_analysis::near_far::{NearFar, Place, near_far_places};
use crate::matrix_analysis::{MatrixFigures, nothing_beside};
use crate::passes::Moments;

/// A loss below this is none that a user would look for.
const FADED: f64 = 0.01;
/// A GPU that multiplies matrices in double precision at less than this part of single precision's rate is
/// made for the latter: others have a half, or all of it.
const WEAK_DOUBLE: f64 = 1.0 / 8.0;
/// A loss is as predicted where the two are at most so far apart.
const AS_PREDICTED: f64 = 0.03;

/// The document's kernels with their figures and losses.
pub fn kernels(document: &Document) -> Vec<KernelFigures> {
    let Some(matrix) = matrix(document) else { return document.kernels.clone() };
    let pairs = near_far_places(matrix);
    let with = |kernel: &KernelFigures, place| {
        times_where(document, matrix, place, |case| is_of(case, kernel, false))
    };
    let mut rivals = Vec::new();
    for (number, kernel) in document.kernels.iter().enumerate() {
        let both = |pair: &NearFar| {
            Some(Rivals { number, pair: *pair, near: with(kernel, pair.near)?, far: with(kernel, pair.far)? })
        };
        rivals.extend(pairs.iter().filter_map(both));
    }
    let members = rivals.iter().flat_map(|of| [&of.near, &of.far].map(|times| times.member(of.number)));
    let comparisons = CaseFamily::of(members.collect()).values_in_twos();

    let figures = |(number, kernel): (usize, &KernelFigures)| {
        let places = matrix.places().filter_map(|place| figure(document, matrix, kernel, place)).collect();
        let own = rivals.iter().zip(&comparisons).filter(|(rivals, _)| rivals.number == number);
        let losses =
            own.map(|(rivals, found)| loss(document, matrix, kernel, rivals, found.clone())).collect();
        KernelFigures { places, losses, ..kernel.clone() }
    };
    document.kernels.iter().enumerate().map(figures).collect()
}

/// The matrix in whose rows and columns kernels stand.
fn matrix(document: &Document) -> Option<&Matrix> {
    document.matrices.iter().find(|matrix| matrix.rows.iter().all(|row| row.group.as_deref() == Some(COPIES)))
}

/// A kernel's times in two places.
struct Rivals {
    /// The kernel's number in the document.
    number: usize,
    pair: NearFar,
    near: Times,
    far: Times,
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
    let rate = |block: &BlockSample| {
        block.rounds as f64 * f64::from(block.copies_per_round.max(1)) / block.elapsed_ns
    };
    let of_block = |at: usize| BlockValue {
        value: results.len() as f64 / results.iter().map(|result| rate(&result.blocks[at])).sum::<f64>(),
        allocation: results[0].blocks[at].allocation,
    };
    (0..blocks).map(of_block).collect()
}

/// Times of one kind of case, with their median.
struct Times {
    blocks: Vec<BlockValue>,
    /// When the blocks began, by the clock of the node.
    began_ns: Vec<u64>,
    node: u32,
    median: f64,
    interval: Option<Interval>,
    threads: usize,
    /// The same by the host's clock, where a device timed the blocks.
    host_median: Option<f64>,
}

impl Times {
    fn member(&self, kind: usize) -> FamilyCase<'_> {
        let began = Moments { node: self.node, ns: &self.began_ns };
        FamilyCase { kind, is_time: true, blocks: &self.blocks, began }
    }
}

fn times_where(
    document: &Document,
    matrix: &Matrix,
    place: Place,
    is: impl Fn(&Case) -> bool,
) -> Option<Times> {
    let results = results(document, matrix, place, is)?;
    let blocks = times(&results);
    let first = results.first()?;
    let node = document.ranks.iter().find(|rank| rank.rank == first.rank).map_or(0, |rank| rank.node);
    // One figure has one value: rows and fleets add the threads' own rates up. The interval is as wide around
    // it as around the blocks' median.
    let of_blocks = median(&values(&blocks))?;
    let rates: f64 = results.iter().filter_map(|result| Some(1.0 / result.summary()?.median_ns)).sum();
    let median_ns = if results.len() > 1 { results.len() as f64 / rates } else { of_blocks };
    let around = |end: f64| end * median_ns / of_blocks;
    let interval = block_interval(&blocks, CONFIDENCE);

    Some(Times {
        median: median_ns,
        interval: interval.map(|ends| Interval { low: around(ends.low), high: around(ends.high), ..ends }),
        began_ns: first.blocks[..blocks.len()].iter().map(|block| block.start_ns).collect(),
        node,
        blocks,
        threads: results.len(),
        host_median: results.first().and_then(|result| median(&result.host_round_ns)),
    })
}

/// Whether a case is a kernel's: with its transfers, or on CPUs (`resident` false), or on data that stays on
/// the device.
fn is_of(case: &Case, kernel: &KernelFigures, resident: bool) -> bool {
    let Some(rest) = case.group.as_deref().and_then(|group| group.strip_prefix(&kernel.name)) else {
        return false;
    };
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
    Rivals { pair: NearFar { near, far }, near: at_near, far: at_far, .. }: &Rivals,
    comparison: Option<TwoSampleComparison>,
) -> KernelLoss {
    let longer = at_far.median - at_near.median;
    let is_slower =
        comparison.as_ref().is_some_and(|comparison| comparison.verdict == TwoSampleVerdict::Higher);
    let resident = times_where(document, matrix, *near, |case| is_of(case, kernel, true));
    let fades = resident
        .filter(|_| is_slower)
        .map(|resident| fades_from(kernel.iterations, at_near.median, longer, resident.median));
    let [near_name, far_name, of] = match matrix.compares {
        Compares::Columns => {
            [&matrix.columns[near.1].name, &matrix.columns[far.1].name, &matrix.rows[near.0].name]
        }
        _ => [&matrix.rows[near.0].name, &matrix.rows[far.0].name, &matrix.columns[near.1].name],
    };

    KernelLoss {
        near: near_name.clone(),
        far: far_name.clone(),
        of: of.clone(),
        comparison,
        loss: longer / at_near.median,
        predicted_loss: predicted(document, matrix, kernel, (*near, *far)),
        below_one_percent_from_iterations: fades,
    }
}

/// From how many runs on data that stays the loss is below 1 %: what is longer stays, and the time grows by a
/// run each.
fn fades_from(iterations: u32, near_ns: f64, longer_ns: f64, run_ns: f64) -> u64 {
    let more = ((longer_ns / FADED - near_ns) / run_ns).floor() + 1.0;
    u64::from(iterations) + more.max(0.0) as u64
}

/// The loss that a model of the round predicts from the rates of copies in both places and the time of a run
/// alone.
fn predicted(
    document: &Document,
    matrix: &Matrix,
    kernel: &KernelFigures,
    (near, far): (Place, Place),
) -> Option<f64> {
    let run_ns = times_where(document, matrix, near, |case| is_of(case, kernel, true))?.median;
    let round = |place: Place| {
        let of = |direction: Direction, bytes: u64| {
            let is = |case: &Case| case.direction == direction && case.group.as_deref() == Some(COPIES);
            let copied = document.cases.iter().find(|case| is(case))?.bytes;
            Some(times_where(document, matrix, place, is)?.median / copied as f64 * bytes as f64)
        };
        let (input_ns, result_ns) =
            (of(Direction::H2d, kernel.input_bytes)?, of(Direction::D2h, kernel.output_bytes)?);
        Some(RoundModel { input_ns, run_ns, result_ns, iterations: kernel.iterations })
    };

    let measured_ns = times_where(document, matrix, near, |case| is_of(case, kernel, false))?.median;
    Some(round(far)?.longer_than(&round(near)?, measured_ns) / measured_ns)
}

/// A round as its parts: the input to the GPU, runs, the result back.
struct RoundModel {
    input_ns: f64,
    run_ns: f64,
    result_ns: f64,
    iterations: u32,
}

impl RoundModel {
    /// The time of all parts one after the other.
    fn in_turn_ns(&self) -> f64 {
        self.input_ns + f64::from(self.iterations) * self.run_ns + self.result_ns
    }

    /// The time where all that may go on at once does: with one run all three parts, with several the input
    /// beside the first run and the result beside the last.
    fn overlapped_ns(&self) -> f64 {
        let Self { input_ns, run_ns, result_ns, iterations } = *self;
        match iterations {
            ..=1 => input_ns.max(run_ns).max(result_ns),
            runs => input_ns.max(run_ns) + result_ns.max(run_ns) + f64::from(runs - 2) * run_ns,
        }
    }

    /// How much longer it takes than a near round that took so long: as large a part of what may go on at
    /// once does not.
    fn longer_than(&self, near: &Self, measured_ns: f64) -> f64 {
        let may_overlap = near.in_turn_ns() - near.overlapped_ns();
        let part = if may_overlap > 0.0 { (measured_ns - near.overlapped_ns()) / may_overlap } else { 0.0 };
        let part = part.clamp(0.0, 1.0);
        let time = |of: &Self| of.overlapped_ns() + part * (of.in_turn_ns() - of.overlapped_ns());
        time(self) - time(near)
    }
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

/// The losses of each two places, the worst first.
pub fn losses_by_pair(document: &Document) -> Vec<(LossPair<'_>, Vec<LossOf<'_>>)> {
    let losses =
        document.kernels.iter().flat_map(|kernel| kernel.losses.iter().map(move |loss| (kernel, loss)));
    let mut pairs: Vec<(LossPair<'_>, Vec<LossOf<'_>>)> =
        grouped(losses.map(|(kernel, loss)| ([&loss.of[..], &loss.far, &loss.near], (kernel, loss))));
    for (_, losses) in &mut pairs {
        losses.sort_by(|(_, one), (_, other)| other.loss.total_cmp(&one.loss));
    }
    pairs
}

/// The near and the far place of a loss.
pub fn both_places<'d>(document: &Document, (kernel, loss): LossOf<'d>) -> Option<[&'d KernelPlace; 2]> {
    let by_columns = matrix(document)?.compares == Compares::Columns;
    let at = |name: &str| {
        let (row, column) = if by_columns { (&loss.of[..], name) } else { (name, &loss.of[..]) };
        kernel.places.iter().find(|place| place.row == row && place.column == column)
    };
    Some([at(&loss.near)?, at(&loss.far)?])
}

/// What the losses say, the answer first: a sentence for each two places.
pub fn verdict(document: &Document) -> Vec<String> {
    let pairs = losses_by_pair(document);
    if pairs.is_empty() && document.kernels.iter().any(|kernel| !kernel.places.is_empty()) {
        let why = matrix(document).map(nothing_beside);
        let rates = [Some(rates(document).as_str()), why].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let found = [rates].into_iter().chain(rates_alone(document));
        return found.chain(weak_double(document)).chain(vendors(document)).collect();
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

/// `Rates with transfers: triad 18.2 GB/s, sgemm 71.2–73.5 GFLOP/s.`: of all places of each kernel; with
/// their interval where it is wide.
fn rates(document: &Document) -> String {
    let of = |place: &KernelPlace| {
        let half_width = place.interval_ns.map(|interval| interval.relative_half_width(place.median_ns));
        Some((place.per_s, half_width))
    };
    let measured = document.kernels.iter().filter_map(|kernel| rate_in_words(kernel, of));
    // Also where the runs alone have no figure: their cases are there.
    let is_alone = |case: &Case| document.kernels.iter().any(|kernel| is_of(case, kernel, true));
    let is_on_gpu = document.cases.iter().any(is_alone);
    let with = if is_on_gpu { "Rates with transfers" } else { "Rates" };

    format!("{with}: {}.", measured.collect::<Vec<_>>().join(", "))
}

/// `Alone, on data that stays on the GPU: triad 4610 GB/s, …`; what is too short to tell is named as that.
fn rates_alone(document: &Document) -> Option<String> {
    let of = |place: &KernelPlace| {
        let interval = place.resident_interval_ns;
        let half_width = interval.zip(place.resident_ns).map(|(of, ns)| of.relative_half_width(ns));
        Some((place.resident_per_s?, half_width))
    };
    let (short, long): (Vec<_>, Vec<_>) = runs_alone(document).partition(|kernel| is_too_short(kernel));
    let mut told: Vec<String> = long.into_iter().filter_map(|kernel| rate_in_words(kernel, of)).collect();
    let names: Vec<&str> = short.iter().map(|kernel| &kernel.name[..]).collect();
    if !names.is_empty() {
        told.push(format!("{} too short to tell", names.join(", ")));
    }

    (!told.is_empty()).then(|| format!("Alone, on data that stays on the GPU: {}.", told.join(", ")))
}

/// The kernels that have runs on data that stays on the GPU.
fn runs_alone(document: &Document) -> impl Iterator<Item = &KernelFigures> {
    document.kernels.iter().filter(|kernel| kernel.places.iter().any(|place| place.resident_per_s.is_some()))
}

/// Whether a run takes no longer than its launch in some place.
fn is_too_short(kernel: &KernelFigures) -> bool {
    kernel.places.iter().any(KernelPlace::is_too_short)
}

/// `sgemm 71.2–73.5 GFLOP/s ± 8 %`, of all places: a rate of each with half of its interval as a part of it.
fn rate_in_words(
    kernel: &KernelFigures,
    of: impl Fn(&KernelPlace) -> Option<(f64, Option<f64>)>,
) -> Option<String> {
    let places: Vec<(f64, Option<f64>)> = kernel.places.iter().filter_map(of).collect();
    let widest = places.iter().filter_map(|(_, half_width)| *half_width).fold(0.0, f64::max);
    let (least, most) = range(places.iter().map(|(per_s, _)| per_s / 1e9))?;

    let range = units::range_known_to(least, most, most * widest);
    let width = headline::width(widest);
    let figure = headline::figure(format!("{range} {}{width}", kernel.unit.giga()), widest);
    Some(format!("{} {figure}", kernel.name))
}

fn losses_sentence([of, far, near]: LossPair<'_>, losses: &[LossOf<'_>]) -> String {
    let with = |wanted: &[TwoSampleVerdict]| {
        let verdict = |loss: &KernelLoss| {
            loss.comparison.as_ref().map_or(TwoSampleVerdict::Undecided, |found| found.verdict)
        };
        let found = losses.iter().filter(|(_, loss)| wanted.contains(&verdict(loss)));
        let mut found: Vec<(&str, &KernelLoss)> =
            found.map(|(kernel, loss)| (&kernel.name[..], *loss)).collect();
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

    let names =
        |found: &[(&str, &KernelLoss)]| found.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let [slower, faster] = [with(&[TwoSampleVerdict::Higher]), with(&[TwoSampleVerdict::Lower])];
    let [alike, undecided] =
        [with(&[TwoSampleVerdict::NoMeasurableDifference]), with(&[TwoSampleVerdict::Undecided])];
    let mut parts = Vec::new();

    if !slower.is_empty() {
        let follows = |(_, loss): &(&str, &KernelLoss)| {
            loss.predicted_loss.map(|predicted| (predicted - loss.loss).abs() <= AS_PREDICTED)
        };
        let follows: Option<Vec<bool>> = slower.iter().map(follows).collect();
        let why = match follows {
            Some(all) if all.iter().all(|as_predicted| *as_predicted) => {
                ": as the rates of the copies predict"
            }
            Some(_) => "; the rates of the copies predict another loss (see the table)",
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

    /// A round whose copies run at such rates, GB/s: an input and a result of 64 MiB, one run of 2 ms.
    fn round(rate: f64) -> RoundModel {
        let copy_ns = (64 << 20) as f64 / rate;
        RoundModel { input_ns: copy_ns, run_ns: 2e6, result_ns: copy_ns, iterations: 1 }
    }

    #[test]
    fn a_round_whose_copies_overlap_its_run_loses_what_its_copies_lose() {
        let (near, far) = (round(5.5), round(4.3));
        let loss = |measured_ns: f64| far.longer_than(&near, measured_ns) / measured_ns;
        // All at once: the time is that of one direction.
        assert!((loss(near.overlapped_ns()) - (5.5 / 4.3 - 1.0)).abs() < 1e-9);
        // One after the other the run has its share, and nothing lost.
        let in_turn = loss(near.in_turn_ns());
        assert!((in_turn - (5.5 / 4.3 - 1.0) * (1.0 - 2e6 / near.in_turn_ns())).abs() < 1e-9, "{in_turn}");
        assert!(loss(0.5 * (near.overlapped_ns() + near.in_turn_ns())) > in_turn);
    }

    #[test]
    fn a_run_that_hides_its_copies_loses_nothing_until_they_take_longer() {
        let slow = |rate: f64| RoundModel { run_ns: 50e6, ..round(rate) };
        assert_eq!(slow(4.3).longer_than(&slow(5.5), 50e6), 0.0);
        let several = |rate: f64| RoundModel { iterations: 4, ..round(rate) };
        // Input and result each lie beside a run that is shorter.
        let longer = several(4.3).longer_than(&several(5.5), several(5.5).overlapped_ns());
        assert!((longer - 2.0 * (round(4.3).input_ns - round(5.5).input_ns)).abs() < 1.0, "{longer}");
    }

    #[test]
    fn a_loss_fades_when_the_runs_have_become_a_hundred_times_as_long_as_it() {
        // 100 ns of transfers and one run of 10, 27.9 longer from afar: below 1 % where the whole is above
        // 2,790 ns.
        let from = fades_from(1, 110.0, 27.9, 10.0);
        let loss = |iterations: u64| 27.9 / (100.0 + 10.0 * iterations as f64);
        assert!(loss(from) < FADED && loss(from - 1) >= FADED, "{from}: {} {}", loss(from), loss(from - 1));
        assert_eq!(fades_from(4, 110.0, 0.5, 10.0), 4, "a loss that is below 1 % already");
    }
}
