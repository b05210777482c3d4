//! What a ping-pong found, in the sentences that a reader sees first: what went wrong, the rates, what
//! sharing cost, and what is proven.
//!
//! The rates are those of the largest copies from the first kind of memory, at once where ranks were at once;
//! every other figure is in the tables.
//! `cost` says what being at once costs.

mod cost;

use std::collections::BTreeSet;

use report::Document;
use report::case::{Case, CaseStatus, Order};
use report::document::{PlatformKind, Status};
use report::rank::{Locality, Rank};
use report::result::RankResult;
use stats::summary::Summary;
use stats::units;

use crate::placement::{is_otherwise, is_unseen};
use crate::words;
use crate::{cached, device_memory, headline, throttling, unfinished};

/// Below this size a copy is told by its time: it is latency, and a rate would only be a small number.
const LEAST_FOR_RATES: u64 = 64 << 10;
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
    said.extend(unfinished::fewer_rounds(document));
    said.extend(cached::sentence(document));
    said.extend(cost::cost(document, &cases).or_else(|| cost::unknown_cost(document, &cases)));
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
    unfinished::in_short(document)
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

    // Figures of a rank that was lost later are no answer.
    let asked = asked(document, &[case]);
    let (known, noisy): (Vec<_>, Vec<_>) = summaries(case)
        .filter(|(result, _)| asked.contains(&result.rank))
        .partition(|(_, summary)| headline::is_known(headline::of_summary(summary)));
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
        let of_asked = summaries(case).find(|(result, _)| asked.contains(&result.rank));
        let width = of_asked.and_then(|(_, summary)| width(summary));
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
