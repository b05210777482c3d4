//! SVG elements as text. What a mark stands for is its `<title>`, which browsers show under the pointer and
//! screen readers say.

use std::fmt::Write;

use crate::escaped;
use crate::text_metrics::{self, TEXT, width};

/// A picture that is laid out: its size and its elements.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// px.
    pub width: f64,
    /// px.
    pub height: f64,
    body: String,
}

/// Where a text's x is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Where it begins.
    Start,
    /// In its middle.
    Middle,
    /// Where it ends.
    End,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Stroke<'c> {
    /// A colour of SVG; `currentColor` is the reader's.
    pub colour: &'c str,
    /// px.
    pub width: f64,
    /// 0 to 1.
    pub opacity: f64,
    /// Whether it is dashed.
    pub dashed: bool,
}

/// A line across the picture that helps to read it.
pub const GUIDE: Stroke<'static> =
    Stroke { colour: "currentColor", width: 1.0, opacity: 0.18, dashed: false };
/// A line that means something and is no series.
pub const MARK: Stroke<'static> = Stroke { colour: "currentColor", width: 1.4, opacity: 0.8, dashed: true };

impl<'c> Stroke<'c> {
    /// A series' line.
    pub fn of(colour: &'c str, width: f64) -> Self {
        Self { colour, width, opacity: 1.0, dashed: false }
    }

    fn attributes(&self) -> String {
        let dashes = if self.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let opacity =
            if self.opacity < 1.0 { format!(" stroke-opacity=\"{}\"", self.opacity) } else { String::new() };
        format!("fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{opacity}{dashes}", self.colour, self.width)
    }
}

impl Picture {
    /// An empty picture of this width; its height grows with what is drawn by whoever draws.
    pub fn new(width: f64) -> Self {
        Self { width, ..Self::default() }
    }

