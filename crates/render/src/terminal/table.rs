//! What a terminal shows of a document: the answer, each rank's numbers and placement, remarks on them,
//! nodes, ranks together, what they lost; then what it was made with, devices and settings; flags, time.

use analysis::conclusion;
use analysis::reference::Reference;
use report::{Document, Figures};

use super::page::{Page, Tone};
use super::{
    closing, contention, devices, groups, kernels, laplace, line_fit_table, matrix, moving, nodes, pieces,
    places, rank, rank_selection, ranks, reference, remarks, row_sweep, settings, title, together,
};
use crate::slower_twins;

/// How a table is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns there are. Where figures need more, the less needed are left out; none is ever cut.
    pub width: usize,
    /// Whether lines are coloured (ANSI escape codes).
    pub color: bool,
    /// Leaves out what only confirms: settings, devices, placement as asked, verified data, flag meanings.
    /// What is wrong stays.
    pub quiet: bool,
    /// Where the document was written to, to be said at the end.
    pub saved_to: Option<String>,
    /// How many lines a screen has for what is to fit one; `None` where everything is printed.
    /// [`brief`](super::brief()) always fits one.
    pub screen: Option<usize>,
}

/// The lines that a screen has where no terminal says how many.
pub const SCREEN: usize = 40;

/// The document as text for a terminal.
pub fn table(document: &Document, style: &Style) -> String {
    table_beside(document, style, &[])
}

/// The same, and what others measured on such hardware.
pub fn table_beside(document: &Document, style: &Style, references: &[Reference]) -> String {
    let mut page = Page::new(style.width);
    verdict(document, references, usize::MAX, &mut page);
    title::draw(document, &mut page);
    match document.figures() {
        Figures::Ranks | Figures::Sweep | Figures::RowSweep(_) => rank_tables(document, style, &mut page),
        Figures::Matrices(_) | Figures::Kernels(_) => {
            kernels::draw(document, &mut page);
            document.matrices.iter().for_each(|found| matrix::draw(document, found, &mut page));
            line_fit_table::draw(document, &mut page);
        }
        Figures::Laplace(_) => placed(laplace::draw, document, &mut page),
        Figures::Pieces(_) => placed(pieces::draw, document, &mut page),
        Figures::Touches => placed(moving::draw, document, &mut page),
    }

    match document.figures() {
        Figures::Ranks | Figures::Sweep | Figures::RowSweep(_) if !style.quiet => {
            devices::draw(document, &mut page);
            settings::draw(document, &mut page);
        }
        _ if !style.quiet => devices::draw(document, &mut page),
        _ => {}
    }
    closing::draw(document, style.saved_to.as_deref(), style.quiet, &mut page);
    page.finish(style.color)
}

/// Tables of their own, and where ranks were.
fn placed(tables: fn(&Document, &mut Page), document: &Document, page: &mut Page) {
    tables(document, page);
    places::draw(document, page);
}

/// The figures of each rank, of nodes, and of ranks together.
fn rank_tables(document: &Document, style: &Style, page: &mut Page) {
    row_sweep::draw(document, usize::MAX, page);
    line_fit_table::draw(document, page);
    match &document.ranks[..] {
        [] => {}
        [only] => rank::draw(document, only, style.quiet, page),
        several => {
            places::draw(document, page);
            if groups::is_sweep(document) {
                let shown = rank_selection::sweeps(document);
                let of_shown = several.iter().filter(|rank| shown.rows.contains(&rank.rank));
                of_shown.for_each(|each| rank::draw(document, each, style.quiet, page));
                if shown.left_out > 0 {
                    let text =
                        "more ranks have sweeps in the document; these are of the outliers and the slowest";
                    page.paragraph(Tone::Faint, "", &format!("{} {text}", shown.left_out));
                    page.blank();
                }
            } else {
                ranks::draw(document, page);
            }
            remarks::on_several(document, style.quiet, page);
        }
    }

    nodes::draw(document, style.quiet, page);
    together::draw(document, page);
    contention::draw(document, page);
    document.matrices.iter().for_each(|found| matrix::notes(found, page));
}

/// What was found, before anything else, in so many lines at most; how many sentences had no room.
pub(super) fn verdict(document: &Document, references: &[Reference], lines: usize, page: &mut Page) -> usize {
    let said = conclusion::said(document);
    // Before any other answer: nobody should have to find it by comparing rows.
    for sentence in slower_twins::sentences(document) {
        page.paragraph(Tone::Bad, "SLOWER TWIN: ", &sentence);
    }
    let is_led = page.height() > 0;
    let mut shown = 0;

    for sentence in &said {
        let (tone, lead) = if shown == 0 && !is_led { (Tone::Title, "") } else { (Tone::Plain, "  ") };
        let mut next = Page::new(page.width());
        next.paragraph(tone, lead, sentence);
        if shown > 0 && page.height() + next.height() > lines {
            break;
        }
        page.append(next);
        shown += 1;
    }

    reference::draw(document, references, page);
    page.blank();
    said.len() - shown
}
