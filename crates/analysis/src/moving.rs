//! What memory whose pages go to whoever touches them costs: the first touch after the other side had it,
//! later ones, a prefetch, and both sides in turns.

use report::Document;
use report::case::Case;
use report::rank::Rank;
use report::result::RankResult;
use report::settings::{Direction, MemoryKind};
use stats::touch::Touch;
use stats::units::size;

use crate::headline;
use crate::words::{self, three_digits};

/// Who touches in cases of this direction.
pub fn who(direction: Direction) -> &'static str {
    match direction {
        Direction::D2h => "core",
        Direction::RoundTrip => "GPU and core",
        _ => "GPU",
    }
}

/// The case of a touch: who touches is its direction.
pub fn case(
    document: &Document,
    (memory, bytes): (MemoryKind, u64),
    direction: Direction,
    asked: Touch,
) -> Option<&Case> {
    let is_asked = |case: &&Case| (case.memory, case.bytes, case.direction) == (memory, bytes, direction);
    document.cases.iter().filter(is_asked).find(|case| case.touch() == Some(asked))
}

/// A touch as a table's column has it, of cases of this direction.
pub fn touch_name(touch: Touch, direction: Direction) -> &'static str {
    match (touch, direction) {
        (Touch::Untouched, _) => "untouched",
        (Touch::First, Direction::D2h) => "from the GPU",
        (Touch::First, _) => "from the core",
        (Touch::Again, _) => "again",
        (Touch::Prefetch, _) => "prefetched",
        (Touch::InTurns, _) => "in turns",
    }
}

/// The part of the pages that lies with the GPU after a block, 0..1.
pub fn part_away(result: &RankResult) -> Option<f64> {
    stats::interval::median(&result.away)
}

/// A sentence for each rank and kind of memory, of the largest size that was measured.
pub fn verdict(document: &Document) -> Vec<String> {
    let mut sentences = Vec::new();
    for rank in &document.ranks {
        for memory in document.settings.memory.iter().copied() {
            let own = |case: &&Case| {
                let mut results = case.ranks.iter().filter(|result| result.rank == rank.rank);
                case.memory == memory && results.any(|result| result.summary().is_some())
            };
            let Some(bytes) = document.cases.iter().filter(own).map(|case| case.bytes).max() else {
                continue;
            };
            let of = |direction, touch| {
                let case = case(document, (memory, bytes), direction, touch)?;
                let result = case.ranks.iter().find(|result| result.rank == rank.rank)?;
                let summary = result.summary()?;
                Some((
                    TouchRate {
                        bytes_per_s: summary.median_bytes_per_s,
                        half_width: headline::of_summary(summary),
                    },
                    result,
                ))
            };
            let turns = of(Direction::RoundTrip, Touch::InTurns);
            let parts: Vec<String> = [
                side(["GPU", "core"], |touch| of(Direction::H2d, touch)),
                side(["core", "GPU"], |touch| of(Direction::D2h, touch)),
                turns.map(|(rate, _)| format!("in turns both change pages at {}", gigabytes(rate))),
            ]
            .into_iter()
            .flatten()
            .collect();
            if !parts.is_empty() {
                let after = of(Direction::H2d, Touch::First).and_then(|(_, result)| after(result));
                let (who, memory) = (place(document, rank), words::memory(memory));
                let sentence = format!("{} of {memory} memory{who}: {}", size(bytes), parts.join("; "));
                sentences.push(format!("{sentence}.{}", after.unwrap_or_default()));
            }
        }
    }

    sentences
}

/// The rate of a touch, and half of its interval as a part of it.
#[derive(Clone, Copy)]
struct TouchRate {
    bytes_per_s: f64,
    half_width: f64,
}

impl TouchRate {
    fn is_known(self) -> bool {
        headline::is_known(self.half_width)
    }
}

/// What the touches of one side come to, whose memory was the other's before.
fn side<'d>(
    [who, other]: [&str; 2],
    of: impl Fn(Touch) -> Option<(TouchRate, &'d RankResult)>,
) -> Option<String> {
    let rate = |touch| of(touch).map(|(rate, _)| rate);
    let first = rate(Touch::First)?;
    let mut text = format!("the {who} reads pages that the {other} has at {}", gigabytes(first));
    if let Some(again) = rate(Touch::Again) {
        let times = three_digits(again.bytes_per_s / first.bytes_per_s);
        let times =
            if again.is_known() && first.is_known() { format!(" ({times} times)") } else { String::new() };
        text.push_str(&format!(", its own at {}{times}", gigabytes(again)));
    }
    if let Some(prefetch) = rate(Touch::Prefetch) {
        text.push_str(&format!(", and a prefetch brings them at {}", gigabytes(prefetch)));
    }
    Some(text)
}

/// Where pages lie after the GPU's first touch.
fn after(result: &RankResult) -> Option<String> {
    Some(match part_away(result)? {
        all if all > 0.995 => " Pages that the GPU has read lie with the GPU afterwards.".to_owned(),
        none if none < 0.005 => " Pages that the GPU has read stay with the host.".to_owned(),
        part => {
            format!(" Of the pages that the GPU has read {:.0} % lie with the GPU afterwards.", part * 100.0)
        }
    })
}

fn place(document: &Document, rank: &Rank) -> String {
    let device = document.devices.iter().find(|device| device.id == rank.asked.device);
    let gpu = device.map_or(String::new(), |device| format!("GPU {} and ", device.index));
    format!(", {gpu}PU {}", rank.asked.pu)
}

fn gigabytes(rate: TouchRate) -> String {
    match rate.is_known() {
        true => format!("{} GB/s", three_digits(rate.bytes_per_s / 1e9)),
        false => format!("a rate that is {}", headline::too_noisy(rate.half_width)),
    }
}

#[cfg(test)]
mod tests {
    use report::SavedDocument;

    use super::*;

    #[test]
    fn the_largest_size_that_was_measured_is_told_where_a_larger_one_had_no_memory()
    -> Result<(), Box<dyn std::error::Error>> {
        let mut document = Document::from_json(include_bytes!("../../../docs/gallery/moving.json"))?;
        let measured = verdict(&document);
        assert!(!measured.is_empty());
        document.settings.sizes_bytes.push(1 << 40);
        assert_eq!(verdict(&document), measured);
        Ok(())
    }
}