    /// What is drawn so far.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Text with its baseline at `y`.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.text_of("", x, y, anchor, text);
    }

    /// Text of a colour of its own: on a coloured cell.
    pub fn text_on(&mut self, x: f64, y: f64, anchor: Anchor, colour: &str, text: &str) {
        self.text_of(&format!(" fill=\"{colour}\""), x, y, anchor, text);
    }

    /// Text of a font of its own: its size, px, and whether it is bold.
    pub fn text_in(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        (size, bold): (f64, bool),
        colour: &str,
        text: &str,
    ) {
        let weight = if bold { " font-weight=\"bold\"" } else { "" };
        self.text_of(&format!(" font-size=\"{size}\"{weight} fill=\"{colour}\""), x, y, anchor, text);
    }

    /// Begins a group of elements with what stands under the pointer over all of them; lines of it stay
    /// lines.
    pub fn begin_group(&mut self, value: &str) {
        self.body.push_str("<g>");
        if !value.is_empty() {
            let lines: Vec<String> = value.split('\n').map(escaped).collect();
            let _ = write!(self.body, "<title>{}</title>", lines.join("\n"));
        }
        self.body.push('\n');
    }

    /// Ends the group that began last.
    pub fn end_group(&mut self) {
        self.body.push_str("</g>\n");
    }

    fn text_of(&mut self, attributes: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\"{anchor}{attributes}>{}</text>",
            escaped(text)
        );
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &Stroke<'_>) {
        let ((x1, y1), (x2, y2), stroke) = (from, to, stroke.attributes());
        let _ = writeln!(self.body, "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" {stroke}/>");
    }

    /// A line through points.
    pub fn path(&mut self, points: &[(f64, f64)], stroke: &Stroke<'_>) {
        if points.len() > 1 {
            let _ = writeln!(self.body, "<path d=\"{}\" {}/>", through(points), stroke.attributes());
        }
    }

    /// The area between points.
    pub fn area(&mut self, points: &[(f64, f64)], colour: &str, opacity: f64) {
        if points.len() > 2 {
            let _ = writeln!(
                self.body,
                "<path d=\"{}Z\" fill=\"{colour}\" fill-opacity=\"{opacity}\"/>",
                through(points)
            );
        }
    }

    /// A filled rectangle; its value is under the pointer where there is one.
    pub fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), paint: &str, value: &str) {
        let _ = write!(
            self.body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" {paint}",
            width.max(0.0),
            height.max(0.0)
        );
        self.closed("rect", value);
    }

    /// A dot with its value under the pointer.
    pub fn dot(&mut self, (x, y): (f64, f64), radius: f64, paint: &str, value: &str) {
        let _ = write!(self.body, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" {paint}");
        self.closed("circle", value);
    }

    /// A path of any form with its value under the pointer.
    pub fn form(&mut self, d: &str, paint: &str, value: &str) {
        let _ = write!(self.body, "<path d=\"{d}\" {paint}");
        self.closed("path", value);
    }

    fn closed(&mut self, element: &str, value: &str) {
        let _ = match value {
            "" => writeln!(self.body, "/>"),
            value => writeln!(self.body, "><title>{}</title></{element}>", escaped(value)),
        };
    }

    /// Names with their lines, as many side by side as fit, from `y` on; where they end.
    pub fn legend(&mut self, x: f64, y: f64, entries: &[(String, Stroke<'_>)]) -> f64 {
        let (mut left, mut top) = (x, y);
        for (name, stroke) in entries {
            let name = text_metrics::cut(name, self.width - x - 40.0);
            let wide = 34.0 + width(&name);
            if left > x && left + wide > self.width - 4.0 {
                (left, top) = (x, top + 18.0);
            }
            self.line((left, top - 4.0), (left + 22.0, top - 4.0), stroke);
            self.text(left + 28.0, top, Anchor::Start, &name);
            left += wide + 16.0;
        }
        if entries.is_empty() { y } else { top + 18.0 }
    }

    /// As a file of its own that is readable on black and on white: elements without a colour take the
    /// reader's.
    pub fn file(&self, title: &str) -> String {
        let style = "<style>svg{color:#1a1a1a;background:#fff}\
            @media(prefers-color-scheme:dark){svg{color:#e8e8e8;background:#16181b}}</style>";
        self.file_with(title, style)
    }

    /// As a file of its own with these definitions; its elements have their colours themselves.
    pub fn file_with(&self, title: &str, definitions: &str) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0} {1:.0}\" width=\"{0:.0}\" \
             height=\"{1:.0}\" role=\"img\" fill=\"currentColor\" font-size=\"{TEXT}\" \
             font-family=\"sans-serif\">\n<title>{2}</title>\n{definitions}\n{3}</svg>\n",
            self.width,
            self.height,
            escaped(title),
            self.body
        )
    }
}

fn through(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let _ = write!(d, "{}{x:.1} {y:.1}", if at == 0 { "M" } else { "L" });
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_has_its_value_under_the_pointer_and_no_text_becomes_markup() {
        let mut picture = Picture::new(100.0);
        picture.dot((1.0, 2.0), 3.0, "fill=\"#000\"", "H2D <24> GB/s");
        picture.text(0.0, 0.0, Anchor::End, "<script>");
        let text = picture.file("a & b");
        assert!(text.contains("r=\"3\" fill=\"#000\"><title>H2D &lt;24&gt; GB/s</title></circle>"), "{text}");
        assert!(
            text.contains("&lt;script&gt;")
                && text.contains("<title>a &amp; b</title>")
                && !text.contains("<script")
        );
    }

    #[test]
    fn a_legend_goes_on_below_where_its_line_is_full() {
        let mut picture = Picture::new(200.0);
        let entries: Vec<_> = (0..4).map(|at| (format!("series {at}"), MARK)).collect();
        assert_eq!(picture.legend(0.0, 20.0, &entries), 20.0 + 18.0 * 2.0);
    }
}
