//! Latency against the traffic beside it: the curve of each matrix whose rows are traffic of more and more,
//! and what it says.
//!
//! The figures are the cases'; a curve puts them side by side, works out where the latency climbs and where
//! it is twice the idle one, and says so.

use report::Document;
use report::loaded_latency::{LoadedLatency, LoadedPoint, TwiceIdle};
use report::matrix::{Compares, Matrix, MatrixRow};
use stats::IdSet;
use stats::latency_curve::{CurvePoint, Twice, knee, twice_idle};

use crate::matrix_analysis::{CellFigure, MatrixFigures, Plane};
use crate::{headline, words};

/// The curves of a document's matrices.
pub fn loaded_latencies(document: &Document) -> Vec<LoadedLatency> {
    document.matrices.iter().filter_map(|matrix| curve(document, matrix)).collect()
}

/// A figure of one row: none was to be measured, or it could not be, and why.
pub type Found = Option<Result<CellFigure, String>>;

/// The figures of such a matrix.
#[derive(Clone, Debug)]
pub struct CurveFigures {
    /// The plane of latencies.
    pub time: Plane,
    /// The plane of traffic.
    pub rate: Plane,
    /// The latency and the traffic of each row.
    pub rows: Vec<(Found, Found)>,
}

/// The figures of a matrix of loaded latency; `None` of another one, and without any.
pub fn figures(document: &Document, matrix: &Matrix) -> Option<CurveFigures> {
    if matrix.compares != Compares::Loaded {
        return None;
    }
    let planes = matrix.planes(document);
    let (time, rate) =
        (planes.iter().find(|plane| plane.is_time())?, planes.iter().find(|plane| !plane.is_time())?);
    let of = |row: usize| (matrix.cell(document, time, row, 0), matrix.cell(document, rate, row, 1));
    Some(CurveFigures { time: *time, rate: *rate, rows: (0..matrix.rows.len()).map(of).collect() })
}

fn curve(document: &Document, matrix: &Matrix) -> Option<LoadedLatency> {
    let CurveFigures { rate, rows, .. } = figures(document, matrix)?;
    let idle = matrix.rows.first()?;
    let traffic_pus = |pus: &IdSet| pus.iter().filter(|pu| !idle.pus.contains(*pu)).collect();
    let point = |(row, (latency, traffic)): (&MatrixRow, (Found, Found))| {
        let latency = latency?.ok()?;
        let traffic = match traffic {
            Some(traffic) => Some(traffic.ok()?),
            None => None,
        };
        Some(LoadedPoint {
            name: row.name.clone(),
            bytes_per_s: traffic.as_ref().map_or(0.0, |cell| cell.median),
            interval_bytes_per_s: traffic.and_then(|cell| cell.interval),
            latency_ns: latency.median,
            interval_ns: latency.interval,
        })
    };

    let points: Vec<LoadedPoint> = matrix.rows.iter().zip(rows).filter_map(point).collect();

    // Without the idle latency there is nothing to be a multiple of.
    let known = |point: &LoadedPoint| {
        let LoadedPoint { bytes_per_s, latency_ns, interval_ns, .. } = *point;
        CurvePoint { bytes_per_s, latency_ns, interval_ns }
    };
    let has_idle = points.first().is_some_and(|point| point.name == idle.name);
    let known: Vec<CurvePoint> = points.iter().filter(|_| has_idle).map(known).collect();

    Some(LoadedLatency {
        place: matrix.title.clone(),
        pu: idle.pus.first()?,
        memory_node: idle.memory_node?,
        traffic: rate.direction,
        traffic_pus: matrix.rows.last().map(|row| traffic_pus(&row.pus)).unwrap_or_default(),
        points,
        twice_idle: match twice_idle(&known) {
            Twice::Reached { bytes_per_s, between: [above_bytes_per_s, below_bytes_per_s] } => {
                TwiceIdle::Reached { bytes_per_s, above_bytes_per_s, below_bytes_per_s }
            }
            Twice::NotReached => TwiceIdle::NotReached,
            Twice::Undecided => TwiceIdle::Undecided,
        },
        knee_bytes_per_s: knee(&known).map(|point| point.bytes_per_s),
    })
}

/// What the curves say: a sentence each, and where the latency begins to climb.
pub fn verdict(document: &Document) -> Vec<String> {
    let loaded = document.matrices.iter().filter(|matrix| matrix.compares == Compares::Loaded);
    loaded.flat_map(|matrix| curve_sentences(document, matrix)).collect()
}

fn curve_sentences(document: &Document, matrix: &Matrix) -> Vec<String> {
    let title = &matrix.title;
    let ends = || Some((matrix.rows.first()?, matrix.rows.last()?));
    let found = document.loaded_latency.iter().find(|found| found.place == *title);
    let named =
        |found: &LoadedLatency, name: &str| found.points.iter().find(|point| point.name == name).cloned();
    let both = found.zip(ends()).and_then(|(found, (idle, full))| {
        Some((found, named(found, &idle.name)?, named(found, &full.name)?))
    });
    let Some((found, idle, full)) = both else {
        return vec![format!(
            "{title}: no curve: the latency was not measured both idle and beside full traffic."
        )];
    };
    let ns = |point: &LoadedPoint| {
        let half_width = headline::half_width(point.latency_ns, point.interval_ns.as_ref());
        headline::figure(format!("{:.1} ns", point.latency_ns), half_width)
    };
    let gb = |rate: f64| format!("{:.1} GB/s", rate / 1e9);
    let threads = found.traffic_pus.len();
    let s = if threads == 1 { "" } else { "s" };
    let way = words::direction(found.traffic);
    let twice = match found.twice_idle {
        TwiceIdle::Reached { bytes_per_s, .. } => {
            format!("it is twice the idle latency at {}", gb(bytes_per_s))
        }
        TwiceIdle::NotReached => "it never reaches twice the idle latency".to_owned(),
        TwiceIdle::Undecided | TwiceIdle::Newer => {
            "undecided whether it reaches twice the idle latency (try a longer --max-time)".to_owned()
        }
    };

    let mut said = vec![format!(
        "{title}: load latency {} idle, {} at full {way} traffic ({} by {threads} thread{s}); {twice}.",
        ns(&idle),
        ns(&full),
        headline::figure(
            gb(full.bytes_per_s),
            headline::half_width(full.bytes_per_s, full.interval_bytes_per_s.as_ref())
        )
    )];

    let knee = found.points.iter().find(|point| Some(point.bytes_per_s) == found.knee_bytes_per_s);
    said.extend(knee.map(|point| {
        format!("{title}: the latency climbs from {} on ({} there).", gb(point.bytes_per_s), ns(point))
    }));
    said
}
