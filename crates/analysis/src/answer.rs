//! What a ping-pong found, in the sentences that a reader sees first: what went wrong, the rates, what
//! sharing cost, and what is proven.
//!
//! The rates are those of the largest copies from the first kind of memory, at once where ranks were at once;
//! every other figure is in the tables.
//!
//! Some 460 lines because a reader meets these sentences together, and each is a function of its own.

use std::collections::BTreeSet;

use report::Document;
use report::case::{Case, CaseStatus, Order};
use report::contention::Penalty;
use report::document::{PlatformKind, Status};
use report::rank::{Locality, Rank};
use report::result::{BlockSample, Outcome, RankResult};
use stats::alpha::ALPHA;
use stats::block_interval::BlockValue;
use stats::interval::median;
use stats::summary::Summary;
use stats::units;

use crate::family::{CaseComparison, CaseFamily, CaseFinding, FamilyCase};
use crate::matrix_analysis::SHARED;
use crate::passes::Moments;
use crate::placement::{is_otherwise, is_unseen};
use crate::words::{self, status};
use crate::{cached, device_memory, headline, throttling, unfinished};

/// Below this size a copy is told by its time: it is latency, and a rate would only be a small number.
const LEAST_FOR_RATES: u64 = 64 << 10;
/// What a GPU alone has of its link at least, per cent.
const HEALTHY_PERCENT: f64 = 85.0;
/// Ranks further apart than this part of the median have a slowest one worth naming.
const APART: f64 = 0.05;

/// The sentences; none for a document without cases.
pub fn answer(document: &Document) -> Vec<String> {
    let cases = answering_cases(document);
    let mut said: Vec<String> = trouble(document).into_iter().chain(far_from_gpus(document)).collect();
    if let Some(figures) = figures(document, &cases) {
        said.push(figures);
        said.extend(device_memory::one_memory(document));
    }
    said.extend(cached::sentence(document));
    said.extend(cost(document, &cases).or_else(|| unknown_cost(document, &cases)));
    said.extend(throttling::sentences(document));
    said.extend(device_memory::elsewhere(document));
    said.extend(proof(document));
    headline::with_advice(said)
}

/// The cases that the answer is given by: one size, one kind of memory, one order.
fn answering_cases(document: &Document) -> Vec<&Case> {
    let whole = |case: &&Case| case.group.is_none() && case.range_bytes.is_none();
    let measured: Vec<&Case> =
        document.cases.iter().filter(whole).filter(|case| summaries(case).next().is_some()).collect();
    let orders = [Order::Simultaneous, Order::Alone];
    let Some(order) = orders.into_iter().find(|order| measured.iter().any(|case| case.order == *order))
    else {
        return Vec::new();
    };
    let of_order = || measured.iter().filter(|case| case.order == order);
    let bytes = of_order().map(|case| case.bytes).max();
    let memory = of_order().find(|case| Some(case.bytes) == bytes).map(|case| case.memory);
    of_order().filter(|case| Some(case.bytes) == bytes && Some(case.memory) == memory).copied().collect()
}

/// The numbers of a case's ranks, unless the case as a whole is none.
fn summaries(case: &Case) -> impl Iterator<Item = (&RankResult, &Summary)> {
    let valid = case.status != CaseStatus::Invalid;
    case.ranks.iter().filter(move |_| valid).filter_map(|result| Some((result, result.summary()?)))
}

fn trouble(document: &Document) -> Option<String> {
    if let Some(partial) = unfinished::partial(document) {
        return Some(partial);
    }
    let word = match document.status {
        Status::Complete => return None,
        other => status(other),
    };
    let reason = document.status_reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    Some(format!("{word}{reason}."))
}

/// That ranks run far from their GPUs: their rates are those of that place, and not the node's.
pub(crate) fn far_from_gpus(document: &Document) -> Option<String> {
    let far = |rank: &&Rank| matches!(rank.locality, Locality::Remote | Locality::SamePackage);
    let far: Vec<&Rank> = document.ranks.iter().filter(far).collect();
    let is_of_gpus = document.platform.kind != PlatformKind::Host && !document.figures().are_of_places();
    let (all, first) = (document.ranks.len(), far.first().filter(|_| is_of_gpus)?);
    let who = match far.len() {
        1 if all == 1 => "The rank runs far from its GPU".to_owned(),
        1 => format!("Rank {} runs far from its GPU", first.rank),
        some if some == all => format!("All {all} ranks run far from their GPUs"),
        some => format!("{some} of {all} ranks run far from their GPUs"),
    };
    Some(format!("{who}, on another NUMA node: `numabench place` says which cores are near."))
}

