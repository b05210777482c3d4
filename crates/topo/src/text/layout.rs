//! Small pieces of layout: counts, id lists, wrapped lines, columns.

use stats::IdSet;

/// `1 package`, `4 packages`.
pub(crate) use stats::units::counted as count;

/// A set of ids, in taskset's syntax; a set with a constant step as `0-22:2`.
pub(crate) fn ids(set: &IdSet) -> String {
    let all: Vec<u32> = set.iter().collect();
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return "none".to_owned() };
    let step = all.get(1).map_or(0, |second| second - first);
    let even = all.len() > 2 && step > 1 && all.windows(2).all(|pair| pair[1] - pair[0] == step);
    if even { format!("{first}-{last}:{step}") } else { set.to_string() }
}

/// `GPU 3`, `GPUs 0-7`: a noun and what it names.
pub(crate) fn named(noun: &str, set: &IdSet) -> String {
    format!("{noun}{} {}", if set.len() == 1 { "" } else { "s" }, ids(set))
}

/// `GPUs 0-3: text`, once per text.
pub(super) fn grouped(entries: impl Iterator<Item = (u32, String)>, width: usize) -> Vec<String> {
    let mut groups: Vec<(String, IdSet)> = Vec::new();
    for (index, text) in entries {
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, indices)) => indices.0.extend([index]),
            None => groups.push((text, [index].into_iter().collect())),
        }
    }
    let lines = |(text, indices): &(String, IdSet)| {
        // A reason is written for one GPU.
        let each =
            if indices.len() > 1 { text.replace("attaches it to", "attaches each to") } else { text.clone() };
        wrapped(&format!("  {}: ", named("GPU", indices)), &each, width)
    };
    groups.iter().flat_map(lines).collect()
}

/// `text` in lines of at most `width` columns, broken at spaces and after commas; the first begins with
/// `lead`, the others are indented to match.
pub(super) fn wrapped(lead: &str, text: &str, width: usize) -> Vec<String> {
    let indent = lead.chars().count();
    let (mut lines, mut line, mut columns) = (Vec::new(), lead.to_owned(), indent);
    for piece in text.split_inclusive([' ', ',']) {
        let wanted = piece.trim_end().chars().count();
        if wanted == 0 && columns == indent {
            continue;
        }
        if wanted > 0 && columns > indent && columns + wanted > width {
            lines.push(line.trim_end().to_owned());
            (line, columns) = (" ".repeat(indent), indent);
        }
        line.push_str(piece);
        columns += piece.chars().count();
    }

    lines.push(line.trim_end().to_owned());
    lines
}

/// `text`, cut to `width` columns with `...` at the cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    kept.trim_end().to_owned() + "..."
}

/// Rows of cells as lines, columns as wide as their widest cell, two spaces between.
pub(super) fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..).map_while(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("  {}", cells.join("  ")).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The least that a name is cut to.
const NAME_COLUMNS: usize = 12;

/// The rows that `table` makes for names of at most so many columns, within `width` where cutting names is
/// enough for that; `longest` is the longest name's.
pub(super) fn fitted(width: usize, longest: usize, table: impl Fn(usize) -> Vec<Vec<String>>) -> Vec<String> {
    let whole = columns(&table(longest));
    let widest = whole.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    match widest.saturating_sub(width) {
        0 => whole,
        excess => columns(&table(longest.saturating_sub(excess).max(NAME_COLUMNS))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_step_is_written_as_one() {
        let list = |text: &str| text.parse::<IdSet>().map(|set| ids(&set));
        assert_eq!(list("1,3,5,7"), Ok("1-7:2".to_owned()));
        assert_eq!(list("0-3,8"), Ok("0-3,8".to_owned()));
        assert_eq!(list("0,8"), Ok("0,8".to_owned()));
        assert_eq!(list(""), Ok("none".to_owned()));
    }

    #[test]
    fn long_texts_are_broken_and_indented() {
        assert_eq!(wrapped("a: ", "0-7,16-23,32-39", 10), ["a: 0-7,", "   16-23,", "   32-39"]);
        assert_eq!(wrapped("a: ", "one two", 80), ["a: one two"]);
        assert_eq!(wrapped("a: ", "too-long, next", 8), ["a: too-long,", "   next"]);
    }

    #[test]
    fn a_cut_says_that_it_is_one() {
        assert_eq!(cut("AMD Instinct MI250X", 12), "AMD Insti...");
        assert_eq!(cut("H200", 12), "H200");
    }
}
