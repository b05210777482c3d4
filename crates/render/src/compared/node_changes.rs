//! What became of nodes between two sides, below a comparison: which got worse by themselves, which are gone,
//! and a row for each of those.

use analysis::node_changes::NodeChanges;
use stats::units::counted;

use super::escaped::escaped;
use crate::digits::signed_change;
use crate::terminal::grid::TextGrid;
use crate::terminal::page::{Page, Tone};

/// So many nodes have a row.
const MOST_ROWS: usize = 32;

/// The sentence that answers, and whether a node got worse by itself.
fn answer(changes: &NodeChanges) -> (String, bool) {
    let worse: Vec<&str> =
        changes.rows.iter().filter(|row| !row.worse.is_empty()).map(|row| &row.host[..]).collect();
    let all = counted(changes.rows.len(), "node");
    let text = match (worse.len(), changes.is_judged) {
        (0, true) => format!("Node by node: {all} changed alike."),
        (0, false) => format!("Node by node: {all}, too few to tell which changed unlike the others."),
        (some, _) => format!(
            "Node by node: {some} of {} got worse by themselves (measure them again): {}",
            changes.rows.len(),
            worse.join(", ")
        ),
    };
    (text, !worse.is_empty())
}

/// The header, and a row for each node that is shown: those that got worse, and the others where they are
/// few.
fn rows(changes: &NodeChanges) -> (Vec<&str>, Vec<Vec<String>>) {
    let mut header = vec!["node"];
    header.extend(changes.columns.iter().map(|column| &column.name[..]));
    let percent = |change: Option<f64>| change.map_or("–".to_owned(), signed_change);
    let all = changes.rows.len() <= MOST_ROWS;
    let mut rows = Vec::new();
    for row in changes.rows.iter().filter(|row| all || !row.worse.is_empty()).take(MOST_ROWS) {
        let cells = row.changes.iter().zip(&changes.columns).map(|(change, column)| {
            let star = if row.worse.contains(&column.name) { "*" } else { "" };
            format!("{star}{}", percent(*change))
        });
        rows.push([row.host.clone()].into_iter().chain(cells).collect());
    }
    let medians = changes.columns.iter().map(|column| percent(Some(column.median)));
    rows.push(["median of all".to_owned()].into_iter().chain(medians).collect());
    (header, rows)
}

/// Nodes of one side alone, with their lead.
fn of_one_side(changes: &NodeChanges) -> impl Iterator<Item = (&'static str, String)> {
    let sides = [(&changes.gone, "in the base alone: "), (&changes.added, "in the new alone: ")];
    sides.into_iter().filter(|(hosts, _)| !hosts.is_empty()).map(|(hosts, what)| (what, hosts.join(", ")))
}

/// The nodes as text, below a comparison's own.
pub(super) fn draw(changes: &NodeChanges, page: &mut Page) {
    page.blank();
    let (text, is_worse) = answer(changes);
    page.paragraph(if is_worse { Tone::Warning } else { Tone::Title }, "", &text);
    for (what, hosts) in of_one_side(changes) {
        page.paragraph(Tone::Warning, &format!("  {what}"), &hosts);
    }
    let (header, rows) = rows(changes);
    let mut grid = TextGrid::new(1, &header);
    rows.into_iter().for_each(|row| grid.row(row, Vec::new()));
    let last: Vec<&str> = header.iter().skip(2).rev().copied().collect();
    grid.draw_fitting(&last, page);
}

/// The nodes as Markdown.
pub(super) fn markdown(changes: &NodeChanges) -> String {
    let mut text = format!("\n**{}**\n\n", escaped(&answer(changes).0));
    for (what, hosts) in of_one_side(changes) {
        text += &format!("- {what}{}\n", escaped(&hosts));
    }
    let (header, rows) = rows(changes);
    let line =
        |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    text += &format!("\n{}", line(&mut header.iter().map(|cell| escaped(cell))));
    text += &format!("|---|{}\n", "---:|".repeat(header.len() - 1));
    rows.iter().for_each(|row| text += &line(&mut row.iter().map(|cell| escaped(cell))));
    text
}
