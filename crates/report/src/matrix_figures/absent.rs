//! What a matrix says of figures that no cell has: each kind once, with the reason.

use super::Plane;
use super::words::way;
use crate::Document;
use crate::matrix::Matrix;

/// The sentences: `load latency: no figure (skipped: no libhiprtc.so could be loaded).`
pub(super) fn said(document: &Document, matrix: &Matrix) -> Vec<String> {
    let of = |plane: Plane| {
        let why = matrix.why_none(document, &plane)?;
        Some(format!("{}: no figure ({why}).", way(plane.direction)))
    };
    matrix.planes(document).into_iter().filter_map(of).collect()
}
