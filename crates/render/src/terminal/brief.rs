//! What a terminal shows by default, on a screen: the answer, a small curve of a sweep, what is wrong, and
//! the tables that there is room for, the more telling ones first. What was left out is named in the last
//! line with the way to it.
//!
//! Nothing that is wrong is left out for room: problems, warnings and how the run ended stand whatever their
//! number. [`table`](super::table()) has all.

use analysis::matrix_analysis::MatrixFigures;
use analysis::reference::Reference;
use report::case::CaseStatus;
use report::matrix::Compares;
use report::{Document, Figures};

use super::page::{Page, Tone};
use super::plane::{LEGEND, SHADES, caption};
use super::screen::answer_again;
use super::table::{SCREEN, Style, verdict};
use super::{
    closing, contention, curve, groups, kernels, laplace, line_fit_table, matrix, moving, nodes, pieces,
    places, rates, remarks, row_sweep, title, together, words,
};

/// So many lines of a screen of 40 the answer may take, and so many names of what was left out stand in the
/// last line.
const ANSWER: usize = 12;
const ANSWER_OF: usize = 40;
const NAMES: usize = 2;
/// Sizes of the table of losses.
const LOSSES: usize = 6;

/// A part of the page: the lower its number, the sooner it gets room.
struct Section {
    name: String,
    rank: usize,
    page: Page,
}

/// The parts of a page, none of them empty.
struct Sections {
    width: usize,
    all: Vec<Section>,
}

impl Sections {
    /// Adds what is drawn, if anything is.
    fn add(&mut self, name: &str, rank: usize, draw: impl FnOnce(&mut Page)) {
        let mut page = Page::new(self.width);
        draw(&mut page);
        if page.height() > 0 {
            self.all.push(Section { name: name.to_owned(), rank, page });
        }
    }

    fn of_matrices(&mut self, document: &Document) {
        self.add("kernels", 1, |page| kernels::draw(document, page));
        self.add("fits", 1, |page| line_fit_table::draw(document, page));

        for found in &document.matrices {
            let prefix =
                if document.matrices.len() > 1 { format!("{}: ", found.title) } else { String::new() };
            if found.compares == Compares::Loaded {
                self.add(&found.title, 2, |page| matrix::draw(document, found, page));
                continue;
            }
            for (at, plane) in found.planes(document).iter().enumerate() {
                let name = format!("{prefix}{}", caption(plane, found.engine(&document.settings)));
                // The first table of each matrix before the second one of any.
                self.add(&name, 2 + at, |page| matrix::plane(document, found, plane, &prefix, page));
            }
            self.add("remarks", 9, |page| matrix::notes(found, page));
        }
    }

    fn of_laplace(&mut self, document: &Document) {
        self.add("figures", 1, |page| laplace::draw(document, page));
        self.of_their_ranks(document);
    }

    fn of_pieces(&mut self, document: &Document) {
        for (at, (rank, direction)) in pieces::places(document).enumerate() {
            let name = format!("{} of rank {}", words::direction(direction), rank.rank);
            self.add(&name, 1 + at, |page| pieces::some_sizes(document, (rank, direction), page));
        }
        self.of_their_ranks(document);
    }

    fn of_touches(&mut self, document: &Document) {
        for side in moving::sides(document) {
            let (memory, who) = (words::memory(side.0), analysis::moving::who(side.1));
            let name = format!("touches of {memory} memory by the {who}");
            self.add(&name, 1, |page| moving::rates(document, side, page));
        }
        self.of_their_ranks(document);
    }

    /// What went wrong on ranks whose figures have tables of their own, and where they were.
    fn of_their_ranks(&mut self, document: &Document) {
        self.add("problems", 0, |page| remarks::on_several(document, true, page));
        self.add("placement", 9, |page| places::draw(document, page));
    }

