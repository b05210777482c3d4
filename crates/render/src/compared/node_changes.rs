//! What became of nodes between two sides, below a comparison: which got worse by themselves, which are gone, and a row for each of those.

use analysis::node_changes::NodeChanges;
use stats::units::counted;

use crate::terminal::grid::Grid;
use crate::terminal::page::{Page, Tone};

/// So many nodes have a row.
const MOST_ROWS: usize = 32;

/// The nodes as text so many columns wide.
pub fn node_changes(changes: &NodeChanges, width: usize, color: bool) -> String {
    let mut page = Page::new(width);
    page.blank();
    let worse: Vec<&str> = changes.rows.iter().filter(|row| !row.worse.is_empty()).map(|row| &row.host[..]).collect();
    let text = match (worse.len(), changes.is_judged) {
        (0, true) => format!("Node by node: {} changed alike.", counted(changes.rows.len(), "node")),
        (0, false) => format!(
            "Node by node: {}, too few to tell which changed unlike the others.",
            counted(changes.rows.len(), "node")
        ),
        (some, _) => format!(
            "Node by node: {some} of {} got worse by themselves (measure them again): {}",
            changes.rows.len(),
            worse.join(", ")
        ),
    };
    page.words(if worse.is_empty() { Tone::Title } else { Tone::Warning }, "", &text);
    for (hosts, what) in [(&changes.gone, "  in the base alone: "), (&changes.added, "  in the new alone: ")] {
        if !hosts.is_empty() {
            page.words(Tone::Warning, what, &hosts.join(", "));
        }
    }
    let mut header = vec!["node"];
    header.extend(changes.columns.iter().map(|(name, _)| &name[..]));
    let mut grid = Grid::new(1, &header);
    let percent =
        |change: Option<f64>| change.map_or("–".to_owned(), |change| format!("{:+.1} %", (change - 1.0) * 100.0));
    let all = changes.rows.len() <= MOST_ROWS;
    for row in changes.rows.iter().filter(|row| all || !row.worse.is_empty()).take(MOST_ROWS) {
        let cells = row.changes.iter().enumerate().map(|(at, change)| {
            let star = if row.worse.contains(&at) { "*" } else { "" };
            format!("{star}{}", percent(*change))
        });
        grid.row([row.host.clone()].into_iter().chain(cells).collect(), Vec::new());
    }
    let medians = changes.columns.iter().map(|(_, median)| percent(Some(*median)));
    grid.row(["median of all".to_owned()].into_iter().chain(medians).collect(), Vec::new());
    let last: Vec<&str> = changes.columns.iter().skip(1).rev().map(|(name, _)| &name[..]).collect();
    grid.draw_fitting(&last, &mut page);
    page.finish(color)
}
