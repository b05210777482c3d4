//! Jacobi's iteration over the ranks of a launch: each way's figures, what the ways gain over each other, and
//! what that says.

use report::Document;
use report::case::{Case, CaseStatus};
use report::laplace::{Laplace, LaplaceScaling, LaplaceSpeedUp, LaplaceWay};
use report::result::Outcome;
use stats::alpha::CONFIDENCE;
use stats::block_interval::{BlockValue, block_interval};
use stats::compare::{TwoSampleComparison, TwoSampleVerdict};
use stats::interval::{Interval, median};
use stats::units;

use crate::family::{CaseFamily, FamilyCase, all_pairs};
use crate::headline;
use crate::passes::Moments;

/// The document's ways with their figures. What only the run knows (residuals, the share of halos without
/// overlap) is there before.
pub fn laplace(document: &Document) -> Option<Laplace> {
    let known = document.laplace.as_ref()?;
    let mut ways: Vec<LaplaceWay> = known.ways.iter().map(|way| figures(document, known, way)).collect();
    let share = ways.iter().map(|way| shared(way, &ways)).collect::<Vec<_>>();
    let (speed_ups, scaling) = compared_ways(&ways);
    for (at, way) in ways.iter_mut().enumerate() {
        way.halo_share = share[at];
        (way.speed_ups, way.scaling) = (speed_ups[at].clone(), scaling[at].clone());
    }
    Some(Laplace { ways, ..known.clone() })
}

fn figures(document: &Document, known: &Laplace, way: &LaplaceWay) -> LaplaceWay {
    let case = document.cases.iter().find(|case| case.group.as_deref() == Some(&way.name));
    let block_ns = case.map(slowest).unwrap_or_default();
    let reason = case.and_then(reason);
    let counted = reason.is_none().then(|| median(&block_ns)).flatten();
    let values: Vec<BlockValue> =
        block_ns.iter().map(|ns| BlockValue { value: *ns, allocation: 0 }).collect();
    let cells = cells(known, way);

    LaplaceWay {
        iteration_ns: counted,
        interval_ns: counted.and_then(|_| block_interval(&values, CONFIDENCE)),
        cells_per_s: counted.map(|ns| cells / ns * 1e9),
        bytes_per_s: counted.map(|ns| 2.0 * f64::from(known.cell_bytes) * cells / ns * 1e9),
        block_ns,
        reason,
        ..way.clone()
    }
}

/// The time of an iteration by block: that of the slowest rank.
fn slowest(case: &Case) -> Vec<f64> {
    let blocks = case.ranks.iter().map(|rank| rank.blocks.len()).min().unwrap_or(0);
    let of_block = |at: usize| {
        let of_rank = case.ranks.iter().map(|rank| &rank.blocks[at]);
        let ns = |block: &report::result::BlockSample| {
            block.elapsed_ns / (block.rounds as f64 * f64::from(block.copies_per_round.max(1)))
        };
        of_rank.map(ns).fold(0.0, f64::max)
    };
    (0..blocks).map(of_block).collect()
}

/// Why a case has no figure.
fn reason(case: &Case) -> Option<String> {
    if case.status == CaseStatus::Measured {
        return None;
    }
    let of_rank = case.ranks.iter().find_map(|rank| match &rank.outcome {
        Outcome::Skipped { reason } | Outcome::Invalid { reason } | Outcome::Corrupt { reason } => {
            Some(reason.clone())
        }
        Outcome::Failed { message, .. } => Some(message.clone()),
        _ => None,
    });
    Some(of_rank.or_else(|| case.reason.clone()).unwrap_or_else(|| "not every rank was measured".to_owned()))
}

/// The share of halos: that which was measured, or with overlap what an iteration takes beyond computing,
/// which the same way without overlap has measured.
fn shared(way: &LaplaceWay, all: &[LaplaceWay]) -> Option<f64> {
    if !way.overlap {
        return way.halo_share.filter(|_| way.iteration_ns.is_some());
    }
    let is_without = |other: &&LaplaceWay| other.way == way.way && !other.overlap && other.ranks == way.ranks;
    let without = all.iter().find(is_without)?;
    let computing = without.iteration_ns? * (1.0 - without.halo_share?);
    Some((1.0 - computing / way.iteration_ns?).clamp(0.0, 1.0))
}

