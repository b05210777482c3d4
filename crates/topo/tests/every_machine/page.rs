//! A view's text in pieces: the sections between empty lines, the cells of a table, the ids of a list.

use stats::IdSet;

/// No line of any machine is broken or cut at this width.
pub const WIDE: usize = 20_000;

/// The section whose first line begins so; empty where there is none.
pub fn section<'t>(view: &'t str, begins: &str) -> Vec<&'t str> {
    let mut sections = view.trim_end().split("\n\n");
    sections
        .find(|section| section.starts_with(begins))
        .map_or_else(Vec::new, |section| section.lines().collect())
}

/// The rows of the table below the line that has these titles, as cells: a column begins where its title
/// does. Ends at the first line that has nothing in the first column, or where the lines end.
pub fn table(lines: &[&str], titles: &[&str]) -> Option<Vec<Vec<String>>> {
    let (at, starts) = lines.iter().enumerate().find_map(|(at, line)| Some((at, starts(line, titles)?)))?;
    let cells = |line: &&str| -> Vec<String> {
        let characters: Vec<char> = line.chars().collect();
        let ends = starts.iter().skip(1).copied().chain([characters.len()]);
        let cell = |(start, end): (&usize, usize)| {
            characters.get(*start..end.min(characters.len())).unwrap_or_default().iter().collect::<String>()
        };
        starts.iter().zip(ends).map(cell).map(|cell| cell.trim().to_owned()).collect()
    };
    Some(lines[at + 1..].iter().map(cells).collect())
}

/// Where each title begins, if the line is these titles and no others.
fn starts(line: &str, titles: &[&str]) -> Option<Vec<usize>> {
    let mut at = 0;
    let mut starts = Vec::new();
    for title in titles {
        let found = at + line.get(at..)?.find(title)?;
        if !line[at..found].trim().is_empty() {
            return None;
        }
        starts.push(line[..found].chars().count());
        at = found + title.len();
    }
    line[at..].trim().is_empty().then_some(starts)
}

/// A list as the views write it: `0-3,8`, `0-22:2` for an even step, `none`.
pub fn listed(ids: &IdSet) -> String {
    let all: Vec<u32> = ids.iter().collect();
    match all[..] {
        [] => "none".to_owned(),
        [first, second, .., last] if second - first > 1 => {
            let even = all.windows(2).all(|pair| pair[1] - pair[0] == second - first);
            if even { format!("{first}-{last}:{}", second - first) } else { ids.to_string() }
        }
        _ => ids.to_string(),
    }
}

/// `one` with a noun for one, else `several`.
pub fn with_noun(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The text, with three dots where its end was cut off to be no longer than so many characters.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most - 3).collect();
    format!("{}...", kept.trim_end())
}
