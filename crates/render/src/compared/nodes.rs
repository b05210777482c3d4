//! Several nodes: which are slow, which are set up unlike most, which did not answer, in sentences for a
//! terminal and for the HTML report; for a terminal also a row a node, those that are alike folded into one
//! row.

use analysis::nodes::{BelowLimit, Mark, NodeCell, NodeRow, Nodes};
use stats::interval;
use stats::units::counted;

use super::node_names::names;
use super::node_settings;
use super::reference_lines::reference_lines;
use crate::digits::compared as figure;
use crate::terminal::grid::TextGrid;
use crate::terminal::page::{Page, Tone};

/// So many nodes that are alike have a row each; of more there is one row for all.
const MOST_ROWS: usize = 32;
/// So many places of a node are named.
const MOST_PLACES: usize = 3;

/// The nodes as text so many columns wide.
pub fn nodes(nodes: &Nodes, width: usize, color: bool) -> String {
    let mut page = Page::new(width);
    if let Some(simulated) = &nodes.simulated {
        page.paragraph(Tone::Warning, "THE DEVICES ARE SIMULATED: ", simulated);
    }
    let (tone, answer) = answer(nodes);
    page.paragraph(tone, "", &answer);
    explained(nodes).iter().for_each(|(tone, what, text)| page.paragraph(*tone, &format!("  {what}"), text));
    page.blank();
    table(nodes, &mut page);
    node_settings::table(nodes, &mut page);
    page.finish(color)
}

/// Why the answer is as it is, sentence by sentence: of what each speaks, and what it says.
pub(crate) fn explained(nodes: &Nodes) -> Vec<(Tone, String, String)> {
    let mut said = Vec::new();
    for row in &nodes.rows {
        let places = row.below.iter().take(MOST_PLACES);
        said.extend(places.map(|below| (tone(below.mark), format!("{}: ", row.host), below_limit(below))));
        if row.below.len() > MOST_PLACES {
            let more = format!("and {} more places", row.below.len() - MOST_PLACES);
            said.push((tone(row.mark), format!("{}: ", row.host), more));
        }
    }

    said.extend(node_settings::settings(nodes));
    let missing = nodes.missing.iter();
    said.extend(
        missing.map(|one| (Tone::Bad, "no answer: ".to_owned(), format!("{}: {}", one.host, one.reason))),
    );
    let troubled = nodes.rows.iter().filter(|row| !row.trouble.is_empty());
    said.extend(troubled.map(|row| (Tone::Warning, format!("{}: ", row.host), row.trouble.join("; "))));
    said.extend(nodes.not_judged.iter().map(|why| (Tone::Faint, "not judged: ".to_owned(), why.clone())));

    if nodes.marked(Mark::Suspect) > 0 {
        let text = "one run shows a suspect and drains nobody: measure suspects again, each time into a \
            folder of its own, and give `numabench report` all of the folders (three runs decide)";
        said.push((Tone::Plain, String::new(), text.to_owned()));
    }

    said.extend(reference_lines(&nodes.reference).into_iter().map(|line| (Tone::Plain, String::new(), line)));
    said
}

/// What was found, in a sentence.
pub(crate) fn answer(nodes: &Nodes) -> (Tone, String) {
    let named = |mark: Mark, words: &str| {
        let of: Vec<&str> =
            nodes.rows.iter().filter(|row| row.mark == mark).map(|row| &row.host[..]).collect();
        (!of.is_empty()).then(|| format!("{} {words}: {}", of.len(), names(&of)))
    };

    // Nodes of which there are settings alone have nothing to be alike in but them, and the settings' own
    // sentence says that.
    let measured = |row: &&NodeRow| {
        row.mark == Mark::Well && (row.settings.is_none() || row.cells.iter().any(Option::is_some))
    };
    let whole = |row: &&NodeRow| measured(row) && row.trouble.is_empty();
    let hosts = |wanted: &dyn Fn(&&NodeRow) -> bool| -> Vec<&str> {
        nodes.rows.iter().filter(wanted).map(|row| &row.host[..]).collect()
    };
    let in_trouble = hosts(&|row| measured(row) && !row.trouble.is_empty());
    let in_trouble =
        (!in_trouble.is_empty()).then(|| format!("{} in trouble: {}", in_trouble.len(), names(&in_trouble)));
    let alike = hosts(&|row| whole(row) && row.is_judged).len();
    let not_judged = hosts(&|row| whole(row) && !row.is_judged);
    let margin = nodes.columns.iter().filter_map(|column| column.margin).reduce(f64::max);
    let margin = margin.map_or_else(String::new, |margin| {
        let runs = if nodes.rows.iter().any(|row| row.runs > 1) { " in most runs" } else { "" };
        format!(" (none more than {:.0} % worse than normal{runs})", (margin * 100.0).ceil())
    });
    let alike = (alike > 0).then(|| format!("{} alike{margin}", counted(alike, "node")));
    let not_judged = match (not_judged.len(), &alike) {
        (0, _) => None,
        (all, None) => Some(format!("{}, too few to tell which is unlike the others", counted(all, "node"))),
        (some, Some(_)) => {
            Some(format!("{some} not judged, of a kind on too few nodes: {}", names(&not_judged)))
        }
    };
    let absent = nodes.missing.len();
    let absent = (absent > 0).then(|| {
        let hosts: Vec<&str> = nodes.missing.iter().map(|missing| &missing.host[..]).collect();
        format!("{absent} did not answer: {}", names(&hosts))
    });
    let first = [named(Mark::Slow, "SLOW"), named(Mark::Suspect, "suspect"), absent, in_trouble];
    let parts: Vec<String> = first
        .into_iter()
        .flatten()
        .chain(node_settings::answer(nodes))
        .chain(alike)
        .chain(not_judged)
        .collect();
    let tone = match () {
        () if nodes.marked(Mark::Slow) + nodes.missing.len() > 0 => Tone::Bad,
        () if nodes.marked(Mark::Suspect) > 0
            || nodes.rows.iter().any(|row| row.is_unlike_most() || !row.trouble.is_empty()) =>
        {
            Tone::Warning
        }
        () => Tone::Title,
    };
    (tone, format!("{}.", parts.join("; ")))
}

