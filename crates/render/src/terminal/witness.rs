//! What a terminal shows of a program's copies: the answer, the buffers, and what was not seen.

use report::WitnessDocument;
use report::witness::{Distance, WitnessBuffer, WitnessDirection, WitnessMemory};
use stats::units::rate;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use super::table::Style;

/// Buffers that are shown unless all are asked for.
const FEW: usize = 10;

/// The document as text for a terminal.
pub fn witness(document: &WitnessDocument, style: &Style) -> String {
    let mut page = Page::new(style.width);
    if document.simulated {
        page.paragraph(Tone::Warning, "", "SIMULATED devices: times and rates say nothing of real hardware.");
    }
    for (at, sentence) in document.verdict.iter().enumerate() {
        let (tone, lead) = if at == 0 { (Tone::Title, "") } else { (Tone::Plain, "  ") };
        page.paragraph(tone, lead, sentence);
    }

    if !document.buffers.is_empty() {
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

fn buffers(document: &WitnessDocument, style: &Style, page: &mut Page) {
    let shown = if style.screen.is_some() { FEW } else { usize::MAX };
    let header = ["buffer", "GPU", "way", "memory", "nodes", "", "MB", "copies", "GB/s"];
    let mut grid = TextGrid::new(6, &header);
    let has_several = document.processes.len() > 1;

    for buffer in document.buffers.iter().take(shown) {
        let address = buffer.address.clone().unwrap_or_else(|| "others".to_owned());
        let name = if has_several { format!("{}:{address}", buffer.pid) } else { address };
        let timed = (buffer.timed > 0 && buffer.timed_s > 0.0)
            .then(|| rate(buffer.timed_bytes as f64 / buffer.timed_s).replace(" GB/s", ""));
        let cells = [
            name,
            buffer.gpu_index.map_or_else(|| buffer.gpu.clone(), |index| index.to_string()),
            way(buffer.direction).to_owned(),
            memory(buffer.memory).to_owned(),
            nodes(buffer),
            distance(buffer.distance).to_owned(),
            format!("{:.3}", buffer.bytes as f64 / 1e6),
            buffer.copies.to_string(),
            timed.unwrap_or_else(|| "-".to_owned()),
        ];
        grid.row(cells.to_vec(), Vec::new());
    }

    let left_out = document.buffers.len().saturating_sub(shown);
    if left_out > 0 {
        let text = stats::units::counted(left_out, "more buffer");
        grid.foot(Tone::Faint, format!("{text}: --full shows all, --json FILE keeps them"));
    }
    page.blank();
    grid.draw(page);
}

/// The nodes of a buffer, with shares where there are several.
fn nodes(buffer: &WitnessBuffer) -> String {
    let share = |bytes: u64| bytes as f64 / buffer.bytes.max(1) as f64 * 100.0;
    match &buffer.nodes[..] {
        [] => "?".to_owned(),
        [only] => only.node.to_string(),
        several => {
            let parts: Vec<String> =
                several.iter().map(|node| format!("{} ({:.0} %)", node.node, share(node.bytes))).collect();
            parts.join(", ")
        }
    }
}

fn way(direction: WitnessDirection) -> &'static str {
    match direction {
        WitnessDirection::ToDevice => "H2D",
        WitnessDirection::ToHost => "D2H",
        WitnessDirection::Newer => "?",
    }
}

fn memory(memory: WitnessMemory) -> &'static str {
    match memory {
        WitnessMemory::Pinned => "pinned",
        WitnessMemory::Pageable => "pageable",
        WitnessMemory::Managed => "managed",
        WitnessMemory::Newer => "?",
    }
}

fn distance(distance: Distance) -> &'static str {
    match distance {
        Distance::Near => "near",
        Distance::Far => "far",
        Distance::Mixed => "mixed",
        Distance::Unknown | Distance::Newer => "unknown",
    }
}
