//! Comma-separated values (RFC 4180): tidy, a row a point, a header of names with units; what is not known is an empty field.

use super::points::{Number, Point, Points};

pub(super) fn csv(points: &Points) -> String {
    let row = |point: &Point| {
        let field = |column: &&str| match point.number(column) {
            Some(Number::Real(value)) => value.to_string(),
            Some(Number::Count(count)) => count.to_string(),
            None => quoted(point.word(column)),
        };
        points.columns.iter().map(field).collect::<Vec<_>>().join(",") + points.line_end
    };
    [points.columns.join(",") + points.line_end].into_iter().chain(points.points.iter().map(row)).collect()
}

/// Quotes where a comma, a quote or a line break needs them.
fn quoted(field: &str) -> String {
    // What steers a terminal is replaced: a table is looked at with `cat`.
    let field = &stats::printable::lines(field)[..];
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}
