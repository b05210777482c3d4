//! From which size of piece on which way of sending many of them is worth it: for each size the plainest way
//! that is about as fast as the fastest.

use report::Document;
use report::case::Case;
use report::pieces::{Pieces, Scattered, Way, WorthWay};
use report::settings::Direction;
use stats::units::{self, size};

use crate::{headline, words};

/// A way that may be slower than the fastest by no more than this, as far as the intervals of both say, is as
/// fast.
const ALIKE: f64 = 0.03;

/// How a case sends, where it is one of pieces.
pub fn way(case: &Case) -> Option<Way> {
    Way::ALL.into_iter().find(|way| case.group.as_deref() == Some(way.name()))
}

/// The rate of a way, bytes/s: the median, and the ends of its interval, which are the median itself where
/// there is none.
#[derive(Clone, Copy)]
struct Rate {
    median: f64,
    low: f64,
    high: f64,
}

/// The rates of the ways of one size on a rank, the plainest way first; without those that were not measured.
fn rates(document: &Document, (rank, direction, bytes): (u32, Direction, u64)) -> Vec<(Way, Rate)> {
    let of = |case: &Case| {
        let way = way(case).filter(|_| (case.direction, case.bytes) == (direction, bytes))?;
        let summary = case.ranks.iter().find(|result| result.rank == rank)?.summary()?;
        let median = summary.median_bytes_per_s;
        let (low, high) = summary.rate_interval().map_or((median, median), |ends| (ends.low, ends.high));
        Some((way, Rate { median, low, high }))
    };
    let mut rates: Vec<(Way, Rate)> = document.cases.iter().filter_map(of).collect();
    rates.sort_by_key(|(way, _)| *way);
    rates
}

fn fastest(rates: &[(Way, Rate)]) -> Option<&(Way, Rate)> {
    rates.iter().max_by(|(_, one), (_, other)| one.median.total_cmp(&other.median))
}

/// The document's pieces with what its figures come to.
pub fn pieces(document: &Document) -> Option<Pieces> {
    let pieces = document.pieces.clone()?;
    let mut worth: Vec<WorthWay> = Vec::new();
    for rank in document.ranks.iter().map(|rank| rank.rank) {
        for direction in document.settings.directions.iter().copied() {
            let first = worth.len();
            for bytes in document.settings.sizes_bytes.iter().copied() {
                let rates = rates(document, (rank, direction, bytes));
                let Some((_, fastest)) = fastest(&rates) else { continue };
                let least = fastest.low * (1.0 - ALIKE);
                let Some((way, rate)) = rates.iter().find(|(_, rate)| rate.high >= least) else { continue };
                let plain = rates.iter().find(|(way, _)| *way == Way::Loop);
                let over = plain.map(|(_, plain)| rate.median / plain.median);
                match worth[first..].last_mut().filter(|last| last.way == *way) {
                    Some(last) => {
                        last.to_bytes = bytes;
                        last.over_loop = last.over_loop.zip(over).map(|((least, _), over)| (least, over));
                    }
                    None => worth.push(WorthWay {
                        rank,
                        direction,
                        from_bytes: bytes,
                        to_bytes: bytes,
                        way: *way,
                        over_loop: over.map(|over| (over, over)),
                    }),
                }
            }
        }
    }

    Some(Pieces { worth, ..pieces })
}

/// A way as a person says it.
pub fn way_name(way: Way) -> &'static str {
    match way {
        Way::Loop => "a copy of each",
        Way::Batch => "one batch of copies",
        Way::Kernel => "one kernel",
        Way::Packed => "packing them into one copy",
        Way::Newer => "a way of a newer numabench",
    }
}

/// Where they lie, as a person says it.
pub fn lie(scattered: Scattered) -> &'static str {
    match scattered {
        Scattered::Both => "scattered on both sides",
        Scattered::Host => "scattered in host memory",
        Scattered::Device => "scattered on the GPU",
        Scattered::Newer => "scattered as a newer numabench has them",
    }
}

/// A sentence for each rank and direction.
pub fn verdict(document: &Document) -> Vec<String> {
    let Some(pieces) = &document.pieces else { return Vec::new() };
    let mut said_of: Vec<(u32, Direction)> =
        pieces.worth.iter().map(|way| (way.rank, way.direction)).collect();
    said_of.dedup();
    let sentence = |(rank, direction): (u32, Direction)| {
        let of_it: Vec<&WorthWay> =
            pieces.worth.iter().filter(|way| (way.rank, way.direction) == (rank, direction)).collect();
        let last = of_it.len().saturating_sub(1);
        let range =
            |(at, way): (usize, &&WorthWay)| range(way, at == last && at > 0, half_width(document, way));
        let ranges: Vec<String> = of_it.iter().enumerate().map(range).collect();
        let place = if document.ranks.len() > 1 { place(document, rank) } else { String::new() };
        format!(
            "{} in pieces, {}{place}: {}.",
            words::direction(direction),
            lie(pieces.scattered),
            ranges.join("; ")
        )
    };

    said_of.into_iter().map(sentence).collect()
}

