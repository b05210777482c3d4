//! A report of placements: the answer, the node in the recommended way with what its ranks get, every turn of
//! each way as a dot, then places and lines to paste, folded.

use analysis::answer_status;
use report::document::Tool;
use report::place::{Candidate, PlaceDocument, Turn};
use stats::interval::median;

use super::paged::Paged;
use super::write::{HtmlPage, simulated};
use crate::charts::colours::series;
use crate::charts::rows::{Mark, Row, Rows};
use crate::terminal::place_answer;
use crate::{digits, node};

/// The host of a placement.
fn host(document: &PlaceDocument) -> &str {
    document.machine.hostname.as_deref().unwrap_or("a machine")
}

impl Paged for PlaceDocument {
    const SEVERAL: [&str; 2] = ["numabench place", "placements"];

    fn title(&self) -> String {
        format!("numabench place on {}, {}", host(self), self.started_at)
    }

    fn heading(&self, name: &str) -> String {
        format!("{name}: {}, {}", host(self), self.started_at)
    }

    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn draw(&self, page: &mut HtmlPage) {
        let (_, answer) = place_answer(self);
        let mut said = vec![answer];
        said.extend(self.command.as_ref().map(|line| line.text.clone()));
        page.answer(answer_status::of_place(self), &said);
        let simulation = self.measured.as_ref().and_then(|measured| measured.platform.simulated.as_deref());
        page.list(
            &simulation.map(simulated).into_iter().chain(self.notes.iter().cloned()).collect::<Vec<_>>(),
        );
        if let Some(node) = node::of_place(self) {
            let title = "The node, and what its ranks get in the recommended way";
            page.picture(title, &node.described(), |wide| node.drawn(wide));
        }
        turns(self, page);

        for candidate in &self.candidates {
            let rows = candidate.places.iter().map(|place| {
                vec![
                    place.rank.to_string(),
                    format!("PUs {}", place.pus),
                    place.memory_node.map_or("–".to_owned(), |node| format!("node {node}")),
                    place
                        .gpu
                        .as_ref()
                        .map_or("–".to_owned(), |gpu| format!("GPU {} ({})", gpu.index, gpu.pci_address)),
                    place.nic.as_ref().map_or("–".to_owned(), |nic| nic.name.clone()),
                    place.why.clone(),
                ]
            });
            let caption = format!("Places of {}: {}", candidate.name, candidate.what);
            page.folded_table(&caption, &["rank", "cores", "memory", "GPU", "adapter", "why"], rows);
        }

        let lines = self.lines.iter().map(|line| {
            vec![
                line.dialect.clone(),
                line.text.clone(),
                line.cannot.clone().unwrap_or_default(),
                line.remarks.join("; "),
            ]
        });

        page.folded_table(
            "Lines to paste",
            &["launcher or tool", "line", "cannot work here", "remarks"],
            lines,
        );
    }
}

/// Every turn of each way on one scale.
fn turns(document: &PlaceDocument, page: &mut HtmlPage) {
    let row = |(at, candidate): (usize, &Candidate)| {
        let rates: Vec<f64> = candidate.turns.iter().filter_map(Turn::bytes_per_s).collect();
        let middle = median(&rates)?;
        let value = |rate: f64| format!("{}: {}", candidate.name, digits::rate(rate, None));
        let mut marks: Vec<(Mark, String)> =
            rates.iter().map(|rate| (Mark::Speck(rate / 1e9), value(*rate))).collect();
        marks.push((Mark::Ring(middle / 1e9), format!("{} (median)", value(middle))));
        let against =
            candidate.against_leader.as_ref().map(|found| format!(", {}", digits::change(found.ratio)));
        let said = format!("{}{}", digits::rate(middle, None), against.unwrap_or_default());
        Some(Row { name: candidate.name.clone(), said, colour: series(at), marks })
    };

    let rows: Vec<Row> = document.candidates.iter().enumerate().filter_map(row).collect();
    if rows.is_empty() {
        return;
    }

    // The picture may stand alone, without the page that says it.
    let is_simulated =
        document.measured.as_ref().is_some_and(|measured| measured.platform.simulated.is_some());
    let simulated = if is_simulated { "SIMULATED: " } else { "" };
    let title = format!("{simulated}GB/s of the node, there and back, all ranks at once");
    let rows = Rows { title, rows, ..Rows::default() };
    page.rows("Every turn of each way", &rows);
}
