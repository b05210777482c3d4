//! What a terminal shows of a document: settings, devices, each rank's numbers and placement, remarks on them, ranks
//! together, flags, time.

use super::page::Page;
use super::{closing, devices, rank, remarks, settings, title, together};
use crate::Document;

/// How a table is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns there are. Numbers are never cut: where they need more, lines are longer.
    pub width: usize,
    /// Whether lines are coloured (ANSI escape codes).
    pub color: bool,
    /// Leaves out what only confirms: settings, devices, placement as asked, verified data, flag meanings. What is wrong
    /// stays.
    pub quiet: bool,
    /// Where the document was written to, to be said at the end.
    pub saved_to: Option<String>,
}

/// The document as text for a terminal.
pub fn table(document: &Document, style: &Style) -> String {
    let mut page = Page::new(style.width);
    title::draw(document, &mut page);
    if !style.quiet {
        settings::draw(document, &mut page);
        devices::draw(document, &mut page);
    }
    for each in &document.ranks {
        rank::draw(document, each, style.quiet, &mut page);
    }
    if document.ranks.len() > 1 {
        remarks::on_several(document, style.quiet, &mut page);
    }
    together::draw(document, &mut page);
    closing::draw(document, style.saved_to.as_deref(), style.quiet, &mut page);
    page.finish(style.color)
}
