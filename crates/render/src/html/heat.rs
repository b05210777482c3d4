//! Figures in rows and columns, in the colours of one scale: as a table with its values, or, of very many, as
//! a picture.

use std::collections::BTreeMap;

use super::write::HtmlPage;
use crate::charts::colours::{of_part, text_on};
use crate::digits;
use stats::interval::range;
use stats::units::{range as range_of, rate_range};
use svg::escaped;
use svg::text_metrics::width;
use svg::{Anchor, Picture};

/// What stands in a place.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    /// Nothing was to be measured.
    Empty,
    /// There is no figure, and why.
    None(String),
    Figure {
        value: f64,
        half_width: Option<f64>,
        said: String,
        is_near: bool,
        is_own: bool,
    },
}

/// Figures in rows and columns.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Whether figures are nanoseconds, of which less is better, and not bytes/s.
    pub(super) is_time: bool,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<(String, Vec<Cell>)>,
}

/// More columns than this have numbers of three digits in small, and no words above.
const CROWDED: usize = 10;
/// The parts of the best whose colours are explained.
const PARTS: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// So many colours a picture without numbers has.
const LEVELS: usize = 24;

/// A cell in the colour of its part of the best, with what stands under the pointer.
pub(super) fn coloured(class: &str, part: f64, title: &str, text: &str) -> String {
    let (fill, ink) = (of_part(part), text_on(part));
    let (title, text) = (escaped(title), escaped(text));
    format!("<td{class} style=\"background-color:{fill};color:{ink}\" title=\"{title}\">{text}</td>")
}

impl Table {
    fn figures(&self) -> impl Iterator<Item = f64> {
        self.rows.iter().flat_map(|(_, cells)| cells).filter_map(|cell| match cell {
            Cell::Figure { value, is_own: false, .. } => Some(*value),
            _ => None,
        })
    }

    /// Whether frames tell cells apart: where all memory is near, or none, they say nothing.
    fn has_frames(&self) -> bool {
        let is = |wanted: bool| {
            let mut cells = self.rows.iter().flat_map(|(_, cells)| cells);
            cells.any(|cell| matches!(cell, Cell::Figure { is_near, .. } if *is_near == wanted))
        };
        is(true) && is(false)
    }

    /// Decimals by the place of a figure's first digit: those of the least certain figure of about that size,
    /// so that figures side by side have as many digits.
    fn decimals(&self) -> BTreeMap<i32, usize> {
        let mut decimals = BTreeMap::new();
        for (_, cells) in &self.rows {
            for cell in cells {
                let Cell::Figure { value, half_width, .. } = cell else { continue };
                let (place, own) = self.own_decimals(*value, *half_width);
                decimals.entry(place).and_modify(|least: &mut usize| *least = own.min(*least)).or_insert(own);
            }
        }
        decimals
    }

    fn own_decimals(&self, value: f64, half_width: Option<f64>) -> (i32, usize) {
        let scale = if self.is_time { 1.0 } else { 1e9 };
        let half_width = half_width.filter(|_| self.columns.len() <= CROWDED);
        digits::place_and_decimals(value / scale, half_width.map(|half| half / scale))
    }

    /// Whether there is a figure.
    pub(super) fn has_figures(&self) -> bool {
        self.figures().next().is_some()
    }

    /// The best of all: what the scale ends at. A GPU's own memory is no measure of pairs.
    fn best(&self) -> f64 {
        match self.is_time {
            true => self.figures().fold(f64::MAX, f64::min),
            false => self.figures().fold(0.0, f64::max),
        }
    }

    fn part(&self, value: f64) -> f64 {
        if self.is_time { self.best() / value } else { value / self.best() }
    }

    fn number(&self, value: f64, half_width: Option<f64>, decimals: &BTreeMap<i32, usize>) -> String {
        let scale = if self.is_time { 1.0 } else { 1e9 };
        let (place, own) = self.own_decimals(value, half_width);
        let decimals = decimals.get(&place).copied().unwrap_or(own);
        if value.is_finite() && value != 0.0 {
            format!("{:.decimals$}", value / scale)
        } else {
            digits::shown(value, None)
        }
    }

    fn with_unit(&self, value: f64) -> String {
        let scale = if self.is_time { 1.0 } else { 1e9 };
        format!("{} {}", digits::shown(value / scale, None), if self.is_time { "ns" } else { "GB/s" })
    }