/// The cells of a way's plane.
fn cells(known: &Laplace, way: &LaplaceWay) -> f64 {
    let times = way.ranks.filter(|_| known.rows_are_each_ranks).unwrap_or(1);
    known.rows as f64 * f64::from(times) * known.columns as f64
}

/// Each way against those of as many ranks that come before it, and against the same by the fewest ranks.
/// Ways take turns in passes, so blocks of one number are compared.
fn compared_ways(ways: &[LaplaceWay]) -> (Vec<Vec<LaplaceSpeedUp>>, Vec<Option<LaplaceScaling>>) {
    let blocks: Vec<Vec<BlockValue>> =
        ways.iter().map(|way| BlockValue::on_one_allocation(&way.block_ns)).collect();
    let measured: Vec<usize> = (0..ways.len()).filter(|at| ways[*at].iteration_ns.is_some()).collect();
    let of_as_many = all_pairs(measured.len())
        .map(|(other, own)| [measured[other], measured[own]])
        .filter(|[other, own]| ways[*other].ranks == ways[*own].ranks);
    let of_fewest = measured.iter().filter_map(|own| Some([fewest_ranks(ways, &measured, *own)?, *own]));
    let pairs: Vec<[usize; 2]> = of_as_many.chain(of_fewest).collect();

    let member =
        |at: usize| FamilyCase { kind: 0, is_time: true, blocks: &blocks[at], began: Moments::default() };
    let members = pairs.iter().flatten().map(|at| member(*at)).collect();
    let comparisons = CaseFamily::of(members).values_in_twos();

    let (mut speed_ups, mut scaling) = (vec![Vec::new(); ways.len()], vec![None; ways.len()]);
    for ([other, own], comparison) in pairs.into_iter().zip(comparisons) {
        let (of_other, of_own) = (&ways[other], &ways[own]);
        if of_other.ranks != of_own.ranks {
            scaling[own] = scaled(of_other, of_own, comparison.as_ref());
            continue;
        }
        let factor = of_other.iteration_ns.zip(of_own.iteration_ns).map(|(other, own)| other / own);
        let Some(factor) = factor else { continue };
        speed_ups[own].push(LaplaceSpeedUp { over: of_other.name.clone(), factor, comparison });
    }
    (speed_ups, scaling)
}

/// The same way by the fewest ranks: a rank alone has no halos, so that it stands for all ways of its
/// processors there.
fn fewest_ranks(ways: &[LaplaceWay], measured: &[usize], own: usize) -> Option<usize> {
    let (own, is_of_cpu) = (&ways[own], |way: &LaplaceWay| way.way == "cpu");
    let is_same = |way: &LaplaceWay| match way.ranks {
        Some(1) => is_of_cpu(way) == is_of_cpu(own),
        _ => way.way == own.way && way.overlap == own.overlap,
    };
    let others = measured.iter().copied().filter(|at| is_same(&ways[*at]));
    others.min_by_key(|at| ways[*at].ranks).filter(|at| ways[*at].ranks < own.ranks)
}

fn scaled(
    fewest: &LaplaceWay,
    own: &LaplaceWay,
    comparison: Option<&TwoSampleComparison>,
) -> Option<LaplaceScaling> {
    let (ranks, of_fewest) = (own.ranks?, fewest.ranks?);
    let speed_up = own.cells_per_s? / fewest.cells_per_s?;
    let efficiency = speed_up * f64::from(of_fewest) / f64::from(ranks);
    // The comparison's ratio is of times: efficiency over its inverse is the same for all.
    let of_time = own.iteration_ns? / fewest.iteration_ns?;
    let interval = comparison.map(|comparison| {
        let Interval { low, high, confidence } = comparison.ratio_interval;
        Interval { low: efficiency * of_time / high, high: efficiency * of_time / low, confidence }
    });
    Some(LaplaceScaling { over: fewest.name.clone(), ranks: of_fewest, speed_up, efficiency, interval })
}