fn figures(document: &Document, cases: &[&Case]) -> Option<String> {
    let first = cases.first()?;
    let ranks = asked(document, cases);
    let several = ranks.len() > 1;
    let how = match (several, first.order) {
        (false, _) => "",
        (true, Order::Simultaneous) => " at once",
        (true, _) => ", one after the other",
    };

    let each: Vec<String> = cases.iter().map(|case| direction_rates(document, case, ranks.len())).collect();
    let (size, memory) = (units::size(first.bytes), words::memory(first.memory));
    let is_cached = cases.iter().flat_map(|case| &case.ranks).any(cached::is_cached);
    let cache = if is_cached { "; partly in the CPU's cache" } else { "" };

    Some(format!(
        "{}{how}: {} ({size}, {memory} memory{}{cache}).",
        subject(document, &ranks),
        each.join("; "),
        words::by(document.settings.engine)
    ))
}

/// The ranks that these cases were asked of, without those that are missing from the whole run: these are
/// told beside.
fn asked(document: &Document, cases: &[&Case]) -> BTreeSet<u32> {
    let missing: BTreeSet<u32> = document.missing.iter().map(|missing| missing.rank).collect();
    let ranks = cases.iter().flat_map(|case| &case.ranks).map(|result| result.rank);
    ranks.filter(|rank| !missing.contains(rank)).collect()
}

/// `8 GPUs`, `GPU 3`, `4 ranks on 2 GPUs`, `host memory`.
fn subject(document: &Document, ranks: &BTreeSet<u32>) -> String {
    let of = |rank: &&Rank| ranks.contains(&rank.rank);
    let devices: BTreeSet<&str> =
        document.ranks.iter().filter(of).map(|rank| &rank.asked.device[..]).collect();
    let on_nodes =
        if document.nodes.len() > 1 { format!(" on {} nodes", document.nodes.len()) } else { String::new() };

    if document.platform.kind == PlatformKind::Host {
        let who = if ranks.len() == 1 {
            "Host memory".to_owned()
        } else {
            format!("{} ranks in host memory", ranks.len())
        };
        return format!("{who}, no GPU{on_nodes}");
    }

    match (ranks.len(), devices.len()) {
        (1, _) => name(document, devices.first().copied().unwrap_or_default()),
        (ranks, devices) if ranks == devices => format!("{devices} GPUs{on_nodes}"),
        (ranks, 1) => {
            format!(
                "{ranks} ranks on {}{on_nodes}",
                name(document, devices.first().copied().unwrap_or_default())
            )
        }
        (ranks, devices) => format!("{ranks} ranks on {devices} GPUs{on_nodes}"),
    }
}

/// A device as a reader calls it.
fn name(document: &Document, id: &str) -> String {
    let device = document.devices.iter().find(|device| device.id == id);
    device.map_or_else(|| id.to_owned(), |device| format!("GPU {}", device.index))
}

/// One direction: `H2D 23.3 GB/s each (23.1–23.3), sum 186.2, slowest GPU 5`, and `each ± 8 %` where one is
/// noisy. Where a rank has no figure, it says how many have one, and no sum: that of some is not what all
/// copy.
fn direction_rates(document: &Document, case: &Case, ranks: usize) -> String {
    let direction = words::direction_in(document, case.direction);
    let by_time = case.bytes < LEAST_FOR_RATES;
    let value = |summary: &Summary| if by_time { summary.median_ns } else { summary.median_bytes_per_s };
    let show = |value: f64| if by_time { units::duration_ns(value) } else { gigabytes(value) };
    let unit = if by_time { "" } else { " GB/s" };

    let (known, noisy): (Vec<_>, Vec<_>) =
        summaries(case).partition(|(_, summary)| headline::is_known(headline::of_summary(summary)));
    let mut found: Vec<(u32, f64)> =
        known.iter().map(|(result, summary)| (result.rank, value(summary))).collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    let widest = noisy.iter().map(|(_, summary)| headline::of_summary(summary)).reduce(f64::max);
    let too_noisy = widest.map(headline::too_noisy);

    let (Some(lowest), Some(highest)) = (found.first(), found.last()) else {
        return format!("{direction} {}", too_noisy.as_deref().unwrap_or("not measured"));
    };
    if ranks == 1 {
        let width =
            |summary: &Summary| Some(summary.median_interval_ns?.relative_half_width(summary.median_ns));
        let width = summaries(case).find_map(|(_, summary)| width(summary));
        let width = width.map_or(String::new(), |width| format!(" ± {:.1} %", (width * 100.0).max(0.1)));
        return format!("{direction} {}{unit}{width}", show(lowest.1));
    }

    let middle = (found[found.len() / 2].1 + found[(found.len() - 1) / 2].1) / 2.0;
    // Where one is far below, the middle is not what each has.
    let (of, each) = match found.len() {
        1 => ("", ""),
        _ if highest.1 - lowest.1 > APART * middle => ("median ", ""),
        _ => ("", " each"),
    };
    let widest = known.iter().map(|(_, summary)| headline::of_summary(summary)).fold(0.0, f64::max);
    let width = headline::width(widest);
    let mut text = format!("{direction} {of}{}{unit}{each}{width}", show(middle));
    if show(lowest.1) != show(highest.1) {
        let span = span(lowest.1, highest.1, highest.1 * widest, by_time);
        text.extend(span.map(|span| format!(" ({span})")));
    }

    if let Some(too_noisy) = too_noisy {
        text.push_str(&format!(", {} of {ranks} ranks only, others {too_noisy}", found.len()));
    } else if found.len() < ranks {
        text.push_str(&format!(", {} of {ranks} ranks only", found.len()));
    } else if case.order == Order::Simultaneous && !by_time {
        text.push_str(&format!(", sum {}", gigabytes(found.iter().map(|(_, rate)| rate).sum())));
    }
    if highest.1 - lowest.1 > APART * middle {
        let slowest = if by_time { highest.0 } else { lowest.0 };
        text.push_str(&format!(", slowest {}", who(document, slowest)));
    }
    text
}

