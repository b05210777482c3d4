//! Comma-separated values (RFC 4180): tidy, a row a point, a header of names with units; what is not known is
//! an empty field.

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

/// Quotes where a comma, a quote or a line break needs them. Text of others is one line, and no formula:
/// spreadsheets compute what begins with one of these characters (OWASP, CSV injection), and take what begins
/// with an apostrophe for text.
fn quoted(field: &str) -> String {
    // What steers a terminal is replaced: a table is looked at with `cat`.
    let field = stats::printable::line(field);
    let is_formula = field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
    let field = if is_formula { format!("'{field}") } else { field };
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_one_line_and_no_formula() {
        assert_eq!(quoted("=HYPERLINK(1)"), "'=HYPERLINK(1)");
        assert_eq!(quoted("@SUM(A1,A2)"), "\"'@SUM(A1,A2)\"");
        assert_eq!(quoted("+cmd|x"), "'+cmd|x");
        assert_eq!(quoted("host\n::error::x"), "host ::error::x");
        assert_eq!(
            ["-3.5", "+2", "node 0", ""].map(quoted),
            ["-3.5", "+2", "node 0", ""],
            "numbers stay numbers"
        );
    }
}