/// What it says, the answer first.
pub fn verdict(document: &Document) -> Vec<String> {
    let Some(laplace) = &document.laplace else { return Vec::new() };
    let measured: Vec<&LaplaceWay> = laplace.ways.iter().filter(|way| way.iteration_ns.is_some()).collect();
    let time = |way: &&LaplaceWay| way.iteration_ns.unwrap_or(f64::INFINITY);
    let rate = |way: &&LaplaceWay| way.cells_per_s.unwrap_or_default();
    let Some(best) = measured.iter().copied().max_by(|one, other| rate(one).total_cmp(&rate(other))) else {
        return vec!["No way gave a figure: see the table.".to_owned()];
    };

    let ranks = document.ranks.len();
    let many = if ranks == 1 { "1 rank".to_owned() } else { format!("{ranks} ranks") };
    let share = best
        .halo_share
        .map_or(String::new(), |share| format!(", {:.1} % of the time in halos", share * 100.0));
    let rows = if laplace.rows_are_each_ranks { " rows of each rank" } else { "" };
    let plane = match best.ranks {
        Some(_) => format!("{}x{}{rows}", laplace.rows, laplace.columns),
        None => format!("{}x{}, {many}", laplace.rows, laplace.columns),
    };
    let figure = format!(
        "{} Gcell/s ({} an iteration of {plane}{share})",
        digits(best.cells_per_s.unwrap_or_default() / 1e9),
        time_of(best.iteration_ns.unwrap_or_default())
    );

    let half_width = headline::half_width(time(&best), best.interval_ns.as_ref());
    let rivals = rivals(&measured, best);
    let mut said = vec![match headline::is_known(half_width) {
        true => format!("Fastest: {} with {figure}{rivals}.", best.name),
        false => {
            format!(
                "Fastest: {}, by a median that is {}, of {plane}{rivals}.",
                best.name,
                headline::too_noisy(half_width)
            )
        }
    }];

    said.extend(scaling(laplace, &measured));
    let most = measured.iter().filter_map(|way| way.ranks).max();
    let measured: Vec<&LaplaceWay> = measured.into_iter().filter(|way| way.ranks == most).collect();
    for (way, over) in [("staged", "cpu"), ("gpu", "cpu"), ("gpu-aware", "cpu"), ("gpu-aware", "staged")] {
        said.extend(compared(&measured, way, over));
    }
    let residuals: Vec<(f64, u64)> =
        laplace.ways.iter().filter_map(|way| way.residual.zip(way.residual_after_iterations)).collect();
    if let [first, .., last] = residuals[..]
        && !(laplace.rows_are_each_ranks && most.is_some())
        && residuals.iter().all(|residual| *residual == first)
    {
        said.push(format!(
            "Every way has the same residual after {} iterations, to the last bit: {:e}.",
            last.1, last.0
        ));
    }
    for way in laplace.ways.iter().filter(|way| way.iteration_ns.is_none()) {
        said.push(format!(
            "No figure for {}: {}.",
            way.name,
            way.reason.as_deref().unwrap_or("it was not measured")
        ));
    }
    headline::with_advice(said)
}

/// The ways of as many ranks that the best one is not surely faster than.
fn rivals(measured: &[&LaplaceWay], best: &LaplaceWay) -> String {
    let is_told_apart = |other: &LaplaceWay| {
        let of = |way: &LaplaceWay, over: &LaplaceWay| {
            let found = way.speed_ups.iter().find(|found| found.over == over.name)?;
            found.comparison.as_ref().map(|comparison| comparison.verdict)
        };
        let verdict = of(best, other).or_else(|| of(other, best));
        verdict.is_some_and(|verdict| {
            !matches!(verdict, TwoSampleVerdict::Undecided | TwoSampleVerdict::NoMeasurableDifference)
        })
    };
    let others = measured.iter().filter(|way| way.ranks == best.ranks && way.name != best.name);
    let rivals: Vec<&str> = others.filter(|way| !is_told_apart(way)).map(|way| &way.name[..]).collect();
    if rivals.is_empty() { String::new() } else { format!("; as fast may be: {}", rivals.join("; ")) }
}

