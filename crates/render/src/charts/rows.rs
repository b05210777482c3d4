//! A line a name on one scale: bars from zero, intervals, dots; a zone that does not matter, and levels that
//! are compared with.

use super::scale::{AxisUnit, Scale};
use stats::interval::range;
use svg::text_metrics::{cut, cut_middle, width};
use svg::{Anchor, GUIDE, MARK, Picture, Stroke};

/// A mark of a row.
#[derive(Clone, Debug)]
pub(crate) enum Mark {
    /// From zero to a value.
    Bar(f64),
    /// A figure.
    Dot(f64),
    /// A figure that another is compared with, as a ring.
    Ring(f64),
    /// One of many.
    Speck(f64),
    /// An interval.
    Span(f64, f64),
}

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// What stands at its end.
    pub(crate) said: String,
    pub(crate) colour: &'static str,
    /// Each with what is under the pointer.
    pub(crate) marks: Vec<(Mark, String)>,
}

/// Rows on one scale.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    /// What the axis says, with its unit.
    pub(crate) title: String,
    pub(crate) rows: Vec<Row>,
    /// Levels, each with its name.
    pub(crate) levels: Vec<(f64, String)>,
    /// What does not matter.
    pub(crate) zone: Option<(f64, f64, String)>,
    /// Whether zero is on the scale whatever the figures are.
    pub(crate) from_zero: bool,
    /// Before a mark's number.
    pub(crate) signed: bool,
    /// The farthest that the scale goes from zero: marks beyond it stand at its end, and their numbers beside
    /// the row.
    pub(crate) most: Option<f64>,
}

/// From row to row, px.
const ROW: f64 = 24.0;
/// Names stand above their rows where there is less room than this, px.
const BESIDE: f64 = 520.0;

impl Rows {
    /// What stands in the first of them, for those who cannot see the picture.
    pub(crate) fn described(&self, most: usize) -> String {
        let said = self.rows.iter().take(most).map(|row| format!("{} {}", row.name, row.said));
        said.collect::<Vec<_>>().join("; ")
    }

