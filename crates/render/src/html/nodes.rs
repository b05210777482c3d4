//! Many nodes on one page: which are unlike the others and why, every node's figure against the median of
//! all, then a row a node and a column a figure. The runs that the page is of are folded behind it, those of
//! marked nodes first.

use analysis::answer_status::AnswerStatus;
use analysis::nodes::{Mark, NodeRow, Nodes};
use report::Document;

use super::heat::coloured;
use super::paged::Paged;
use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::rows::{self, Rows};
use crate::compared::{nodes_answer, nodes_explained};
use crate::digits::compared as nodes_figure;
use crate::terminal::page;
use svg::escaped;

/// So many nodes that are alike stand in the open table; the others are folded.
const OPEN: usize = 40;
/// So many runs are shown whole: more are for reports of their own.
const WHOLE: usize = 12;

/// The report of these nodes; `runs` are the result documents that they are from, by their files.
pub fn nodes(nodes: &Nodes, runs: &[(String, Document)]) -> String {
    let title = match nodes.columns.first() {
        Some(_) => format!("numabench: {} nodes side by side", nodes.rows.len() + nodes.missing.len()),
        None => format!("numabench: the settings of {} nodes", nodes.rows.len()),
    };
    let mut page = HtmlPage::begin(&title);
    let (tone, answer) = nodes_answer(nodes);
    let is_judged = nodes.not_judged.is_empty() || nodes.rows.iter().any(|row| row.is_judged);
    let tone = match tone {
        page::Tone::Bad | page::Tone::Warning => AnswerStatus::Finding,
        _ if !is_judged => AnswerStatus::Undecided,
        _ => AnswerStatus::Well,
    };
    page.answer(tone, &[answer]);
    let mut said: Vec<String> =
        nodes.simulated.iter().map(|why| format!("The devices are simulated: {why}.")).collect();
    said.extend(
        nodes_explained(nodes).into_iter().map(|(_, what, text)| format!("{}{text}", what.trim_start())),
    );
    page.list(&said);
    spread(nodes, &mut page);
    let marked = nodes.rows.iter().filter(|row| row.mark != Mark::Well).count();
    let (open, folded) = nodes.rows.split_at((marked + OPEN).min(nodes.rows.len()));

    if !nodes.columns.is_empty() {
        table(nodes, open, "Nodes, those unlike the others first", &mut page);
        if !folded.is_empty() {
            let caption = format!("{} more nodes", folded.len());
            page.folded(&caption, |page| table(nodes, folded, &caption, page));
        }
    }

    let at =
        |document: &Document| nodes.rows.iter().position(|row| row.host == document.environment.hostname);
    let mut ordered: Vec<&(String, Document)> = runs.iter().collect();
    ordered.sort_by_key(|(_, document)| at(document));

    for (name, document) in ordered.iter().take(WHOLE) {
        let caption = format!("{}: {}, {name}", document.environment.hostname, document.started_at);
        page.folded(&caption, |page| {
            page.level = 3;
            document.draw(page);
        });
    }

    if ordered.len() > WHOLE {
        page.element(
            "p",
            &format!("{} more runs: `numabench report -o` of one shows it whole.", ordered.len() - WHOLE),
        );
    }
    page.end()
}

/// The picture of these nodes' figures, with its title, as an SVG file of its own.
pub fn nodes_pictures(nodes: &Nodes) -> Vec<(String, String)> {
    HtmlPage::pictures_of(|page| spread(nodes, page))
}

/// A line a figure with a dot a node, against the median over all nodes.
fn spread(nodes: &Nodes, page: &mut HtmlPage) {
    let row = |(at, column): (usize, &analysis::nodes::NodeColumn)| {
        let mark = |row: &NodeRow| {
            let cell = row.cells[at]?;
            let percent = cell.value / column.median * 100.0;
            let value = format!("{}, {}: {}", row.host, column.name, nodes_figure(column.unit, cell.value));
            Some(match cell.mark {
                Mark::Well => (rows::Mark::Speck(percent), value),
                Mark::Suspect => (rows::Mark::Ring(percent), format!("{value}, suspect")),
                Mark::Slow => (rows::Mark::Dot(percent), format!("{value}, slow")),
            })
        };
        let marks: Vec<_> = nodes.rows.iter().filter_map(mark).collect();
        let is_off = nodes.rows.iter().any(|row| row.cells[at].is_some_and(|cell| cell.mark != Mark::Well));
        rows::Row {
            name: column.name.clone(),
            said: format!("median {}", nodes_figure(column.unit, column.median)),
            colour: series(if is_off { 1 } else { 0 }),
            marks,
        }
    };

    let rows: Vec<rows::Row> = nodes.columns.iter().enumerate().map(row).collect();
    if rows.is_empty() || nodes.rows.len() < 2 {
        return;
    }
    let described: Vec<String> = rows.iter().map(|row| format!("{}, {}", row.name, row.said)).collect();
    let rows = Rows {
        title: "% of the median over all nodes".to_owned(),
        rows,
        levels: vec![(100.0, "median; filled: slow, ring: suspect".to_owned())],
        ..Rows::default()
    };
    page.picture("Every node's figures", &described.join("; "), |wide| rows.drawn(wide));
}

/// A row a node. A cell has the colour of its part of the column's best; one off the others has a frame and
/// is explained under the pointer.
fn table(nodes: &Nodes, rows: &[NodeRow], caption: &str, page: &mut HtmlPage) {
    let best = |at: usize| {
        let more = nodes.columns[at].unit.more_is_better();
        let values = nodes.rows.iter().filter_map(|row| row.cells[at].map(|cell| cell.value));
        values.reduce(if more { f64::max } else { f64::min })
    };
    let part = |at: usize, value: f64| {
        let best = best(at).unwrap_or(value);
        if nodes.columns[at].unit.more_is_better() { value / best } else { best / value }
    };
    let head: String = ["node", ""]
        .into_iter()
        .chain(nodes.columns.iter().map(|column| &column.name[..]))
        .map(|name| format!("<th scope=\"col\">{}</th>", escaped(name)))
        .collect();

    page.scrolled(caption, " class=\"heat\"", &head, |html| {
        for row in rows {
            let mark = match row.mark {
                Mark::Slow => "▼ slow",
                Mark::Suspect => "▼ suspect",
                Mark::Well => "",
            };
            html.push_str(&format!("<tr><th scope=\"row\">{}</th><td>{mark}</td>", escaped(&row.host)));
            for (at, cell) in row.cells.iter().enumerate() {
                let Some(cell) = cell else {
                    html.push_str("<td title=\"no figure\">–</td>");
                    continue;
                };
                let column = &nodes.columns[at];
                let said = nodes_figure(column.unit, cell.value);
                let why = row.below.iter().filter(|below| below.column == column.name).map(|below| {
                    format!("; {}: {} is normal", below.place, nodes_figure(below.unit, below.normal))
                });
                let class = if cell.mark == Mark::Well { "" } else { " class=\"off\"" };
                let title = format!("{}, {}: {said}{}", row.host, column.name, why.collect::<String>());
                html.push_str(&coloured(class, part(at, cell.value), &title, &said));
            }
            html.push_str("</tr>\n");
        }
    });
    let key = "The lighter, the nearer to the best of its column; framed: unlike the other nodes.";
    page.element("p", key);
}