fn tone(mark: Mark) -> Tone {
    match mark {
        Mark::Slow => Tone::Bad,
        Mark::Suspect => Tone::Warning,
        Mark::Well => Tone::Plain,
    }
}

/// `0000:c1:00.0, H2D 64 MiB: 27.10 GB/s where 55.30 GB/s is normal and 53.60 GB/s the limit, below it in 3
/// of 3 runs`.
fn below_limit(below: &BelowLimit) -> String {
    let side = if below.unit.more_is_better() { "below" } else { "above" };
    format!(
        "{}, {}: {} where {} is normal and {} the limit, {side} it in {} of {}",
        below.place,
        below.column,
        figure(below.unit, below.value),
        figure(below.unit, below.normal),
        figure(below.unit, below.limit),
        below.below,
        counted(below.runs as usize, "run")
    )
}

fn table(nodes: &Nodes, page: &mut Page) {
    if nodes.columns.is_empty() {
        return;
    }
    let mut header = vec!["node", ""];
    header.extend(nodes.columns.iter().map(|column| &column.name[..]));
    let mut grid = TextGrid::new(2, &header);
    let word = |mark: Mark| match mark {
        Mark::Slow => "SLOW",
        Mark::Suspect => "suspect",
        Mark::Well => "",
    };
    let shown = |at: usize, cell: &Option<NodeCell>| match cell {
        Some(NodeCell { value, mark }) => {
            let star = if *mark == Mark::Well { "" } else { "*" };
            format!("{star}{}", figure(nodes.columns[at].unit, *value))
        }
        None => "–".to_owned(),
    };

    let row = |row: &NodeRow| {
        let cells = row.cells.iter().enumerate().map(|(at, cell)| shown(at, cell));
        [row.host.clone(), word(row.mark).to_owned()].into_iter().chain(cells).collect::<Vec<_>>()
    };
    // Nodes of which there are settings alone have no figure that could be judged.
    let is_alike = |row: &&NodeRow| {
        let is_judged = row.is_judged || row.cells.iter().all(Option::is_none);
        row.mark == Mark::Well && row.trouble.is_empty() && is_judged && !row.is_unlike_most()
    };
    let (alike, odd): (Vec<&NodeRow>, Vec<&NodeRow>) = nodes.rows.iter().partition(is_alike);
    odd.iter().for_each(|one| grid.row(row(one), Vec::new()));

    if alike.len() <= MOST_ROWS {
        alike.iter().for_each(|one| grid.row(row(one), Vec::new()));
    } else {
        let range = |at: usize| {
            let values = alike.iter().filter_map(|row| Some(row.cells[at]?.value));
            let Some((low, high)) = interval::range(values) else { return "–".to_owned() };
            // The unit stands once, behind the higher end.
            let (low, high) = (figure(nodes.columns[at].unit, low), figure(nodes.columns[at].unit, high));
            match (low.split_once(' '), high.split_once(' ')) {
                (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{high}"),
                _ => format!("{low}–{high}"),
            }
        };
        let cells = (0..nodes.columns.len()).map(range);
        grid.row(
            [format!("{} alike", alike.len()), String::new()].into_iter().chain(cells).collect(),
            Vec::new(),
        );
    }

    let medians = nodes.columns.iter().map(|column| figure(column.unit, column.median));
    grid.row(["median".to_owned(), String::new()].into_iter().chain(medians).collect(), Vec::new());

    // The rightmost columns go first where a terminal is too narrow for all.
    let last: Vec<&str> = nodes.columns.iter().skip(1).rev().map(|column| &column.name[..]).collect();
    grid.draw_fitting_figures(&last, page);
}