    fn of_ranks(&mut self, document: &Document, has_letters: bool) {
        if has_letters {
            self.add("curve", 1, |page| curve::draw(document, page));
        }
        for found in &document.matrices {
            self.add("losses by size", 1, |page| row_sweep::draw(document, LOSSES, page));
            self.add("remarks", 9, |page| matrix::notes(found, page));
        }
        self.add("fits", 3, |page| line_fit_table::draw(document, page));

        // Where a figure is missing, why stands in its place.
        let mut results = document.cases.iter().flat_map(|case| &case.ranks);
        let is_whole = results.all(|result| result.summary().is_some())
            && document.cases.iter().all(|case| case.status == CaseStatus::Measured);
        match &document.ranks[..] {
            [] => {}
            _ if groups::is_sweep(document) => {
                self.add("some sizes", if is_whole { 2 } else { 0 }, |page| curve::some_sizes(document, page))
            }
            _ => self.add("rates", usize::from(is_whole), |page| rates::draw(document, page)),
        }
        match &document.ranks[..] {
            [] => {}
            [only] => self.add("problems", 0, |page| remarks::after_one(document, only, true, page)),
            _ => self.add("problems", 0, |page| remarks::on_several(document, true, page)),
        }

        self.add("nodes", 3, |page| nodes::draw(document, true, page));
        self.add("ranks together", 4, |page| together::draw(document, page));
        self.add("contention", 2, |page| contention::draw(document, page));
        self.add("placement", 5, |page| places::draw(document, page));
    }
}

/// The document on a screen of a terminal; a curve is drawn where the terminal has its letters.
pub fn brief(document: &Document, style: &Style, references: &[Reference], has_letters: bool) -> String {
    let new = || Page::new(style.width);
    let screen = style.screen.unwrap_or(SCREEN);
    let mut page = new();
    let answer_lines = (screen * ANSWER / ANSWER_OF).max(4);
    let sentences = verdict(document, references, answer_lines, &mut page);
    let answer = page.first().to_owned();
    title::draw(document, &mut page);
    let mut end = new();
    closing::draw(document, style.saved_to.as_deref(), true, &mut end);
    let mut sections = Sections { width: style.width, all: Vec::new() };

    match document.figures() {
        Figures::Matrices(_) | Figures::Kernels(_) => sections.of_matrices(document),
        Figures::Laplace(_) => sections.of_laplace(document),
        Figures::Pieces(_) => sections.of_pieces(document),
        Figures::Touches => sections.of_touches(document),
        Figures::Ranks | Figures::Sweep | Figures::RowSweep(_) => sections.of_ranks(document, has_letters),
    }

    let sections = sections.all;

    // Two lines for what is left out and an empty one before the end; two for the legend of shades.
    let legend = if document.figures().are_of_places() { 2 } else { 0 };
    let mut room = screen.saturating_sub(page.height() + end.height() + 3 + legend);
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|at| sections[*at].rank);
    let mut is_shown = vec![false; sections.len()];

    for at in order {
        let height = sections[at].page.height() + 1;
        is_shown[at] = sections[at].rank == 0 || height <= room;
        room = room.saturating_sub(if is_shown[at] { height } else { 0 });
    }

    let shown = || sections.iter().zip(&is_shown).filter(|(_, is_shown)| **is_shown);
    let has_shades = shown().any(|(section, _)| section.page.contains(&SHADES.map(|(_, shade)| shade)));
    let mut left_out: Vec<String> = Vec::new();
    if sentences > 0 {
        left_out.push(stats::units::counted(sentences, "more sentence"));
    }

    for (section, is_shown) in sections.into_iter().zip(is_shown) {
        match is_shown {
            true => {
                page.append(section.page);
                page.blank();
            }
            false => left_out.push(section.name),
        }
    }

    if has_shades {
        page.paragraph(Tone::Faint, "    ", LEGEND);
    }
    page.blank();
    page.append(end);
    let more = left_out.len().saturating_sub(NAMES);
    left_out.truncate(NAMES);
    left_out.push(if more > 0 { stats::units::counted(more, "more table") } else { "devices".to_owned() });
    page.paragraph(Tone::Faint, "", &format!("--full shows the rest: {} and settings.", left_out.join("; ")));

    // The answer has scrolled away where what is wrong takes more than a screen.
    if page.height() > screen {
        page.line(Tone::Title, answer_again(&answer, style.width));
    }
    page.finish(style.color)
}
