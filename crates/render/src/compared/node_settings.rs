//! Settings of several nodes for a terminal: how they have each that costs or differs, and a row a node that
//! is set up unlike most.

use analysis::node_settings::{NodeSetting, SettingCounts, SettingWay};
use analysis::nodes::{NodeRow, Nodes};
use report::doctor::State;
use stats::units::counted;

use super::node_names::names;
use crate::terminal::grid::TextGrid;
use crate::terminal::page::{Page, Tone};

/// So many ways of having a setting are named.
const MOST_WAYS: usize = 4;
/// So many nodes that are set up alike have a row each; of more there is one row for all.
const MOST_ROWS: usize = 32;

/// What the settings come to, as parts of the answer.
pub(super) fn answer(nodes: &Nodes) -> Vec<String> {
    let of_doctor = nodes.rows.iter().filter(|row| row.settings.is_some()).count();
    if of_doctor == 0 {
        return Vec::new();
    }
    let unlike: Vec<&str> =
        nodes.rows.iter().filter(|row| row.is_unlike_most()).map(|row| &row.host[..]).collect();
    let costly: Vec<&str> =
        nodes.settings.iter().filter(|one| is_costly(one)).map(|one| &one.name[..]).collect();
    let mut parts = Vec::new();
    if !unlike.is_empty() {
        parts.push(format!("{} set up unlike most: {}", counted(unlike.len(), "node"), names(&unlike)));
    }
    parts.push(match costly.len() {
        0 => format!("no setting of {} costs placement or bandwidth", counted(of_doctor, "node")),
        1 => format!("1 setting costs placement or bandwidth: {}", costly[0]),
        some => format!("{some} settings cost placement or bandwidth: {}", names(&costly)),
    });

    parts
}

fn is_costly(setting: &NodeSetting) -> bool {
    setting.ways.iter().any(SettingWay::is_costly)
}

/// How nodes have each setting that costs or differs.
pub(super) fn settings(nodes: &Nodes) -> Vec<(Tone, String, String)> {
    let mut all = Vec::new();
    for setting in &nodes.settings {
        let tone = if is_costly(setting) { Tone::Warning } else { Tone::Plain };
        // The nodes that have it otherwise are what is looked for.
        let mut ways: Vec<&SettingWay> = setting.ways.iter().collect();
        ways.sort_by_key(|way| (!way.is_unlike_most, !way.is_costly()));
        let mut said: Vec<String> = ways.iter().take(MOST_WAYS).map(|way| value_on_nodes(way)).collect();
        if ways.len() > MOST_WAYS {
            said.push(format!("and {} more ways", ways.len() - MOST_WAYS));
        }
        all.push((tone, format!("{}: ", setting.name), said.join("; ")));
        let change = ways.iter().find(|way| way.is_costly()).and_then(|way| way.change.as_ref());
        all.extend(change.map(|change| (Tone::Faint, "    do   ".to_owned(), change.clone())));
    }
    all
}

fn value_on_nodes(way: &SettingWay) -> String {
    let hosts: Vec<&str> = way.hosts.iter().map(String::as_str).collect();
    let on =
        if way.is_unlike_most || hosts.len() == 1 { names(&hosts) } else { counted(hosts.len(), "node") };
    let what = match way.state {
        None => "no such thing".to_owned(),
        Some(State::Unknown) => format!("unknown ({})", way.seen),
        Some(_) => way.seen.clone(),
    };
    format!("{what} on {on}")
}

/// A row a node: how many of its settings are how.
pub(super) fn table(nodes: &Nodes, page: &mut Page) {
    let rows: Vec<(&NodeRow, &SettingCounts)> =
        nodes.rows.iter().filter_map(|row| Some((row, row.settings.as_ref()?))).collect();
    if rows.is_empty() {
        return;
    }
    let mut grid = TextGrid::new(1, &["settings of", "costly", "look", "unknown", "ok", "unlike most"]);
    let (odd, alike): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(row, _)| row.is_unlike_most());
    let numbers = |counts: &SettingCounts| [counts.costly, counts.remarks, counts.unknown, counts.well];
    let cells = |(row, counts): &(&NodeRow, &SettingCounts)| {
        let numbers = numbers(counts).map(|number| number.to_string());
        let unlike: Vec<&str> = counts.unlike_most.iter().map(String::as_str).collect();
        let unlike = if unlike.is_empty() { "–".to_owned() } else { names(&unlike) };
        [row.host.clone()].into_iter().chain(numbers).chain([unlike]).collect::<Vec<_>>()
    };
    odd.iter().for_each(|one| grid.row(cells(one), Vec::new()));

    if alike.len() <= MOST_ROWS {
        alike.iter().for_each(|one| grid.row(cells(one), Vec::new()));
    } else {
        let range = |at: usize| {
            let all = || alike.iter().map(|(_, counts)| numbers(counts)[at]);
            let (least, most) = (all().min().unwrap_or_default(), all().max().unwrap_or_default());
            if least == most { least.to_string() } else { format!("{least}–{most}") }
        };
        let ranges = (0..4).map(range);
        let more = ["–".to_owned()];
        grid.row(
            [format!("{} alike", alike.len())].into_iter().chain(ranges).chain(more).collect(),
            Vec::new(),
        );
    }
    grid.draw_fitting(&["ok", "look"], page);
}
