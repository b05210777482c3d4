//! Text of others made fit to print: names in a file, and what the kernel and drivers say, may hold anything.
//!
//! A terminal obeys control characters (C1's CSI is legal in XML and starts a sequence as ESC does), a
//! newline forges a line of a table, and marks of writing direction make a line read otherwise than it is
//! (CVE-2021-42574). Each is replaced by U+FFFD, as bytes that are no text are, so that it is seen that
//! something was there. Done where text comes in, so that no view and no output can forget it. Other
//! characters stay, however wide: names are not only English.
//!
//! Nor is text of others shown whole where it is longer than any screen: an argument, a variable's value or a
//! document's field may have megabytes.

use std::borrow::Cow;

/// The most characters of a name: Linux's own (hosts, CPU models, interfaces) and the PCI id list's have
/// fewer.
const NAME_CHARACTERS: usize = 120;

/// The most characters of a line that is read; one that is to be pasted is never shortened.
pub const LINE_CHARACTERS: usize = 1500;

/// The most characters of a table's cell: a list of every second of 100 PUs has fewer.
pub const CELL_CHARACTERS: usize = 400;

/// A name: one line without surrounding white space, of at most 120 characters.
pub fn name(text: &str) -> String {
    let in_line = text.trim().chars().map(|c| if c.is_whitespace() { ' ' } else { shown(c) });
    let mut name: String = in_line.clone().take(NAME_CHARACTERS).collect();
    if in_line.count() > NAME_CHARACTERS {
        name.truncate(name.char_indices().nth(NAME_CHARACTERS - 3).map_or(name.len(), |(at, _)| at));
        name.push_str("...");
    }
    without_commands(&name).into_owned()
}

/// Lines: newlines and tabs stay. What a line would order the runner of a CI job to do is broken.
pub fn lines(text: &str) -> String {
    let shown: String = text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { shown(c) }).collect();
    if !shown.contains("::") && !shown.contains(OLD_COMMAND) {
        return shown;
    }
    shown.split('\n').map(without_commands).collect::<Vec<_>>().join("\n")
}

/// One line: newlines and tabs are spaces, so that no part of a text of others begins a line of its own.
pub fn line(text: &str) -> String {
    lines(&text.replace(['\n', '\r', '\t'], " "))
}

/// How a command to GitHub's runner begins, and how its older ones do (actions/runner, `ActionCommand.cs`):
/// the former at the begin of a line behind any space, the latter anywhere in it.
const COMMAND: &str = "::";
const OLD_COMMAND: &str = "##[";

/// A line that the runner of a CI job takes for text: a document's or a driver's words could else set its
/// outputs, hide its messages or end its groups.
fn without_commands(line: &str) -> Cow<'_, str> {
    let text = line.trim_start();
    let begins = text.starts_with(COMMAND);
    if !begins && !line.contains(OLD_COMMAND) {
        return Cow::Borrowed(line);
    }
    let indent = &line[..line.len() - text.len()];
    let text = if begins {
        format!("{}:{}", char::REPLACEMENT_CHARACTER, &text[COMMAND.len()..])
    } else {
        text.to_owned()
    };
    Cow::Owned(format!("{indent}{}", text.replace(OLD_COMMAND, "##\u{fffd}")))
}

/// The text, or a quarter of `longest` characters of its begin and of its end, with the number of those left
/// out between them.
pub fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    let characters = text.chars().count();
    // A text has as many bytes as characters or more: most need no counting.
    if text.len() <= longest || characters <= longest {
        return Cow::Borrowed(text);
    }
    let side = longest / 4;
    let begin: String = text.chars().take(side).collect();
    let end: String = text.chars().skip(characters - side).collect();
    Cow::Owned(format!("{begin} [… {} characters …] {end}", characters - 2 * side))
}

/// The character, or U+FFFD where it steers a terminal or a line of text.
pub fn shown(c: char) -> char {
    if c.is_control() || turns_or_hides(c) { char::REPLACEMENT_CHARACTER } else { c }
}