/// `23.1–23.3`, of ranks' times or rates; nothing where they differ by less than they are known to.
fn span(low: f64, high: f64, half_width: f64, is_time: bool) -> Option<String> {
    let span = match is_time {
        true => units::duration_range_known_to(low, high, half_width),
        false => units::range_known_to(low / 1e9, high / 1e9, half_width / 1e9),
    };
    span.contains('–').then_some(span)
}

/// The GPU of a rank that has one of its own, or the rank.
fn who(document: &Document, rank: u32) -> String {
    let device = |rank: &Rank| rank.asked.device.clone();
    let own = document.ranks.iter().find(|one| one.rank == rank).map(device);
    let alone = own
        .as_ref()
        .is_some_and(|own| document.ranks.iter().filter(|one| one.asked.device == *own).count() == 1);
    match own.filter(|_| alone && document.platform.kind != PlatformKind::Host && document.nodes.len() <= 1) {
        Some(id) => name(document, &id),
        None => format!("rank {rank}"),
    }
}

/// To three digits, or one decimal: what an interval of a per cent or less makes sure.
fn gigabytes(bytes_per_s: f64) -> String {
    let value = bytes_per_s / 1e9;
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

/// What being at once cost each rank: all ranks and directions told are one family of claims.
fn cost(document: &Document, cases: &[&Case]) -> Option<String> {
    let asked = asked(document, cases).len();
    let of = |case: &&Case| -> Vec<Cost> {
        let axes = (case.direction, case.bytes, case.memory);
        let shared = |penalty: &&Penalty| (penalty.direction, penalty.bytes, penalty.memory) == axes;
        document.penalties.iter().filter(shared).filter_map(|penalty| Cost::of(document, penalty)).collect()
    };
    let costs: Vec<Vec<Cost>> = cases.iter().map(of).collect();
    let comparisons = comparisons(&costs);
    let keep = comparisons.iter().filter(|found| found.keeps(SHARED, ALPHA)).count();
    let mut findings = comparisons.into_iter().map(|found| found.finding);

    let mut found: Vec<(usize, usize, String)> = Vec::new();
    let mut undecided = 0;
    for (case, costs) in cases.iter().zip(&costs).filter(|(_, costs)| !costs.is_empty()) {
        let findings: Vec<CaseFinding> = findings.by_ref().take(costs.len()).collect();
        undecided += findings.iter().filter(|finding| **finding == CaseFinding::Undecided).count();
        let losers = costs.iter().zip(&findings).filter(|(_, finding)| **finding == CaseFinding::Worse);
        let losses: Vec<f64> = losers.map(|(cost, _)| cost.loss_percent).collect();
        let (least, most) = losses
            .iter()
            .fold((f64::MAX, 0.0_f64), |(least, most), loss| (least.min(*loss), most.max(*loss)));
        let range =
            if most - least < 1.0 { format!("{most:.0} %") } else { format!("{least:.0}–{most:.0} %") };
        found.push((
            losses.len(),
            costs.len(),
            format!("{range} {}", words::direction_in(document, case.direction)),
        ));
    }

    let all = found.iter().map(|(_, all, _)| *all).max()?;
    let least = found.iter().map(|(_, all, _)| *all).min()?;
    // A rank without a figure is not one that loses nothing.
    let only = if least < asked { format!(" ({least} of {asked} ranks compared)") } else { String::new() };
    let losing: Vec<&(usize, usize, String)> = found.iter().filter(|(lost, _, _)| *lost > 0).collect();
    if losing.is_empty() {
        let comparisons: usize = found.iter().map(|(_, all, _)| *all).sum();
        return Some(match undecided {
            _ if keep == comparisons => {
                let percent = (1.0 - SHARED) * 100.0;
                format!("At once each rank keeps what it has alone, within {percent:.0} %{only}.")
            }
            0 => format!("At once no rank is measurably slower than alone{only}."),
            _ => format!(
                "Undecided whether a rank is slower at once than alone: {undecided} of {} do not tell{only}.",
                words::count(comparisons as u64, "comparison")
            ),
        });
    }

    let most = losing.iter().map(|(lost, _, _)| *lost).max()?;
    let who = match most {
        1 if all > 1 => format!("1 of {all} ranks loses"),
        most if most < all => format!("{most} of {all} ranks lose"),
        _ if only.is_empty() => "each rank loses".to_owned(),
        _ => "each of them loses".to_owned(),
    };
    let what: Vec<&str> = losing.iter().map(|(_, _, what)| &what[..]).collect();
    let has = if who.ends_with("lose") { "they have" } else { "it has" };
    let (alone, shares) = (alone_rates(document, cases, &costs), shared_path(document, cases, most));
    Some(format!("At once {who} {} of what {has} alone{alone}{only}{shares}.", what.join(", ")))
}

/// ` (55.3 GB/s H2D, 55.1 D2H)`: the middle of what ranks have alone; empty where copies are too small for
/// rates.
fn alone_rates(document: &Document, cases: &[&Case], costs: &[Vec<Cost>]) -> String {
    let rates =
        cases.iter().zip(costs).filter(|(case, costs)| case.bytes >= LEAST_FOR_RATES && !costs.is_empty());
    let rate = |(case, costs): (&&Case, &Vec<Cost>)| {
        let alone: Vec<f64> = costs.iter().map(|cost| cost.alone_bytes_per_s).collect();
        let middle = median(&alone)?;
        Some((gigabytes(middle), words::direction_in(document, case.direction)))
    };
    let rates: Vec<(String, &str)> = rates.filter_map(rate).collect();

    let Some((first, direction)) = rates.first() else { return String::new() };
    let others: String = rates[1..].iter().map(|(rate, direction)| format!(", {rate} {direction}")).collect();
    format!(" ({first} GB/s {direction}{others})")
}

/// What GPUs of one node share where several lose, each with one rank: nothing but the way to memory is
/// common to their copies.
fn shared_path(document: &Document, cases: &[&Case], losing: usize) -> &'static str {
    let ranks = asked(document, cases);
    let of = |rank: &&Rank| ranks.contains(&rank.rank);
    let devices: BTreeSet<&str> =
        document.ranks.iter().filter(of).map(|rank| &rank.asked.device[..]).collect();
    let has_own = devices.len() == ranks.len() && document.platform.kind != PlatformKind::Host;
    // Ranks that share a PU wait for each other there too.
    let pus: BTreeSet<u32> = document.ranks.iter().filter(of).map(|rank| rank.asked.pu).collect();
    let has_own = has_own && pus.len() == ranks.len();

    let is_large = cases.iter().all(|case| case.bytes >= LEAST_FOR_RATES);
    let is_path = losing > 1 && has_own && is_large && document.nodes.len() <= 1;
    if is_path { ": GPUs share a path to memory" } else { "" }
}

