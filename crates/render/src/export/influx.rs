//! InfluxDB line protocol: a record a point, at the moment the run began; what was measured and where are
//! tags, figures are fields.

use report::timestamp::unix_ns;
use stats::printable;

use super::points::{Number, Point, Points};

pub(super) fn influx(points: &Points) -> String {
    let at =
        unix_ns(&points.started_at).filter(|_| points.is_dated).map_or(String::new(), |at| format!(" {at}"));
    let line = |point: &Point| {
        let field = |name: &&str| match point.number(name)? {
            Number::Real(value) => Some(format!("{name}={value:?}")),
            Number::Count(count) => Some(format!("{name}={count}i")),
        };
        // A record must have a figure: what was not measured has none.
        let fields: Vec<String> = points.fields.iter().filter_map(field).collect();
        let tag = |name, value: &str| format!("{name}={}", escaped(value));
        // An empty tag value is not allowed.
        let tags = points
            .tags
            .iter()
            .map(|tag| (tag.name, point.word(tag.word)))
            .filter(|(_, value)| !value.is_empty());
        let tags: Vec<String> = tags.map(|(name, value)| tag(name, value)).collect();
        (!point.figures.is_empty())
            .then(|| format!("{},{} {}{at}\n", points.record, tags.join(","), fields.join(",")))
    };

    points.points.iter().filter_map(line).collect()
}

/// Tag values: commas, equals signs and spaces are escaped; a line break or a backslash at the end has no
/// spelling.
fn escaped(value: &str) -> String {
    let mut escaped = String::new();
    for c in value.chars() {
        match c {
            ',' | '=' | ' ' => escaped.extend(['\\', c]),
            '\\' => escaped.push('/'),
            c if c.is_control() => escaped.push_str("\\ "),
            c => escaped.push(printable::shown(c)),
        }
    }
    escaped
}