    /// The table with its values.
    pub(super) fn written(&self, title: &str, page: &mut HtmlPage) {
        // Among many the number says which GPU.
        let short =
            |name: &String| name.strip_prefix("to ").unwrap_or(name).strip_prefix("GPU ").map(str::to_owned);
        let numbers: Option<Vec<String>> = self.columns.iter().map(short).collect();
        let (corner, names) = match numbers.filter(|_| self.columns.len() > CROWDED) {
            Some(numbers) => ("GPU", numbers),
            None => ("", self.columns.clone()),
        };
        let names = names.iter().map(|name| format!("<th scope=\"col\">{}</th>", escaped(name)));
        let head: String = std::iter::once(format!("<td>{corner}</td>")).chain(names).collect();
        let class = if self.columns.len() > CROWDED { " class=\"heat dense\"" } else { " class=\"heat\"" };
        let decimals = self.decimals();
        page.scrolled(title, class, &head, |html| {
            for (name, cells) in &self.rows {
                html.push_str(&format!("<tr><th scope=\"row\">{}</th>", escaped(name)));
                for cell in cells {
                    html.push_str(&self.cell(cell, &decimals));
                }
                html.push_str("</tr>\n");
            }
        });
        self.key(page);
        page.release();
    }

    fn cell(&self, cell: &Cell, decimals: &BTreeMap<i32, usize>) -> String {
        match cell {
            Cell::Empty => "<td></td>".to_owned(),
            Cell::None(why) => format!("<td title=\"{}\">–</td>", escaped(why)),
            Cell::Figure { value, half_width, said, is_own: true, .. } => {
                format!("<td title=\"{}\">{}</td>", escaped(said), self.number(*value, *half_width, decimals))
            }
            Cell::Figure { value, half_width, said, is_near, .. } => {
                let class = if *is_near && self.has_frames() { " class=\"near\"" } else { "" };
                coloured(class, self.part(*value), said, &self.number(*value, *half_width, decimals))
            }
        }
    }

    fn key(&self, page: &mut HtmlPage) {
        let words = match self.is_time {
            true => ["4 times the shortest", "twice", "1.33 times", "the shortest"],
            false => ["a quarter of the best", "half", "three quarters", "the best"],
        };
        let mut html: String = PARTS
            .iter()
            .zip(words)
            .map(|(part, word)| format!("<span style=\"background-color:{}\"></span>{word}", of_part(*part)))
            .collect();
        if self.has_frames() {
            html.push_str(". Framed: the memory that the platform declares near");
        }
        page.raw(&format!("<p class=\"key\">{html}</p>\n"));
    }

    /// The range of the figures, for those who cannot see them.
    pub(super) fn described(&self) -> String {
        let (low, high) = range(self.figures()).unwrap_or_default();
        self.range(low, high)
    }

    fn range(&self, low: f64, high: f64) -> String {
        if self.is_time { format!("{} ns", range_of(low, high)) } else { rate_range(low, high) }
    }

    /// Without numbers: a square a cell, those of about the same figure together, each with the range under
    /// the pointer.
    pub(super) fn drawn(&self, wide: f64) -> Picture {
        let mut picture = Picture::new(wide);
        let names = self.rows.iter().map(|(name, _)| width(name)).fold(0.0, f64::max).min(wide * 0.25);
        let left = names + 10.0;
        let side = ((wide - left) / self.columns.len() as f64).min(24.0);
        let top = 20.0;
        let mut levels: BTreeMap<usize, (String, f64, f64)> = BTreeMap::new();

        for (down, (_, cells)) in self.rows.iter().enumerate() {
            for (across, cell) in cells.iter().enumerate() {
                let Cell::Figure { value, is_own: false, .. } = cell else { continue };
                let level = (self.part(*value).clamp(0.0, 1.0) * (LEVELS - 1) as f64).round() as usize;
                let (d, low, high) = levels.entry(level).or_insert((String::new(), *value, *value));
                let (x, y) = (left + side * across as f64, top + side * down as f64);
                d.push_str(&format!("M{x:.1} {y:.1}h{side:.1}v{side:.1}h-{side:.1}z"));
                (*low, *high) = (low.min(*value), high.max(*value));
            }
        }

        for (level, (d, low, high)) in levels {
            let value = self.range(low, high);
            picture.form(&d, &format!("fill=\"{}\"", of_part(level as f64 / (LEVELS - 1) as f64)), &value);
        }

        let every = (14.0 / side).ceil().max(1.0) as usize;
        for (down, (name, _)) in self.rows.iter().enumerate().step_by(every) {
            let name = svg::text_metrics::cut(name, names);
            picture.text(left - 6.0, top + side * (down as f64 + 0.5) + 4.0, Anchor::End, &name);
        }

        let ends = [self.columns.first(), self.columns.last()].map(|name| name.cloned().unwrap_or_default());
        picture.text(left, 14.0, Anchor::Start, &format!("columns: {} to {}", ends[0], ends[1]));
        let bottom = top + side * self.rows.len() as f64;
        let mut x = left;

        for part in PARTS {
            let value = if self.is_time { self.best() / part } else { self.best() * part };
            picture.rect((x, bottom + 10.0), (18.0, 12.0), &format!("fill=\"{}\"", of_part(part)), "");
            let said = self.with_unit(value);
            picture.text(x + 22.0, bottom + 20.0, Anchor::Start, &said);
            x += 32.0 + width(&said);
        }

        picture.height = bottom + 30.0;
        picture
    }
}
