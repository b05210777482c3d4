//! The rates of ranks in the largest copies, as bars on one scale over all directions: who is slow is seen
//! here.

use std::collections::BTreeSet;

use analysis::words::direction_in;
use report::Document;
use report::case::{Case, Order};
use report::row::Row as Figure;

use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::rows::{Mark, Row, Rows};
use crate::{digits, names};

/// Ranks that a reader looks through.
const RANKS: usize = 64;

pub(super) fn draw(document: &Document, page: &mut HtmlPage) {
    if document.figures().are_of_places() || document.ranks.len() < 2 {
        return;
    }
    let largest = document.cases.iter().map(|case| case.bytes).max();
    let of_order = |order: Order| {
        move |case: &&Case| case.order == order && Some(case.bytes) == largest && case.group.is_none()
    };
    let all = || document.cases.iter();
    let order = if all().any(|case| of_order(Order::Simultaneous)(&case)) {
        Order::Simultaneous
    } else {
        Order::Alone
    };
    let cases: Vec<&Case> = all().filter(of_order(order)).collect();

    // With a sweep there is a curve of every rank.
    let (Some(first), true) = (cases.first(), sizes(document) < 3) else { return };
    let figures: Vec<(&Case, &Figure)> = cases
        .iter()
        .flat_map(|case| document.rows.iter().filter(|row| row.case == case.id).map(move |row| (*case, row)))
        .collect();
    let slow: BTreeSet<u32> = document.slower_twins.iter().map(|slower| slower.rank).collect();
    let mut ranks: Vec<u32> = document.ranks.iter().map(|rank| rank.rank).collect();
    ranks.truncate(RANKS);
    let mut rows = Vec::new();

    for rank in &ranks {
        for (at, (case, figure)) in figures.iter().filter(|(_, figure)| figure.rank == *rank).enumerate() {
            rows.push(row(document, case, figure, at, slow.contains(rank)));
        }
    }

    let together =
        names::together(document, order, first.ranks.len()).map_or(String::new(), |who| format!(", {who}"));
    let title = format!("{} of each rank{together}", stats::units::size(first.bytes));
    let rows = Rows { title: "GB/s".to_owned(), rows, from_zero: true, ..Rows::default() };
    page.rows(&title, &rows);

    if document.ranks.len() > RANKS {
        page.element("p", &format!("{} more ranks are in the table.", document.ranks.len() - RANKS));
    }
}

fn sizes(document: &Document) -> usize {
    document.cases.iter().map(|case| case.bytes).collect::<BTreeSet<_>>().len()
}

fn row(document: &Document, case: &Case, figure: &Figure, at: usize, is_slow: bool) -> Row {
    let name = format!("{} {}", names::rank(document, figure.rank), direction_in(document, case.direction));
    let Some(rate) = figure.median_bytes_per_s else {
        let why = figure.reason.clone().unwrap_or_default();
        return Row { name, said: format!("no figure: {why}"), colour: series(at), marks: Vec::new() };
    };
    let ends = figure.median_ns.zip(figure.median_low_ns.zip(figure.median_high_ns));
    let ends = ends.map(|(ns, (low, high))| (rate * ns / high / 1e9, rate * ns / low / 1e9));
    let half = ends.map(|(low, high)| (high - low) / 2.0);
    let number = digits::shown(rate / 1e9, half);
    let known = half.map_or(String::new(), |half| format!(" ± {:.1} %", half / rate * 1e11));
    let bound = figure
        .percent_of_bound
        .map_or(String::new(), |percent| format!(", {percent:.0} % of its link's limit"));
    let mark = if is_slow { " ▼ below its twins" } else { "" };
    let mut marks = vec![(Mark::Bar(rate / 1e9), format!("{name}: {number} GB/s{known}{bound}{mark}"))];
    marks.extend(ends.map(|(low, high)| (Mark::Span(low, high), format!("{name}: {number} GB/s{known}"))));

    Row { name, said: format!("{number}{mark}"), colour: series(at), marks }
}
