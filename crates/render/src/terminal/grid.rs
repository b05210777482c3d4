//! Aligned rows of numbers, with captions, notes and words between them.
//!
//! comfy-table aligns the columns; its lines are then woven with what is no row of cells: a caption over a
//! group, the words that stand where a case has no numbers, the notes that would make a column of their own
//! too wide.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use stats::printable;

use super::page::{Page, Tone};

/// Rows under one header.
pub struct TextGrid {
    header: Vec<String>,
    /// How many columns, from the left, are labels: left-aligned, and kept when words replace the numbers.
    labels: usize,
    /// Columns of marks: left-aligned, close behind the number they belong to.
    marks: Vec<usize>,
    rows: Vec<Row>,
    feet: Vec<(Tone, String)>,
}

enum Row {
    Caption(String),
    Cells { cells: Vec<String>, notes: Vec<(Tone, String)> },
    Words { labels: Vec<String>, tone: Tone, words: String },
}

/// What stands before every row, between two columns, and between a number and its marks.
const INDENT: &str = "    ";
const GAP: u16 = 2;
const GAP_TO_MARKS: u16 = 1;

impl TextGrid {
    /// A grid without rows: the first `labels` columns are labels.
    pub fn new<N: AsRef<str>>(labels: usize, header: &[N]) -> Self {
        let header = header.iter().map(|name| cell(name.as_ref().to_owned())).collect();
        Self { header, labels, marks: Vec::new(), rows: Vec::new(), feet: Vec::new() }
    }

