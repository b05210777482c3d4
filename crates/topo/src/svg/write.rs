//! The rectangles as SVG 1.1: a group a box, with its tooltip, its outline and its words, then the boxes in it.
//!
//! Text is text, so that a reader can search and copy it. No script, no style sheet and nothing from elsewhere: what wikis and
//! mail programs let through. Plain writes: an SVG library would bring a type for each element and no check that this needs.

use std::fmt::Write;

use super::block::{Anchor, Drawn, Text};
use super::look::{PATTERNS, Paint, wire_paint};

/// The document; `title` is its name for those who do not see it.
pub(super) fn document(sheet: &Drawn, title: &str) -> String {
    let (width, height) = (sheet.rect.width, sheet.rect.height);
    let mut svg = String::new();
    svg.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a String cannot fail.
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" role=\"img\">\n<title>{}</title>\n<defs>{PATTERNS}</defs>",
        escaped(title)
    );
    group(&mut svg, sheet);
    svg.push_str("</svg>\n");
    svg
}

fn group(svg: &mut String, drawn: &Drawn) {
    let paint = drawn.look.paint();
    svg.push_str("<g>");
    if !drawn.tooltip.is_empty() {
        let _ = write!(svg, "<title>{}</title>", escaped(&drawn.tooltip));
    }
    rect(svg, drawn, &paint, paint.fill, paint.stroke);
    if !paint.pattern.is_empty() {
        rect(svg, drawn, &paint, &format!("url(#{})", paint.pattern), "");
    }
    if drawn.look.crossed_out() {
        let (left, top) = (drawn.rect.x, drawn.rect.y);
        let (right, bottom) = (left + drawn.rect.width, top + drawn.rect.height);
        let _ = write!(svg, "<path d=\"M{left},{bottom} L{right},{top}\" stroke=\"{}\"/>", paint.stroke);
    }
    for wire in &drawn.wires {
        let ((x1, y1), (x2, y2)) = (wire.from, wire.to);
        let _ = write!(svg, "<path d=\"M{x1},{y1} L{x2},{y2}\" {}/>", wire_paint(wire.weight));
    }
    for text in &drawn.texts {
        words(svg, text, &paint);
    }
    for part in &drawn.inside {
        svg.push('\n');
        group(svg, part);
    }
    svg.push_str("</g>");
}

fn rect(svg: &mut String, drawn: &Drawn, paint: &Paint, fill: &str, stroke: &str) {
    let rect = drawn.rect;
    let _ = write!(
        svg,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"",
        rect.x, rect.y, rect.width, rect.height
    );
    if paint.radius > 0 {
        let _ = write!(svg, " rx=\"{}\"", paint.radius);
    }
    if !stroke.is_empty() {
        let _ = write!(svg, " stroke=\"{stroke}\" stroke-width=\"{}\"", paint.stroke_width);
        if paint.dashed {
            svg.push_str(" stroke-dasharray=\"4 3\"");
        }
    }
    svg.push_str("/>");
}

fn words(svg: &mut String, text: &Text, paint: &Paint) {
    if text.words.is_empty() {
        return;
    }
    let _ = write!(svg, "<text x=\"{}\" y=\"{}\" font-size=\"{}\"", text.x, text.y, text.font.size);
    if text.font.bold {
        svg.push_str(" font-weight=\"bold\"");
    }
    match text.anchor {
        Anchor::Start => {}
        Anchor::Middle => svg.push_str(" text-anchor=\"middle\""),
        Anchor::End => svg.push_str(" text-anchor=\"end\""),
    }
    let _ = write!(svg, " fill=\"{}\">{}</text>", paint.text, escaped(&text.words));
}

/// Text as the content of an element; characters that no XML may hold are dropped.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\n' => escaped.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_machine_cannot_become_markup() {
        assert_eq!(escaped("<script>&\u{1b}[1m\u{ffff}é\n"), "&lt;script&gt;&amp;[1mé\n");
    }
}
