//! A report of placements: the answer, the node in the recommended way with what its ranks get, every turn of each way as a dot, then places and lines to paste, folded.

use analysis::answer_status::AnswerStatus;
use report::place::{Candidate, MeasuredFinding, PlaceDocument, Turn};
use stats::interval::median;

use super::write::HtmlPage;
use super::{begin, end};
use crate::charts::colours::series;
use crate::charts::rows::{Mark, Row, Rows};
use crate::terminal::{page, place_answer};
use crate::{digits, node};

/// The report of these placements, in the order given; `names` are their files.
pub fn places(documents: &[(String, PlaceDocument)]) -> String {
    let host = |document: &PlaceDocument| document.machine.hostname.clone().unwrap_or("a machine".to_owned());
    let title = match documents {
        [(_, only)] => format!("numabench place on {}, {}", host(only), only.started_at),
        several => format!("numabench place: {} placements", several.len()),
    };
    let mut page = begin(&title);
    for (name, document) in documents {
        page.level = if documents.len() > 1 { 3 } else { 2 };
        if documents.len() > 1 {
            page.element("h2", &format!("{name}: {}, {}", host(document), document.started_at));
        }
        add_document(document, &mut page);
    }
    end(page)
}

/// The pictures of a placement's report, each with its title, as SVG files of their own.
pub fn place_pictures(document: &PlaceDocument) -> Vec<(String, String)> {
    let mut page = HtmlPage::keeping();
    page.level = 2;
    add_document(document, &mut page);
    page.pictures()
}

fn add_document(document: &PlaceDocument, page: &mut HtmlPage) {
    let (tone, answer) = place_answer(document);
    let is_open = document.measured.as_ref().is_some_and(|measured| measured.finding == MeasuredFinding::Undecided);
    let tone = match tone {
        _ if is_open => AnswerStatus::Undecided,
        page::Tone::Bad | page::Tone::Warning => AnswerStatus::Finding,
        _ => AnswerStatus::Well,
    };
    let mut said = vec![answer];
    said.extend(document.command.as_ref().map(|line| line.text.clone()));
    page.answer(tone, &said);
    let simulated = document.measured.as_ref().and_then(|measured| measured.platform.simulated.as_ref());
    let mut also: Vec<String> = Vec::new();
    also.extend(
        simulated.map(|why| format!("The devices are simulated: {why}. The figures say nothing about real hardware.")),
    );
    also.extend(document.notes.iter().cloned());
    page.list(&also);
    if let Some((described, draw)) = node::placed(document) {
        page.picture("The node, and what its ranks get in the recommended way", &described, draw);
    }
    turns(document, page);
    for candidate in &document.candidates {
        let rows = candidate.places.iter().map(|place| {
            vec![
                place.rank.to_string(),
                format!("PUs {}", place.pus),
                place.memory_node.map_or("–".to_owned(), |node| format!("node {node}")),
                place.gpu.as_ref().map_or("–".to_owned(), |gpu| format!("GPU {} ({})", gpu.index, gpu.pci_address)),
                place.nic.as_ref().map_or("–".to_owned(), |nic| nic.name.clone()),
                place.why.clone(),
            ]
        });
        let caption = format!("Places of {}: {}", candidate.name, candidate.what);
        page.folded_table(&caption, &["rank", "cores", "memory", "GPU", "adapter", "why"], rows);
    }
    let lines = document.lines.iter().map(|line| {
        vec![line.dialect.clone(), line.text.clone(), line.cannot.clone().unwrap_or_default(), line.remarks.join("; ")]
    });
    page.folded_table("Lines to paste", &["launcher or tool", "line", "cannot work here", "remarks"], lines);
}

/// Every turn of each way on one scale.
fn turns(document: &PlaceDocument, page: &mut HtmlPage) {
    let row = |(at, candidate): (usize, &Candidate)| {
        let rates: Vec<f64> = candidate.turns.iter().filter_map(Turn::bytes_per_s).collect();
        let middle = median(&rates)?;
        let value = |rate: f64| format!("{}: {}", candidate.name, digits::rate(rate, None));
        let mut marks: Vec<(Mark, String)> = rates.iter().map(|rate| (Mark::Speck(rate / 1e9), value(*rate))).collect();
        marks.push((Mark::Ring(middle / 1e9), format!("{} (median)", value(middle))));
        let against = candidate.against_leader.as_ref().map(|found| format!(", {}", digits::change(found.ratio)));
        let said = format!("{}{}", digits::rate(middle, None), against.unwrap_or_default());
        Some(Row { name: candidate.name.clone(), said, colour: series(at), marks })
    };
    let rows: Vec<Row> = document.candidates.iter().enumerate().filter_map(row).collect();
    if rows.is_empty() {
        return;
    }
    let described: Vec<String> = rows.iter().map(|row| format!("{} {}", row.name, row.said)).collect();
    // The picture may stand alone, without the page that says it.
    let is_simulated = document.measured.as_ref().is_some_and(|measured| measured.platform.simulated.is_some());
    let simulated = if is_simulated { "SIMULATED: " } else { "" };
    let title = format!("{simulated}GB/s of the node, there and back, all ranks at once");
    let rows = Rows { title, rows, ..Rows::default() };
    page.picture("Every turn of each way", &described.join("; "), |wide| rows.drawn(wide));
}
