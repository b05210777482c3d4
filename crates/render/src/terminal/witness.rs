//! What a terminal shows of a program's copies: the answer, the buffers (of a launch its ranks, all of them
//! together first), and what was not seen.

use analysis::witness_launch::WitnessLaunch;
use report::WitnessDocument;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use super::table::Style;
use crate::witness_cells;

/// Buffers that are shown unless all are asked for.
const FEW: usize = 10;

/// One run of a program as text for a terminal.
pub fn witness(launch: &WitnessLaunch, style: &Style) -> String {
    let document = &launch.sum;
    let mut page = Page::new(style.width);
    if document.simulated {
        page.paragraph(Tone::Warning, "", "SIMULATED devices: times and rates say nothing of real hardware.");
    }
    for (at, sentence) in document.verdict.iter().enumerate() {
        let (tone, lead) = if at == 0 { (Tone::Title, "") } else { (Tone::Plain, "  ") };
        page.paragraph(tone, lead, sentence);
    }

    if launch.ranks.len() > 1 {
        ranks(launch, &mut page);
    } else if !document.buffers.is_empty() {
        buffers(document, style, &mut page);
    }
    if !document.not_seen.is_empty() {
        page.blank();
        document.not_seen.iter().for_each(|sentence| page.paragraph(Tone::Warning, "", sentence));
    }
    if let Some(path) = &style.saved_to {
        page.blank();
        page.paragraph(Tone::Faint, "", &format!("document: {path}"));
    }
    page.finish(style.color)
}

fn ranks(launch: &WitnessLaunch, page: &mut Page) {
    let mut grid = TextGrid::new(3, &witness_cells::RANKS.map(str::trim_end));
    witness_cells::ranks(launch).into_iter().for_each(|cells| grid.row(cells.to_vec(), Vec::new()));
    page.blank();
    grid.draw(page);
}

fn buffers(document: &WitnessDocument, style: &Style, page: &mut Page) {
    let shown = if style.screen.is_some() { FEW } else { usize::MAX };
    let mut grid = TextGrid::new(6, &witness_cells::BUFFERS.map(str::trim_end));
    let has_several = document.processes.len() > 1;
    for buffer in document.buffers.iter().take(shown) {
        grid.row(witness_cells::buffer(buffer, has_several).to_vec(), Vec::new());
    }

    let left_out = document.buffers.len().saturating_sub(shown);
    if left_out > 0 {
        let text = stats::units::counted(left_out, "more buffer");
        grid.foot(Tone::Faint, format!("{text}: --full shows all, --json FILE keeps them"));
    }
    page.blank();
    grid.draw(page);
}
