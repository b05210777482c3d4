//! The rectangles as SVG, by the writer that the report has too: a group a box, with its tooltip, its outline
//! and its words, then the boxes in it.
//!
//! Text is text, so that a reader can search and copy it. No script, no style sheet and nothing from
//! elsewhere: what wikis and mail programs let through.

use ::svg::{Picture, Stroke};

use super::block::{Drawn, Text};
use super::look::{PATTERNS, Paint, wire_paint};

/// The document; `title` is its name for those who do not see it.
pub(super) fn document(sheet: &Drawn, title: &str) -> String {
    let mut picture = Picture::new(f64::from(sheet.rect.width));
    picture.height = f64::from(sheet.rect.height);
    group(&mut picture, sheet);
    picture.file_with(title, &format!("<defs>{PATTERNS}</defs>"))
}

fn group(picture: &mut Picture, drawn: &Drawn) {
    let paint = drawn.look.paint();
    picture.begin_group(&drawn.tooltip);
    rect(picture, drawn, &paint, paint.fill, paint.stroke);
    if !paint.pattern.is_empty() {
        rect(picture, drawn, &paint, &format!("url(#{})", paint.pattern), "");
    }
    let at = |(x, y): (i32, i32)| (f64::from(x), f64::from(y));

    if drawn.look.crossed_out() {
        let (left, top) = (drawn.rect.x, drawn.rect.y);
        let (right, bottom) = (left + drawn.rect.width, top + drawn.rect.height);
        picture.line(at((left, bottom)), at((right, top)), &Stroke::of(paint.stroke, 1.0));
    }

    for wire in &drawn.wires {
        let ((x1, y1), (x2, y2)) = (wire.from, wire.to);
        picture.form(&format!("M{x1} {y1}L{x2} {y2}"), wire_paint(wire.weight), "");
    }

    for Text { x, y, anchor, font, words } in drawn.texts.iter().filter(|text| !text.words.is_empty()) {
        picture.text_in(at((*x, *y)), *anchor, (f64::from(font.size), font.bold), paint.text, words);
    }
    drawn.inside.iter().for_each(|part| group(picture, part));
    picture.end_group();
}

fn rect(picture: &mut Picture, drawn: &Drawn, paint: &Paint, fill: &str, stroke: &str) {
    let rect = drawn.rect;
    let radius = if paint.radius > 0 { format!(" rx=\"{}\"", paint.radius) } else { String::new() };
    let dashes = if paint.dashed { " stroke-dasharray=\"4 3\"" } else { "" };
    let outline = match stroke {
        "" => String::new(),
        stroke => format!(" stroke=\"{stroke}\" stroke-width=\"{}\"{dashes}", paint.stroke_width),
    };
    let (place, size) =
        ((f64::from(rect.x), f64::from(rect.y)), (f64::from(rect.width), f64::from(rect.height)));
    picture.rect(place, size, &format!("fill=\"{fill}\"{radius}{outline}"), "");
}