/// Of several GPUs that were only measured at once, and have less than a healthy GPU has alone: nothing here
/// tells whether that is theirs or the path's.
fn unknown_cost(document: &Document, cases: &[&Case]) -> Option<String> {
    let ranks = asked(document, cases);
    let of = |rank: &&Rank| ranks.contains(&rank.rank);
    let devices: BTreeSet<&str> =
        document.ranks.iter().filter(of).map(|rank| &rank.asked.device[..]).collect();
    let only_at_once = document.cases.iter().all(|case| case.order == Order::Simultaneous);
    let has_reason = !document.slower_twins.is_empty() || far_from_gpus(document).is_some();
    if devices.len() < 2 || !only_at_once || has_reason {
        return None;
    }

    let is_known = |summary: &Summary| headline::is_known(headline::of_summary(summary));
    let percent = |result: &RankResult| match &result.outcome {
        Outcome::Measured { percent_of_bound, .. } if result.summary().is_some_and(is_known) => {
            *percent_of_bound
        }
        _ => None,
    };
    let results = cases.iter().flat_map(|case| &case.ranks);
    let least = results.filter_map(percent).reduce(f64::min).filter(|least| *least < HEALTHY_PERCENT)?;
    Some(format!(
        "At once the slowest reaches {least:.0} % of its PCIe link's rate, where a GPU alone reaches \
         {HEALTHY_PERCENT:.0} % or more: `--order both` measures them alone too."
    ))
}

