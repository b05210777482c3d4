//! The places of a matrix that are compared as near and far ones.

use report::matrix::{Compares, Matrix};

use super::MatrixFigures;

/// A row and a column.
pub(crate) type Place = (usize, usize);

/// Two places of one GPU, or of one row of cores.
#[derive(Clone, Copy)]
pub(crate) struct NearFar {
    pub near: Place,
    pub far: Place,
}

/// Each place with the near one: that which the platform declares to be local, or the first.
pub(crate) fn near_far_places(matrix: &Matrix) -> Vec<NearFar> {
    let is_local = |(row, column): Place| {
        let nodes = matrix.columns[column].declared_nodes.value.as_ref();
        let node = matrix.rows[row].memory_node;
        nodes.zip(node).is_some_and(|(nodes, node)| nodes.contains(node))
    };
    let measured = |place: &Place| matrix.rows[place.0].reason.is_none();
    let by_rows = matrix.compares != Compares::Columns;
    let subjects = if by_rows { matrix.columns.len() } else { matrix.rows.len() };
    let line = |subject: usize| -> Vec<Place> {
        let of = |(row, column): &Place| if by_rows { *column == subject } else { *row == subject };
        matrix.places().filter(of).filter(measured).collect()
    };

    let of_line = |line: Vec<Place>| {
        let near = line.iter().copied().find(|place| is_local(*place)).or(line.first().copied());
        // Other places that are local too are not far.
        let far =
            move |place: &Place| Some(*place) != near && !(near.is_some_and(is_local) && is_local(*place));
        let far: Vec<Place> = line.into_iter().filter(far).collect();
        near.into_iter().flat_map(move |near| far.clone().into_iter().map(move |far| NearFar { near, far }))
    };
    (0..subjects).flat_map(|subject| of_line(line(subject)).collect::<Vec<_>>()).collect()
}
