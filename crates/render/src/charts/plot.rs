//! Values over values: series with the band of their intervals, their dots with the value under the pointer,
//! fitted lines, lines that are compared with, axes with titles and a legend.

use super::scale::{AxisUnit, Scale};
use stats::interval::range;
use svg::text_metrics::width;
use svg::{Anchor, GUIDE, MARK, Picture, Stroke};

/// An axis: what it says and how it is laid out.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// With the unit: `GB/s`.
    pub(crate) title: String,
    pub(crate) unit: AxisUnit,
    pub(crate) log: bool,
}

/// A point with its interval.
#[derive(Clone, Debug)]
pub(crate) struct PlotPoint {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) interval: Option<(f64, f64)>,
    /// What is under the pointer.
    pub(crate) value: String,
    /// Drawn as a dip.
    pub(crate) marked: bool,
}

/// A series.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) colour: &'static str,
    pub(crate) points: Vec<PlotPoint>,
    /// A fitted line, drawn dashed.
    pub(crate) fit: Vec<(f64, f64)>,
}

/// A level or curve that series are compared with.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    pub(crate) references: Vec<Reference>,
    /// The range of `y` where several plots have one scale; else that of the figures.
    pub(crate) range: Option<(f64, f64)>,
}

impl Plot {
    /// The plot of this width.
    pub(crate) fn drawn(&self, wide: f64) -> Picture {
        let mut picture = Picture::new(wide);
        let (low_x, high_x) = self.extent(|point| [point.x, point.x], |(x, _)| *x);
        let (low_y, high_y) = self.range.unwrap_or_else(|| {
            self.extent(
                |point| {
                    point
                        .interval
                        .map_or([point.y, point.y], |(low, high)| [low.min(point.y), high.max(point.y)])
                },
                |(_, y)| *y,
            )
        });

        let entries: Vec<(String, Stroke<'_>)> = self
            .series
            .iter()
            .map(|series| (series.name.clone(), Stroke::of(series.colour, 3.0)))
            .chain(self.references.iter().map(|reference| (reference.name.clone(), MARK)))
            .collect();
        let top = picture.legend(4.0, 16.0, &entries) + 12.0;
        let tall = (wide * 0.45).clamp(200.0, 320.0);
        let bottom = top + 16.0 + tall;
        let axis = |axis: &Axis, low: f64, high: f64, from: f64, to: f64| match axis.log {
            true => Scale::log(low * 0.9, high * 1.1, from, to),
            false => Scale::linear(if low > 0.0 { 0.0 } else { low }, high * 1.06, from, to),
        };
        let y = axis(&self.y, low_y, high_y, bottom, top + 16.0);
        let y_marks = y.marks(self.y.unit, 8);
        let left = y_marks.iter().map(|(_, said)| width(said)).fold(0.0, f64::max) + 14.0;
        let right = wide - 14.0;
        let x = match self.x.log {
            true => Scale::log(low_x, high_x, left + 8.0, right - 8.0),
            false => axis(&self.x, low_x, high_x, left + 8.0, right - 8.0),
        };
        picture.text(4.0, top + 2.0, Anchor::Start, &self.y.title);

        for (value, said) in &y_marks {
            let at = y.at(*value);
            picture.line((left, at), (right, at), &GUIDE);
            picture.text(left - 6.0, at + 4.0, Anchor::End, said);
        }

        let about = ((right - left) / 72.0) as usize;
        x.labels(&mut picture, bottom + 20.0, x.marks(self.x.unit, about.clamp(2, 10)), |picture, at| {
            picture.line((at, bottom), (at, bottom + 5.0), &Stroke { opacity: 0.6, ..GUIDE });
        });
        picture.line((left, bottom), (right, bottom), &Stroke { opacity: 0.6, ..GUIDE });
        picture.text((left + right) / 2.0, bottom + 40.0, Anchor::Middle, &self.x.title);
        let at = |(px, py): (f64, f64)| (x.at(px), y.at(py));
        for series in &self.series {
            series.drawn(&mut picture, &at);
        }
        for reference in &self.references {
            picture.path(&reference.points.iter().copied().map(at).collect::<Vec<_>>(), &MARK);
        }
        picture.height = bottom + 50.0;
        picture
    }

    /// The least and the largest of all that is drawn.
    fn extent(
        &self,
        of: impl Fn(&PlotPoint) -> [f64; 2],
        of_line: impl Fn(&(f64, f64)) -> f64,
    ) -> (f64, f64) {
        let points = self.series.iter().flat_map(|series| &series.points).flat_map(of);
        let lines = self.references.iter().flat_map(|reference| &reference.points).map(of_line);
        range(points.chain(lines).filter(|value| value.is_finite())).unwrap_or((0.0, 1.0))
    }
}

impl Series {
    fn drawn(&self, picture: &mut Picture, at: &impl Fn((f64, f64)) -> (f64, f64)) {
        let known = || self.points.iter().filter_map(|point| Some((point.x, point.interval?)));
        let mut band: Vec<(f64, f64)> = known().map(|(x, (low, _))| at((x, low))).collect();
        let upper: Vec<(f64, f64)> = known().map(|(x, (_, high))| at((x, high))).collect();
        band.extend(upper.into_iter().rev());
        picture.area(&band, self.colour, 0.25);
        let line: Vec<(f64, f64)> = self.points.iter().map(|point| at((point.x, point.y))).collect();

        // Where a line is fitted the figures are dots beside it.
        if self.fit.is_empty() {
            picture.path(&line, &Stroke::of(self.colour, 1.8));
        }
        let fit: Vec<(f64, f64)> = self.fit.iter().copied().map(at).collect();
        picture.path(&fit, &Stroke { dashed: true, ..Stroke::of(self.colour, 1.8) });

        for (point, (x, y)) in self.points.iter().zip(&line) {
            let paint = format!("fill=\"{}\"", self.colour);
            if let Some((low, high)) = point.interval {
                let (low, high) = (at((point.x, low)), at((point.x, high)));
                picture.line(low, high, &Stroke { opacity: 0.5, ..Stroke::of(self.colour, 2.0) });
            }
            match point.marked {
                true => {
                    let d = format!("M{x:.1} {:.1}l7 -12h-14z", y + 4.0);
                    picture.form(&d, &format!("{paint} stroke=\"currentColor\""), &point.value);
                }
                false => picture.dot((*x, *y), 3.6, &paint, &point.value),
            }
        }
    }
}
