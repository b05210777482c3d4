//! The rate of each rank against how many are at once: the curve of a matrix whose rows are more and more at
//! once, with what it is compared with.

use report::Document;
use report::matrix::Matrix;
use report::settings::Direction;
use stats::interval::{Interval, median};

use crate::matrix_analysis::{CellFigure, MatrixFigures, Plane};

/// What one rank gets beside others.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentionPoint {
    /// The rank's column: `GPU 3`.
    pub name: String,
    /// The row: `GPUs 0-3`.
    pub row: String,
    /// How many are at once, itself included.
    pub at_once: u32,
    /// Its rate, the median over blocks, bytes/s.
    pub bytes_per_s: f64,
    /// Its 95 % interval, bytes/s; `None` with fewer than 6 blocks.
    pub interval: Option<Interval>,
}

/// The curve of one direction and size.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The direction.
    pub direction: Direction,
    /// Its points, in the order of the rows.
    pub points: Vec<ContentionPoint>,
    /// The median of those alone, bytes/s; `None` where none was measured alone.
    pub alone_bytes_per_s: Option<f64>,
    /// The most that a row's ranks get together, bytes/s.
    pub most_together_bytes_per_s: f64,
}

impl Curve {
    /// How many are at once at most.
    pub fn most_at_once(&self) -> u32 {
        self.points.iter().map(|point| point.at_once).max().unwrap_or(0)
    }
}

/// The curves of a matrix of load, a plane each; the first row is of ranks alone.
pub fn curves(document: &Document, matrix: &Matrix) -> Vec<Curve> {
    let curve = |plane: &Plane| {
        let (mut points, mut most) = (Vec::new(), 0.0_f64);
        for (row, place) in matrix.rows.iter().enumerate() {
            let of_column = |column: usize| {
                Some((&matrix.columns[column].name[..], matrix.cell(document, plane, row, column)?))
            };
            let cells: Vec<(&str, Result<CellFigure, String>)> =
                (0..matrix.columns.len()).filter_map(of_column).collect();
            // Those at once without one of them are not what the row says.
            if row > 0 && cells.iter().any(|(_, cell)| cell.is_err()) {
                continue;
            }
            let cells: Vec<(&str, CellFigure)> =
                cells.into_iter().filter_map(|(name, cell)| Some((name, cell.ok()?))).collect();
            let ranks = if row == 0 { 1 } else { cells.len() as u32 };
            let sum: f64 = cells.iter().map(|(_, cell)| cell.median).sum();
            // Those alone are not together.
            most = most.max(if row == 0 { 0.0 } else { sum });
            points.extend(cells.into_iter().map(|(name, cell)| ContentionPoint {
                name: name.to_owned(),
                row: place.name.clone(),
                at_once: ranks,
                bytes_per_s: cell.median,
                interval: cell.interval,
            }));
        }

        let alone: Vec<f64> =
            points.iter().filter(|point| point.at_once == 1).map(|point| point.bytes_per_s).collect();
        Curve {
            direction: plane.direction,
            points,
            alone_bytes_per_s: median(&alone),
            most_together_bytes_per_s: most,
        }
    };

    matrix.planes(document).iter().filter(|plane| !plane.is_time()).map(curve).collect()
}
