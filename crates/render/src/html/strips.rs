//! Every block as a dot, in the order it was measured: drift, two modes and a slow first block are seen here before any test names them.

use analysis::figure::Figure;
use report::Document;
use stats::units::counted;

use super::scale::Scale;
use super::write::{COLOURS, Page, label, line};
use crate::xml::escaped;

/// Strips shown at most: a report stays below a megabyte.
const STRIPS: usize = 200;

const LEFT: f64 = 10.0;
const RIGHT: f64 = 560.0;
const HEIGHT: f64 = 44.0;

pub(super) fn draw(document: &Document, page: &mut Page) {
    let strips = || {
        let results = document.cases.iter().flat_map(|case| case.ranks.iter().map(move |result| (case, result)));
        results.filter_map(|(case, result)| Some((case, result, Figure::of(case, result).ok()?)))
    };
    let shown: Vec<_> = strips().filter(|(.., figure)| figure.blocks.len() > 1).take(STRIPS).collect();
    if shown.is_empty() {
        return;
    }
    page.heading(0, "Every block");
    let text = "A dot is a block, in the order measured; the line is the median, and the grey band 1 % to both sides. A tick below marks fresh memory.";
    page.element("p", text);
    page.raw(&format!("<details><summary>{}</summary>\n", escaped(&format!("{} strips", shown.len()))));
    for (case, result, figure) in &shown {
        let allocations: Vec<u32> = result.blocks.iter().map(|block| block.allocation).collect();
        one(&format!("{}, rank {}", case.id, result.rank), figure, &allocations, page);
    }
    page.raw("</details>\n");
    let all = document.cases.iter().map(|case| case.ranks.len()).sum::<usize>();
    if all > shown.len() {
        page.element(
            "p",
            &format!("Blocks of {} more results are in the document, or there are none.", all - shown.len()),
        );
    }
}

fn one(name: &str, figure: &Figure, allocations: &[u32], page: &mut Page) {
    let part = |value: &f64| value / figure.median;
    let (low, high) = figure
        .blocks
        .iter()
        .map(part)
        .fold((0.985_f64, 1.015_f64), |(low, high), part| (low.min(part), high.max(part)));
    let x = Scale::linear(0.0, figure.blocks.len() as f64 - 1.0, LEFT + 6.0, RIGHT - 6.0);
    let y = Scale::linear(low, high, HEIGHT - 8.0, 4.0);
    let band = (y.at(1.01), y.at(0.99));
    let mut svg = format!(
        "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"currentColor\" fill-opacity=\"0.1\"/>\n",
        band.0,
        RIGHT - LEFT,
        band.1 - band.0
    );
    svg += &line((LEFT, y.at(1.0)), (RIGHT, y.at(1.0)), "stroke=\"currentColor\" stroke-opacity=\"0.5\"");
    let dots: String = figure
        .blocks
        .iter()
        .enumerate()
        .map(|(at, value)| format!("M{:.1} {:.1}h0", x.at(at as f64), y.at(part(value))))
        .collect();
    svg += &format!("<path d=\"{dots}\" stroke=\"{}\" stroke-width=\"5\" stroke-linecap=\"round\"/>\n", COLOURS[0]);
    let fresh = allocations.windows(2).enumerate().filter(|(_, pair)| pair[0] != pair[1]);
    for (at, _) in fresh {
        let between = x.at(at as f64 + 0.5);
        svg += &line((between, HEIGHT - 6.0), (between, HEIGHT), "stroke=\"currentColor\"");
    }
    svg += &label(RIGHT + 8.0, 14.0, "start", name);
    let words = crate::compared::figure(figure.unit, figure.median);
    svg += &label(
        RIGHT + 8.0,
        32.0,
        "start",
        &format!("median {words}, {:+.1} % to {:+.1} %", (low - 1.0) * 100.0, (high - 1.0) * 100.0),
    );
    page.picture(
        &format!("Blocks of {name}"),
        &format!("{}, median {words}", counted(figure.blocks.len(), "block")),
        900.0,
        HEIGHT,
        &svg,
    );
}
