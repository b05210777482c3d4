//! Rates over sizes, where a run has several: a line a direction, with the band of the median's 95 % interval and the link's bound.

use std::collections::{BTreeMap, BTreeSet};

use report::Document;
use report::case::Order;
use report::row::Row;
use report::settings::{Direction, MemoryKind};
use stats::units::size;

use super::scale::{Scale, rates};
use super::write::{COLOURS, Page, label, line};

/// Ranks whose sweeps are drawn; each has a picture a kind of memory.
const RANKS: usize = 8;

/// From so many sizes on a line says more than a table.
const LEAST_SIZES: usize = 3;

const LEFT: f64 = 60.0;
const RIGHT: f64 = 660.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 300.0;

type Series<'d> = BTreeMap<Direction, Vec<&'d Row>>;

pub(super) fn draw(document: &Document, page: &mut Page) {
    let mut pictures: BTreeMap<(u32, Order, MemoryKind), Series<'_>> = BTreeMap::new();
    for row in document.rows.iter().filter(|row| row.median_bytes_per_s.is_some()) {
        let series = pictures.entry((row.rank, row.order, row.memory)).or_default();
        series.entry(row.direction).or_default().push(row);
    }
    let sizes = |rows: &Vec<&Row>| rows.iter().map(|row| row.bytes).collect::<BTreeSet<_>>().len();
    pictures.retain(|_, series| series.values().any(|rows| sizes(rows) >= LEAST_SIZES));
    let ranks = pictures.keys().map(|(rank, ..)| *rank).collect::<BTreeSet<_>>();
    if pictures.is_empty() {
        return;
    }
    page.heading(0, "Rates over sizes");
    for ((rank, order, memory), series) in pictures.into_iter().filter(|((rank, ..), _)| (*rank as usize) < RANKS) {
        let order = if order == Order::Alone { "alone" } else { "with all ranks at once" };
        let title = format!("Rank {rank} {order}, {memory:?} memory: GB/s over the size of a copy");
        one(document, rank, &title, series, page);
    }
    if ranks.len() > RANKS {
        page.element("p", &format!("{} more ranks have sweeps in the document.", ranks.len() - RANKS));
    }
}

fn one(document: &Document, rank: u32, title: &str, series: Series<'_>, page: &mut Page) {
    let all = || series.values().flatten();
    let (least, most) = all().fold((u64::MAX, 1), |(least, most), row| (least.min(row.bytes), most.max(row.bytes)));
    let device = document.ranks.iter().find(|other| other.rank == rank).map(|rank| &rank.asked.device);
    let bound = document
        .devices
        .iter()
        .find(|other| Some(&other.id) == device)
        .and_then(|device| device.bound_bytes_per_s.value);
    let highest = all().filter_map(|row| row.median_bytes_per_s).chain(bound).fold(0.0, f64::max) / 1e9;
    let x = Scale::log(least.max(1) as f64, most as f64, LEFT, RIGHT);
    let y = Scale::linear(0.0, highest * 1.05, BOTTOM, TOP);
    let mut svg = rates(y, LEFT, RIGHT);
    let mut mark = least.max(1).next_power_of_two();
    // A mark each sixteenfold: 4 B to 1 GiB has eight.
    while mark <= most {
        svg += &label(x.at(mark as f64), BOTTOM + 18.0, "middle", &size(mark));
        mark *= 16;
    }
    if let Some(bound) = bound {
        let at = y.at(bound / 1e9);
        svg += &line((LEFT, at), (RIGHT, at), "stroke=\"currentColor\" stroke-dasharray=\"6 4\"");
        svg += &label(RIGHT + 6.0, at + 4.0, "start", "link's bound");
    }
    let mut described = Vec::new();
    for (at, (direction, mut rows)) in series.into_iter().enumerate() {
        rows.sort_by_key(|row| row.bytes);
        let name = format!("{direction:?}");
        let colour = COLOURS[at % COLOURS.len()];
        svg += &drawn(&rows, x, y, colour);
        let key = TOP + 40.0 + 20.0 * at as f64;
        svg += &line((RIGHT + 8.0, key), (RIGHT + 28.0, key), &format!("stroke=\"{colour}\" stroke-width=\"3\""));
        svg += &label(RIGHT + 34.0, key + 4.0, "start", &name);
        let last = rows.last().and_then(|row| Some((row.bytes, row.median_bytes_per_s?)));
        if let Some((bytes, rate)) = last {
            described.push(format!("{name}: {:.2} GB/s at {}", rate / 1e9, size(bytes)));
        }
    }
    page.picture(title, &described.join(", "), RIGHT + 140.0, BOTTOM + 30.0, &svg);
}

/// The band and the line of one direction.
fn drawn(rows: &[&Row], x: Scale, y: Scale, colour: &str) -> String {
    let point = |row: &Row, ns: Option<f64>| {
        let rate = row.median_bytes_per_s? * row.median_ns? / ns?;
        Some((x.at(row.bytes as f64), y.at(rate / 1e9)))
    };
    let path = |points: &[(f64, f64)]| -> String {
        points
            .iter()
            .enumerate()
            .map(|(at, (x, y))| format!("{}{x:.1} {y:.1}", if at == 0 { "M" } else { "L" }))
            .collect()
    };
    let upper: Vec<_> = rows.iter().filter_map(|row| point(row, row.median_low_ns)).collect();
    let mut around = upper;
    around.extend(rows.iter().rev().filter_map(|row| point(row, row.median_high_ns)));
    let middle: Vec<_> = rows.iter().filter_map(|row| point(row, row.median_ns)).collect();
    let dots: String = middle.iter().map(|(x, y)| format!("M{x:.1} {y:.1}h0")).collect();
    format!(
        "<path d=\"{}\" fill=\"{colour}\" fill-opacity=\"0.2\"/>\n\
         <path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
         <path d=\"{dots}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"6\" stroke-linecap=\"round\"/>\n",
        path(&around),
        path(&middle)
    )
}