/// How the fastest way of the most ranks scales.
fn scaling(laplace: &Laplace, measured: &[&LaplaceWay]) -> Option<String> {
    let scaled = measured.iter().filter(|way| way.scaling.is_some());
    let rate = |way: &&&LaplaceWay| (way.ranks, way.cells_per_s.map_or(0, f64::to_bits));
    let best = scaled.max_by_key(rate)?;
    let found = best.scaling.as_ref()?;

    let of = best.ranks.unwrap_or_default();
    let growing = if laplace.rows_are_each_ranks { "a plane that grows with them" } else { "the same plane" };
    let half_width = headline::half_width(found.efficiency, found.interval.as_ref());
    if !headline::is_known(half_width) {
        let noisy = headline::too_noisy(half_width);
        return Some(format!("Scaling from {} to {of} ranks is {noisy}.", found.ranks));
    }
    let percent = |part: f64| format!("{:.0}", part * 100.0);
    let interval = found.interval.as_ref().map_or(String::new(), |interval| {
        format!(" (95 %: {} to {} %)", percent(interval.low), percent(interval.high))
    });
    Some(format!(
        "Scaling from {} to {of} ranks over {growing}: {} times as fast, {} % of perfect{interval}; {}, \
         beside {}.",
        found.ranks,
        digits(found.speed_up),
        percent(found.efficiency),
        best.name,
        found.over,
    ))
}

/// The faster variant of a way against the faster one of another.
fn compared(measured: &[&LaplaceWay], way: &str, over: &str) -> Option<String> {
    let best = |name: &str| {
        let of = measured.iter().filter(|way| way.way == name);
        of.min_by(|one, other| {
            one.iteration_ns.unwrap_or_default().total_cmp(&other.iteration_ns.unwrap_or_default())
        })
    };
    let (way, over) = (best(way)?, best(over)?);
    let found = way.speed_ups.iter().find(|found| found.over == over.name)?;
    let comparison = found.comparison.as_ref()?;

    Some(match comparison.verdict {
        TwoSampleVerdict::NoMeasurableDifference => format!("{} and {} take as long.", way.name, over.name),
        TwoSampleVerdict::Undecided => {
            format!("{} against {}: not significant; try a longer --max-time.", way.name, over.name)
        }
        _ => {
            let interval = &comparison.ratio_interval;
            let half_width = interval.relative_half_width((interval.low + interval.high) / 2.0);
            if !headline::is_known(half_width) {
                let (word, by) =
                    (if found.factor > 1.0 { "faster" } else { "slower" }, headline::too_noisy(half_width));
                return Some(format!("{} is {word} than {}; {by} to say by how much.", way.name, over.name));
            }
            format!(
                "{} is {} times as fast as {} (95 %: {}).",
                way.name,
                digits(found.factor),
                over.name,
                units::range(1.0 / interval.high, 1.0 / interval.low)
            )
        }
    })
}

/// Three digits that say something.
fn digits(value: f64) -> String {
    match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value if value >= 0.095 => format!("{value:.2}"),
        value if value >= 0.001 => format!("{value:.4}"),
        value => format!("{value:.1e}"),
    }
}

fn time_of(ns: f64) -> String {
    if ns < 1e6 { format!("{} µs", digits(ns / 1e3)) } else { format!("{} ms", digits(ns / 1e6)) }
}

#[cfg(test)]
mod tests {
    use report::read::SavedDocument;

    use super::*;

    #[test]
    fn a_way_that_is_not_told_from_the_fastest_stands_beside_it() -> Result<(), Box<dyn std::error::Error>> {
        let mut document = Document::from_json(include_bytes!("../../../docs/gallery/laplace.json"))?;
        let said = |document: &Document| verdict(document).remove(0);
        assert!(!said(&document).contains("as fast may be"), "{}", said(&document));

        for verdict in [TwoSampleVerdict::Undecided, TwoSampleVerdict::NoMeasurableDifference] {
            let ways = document.laplace.iter_mut().flat_map(|laplace| &mut laplace.ways);
            let compared = ways.flat_map(|way| &mut way.speed_ups).filter_map(|one| one.comparison.as_mut());
            compared.for_each(|comparison| comparison.verdict = verdict);
            let first = said(&document);
            assert!(
                first.starts_with("Fastest: gpu with ") && first.contains("; as fast may be: cpu."),
                "{first}"
            );
        }
        Ok(())
    }
}
