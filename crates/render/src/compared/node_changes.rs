//! What became of nodes between two sides, below a comparison: which got worse by themselves, which are gone,
//! and a row for each of those.

use analysis::node_changes::{ChangedColumn, NodeChange, NodeChanges};
use stats::units::counted;

use super::escaped::escaped;
use super::node_names::names;
use crate::digits::signed_change;
use crate::terminal::grid::TextGrid;
use crate::terminal::page::{Page, Tone};

/// So many nodes have a row.
const MOST_ROWS: usize = 32;
/// So many nodes without a figure are named.
const MOST_NAMED: usize = 8;
/// So many places of a node are named.
const MOST_PLACES: usize = 3;

/// The sentence that answers, and whether a node got worse by itself.
fn answer(changes: &NodeChanges) -> (String, bool) {
    let worse: Vec<String> =
        changes.rows.iter().filter(|row| !row.worse.is_empty()).map(with_places).collect();
    let all = counted(changes.rows.len(), "node");
    let alike = changes.rows.iter().filter(|row| row.missing == 0).count();

    let text = match (worse.len(), changes.is_judged) {
        (0, true) => {
            let whole = if alike == changes.rows.len() { all } else { format!("{alike} whole of {all}") };
            let margins = changes.columns.iter().filter_map(ChangedColumn::margin);
            let most = margins.fold(0.0, f64::max) * 100.0;
            format!("Node by node: none of {whole} lost more than {most:.0} % beyond the others.")
        }
        (0, false) => format!("Node by node: {all}, too few to tell which changed unlike the others."),
        (some, _) => format!(
            "Node by node: {some} of {} got worse by themselves (measure them again): {}.",
            changes.rows.len(),
            worse.join(", ")
        ),
    };
    let rest = [better(changes), missing(changes), not_judged(changes)].into_iter().flatten();
    (rest.fold(text, |text, more| format!("{text} {more}")), !worse.is_empty() || alike < changes.rows.len())
}

/// A node with its places that got worse: `n03 (GPU 1 from node 0)`.
fn with_places(row: &NodeChange) -> String {
    let places = &row.worse_places;
    let shown = places.iter().take(MOST_PLACES).cloned();
    let more = places.len().saturating_sub(MOST_PLACES);
    let rest = (more > 0).then(|| format!("{more} more"));
    let named: Vec<String> = shown.chain(rest).collect();
    if named.is_empty() { row.host.clone() } else { format!("{} ({})", row.host, named.join("; ")) }
}

/// The nodes that got better by themselves.
fn better(changes: &NodeChanges) -> Option<String> {
    let is_better = |row: &&NodeChange| {
        let mut cells = row.changes.iter().zip(&changes.columns);
        cells.any(|(change, column)| change.is_some_and(|change| column.is_better(change)))
    };
    let hosts: Vec<&str> = changes.rows.iter().filter(is_better).map(|row| &row.host[..]).collect();
    (!hosts.is_empty()).then(|| format!("{} got better: {}.", hosts.len(), names(&hosts)))
}

/// The nodes that lack figures of the base.
fn missing(changes: &NodeChanges) -> Option<String> {
    let lacking = changes.rows.iter().filter(|row| row.missing > 0);
    let all: Vec<String> =
        lacking.map(|row| format!("{} ({})", row.host, counted(row.missing as usize, "figure"))).collect();
    let more = all.len().saturating_sub(MOST_NAMED);
    let rest = (more > 0).then(|| format!("{more} more"));
    let named: Vec<String> = all.into_iter().take(MOST_NAMED).chain(rest).collect();
    (!named.is_empty()).then(|| format!("Without a new figure: {}.", named.join(", ")))
}

/// The columns of too few nodes, where others are judged.
fn not_judged(changes: &NodeChanges) -> Option<String> {
    let open = changes.columns.iter().filter(|column| !column.is_judged).map(|column| &column.name[..]);
    let open: Vec<&str> = open.filter(|_| changes.is_judged).collect();
    (!open.is_empty()).then(|| format!("Too few nodes to tell in {}.", open.join(", ")))
}

/// The header, and a row for each node that is shown: those that got worse or lack figures, and the others
/// where they are few.
fn rows(changes: &NodeChanges) -> (Vec<&str>, Vec<Vec<String>>) {
    let mut header = vec!["node"];
    header.extend(changes.columns.iter().map(|column| &column.name[..]));
    let percent = |change: Option<f64>| change.map_or("–".to_owned(), signed_change);
    let all = changes.rows.len() <= MOST_ROWS;
    let mut rows = Vec::new();

    let is_shown = |row: &&NodeChange| all || !row.worse.is_empty() || row.missing > 0;
    for row in changes.rows.iter().filter(is_shown).take(MOST_ROWS) {
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
    // A column that has the finding stays longest.
    let is_worse = |name: &&str| changes.rows.iter().any(|row| row.worse.iter().any(|worse| worse == name));
    let (worse, others): (Vec<&str>, Vec<&str>) =
        header.iter().skip(1).rev().partition(|name| is_worse(name));
    let mut last = [others, worse].concat();
    last.pop();
    grid.draw_fitting_figures(&last, page);
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