    /// The rows at this width.
    pub(crate) fn drawn(&self, wide: f64) -> Picture {
        let mut picture = Picture::new(wide);
        let is_beside = wide >= BESIDE;
        let names = self.rows.iter().map(|row| width(&row.name)).fold(0.0, f64::max);
        let left = if is_beside { names.min(wide * 0.4) + 16.0 } else { 14.0 };
        let said = self.rows.iter().map(|row| width(&row.said)).fold(0.0, f64::max);
        let right = wide - if is_beside { said.min(wide * 0.3) + 16.0 } else { 14.0 };
        let row_height = if is_beside { ROW } else { ROW + 18.0 };
        let mut entries: Vec<(String, Stroke<'_>)> =
            self.levels.iter().map(|(_, name)| (name.clone(), MARK)).collect();
        let has = |wanted: fn(&Mark) -> bool| {
            self.rows.iter().flat_map(|row| &row.marks).any(|(mark, _)| wanted(mark))
        };

        if has(|mark| matches!(mark, Mark::Bar(_))) && has(|mark| matches!(mark, Mark::Span(..))) {
            entries.push((
                "median".to_owned(),
                Stroke { colour: "currentColor", width: 10.0, opacity: 0.5, dashed: false },
            ));
            entries.push((
                "95 % interval".to_owned(),
                Stroke { colour: "currentColor", width: 8.0, opacity: 0.25, dashed: false },
            ));
        }

        if let Some((.., name)) = &self.zone {
            entries.push((
                name.clone(),
                Stroke { colour: "currentColor", width: 10.0, opacity: 0.14, dashed: false },
            ));
        }

        let top = picture.legend(4.0, 14.0, &entries) - 6.0;
        let bottom = top + row_height * self.rows.len() as f64 + 6.0;
        let scale = self.scale(left, right);

        if let Some((low, high, _)) = &self.zone {
            let (low, high) = (scale.at(*low), scale.at(*high));
            let paint = "fill=\"currentColor\" fill-opacity=\"0.12\"";
            picture.rect((low, top), (high - low, bottom - top), paint, "");
        }

        let mut marks = scale.marks(AxisUnit::Number, (((right - left) / 60.0) as usize).clamp(2, 8));
        if self.signed {
            marks.iter_mut().filter(|(value, _)| *value > 0.0).for_each(|(_, said)| said.insert(0, '+'));
        }
        scale.labels(&mut picture, bottom + 16.0, marks, |picture, at| {
            picture.line((at, top), (at, bottom), &GUIDE)
        });
        picture.text((left + right) / 2.0, bottom + 36.0, Anchor::Middle, &self.title);

        for (at, row) in self.rows.iter().enumerate() {
            let line = top + row_height * at as f64 + if is_beside { 0.0 } else { 18.0 };
            let base = line + 16.0;
            if is_beside {
                picture.text(left - 10.0, base, Anchor::End, &cut_middle(&row.name, left - 14.0));
                picture.text(right + 10.0, base, Anchor::Start, &cut(&row.said, wide - right - 12.0));
            } else {
                let said = cut(&row.said, wide * 0.5);
                let room = wide - 18.0 - width(&said);
                picture.text(4.0, line - 2.0, Anchor::Start, &cut_middle(&row.name, room - 4.0));
                picture.text(wide - 4.0, line - 2.0, Anchor::End, &said);
            }
            row.drawn(&mut picture, scale, line + 12.0);
        }

        for (value, _) in &self.levels {
            picture.line((scale.at(*value), top), (scale.at(*value), bottom), &MARK);
        }
        picture.height = bottom + 46.0;
        picture
    }

    fn scale(&self, left: f64, right: f64) -> Scale {
        let values = self.rows.iter().flat_map(|row| &row.marks).flat_map(|(mark, _)| match *mark {
            Mark::Bar(value) => [0.0, value],
            Mark::Dot(value) | Mark::Ring(value) | Mark::Speck(value) => [value, value],
            Mark::Span(low, high) => [low, high],
        });
        let others = self.levels.iter().map(|(value, _)| *value);
        let zone = self.zone.iter().flat_map(|(low, high, _)| [*low, *high]);
        let all = values.chain(others).chain(zone).chain(self.from_zero.then_some(0.0));
        let within = |value: f64| self.most.map_or(value, |most| value.clamp(-most, most));
        let (low, high) = range(all.filter(|value| value.is_finite()).map(within)).unwrap_or((0.0, 1.0));
        let room = (high - low) * 0.04;
        Scale::linear(if low == 0.0 { 0.0 } else { low - room }, high + room, left, right)
    }
}

impl Row {
    fn drawn(&self, picture: &mut Picture, scale: Scale, middle: f64) {
        let fill = format!("fill=\"{}\"", self.colour);
        for (mark, value) in &self.marks {
            match *mark {
                Mark::Bar(to) => {
                    let (from, to) = (scale.at(0.0), scale.at(to));
                    picture.rect(
                        (from, middle - 7.0),
                        (to - from, 14.0),
                        &format!("{fill} fill-opacity=\"0.85\""),
                        value,
                    );
                }
                Mark::Span(low, high) => {
                    let (low, high) = (scale.at(low), scale.at(high));
                    let paint = format!("{fill} fill-opacity=\"0.45\"");
                    picture.rect((low, middle - 4.0), ((high - low).max(1.5), 8.0), &paint, value);
                }
                Mark::Dot(at) => picture.dot((scale.at(at), middle), 5.0, &fill, value),
                Mark::Ring(at) => {
                    let paint = format!(
                        "fill=\"none\" pointer-events=\"all\" stroke=\"{}\" stroke-width=\"2\"",
                        self.colour
                    );
                    picture.dot((scale.at(at), middle), 5.0, &paint, value);
                }
                Mark::Speck(at) => {
                    picture.dot((scale.at(at), middle), 3.0, &format!("{fill} fill-opacity=\"0.55\""), value);
                }
            }
        }
    }
}
