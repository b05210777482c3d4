//! Text of others in Markdown: nothing of it is markup.

use stats::printable;

/// Text of others in a cell: no table is broken by it, and nothing of it is markup.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.push(' '),
            c if printable::shown(c) != c => escaped.push(printable::shown(c)),
            c => escaped.push(c),
        }
    }
    escaped
}