/// Line separators, marks and isolates of writing direction, characters of no width, tags (Unicode's
/// Bidi_Control and Default_Ignorable_Code_Point, as far as they are not letters or selectors of a glyph).
fn turns_or_hides(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text in lines of this width, as many words in each as fit; a longer word has a line to itself, and a
/// longer list is broken behind its commas.
pub fn broken(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (word, glued) in text.split_whitespace().flat_map(|word| pieces(word, room)) {
        let (used, longer) = (lines.last().map_or(0, |line| line.chars().count()), word.chars().count());
        match lines.last_mut() {
            Some(line) if used == 0 => line.push_str(word),
            Some(line) if glued && used + longer <= room => line.push_str(word),
            Some(line) if !glued && used + 1 + longer <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The word, or the items of a list that is longer than a line, and whether it goes on without a space.
fn pieces(word: &str, room: usize) -> impl Iterator<Item = (&str, bool)> {
    let whole = (word.chars().count() <= room).then_some((word, false));
    let items = word.split_inclusive(',').enumerate().map(|(index, item)| (item, index > 0));
    items.take(if whole.is_some() { 0 } else { usize::MAX }).chain(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_name_stays_as_it_is() {
        for text in
            ["NVIDIA H100 80GB HBM3", "Intel(R) Xeon(R) CPU E5-2695 v4 @ 2.10GHz", "计算节点", "nœud-é"]
        {
            assert_eq!(name(text), text);
            assert_eq!(lines(text), text);
        }
        assert_eq!(name("  a b \n"), "a b");
    }

    #[test]
    fn nothing_is_left_that_a_terminal_obeys_or_that_turns_the_line() {
        let hostile = "a\u{1b}[31m\u{9b}2J\u{7f}\0b\u{202e}c\u{2066}d\u{200f}\u{2028}\u{85}e\u{e0041}";
        for clean in [name(hostile), lines(hostile)] {
            assert!(clean.chars().all(|c| !c.is_control() && !turns_or_hides(c)), "{clean:?}");
            assert!(clean.starts_with("a\u{fffd}[31m\u{fffd}2J"), "{clean:?}");
        }
    }

    #[test]
    fn a_name_is_one_line_and_a_file_keeps_its_lines() {
        assert_eq!(name("a\nb\tc\r\nd"), "a b c  d");
        assert_eq!(lines("a\nb\tc\r\nd"), "a\nb\tc\u{fffd}\nd");
    }

    #[test]
    fn no_line_orders_the_runner_of_a_job_to_do_something() {
        assert_eq!(line("host\n::error::x"), "host ::error::x", "in a line it is text");
        assert_eq!(lines("::error::x"), "\u{fffd}:error::x");
        assert_eq!(lines("a\n  ::stop-commands::x\nstd::fs"), "a\n  \u{fffd}:stop-commands::x\nstd::fs");
        assert_eq!(name("::error::x"), "\u{fffd}:error::x", "a name may begin a line");
        assert_eq!(lines("a ##[error]b"), "a ##\u{fffd}error]b");
        assert_eq!(lines("# a [b] std::fs"), "# a [b] std::fs");
    }

    #[test]
    fn a_text_longer_than_a_screen_keeps_its_begin_and_its_end() {
        assert_eq!(shortened("--size 4MiB", LINE_CHARACTERS), "--size 4MiB");
        let whole = "ä".repeat(LINE_CHARACTERS);
        assert_eq!(shortened(&whole, LINE_CHARACTERS), whole);
        let long = format!("invalid value '{}' for '--size'", "a".repeat(20_000));
        let short = shortened(&long, LINE_CHARACTERS);
        assert!(
            short.chars().count() < LINE_CHARACTERS && short.starts_with("invalid value 'aaa"),
            "{short}"
        );
        assert!(short.contains(" [… 19279 characters …] ") && short.ends_with("a' for '--size'"), "{short}");
    }

    #[test]
    fn a_name_without_end_is_cut_and_says_so() {
        let cut = name(&"ä".repeat(5000));
        assert_eq!((cut.chars().count(), cut.ends_with("ä...")), (120, true));
        assert_eq!(name(&"x".repeat(120)), "x".repeat(120));
    }
}