    /// A grid without rows: a label, and for each of these columns a figure and its mark; then a column
    /// without marks, where there is one.
    pub fn of_marked<'n>(columns: impl Iterator<Item = &'n str>, last: Option<&'n str>) -> Self {
        let mut header = vec![""];
        header.extend(columns.flat_map(|name| [name, ""]));
        let marks = (2..header.len()).step_by(2).collect();
        header.extend(last);
        Self { marks, ..Self::new(1, &header) }
    }

    /// Makes these columns, counted from 0, columns of marks.
    pub fn marks(&mut self, columns: Vec<usize>) {
        self.marks = columns;
    }

    /// A line over the rows that follow.
    pub fn caption(&mut self, text: String) {
        self.rows.push(Row::Caption(text));
    }

    /// A row, and its notes: behind the row where they fit, below it otherwise.
    pub fn row(&mut self, cells: Vec<String>, notes: Vec<(Tone, String)>) {
        self.rows.push(Row::Cells { cells: cells.into_iter().map(cell).collect(), notes });
    }

    /// A row whose numbers are missing: its labels, and the reason.
    pub fn text_row(&mut self, labels: Vec<String>, tone: Tone, words: String) {
        self.rows.push(Row::Words { labels: labels.into_iter().map(cell).collect(), tone, words });
    }

    /// A line under all rows.
    pub fn foot(&mut self, tone: Tone, text: String) {
        self.feet.push((tone, text));
    }

    /// How wide the header and the rows are, notes aside.
    pub fn width(&self) -> usize {
        self.aligned().iter().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    /// Draws the grid, less these columns (by their headers, in this order) as far as it is too wide with
    /// them.
    pub fn draw_fitting(mut self, dispensable: &[&str], page: &mut Page) {
        self.fit(dispensable, page);
        self.draw(page);
    }

    /// The same where the columns are what was measured: which ones had no room stands below it.
    pub fn draw_fitting_figures(mut self, dispensable: &[&str], page: &mut Page) {
        let left_out = self.fit(dispensable, page);
        let has_rows = !self.rows.is_empty();
        self.draw(page);

        if has_rows && !left_out.is_empty() {
            let text = format!("no room for: {} (--json FILE has all)", left_out.join(", "));
            page.paragraph(Tone::Faint, "    ", &text);
        }
    }

    /// Takes these columns out until the grid fits; which ones.
    fn fit<'n>(&mut self, dispensable: &[&'n str], page: &Page) -> Vec<&'n str> {
        let mut left_out = Vec::new();
        for name in dispensable {
            if self.width() <= page.width() {
                break;
            }
            if self.header.iter().any(|header| header == name) {
                self.remove(name);
                left_out.push(*name);
            }
        }
        left_out.reverse();
        left_out
    }

    fn remove(&mut self, name: &str) {
        let Some(at) = self.header.iter().position(|header| header == name) else { return };
        self.header.remove(at);
        self.marks.iter_mut().filter(|mark| **mark > at).for_each(|mark| *mark -= 1);
        let is_label = at < self.labels;
        self.labels -= usize::from(is_label);
        for row in &mut self.rows {
            match row {
                Row::Cells { cells, .. } if at < cells.len() => drop(cells.remove(at)),
                Row::Words { labels, .. } if is_label && at < labels.len() => drop(labels.remove(at)),
                Row::Cells { .. } | Row::Words { .. } | Row::Caption(_) => {}
            }
        }
    }

    /// Draws the grid; nothing when it has no rows.
    pub fn draw(self, page: &mut Page) {
        if self.rows.is_empty() {
            return;
        }
        let label_width = self.label_width();
        let mut lines = self.aligned().into_iter();
        let mut header =
            lines.next().filter(|_| self.rows.iter().any(|row| matches!(row, Row::Cells { .. })));

        // One caption names the whole grid and stands over its header; several stand below it, each over its
        // rows.
        let captions = self.rows.iter().filter(|row| matches!(row, Row::Caption(_))).count();

        for row in self.rows {
            if captions != 1 || !matches!(row, Row::Caption(_)) {
                header.take().into_iter().for_each(|header| page.line(Tone::Faint, header));
            }
            match row {
                Row::Caption(text) => page.paragraph(Tone::Title, "  ", &text),
                Row::Cells { notes, .. } => draw_row(page, lines.next().unwrap_or_default(), notes),
                Row::Words { tone, words, .. } => {
                    let labels = lines.next().unwrap_or_default();
                    page.paragraph(tone, &format!("{labels:<label_width$}"), &words);
                }
            }
        }

        for (tone, text) in self.feet {
            page.paragraph(tone, INDENT, &text);
        }
    }

    /// The header and the rows of cells, one line each.
    fn aligned(&self) -> Vec<String> {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(&self.header);
        for row in &self.rows {
            match row {
                Row::Caption(_) => {}
                Row::Cells { cells, .. } => {
                    table.add_row(cells);
                }
                Row::Words { labels, .. } => {
                    table.add_row(
                        (0..self.header.len()).map(|i| Cell::new(labels.get(i).map_or("", |label| label))),
                    );
                }
            }
        }

        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, if self.marks.contains(&(index + 1)) { GAP_TO_MARKS } else { GAP }));
            let left = index < self.labels || self.marks.contains(&index);
            let side = if left { CellAlignment::Left } else { CellAlignment::Right };
            column.set_cell_alignment(side);
        }
        table.lines().map(|line| format!("{INDENT}{}", line.trim_end())).collect()
    }

    /// Where the first column of numbers' cell begins.
    fn label_width(&self) -> usize {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| match row {
                Row::Caption(_) => None,
                Row::Cells { cells, .. } => cells.get(column),
                Row::Words { labels, .. } => labels.get(column),
            });
            cells.chain(self.header.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        INDENT.len() + (0..self.labels).map(|column| widest(column) + usize::from(GAP)).sum::<usize>()
    }
}

/// A cell as wide as a table can have it: a document's name may be longer than any screen.
fn cell(text: String) -> String {
    printable::shortened(&text, printable::CELL_CHARACTERS).into_owned()
}

