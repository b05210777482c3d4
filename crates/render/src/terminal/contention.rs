//! What each rank lost when all ran at once, against running alone.

use report::Document;
use report::contention::Penalty;
use stats::alike::grouped;
use stats::units;

use super::grid::TextGrid;
use super::numbers::RateDecimals;
use super::page::{Page, Tone};
use super::words;
use crate::digits;

/// Of more ranks than this in a case, those that lost most are shown.
const MOST_ROWS: usize = 16;

/// Said where no row has an interval.
const TOO_FEW: &str =
    "too few blocks to tell these changes from chance: 6 blocks alone and 6 at once are needed";

pub(super) fn draw(document: &Document, page: &mut Page) {
    if document.penalties.is_empty() {
        return;
    }
    page.line(Tone::Title, "Contention: each rank alone, and with the others, GB/s (medians)");
    grid(document).draw(page);
    page.blank();
}

fn grid(document: &Document) -> TextGrid {
    let penalties = &document.penalties[..];
    let several =
        |differ: fn(&Penalty, &Penalty) -> bool| penalties.iter().any(|one| differ(one, &penalties[0]));
    let sizes = several(|a, b| a.bytes != b.bytes);
    let memories = several(|a, b| a.memory != b.memory);
    let compared = penalties.iter().any(|penalty| penalty.comparison.is_some());
    let mut labels = vec!["rank"];
    labels.extend(sizes.then_some("size"));
    labels.extend(memories.then_some("memory"));
    labels.push("");
    let rates = penalties.iter().flat_map(|p| [p.alone_bytes_per_s, p.simultaneous_bytes_per_s]);
    let decimals = RateDecimals::for_smallest(rates);
    let mut header = [&labels[..], &["alone", "at once", "change"]].concat();
    header.extend(compared.then_some("95 % interval"));
    let mut grid = TextGrid::new(labels.len(), &header);

    for (penalties, rest) in by_case(penalties) {
        for penalty in penalties {
            let mut cells = vec![penalty.rank.to_string()];
            cells.extend(sizes.then(|| units::size(penalty.bytes)));
            cells.extend(memories.then(|| words::memory(penalty.memory).to_owned()));
            cells.push(words::direction_in(document, penalty.direction).to_owned());
            cells.push(decimals.show(penalty.alone_bytes_per_s));
            cells.push(decimals.show(penalty.simultaneous_bytes_per_s));
            cells.push(digits::signed_change(ratio(penalty)));
            cells.extend(compared.then(|| interval(penalty)));
            let verdict = penalty.comparison.as_ref().map(|comparison| words::verdict(comparison.verdict));
            let missing = compared.then_some("too few blocks");
            grid.row(
                cells,
                verdict.or(missing).map(|said| (Tone::Plain, said.to_owned())).into_iter().collect(),
            );
        }
        if let (Some(first), Some(last)) = (rest.first(), rest.last()) {
            let (least, most) = (digits::signed_change(ratio(first)), digits::signed_change(ratio(last)));
            grid.text_row(
                vec!["…".into()],
                Tone::Faint,
                format!("{} more ranks, {least} to {most}", rest.len()),
            );
        }
    }

    if !compared {
        grid.foot(Tone::Warning, TOO_FEW.into());
    }
    grid
}

/// The penalties of each case in the order of ranks, and those left out, from the largest loss to the
/// smallest.
fn by_case(penalties: &[Penalty]) -> Vec<(Vec<&Penalty>, Vec<&Penalty>)> {
    let case = |penalty: &Penalty| (penalty.direction, penalty.bytes, penalty.memory);
    grouped(penalties.iter().map(|penalty| (case(penalty), penalty)))
        .into_iter()
        .map(|(_, all)| cut(all))
        .collect()
}

fn cut(mut all: Vec<&Penalty>) -> (Vec<&Penalty>, Vec<&Penalty>) {
    all.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let rest = all.split_off(all.len().min(MOST_ROWS));
    all.sort_by_key(|penalty| penalty.rank);
    (all, rest)
}

fn ratio(penalty: &Penalty) -> f64 {
    let comparison = penalty.comparison.as_ref().map(|comparison| comparison.ratio);
    comparison.unwrap_or(penalty.simultaneous_bytes_per_s / penalty.alone_bytes_per_s)
}

fn interval(penalty: &Penalty) -> String {
    let interval = penalty.comparison.as_ref().map(|comparison| comparison.ratio_interval);
    interval.map_or("–".into(), |both| {
        format!("{} .. {}", digits::signed_change(both.low), digits::signed_change(both.high))
    })
}