/// The blocks of one rank alone and at once, rates, with the moments at which they began.
struct Cost {
    blocks: [(Vec<BlockValue>, Vec<u64>); 2],
    node: u32,
    alone_bytes_per_s: f64,
    loss_percent: f64,
}

impl Cost {
    /// `None` where one of the two has no figure.
    fn of(document: &Document, penalty: &Penalty) -> Option<Self> {
        let blocks = |id: &str| {
            let case = document.cases.iter().find(|case| case.id == id)?;
            let result = case.ranks.iter().find(|result| result.rank == penalty.rank)?;
            result.summary()?;
            let rate = |block: &BlockSample| block.bytes as f64 / block.elapsed_ns * 1e9;
            let value = |block: &BlockSample| BlockValue { value: rate(block), allocation: block.allocation };
            let began = result.blocks.iter().map(|block| block.start_ns).collect();
            Some((result.blocks.iter().map(value).collect(), began))
        };
        let [alone, at_once] = [blocks(&penalty.alone_case)?, blocks(&penalty.simultaneous_case)?];
        let node = document.ranks.iter().find(|rank| rank.rank == penalty.rank).map_or(0, |rank| rank.node);
        let loss_percent = (1.0 - penalty.simultaneous_bytes_per_s / penalty.alone_bytes_per_s) * 100.0;
        let alone_bytes_per_s = penalty.alone_bytes_per_s;
        Some(Self { blocks: [alone, at_once], node, alone_bytes_per_s, loss_percent })
    }
}

/// What each rank at once is against itself alone, direction by direction.
fn comparisons<'a>(costs: &'a [Vec<Cost>]) -> Vec<CaseComparison> {
    let member = |kind: usize, node: u32| {
        move |(blocks, began): &'a (Vec<BlockValue>, Vec<u64>)| FamilyCase {
            kind,
            is_time: false,
            blocks,
            began: Moments { node, ns: began },
        }
    };
    let of_kind = |(kind, costs): (usize, &'a Vec<Cost>)| {
        costs.iter().flat_map(move |cost| cost.blocks.iter().map(member(kind, cost.node)))
    };
    CaseFamily::of(costs.iter().enumerate().flat_map(of_kind).collect()).in_twos()
}

/// What stands behind the figures.
fn proof(document: &Document) -> Option<String> {
    let measured = || document.cases.iter().flat_map(summaries).map(|(result, _)| result);
    let rank = |result: &RankResult| document.ranks.iter().find(|rank| rank.rank == result.rank);
    measured().next()?;

    let unseen =
        measured().filter(|result| result.seen_before.is_none() || result.seen_after.is_none()).count();
    let elsewhere = measured().any(|result| rank(result).is_some_and(|rank| is_otherwise(rank, &[result])));
    let on_gpu = document.platform.kind != PlatformKind::Host;
    let hidden = is_unseen(&measured().collect::<Vec<_>>(), on_gpu);
    let placed = match (elsewhere, unseen, hidden) {
        (true, ..) => "NOT ALL WERE PLACED AS ASKED",
        (false, 0, false) => "Placed as asked, seen before and after",
        (false, 0, true) => "What could be seen is placed as asked, NOT ALL COULD BE SEEN",
        (false, ..) => "The placement of some ranks was not seen to the end",
    };
    let verified =
        if measured().all(|result| result.verification.checked && result.verification.mismatch.is_none()) {
            // What has no figure was not compared, or not with success.
            let results: usize = document.cases.iter().map(|case| case.ranks.len()).sum();
            let is_all = document.status == Status::Complete || measured().count() == results;
            if is_all { "every byte compared" } else { "every byte of these figures compared" }
        } else {
            "NOT EVERYTHING VERIFIED"
        };

    let complete = if document.status == Status::Complete { "; complete" } else { "" };
    Some(format!("{placed}; {verified}{complete}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_digits_or_one_decimal() {
        assert_eq!([23.456e9, 188.6e9, 9.876e9, 0.5e9].map(gigabytes), ["23.5", "188.6", "9.88", "0.50"]);
    }
}