fn draw_row(page: &mut Page, line: String, notes: Vec<(Tone, String)>) {
    if let [(tone, note)] = &notes[..] {
        let whole = format!("{line}  {note}");
        if whole.chars().count() <= page.width() {
            return page.line(*tone, whole);
        }
    }
    page.line(Tone::Plain, line);
    for (tone, note) in notes {
        page.paragraph(tone, &format!("{INDENT}  ^ "), &note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> TextGrid {
        let mut grid = TextGrid::new(1, &["direction", "ms", "GB/s"]);
        grid.caption("pinned".into());
        grid.row(vec!["H2D".into(), "5.30".into(), "23.5".into()], vec![(Tone::Warning, "drift".into())]);
        grid
    }

    fn text(grid: TextGrid, width: usize) -> String {
        let mut page = Page::new(width);
        grid.draw(&mut page);
        page.finish(false)
    }

    #[test]
    fn columns_align_and_words_stand_where_the_numbers_would() {
        let mut grid = grid();
        grid.text_row(vec!["roundtrip".into()], Tone::Bad, "FAILED at open: no such device".into());
        let want = [
            "  pinned",
            "    direction    ms  GB/s",
            "    H2D        5.30  23.5  drift",
            "    roundtrip  FAILED at open: no such device",
        ];
        assert_eq!(text(grid, 80).lines().collect::<Vec<_>>(), want);
    }

    #[test]
    fn several_captions_stand_below_one_header() {
        let mut grid = grid();
        grid.caption("pageable".into());
        grid.row(vec!["H2D".into(), "20.10".into(), "6.3".into()], Vec::new());
        let want = [
            "    direction     ms  GB/s",
            "  pinned",
            "    H2D         5.30  23.5  drift",
            "  pageable",
            "    H2D        20.10   6.3",
        ];
        assert_eq!(text(grid, 80).lines().collect::<Vec<_>>(), want);
    }

    #[test]
    fn marks_stand_close_behind_their_number_and_leave_the_points_in_line() {
        let mut grid = TextGrid::new(1, &["size", "GB/s", "", "GB/s"]);
        grid.marks(vec![2]);
        grid.row(["4 B", "0.1", "dn", "0.1"].map(String::from).to_vec(), Vec::new());
        grid.row(["8 B", "10.2", "", "10.2"].map(String::from).to_vec(), Vec::new());
        grid.foot(Tone::Warning, "flags: d drift, n noisy".into());
        let want = [
            "    size  GB/s     GB/s",
            "    4 B    0.1 dn   0.1",
            "    8 B   10.2     10.2",
            "    flags: d drift, n noisy",
        ];
        assert_eq!(text(grid, 80).lines().collect::<Vec<_>>(), want);
    }

    #[test]
    fn columns_that_can_be_spared_go_in_turn_until_the_grid_fits() {
        let drawn = |width: usize| {
            let mut grid = TextGrid::new(2, &["rank", "node", "mean", "p99", "GB/s", ""]);
            grid.marks(vec![5]);
            grid.row(["0", "3", "1.000", "1.500", "23.5", "d"].map(String::from).to_vec(), Vec::new());
            grid.text_row(vec!["1".into(), "3".into()], Tone::Bad, "FAILED".into());
            let mut page = Page::new(width);
            grid.draw_fitting(&["p99", "no such column", "node"], &mut page);
            page.finish(false)
        };
        let all = "    rank  node   mean    p99  GB/s\n    0     3     1.000  1.500  23.5 d\n    1     3     \
            FAILED\n";
        let fewer = "    rank  node   mean  GB/s\n    0     3     1.000  23.5 d\n    1     3     FAILED\n";
        let few = "    rank   mean  GB/s\n    0     1.000  23.5 d\n    1     FAILED\n";
        assert_eq!([drawn(36), drawn(35), drawn(28), drawn(20)], [all, fewer, few, few]);
    }

    #[test]
    fn without_numbers_there_is_no_header_for_them() {
        let mut grid = TextGrid::new(1, &["", "ms"]);
        grid.text_row(vec!["H2D".into()], Tone::Bad, "FAILED".into());
        assert_eq!(text(grid, 80), "    H2D  FAILED\n");
    }

    #[test]
    fn a_note_that_does_not_fit_behind_its_row_stands_below_it() {
        let below = text(grid(), 30);
        assert!(below.contains("    H2D        5.30  23.5\n      ^ drift\n"), "{below}");
    }
}