/// `, GPU 1 from PU 3, NUMA node 0`.
fn place(document: &Document, rank: u32) -> String {
    let Some(rank) = document.ranks.iter().find(|other| other.rank == rank) else { return String::new() };
    let device = document.devices.iter().find(|device| device.id == rank.asked.device);
    let gpu = device.map_or(String::new(), |device| format!(", GPU {}", device.index));
    let node = rank.asked.memory_node.map_or(String::new(), |node| format!(", NUMA node {node}"));
    format!("{gpu} from PU {}{node}", rank.asked.pu)
}

/// How well the rates are known by which a way was chosen, and by which it gains: the widest half of an
/// interval, as a part of the rate.
fn half_width(document: &Document, way: &WorthWay) -> f64 {
    let sizes =
        document.settings.sizes_bytes.iter().filter(|bytes| (way.from_bytes..=way.to_bytes).contains(*bytes));
    let compared = sizes.flat_map(|bytes| {
        let rates = rates(document, (way.rank, way.direction, *bytes));
        let fastest = fastest(&rates).map(|(fastest, _)| *fastest);
        let is_compared = move |other: Way| [way.way, Way::Loop].contains(&other) || Some(other) == fastest;
        rates.into_iter().filter(move |(other, _)| is_compared(*other))
    });
    compared.map(|(_, rate)| (rate.high - rate.low) / 2.0 / rate.median).fold(0.0, f64::max)
}

fn range(way: &WorthWay, is_rest: bool, half_width: f64) -> String {
    let (from, to) = (size(way.from_bytes), size(way.to_bytes));
    let sizes = match way.from_bytes == way.to_bytes {
        _ if is_rest => format!("from {from} on"),
        true => format!("of {from}"),
        false => format!("of {from}–{to}"),
    };

    let is_noisy = !headline::is_known(half_width);
    match (way.way, way.over_loop) {
        (Way::Loop, _) if is_noisy => {
            let by = headline::too_noisy(half_width);
            format!("{sizes} {by} to say whether any way is faster than a copy of each")
        }
        (Way::Loop, _) => format!("{sizes} {} does as well as any other way", way_name(Way::Loop)),
        (way, Some(_)) if is_noisy => {
            let by = headline::too_noisy(half_width);
            format!("{sizes} {} is faster than a copy of each; {by} to say by how much", way_name(way))
        }
        (way, Some((first, last))) => {
            let (low, high) = (first.min(last), first.max(last));
            let both = if times(low) == times(high) { times(high) } else { units::range(low, high) };
            format!("{sizes} {} is {both} times as fast as a copy of each", way_name(way))
        }
        (_, None) if is_noisy => {
            format!("{sizes} {} to say which way is fastest", headline::too_noisy(half_width))
        }
        (way, None) => format!("{sizes} {} is fastest", way_name(way)),
    }
}

/// `32.9`, `1.05`: near one the second decimal says whether it is more.
fn times(ratio: f64) -> String {
    if ratio < 1.5 { format!("{ratio:.2}") } else { format!("{ratio:.1}") }
}

#[cfg(test)]
mod tests {
    use report::SavedDocument;
    use report::result::Outcome;
    use stats::interval::Interval;

    use super::*;

    #[test]
    fn of_figures_that_are_not_known_no_way_is_said_to_do_as_well_or_to_be_fastest()
    -> Result<(), Box<dyn std::error::Error>> {
        let mut document = Document::from_json(include_bytes!("../../../docs/gallery/pieces.json"))?;
        for result in document.cases.iter_mut().flat_map(|case| &mut case.ranks) {
            if let Outcome::Measured { summary, .. } = &mut result.outcome {
                let (low, high) = (summary.median_ns * 0.02, summary.median_ns * 1.98);
                summary.median_interval_ns = Some(Interval { low, high, confidence: 0.95 });
            }
        }
        let said = |mut document: Document| {
            document.pieces = pieces(&document);
            verdict(&document).join(" ")
        };

        let noisy = said(document.clone());
        assert!(noisy.contains("to say whether any way is faster"), "{noisy}");
        assert!(!noisy.contains("as well as any other"), "{noisy}");
        document.cases.retain(|case| way(case) != Some(Way::Loop));
        let noisy = said(document);
        assert!(noisy.contains("to say which way is fastest") && !noisy.contains("is fastest;"), "{noisy}");
        Ok(())
    }
}
