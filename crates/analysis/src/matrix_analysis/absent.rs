//! What a matrix says of figures that no cell has: each kind once, with the reason.

use report::Document;
use report::matrix::Matrix;
use stats::units::size;

use super::words::way;
use super::{MatrixFigures, Plane};

/// The sentences: `load latency, 64 MiB: no figure (skipped: no libhiprtc.so could be loaded).`
pub(super) fn sentences(document: &Document, matrix: &Matrix) -> Vec<String> {
    let of = |plane: Plane| {
        let why = matrix.why_none(document, &plane)?;
        let bytes = plane.range_bytes.unwrap_or(plane.bytes);
        Some(format!("{}, {}: no figure ({why}).", way(plane.direction), size(bytes)))
    };
    matrix.planes(document).into_iter().filter_map(of).collect()
}
