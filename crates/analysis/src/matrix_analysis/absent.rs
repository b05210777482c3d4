//! What a matrix says of figures that no cell has: each kind once, with the reason.

use report::Document;
use report::matrix::Matrix;

use super::words::way;
use super::{MatrixFigures, Plane};

/// The sentences: `load latency: no figure (skipped: no libhiprtc.so could be loaded).`
pub(super) fn sentences(document: &Document, matrix: &Matrix) -> Vec<String> {
    let of = |plane: Plane| {
        let why = matrix.why_none(document, &plane)?;
        Some(format!("{}: no figure ({why}).", way(plane.direction)))
    };
    matrix.planes(document).into_iter().filter_map(of).collect()
}
