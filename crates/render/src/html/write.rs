//! Elements, written one after the other: all text goes through [`escaped`], so that nothing a document says
//! becomes markup.

use crate::charts::rows::Rows;
use analysis::answer_status::AnswerStatus;
use stats::units::counted;
use svg::Picture;
use svg::escaped;
use svg::text_metrics::TEXT;

/// The widths that a picture is laid out for, px: of a page, and of a telephone or a narrow column.
pub(super) const WIDE: f64 = 760.0;
pub(super) const NARROW: f64 = 352.0;

/// Rows of a table at most, where it may be long.
const ROWS: usize = 400;
/// So many sentences stand open.
const SENTENCES: usize = 8;

/// The page so far.
#[derive(Default)]
pub struct HtmlPage {
    html: String,
    /// The level of the headings of the present run: 2 or 3.
    pub(super) level: u8,
    /// The pictures, each as a file of its own, where they are asked for.
    kept: Option<Vec<(String, String)>>,
    /// What stands behind the first picture: a reader sees one sentence, what it is of, and then the rest.
    held: String,
}

impl HtmlPage {
    /// A page up to its first heading.
    pub(super) fn begin(title: &str) -> Self {
        let mut page = Self::default();
        page.raw(&format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
             'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n",
            escaped(title),
            include_str!("style.css")
        ));
        page.element("h1", title);
        page
    }

    /// The whole of it.
    pub(super) fn end(mut self) -> String {
        self.raw("</main>\n</body>\n</html>\n");
        self.html
    }

    /// The pictures that this draws, each with its title, as files of their own.
    pub(super) fn pictures_of(draw: impl FnOnce(&mut Self)) -> Vec<(String, String)> {
        let mut page = Self { kept: Some(Vec::new()), ..Self::default() };
        draw(&mut page);
        page.kept.unwrap_or_default()
    }

    /// Markup as it is.
    pub(super) fn raw(&mut self, html: &str) {
        self.html.push_str(html);
    }

    /// A heading of the present run, `deeper` levels below its own.
    pub(super) fn heading(&mut self, deeper: u8, text: &str) {
        let name = format!("h{}", self.level.max(2) + deeper);
        self.element(&name, text);
    }

    /// Draws what stands behind the next picture or coloured table; without one, where `release` is called.
    pub(super) fn hold(&mut self, draw: impl FnOnce(&mut Self)) {
        let mut behind = Self { level: self.level, ..Self::default() };
        draw(&mut behind);
        self.held.push_str(&behind.html);
    }

    /// Writes what was held.
    pub(super) fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.raw(&held);
    }

    /// An element with text.
    pub(super) fn element(&mut self, name: &str, text: &str) {
        self.raw(&format!("<{name}>{}</{name}>\n", escaped(text)));
    }

    /// How the answer stands, in words: a colour alone tells it to those who know the colours.
    pub(super) fn standing(&mut self, words: &str) {
        self.raw(&format!("<p class=\"standing\">{}</p>\n", escaped(words)));
    }

    /// The answer: its first sentence stands out, in the colour of its status; the others follow. Pages whose
    /// picture comes between hold these.
    pub(super) fn answer(&mut self, status: AnswerStatus, sentences: &[String]) {
        let class = match status {
            AnswerStatus::Well => "",
            AnswerStatus::Finding => " finding",
            AnswerStatus::Undecided => " undecided",
        };
        for (at, sentence) in sentences.iter().enumerate() {
            match at {
                0 => self.raw(&format!("<p class=\"verdict{class}\">{}</p>\n", escaped(sentence))),
                _ => self.element("p", sentence),
            }
        }
    }

    /// The answer's first sentence; the others stand behind the first picture, as far as they are not folded
    /// away.
    pub(super) fn answer_then_picture(&mut self, status: AnswerStatus, sentences: &[String]) {
        let (first, more) = sentences.split_at(sentences.len().min(1));
        self.answer(status, first);
        self.hold(|page| {
            if !more.is_empty() {
                page.heading(1, "What else was found");
            }
            page.list_open(more, SENTENCES, "more sentence");
        });
    }

    /// A list.
    pub(super) fn list(&mut self, entries: &[String]) {
        if !entries.is_empty() {
            let items: String = entries.iter().map(|text| format!("<li>{}</li>\n", escaped(text))).collect();
            self.raw(&format!("<ul>\n{items}</ul>\n"));
        }
    }

    /// A list whose first entries are open; the others, called `more`, are folded away.
    pub(super) fn list_open(&mut self, entries: &[String], most: usize, more: &str) {
        let (open, folded) = entries.split_at(entries.len().min(most));
        self.list(open);
        if !folded.is_empty() {
            self.folded(&counted(folded.len(), more), |page| page.list(folded));
        }
    }

    /// What is for those who want it: folded away behind its name.
    pub(super) fn folded(&mut self, name: &str, draw: impl FnOnce(&mut Self)) {
        // A picture that is folded away is not the first that a reader sees.
        let held = std::mem::take(&mut self.held);
        self.raw(&format!("<details>\n<summary>{}</summary>\n", escaped(name)));
        draw(self);
        self.raw("</details>\n");
        self.held = held;
    }

    /// A table, folded away.
    pub(super) fn folded_table(
        &mut self,
        caption: &str,
        header: &[&str],
        rows: impl Iterator<Item = Vec<String>>,
    ) {
        self.folded(caption, |page| page.table(caption, header, rows));
    }

    /// The first rows of a table, folded away, and how many more there are.
    pub(super) fn folded_first_rows(
        &mut self,
        caption: &str,
        header: &[&str],
        rows: impl ExactSizeIterator<Item = Vec<String>>,
    ) {
        self.folded(caption, |page| {
            let left_out = rows.len().saturating_sub(ROWS);
            page.table(caption, header, rows.take(ROWS));
            if left_out > 0 {
                let rows = counted(left_out, "more row");
                page.element("p", &format!("Not on this page: {rows}, in the JSON."));
            }
        });
    }

    /// A table: the caption, the header, and rows; columns whose header ends in a space are numbers, and the
    /// first cell of a row is its heading.
    pub(super) fn table(&mut self, caption: &str, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let is_number = |at: usize| header.get(at).is_some_and(|name| name.ends_with(' '));
        let head: Vec<String> = header
            .iter()
            .enumerate()
            .map(|(at, name)| {
                format!("<th scope=\"col\"{}>{}</th>", class(is_number(at)), escaped(name.trim_end()))
            })
            .collect();

        self.scrolled(caption, "", &head.concat(), |html| {
            for row in rows {
                html.push_str("<tr>");
                for (at, cell) in row.iter().enumerate() {
                    match (at, cell.chars().count() > 60) {
                        (0, _) => html.push_str(&format!("<th scope=\"row\">{}</th>", escaped(cell))),
                        (_, true) => html.push_str(&format!("<td class=\"long\">{}</td>", escaped(cell))),
                        _ => html.push_str(&format!("<td{}>{}</td>", class(is_number(at)), escaped(cell))),
                    }
                }
                html.push_str("</tr>\n");
            }
        });
    }

    /// A table in a region of its own that scrolls, from its parts.
    pub(super) fn scrolled(
        &mut self,
        caption: &str,
        class: &str,
        head: &str,
        rows: impl FnOnce(&mut String),
    ) {
        let label = escaped(caption);
        self.raw(&format!(
            "<div class=\"scroll\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\">\n<table{class}>\n\
             <caption>{label}</caption>\n\
             <thead><tr>{head}</tr></thead>\n<tbody>\n"
        ));
        rows(&mut self.html);
        self.raw("</tbody>\n</table>\n</div>\n");
    }

    /// A picture of rows, and in words all that stands in them.
    pub(super) fn rows(&mut self, title: &str, rows: &Rows) {
        self.picture(title, &rows.described(usize::MAX), |wide| rows.drawn(wide));
    }

    /// A picture with its title, what it says for those who cannot see it, and how it is drawn at a width.
    pub(super) fn picture(&mut self, title: &str, description: &str, draw: impl Fn(f64) -> Picture) {
        if let Some(kept) = &mut self.kept {
            kept.push((title.to_owned(), draw(WIDE).file(title)));
        }
        let (title, description) = (escaped(title), escaped(description));
        self.raw(&format!("<figure>\n<figcaption>{title}</figcaption>\n"));

        for (class, picture) in [("wide", draw(WIDE)), ("narrow\" hidden=\"hidden", draw(NARROW))] {
            self.raw(&format!(
                "<svg class=\"{class}\" viewBox=\"0 0 {0:.0} {1:.0}\" width=\"{0:.0}\" height=\"{1:.0}\" \
                 role=\"img\" aria-label=\"{title}: {description}\" fill=\"currentColor\" \
                 font-size=\"{TEXT}\" font-family=\"sans-serif\">\n{2}</svg>\n",
                picture.width,
                picture.height,
                picture.body()
            ));
        }

        self.raw("</figure>\n");
        self.release();
    }
}

/// What is said of devices that are not real.
pub(super) fn simulated(why: &str) -> String {
    format!("The devices are simulated: {why}. The figures say nothing about real hardware.")
}

fn class(is_number: bool) -> &'static str {
    if is_number { " class=\"n\"" } else { "" }
}
