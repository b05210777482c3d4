//! Elements, written one after the other: all text goes through [`escaped`], so that nothing a document says becomes markup.

use crate::xml::escaped;

/// The page so far.
#[derive(Default)]
pub(super) struct Page {
    html: String,
    /// The level of the headings of the present run: 2 or 3.
    pub(super) level: u8,
    /// How many pictures there are: each has an id of its own.
    pictures: usize,
}

impl Page {
    pub(super) fn text(self) -> String {
        self.html
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

    /// An element with text.
    pub(super) fn element(&mut self, name: &str, text: &str) {
        self.raw(&format!("<{name}>{}</{name}>\n", escaped(text)));
    }

    /// A table: the caption, the header, and rows; columns whose header ends in a space are numbers, and the first cell of a row is its heading.
    pub(super) fn table(&mut self, caption: &str, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let class =
            |at: usize| if header.get(at).is_some_and(|name| name.ends_with(' ')) { " class=\"n\"" } else { "" };
        let cells: Vec<String> = header
            .iter()
            .enumerate()
            .map(|(at, name)| format!("<th scope=\"col\"{}>{}</th>", class(at), escaped(name.trim_end())))
            .collect();
        let label = escaped(caption);
        let mut html = format!(
            "<div class=\"scroll\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\">\n<table>\n<caption>{label}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n",
            cells.concat()
        );
        for row in rows {
            html.push_str("<tr>");
            for (at, cell) in row.iter().enumerate() {
                let long = if cell.chars().count() > 60 { " class=\"long\"" } else { class(at) };
                match at {
                    0 => html.push_str(&format!("<th scope=\"row\">{}</th>", escaped(cell))),
                    _ => html.push_str(&format!("<td{long}>{}</td>", escaped(cell))),
                }
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody>\n</table>\n</div>\n");
        self.raw(&html);
    }

    /// A picture of this size, with a title and a description for those who cannot see it; `body` is SVG.
    pub(super) fn picture(&mut self, title: &str, description: &str, width: f64, height: f64, body: &str) {
        self.pictures += 1;
        let id = self.pictures;
        let (title, description) = (escaped(title), escaped(description));
        self.raw(&format!(
            "<figure>\n<figcaption>{title}</figcaption>\n<div class=\"scroll\" role=\"region\" aria-label=\"{title}\" tabindex=\"0\">\n\
             <svg class=\"wide\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
             role=\"img\" aria-labelledby=\"t{id} d{id}\" fill=\"currentColor\" font-size=\"12\" font-family=\"sans-serif\">\n\
             <title id=\"t{id}\">{title}</title><desc id=\"d{id}\">{description}</desc>\n{body}</svg>\n</div>\n</figure>\n"
        ));
    }
}

/// Text in SVG, at its baseline's start, middle or end.
pub(super) fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n", escaped(text))
}

/// A line in SVG.
pub(super) fn line(from: (f64, f64), to: (f64, f64), attributes: &str) -> String {
    format!("<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" {attributes}/>\n", from.0, from.1, to.0, to.1)
}

/// The colours of series: told apart also by those who see few colours (Okabe and Ito 2008), mid-tones that stand out on black and on white.
pub(super) const COLOURS: [&str; 6] = ["#1f77c9", "#d55e00", "#0a9270", "#b8609a", "#a07800", "#5f7f8f"];
