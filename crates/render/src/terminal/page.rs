//! The lines of a table output: what they say, how they are toned, where they are broken.
//!
//! Colour is a property of a whole line and is put on at the very end, so that no width is ever computed over
//! an escape code, and without colour there is no such code at all.

use stats::printable::{self, broken};

/// How a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// A heading.
    Title,
    /// Good to have, not to be read first.
    Faint,
    /// Read this before trusting the numbers.
    Warning,
    /// There is no number, or there must not be one.
    Bad,
}

impl Tone {
    /// The SGR parameters of ECMA-48; none for plain.
    fn sgr(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Title => Some("1"),
            Self::Faint => Some("2"),
            Self::Warning => Some("33"),
            Self::Bad => Some("1;31"),
        }
    }
}

/// The lines so far.
pub struct Page {
    width: usize,
    lines: Vec<(Tone, String)>,
}

/// Where the values of "key  value" lines begin.
const KEY_WIDTH: usize = 12;

/// Words are not squeezed into less than this, whatever the width: then the line is longer.
const NARROWEST: usize = 30;

impl Page {
    /// An empty page, so many columns wide.
    pub fn new(width: usize) -> Self {
        Self { width, lines: Vec::new() }
    }

    /// How many columns wide it is.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many lines there are.
    pub fn height(&self) -> usize {
        self.lines.len()
    }

    /// The first line; empty where there is none.
    pub fn first(&self) -> &str {
        self.lines.first().map_or("", |(_, line)| line)
    }

    /// Whether a line has one of these texts.
    pub fn contains(&self, texts: &[&str]) -> bool {
        self.lines.iter().any(|(_, line)| texts.iter().any(|text| line.contains(text)))
    }

    /// All lines of these tones, and the first of the others: so many together, as far as there is room
    /// beside those of these tones.
    pub fn first_lines(self, count: usize, tones: &[Tone]) -> Self {
        let is_kept = |(tone, _): &(Tone, String)| tones.contains(tone);
        let fits = |first: &usize| {
            first + self.lines.iter().skip(*first).filter(|line| is_kept(line)).count() <= count
        };
        // Where those of these tones alone are too many, the page is longer anyway.
        let first = (0..=count).rev().find(fits).filter(|first| *first > 0).unwrap_or(count);
        let lines = self.lines.iter().enumerate().filter(|(at, line)| *at < first || is_kept(line));
        Self { width: self.width, lines: lines.map(|(_, line)| line.clone()).collect() }
    }

    /// The lines of another page below.
    pub fn append(&mut self, other: Self) {
        self.lines.extend(other.lines);
    }

    /// One line. What steers a terminal or turns a line (a driver's and a document's text is not ours) is
    /// replaced, and of a line longer than any screen the middle is left out, here and nowhere else.
    pub fn line(&mut self, tone: Tone, text: impl Into<String>) {
        let line = printable::line(text.into().trim_end());
        self.lines.push((tone, printable::shortened(&line, printable::LINE_CHARACTERS).into_owned()));
    }

    /// A line to paste: whole, however long it is.
    pub fn paste(&mut self, text: &str) {
        self.lines.push((Tone::Plain, printable::lines(text.trim_end())));
    }

    /// An empty line, unless the last is one.
    pub fn blank(&mut self) {
        if self.lines.last().is_some_and(|(_, text)| !text.is_empty()) {
            self.lines.push((Tone::Plain, String::new()));
        }
    }

    /// `lead`, then words broken at the width and continued below their beginning.
    pub fn paragraph(&mut self, tone: Tone, lead: &str, text: &str) {
        let indent = lead.chars().count();
        let room = self.width.saturating_sub(indent).max(NARROWEST);
        // Below a lead that is itself longer than a line there is no room; a format's width has a limit, too.
        let indent = if indent > self.width { KEY_WIDTH } else { indent };
        for (index, part) in broken(text, room).into_iter().enumerate() {
            let line = if index == 0 { format!("{lead}{part}") } else { format!("{:indent$}{part}", "") };
            self.line(tone, line);
        }
    }

    /// `  key         value`, the value broken as words are.
    pub fn key(&mut self, tone: Tone, key: &str, value: &str) {
        self.paragraph(tone, &format!("  {key:<KEY_WIDTH$}"), value);
    }

    /// The text, each line with its newline.
    pub fn finish(self, color: bool) -> String {
        let mut text = String::new();
        for (tone, line) in &self.lines {
            match tone.sgr() {
                Some(sgr) if color && !line.is_empty() => {
                    text.push_str(&format!("\x1b[{sgr}m{line}\x1b[0m\n"))
                }
                _ => text.push_str(&format!("{line}\n")),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_break_at_the_width_and_continue_below_their_beginning() {
        let mut page = Page::new(40);
        page.key(Tone::Plain, "link", "one two three four five six seven eight");
        assert_eq!(
            page.finish(false),
            "  link        one two three four five six\n              seven eight\n"
        );
    }

    #[test]
    fn a_list_longer_than_a_line_is_broken_behind_its_commas() {
        let mut page = Page::new(42);
        page.key(Tone::Plain, "ranks", "on 10000,20000,30000,40000,50000,60000 and no other");
        let want = ["  ranks       on 10000,20000,30000,40000,", "              50000,60000 and no other"];
        assert_eq!(page.finish(false).lines().collect::<Vec<_>>(), want);
    }

    #[test]
    fn a_drivers_text_cannot_break_the_layout_or_colour_the_terminal() {
        let mut page = Page::new(80);
        page.paragraph(Tone::Plain, "", "out of\n\tmemory \x1b[31mred");
        assert_eq!(page.finish(false), "out of memory \u{fffd}[31mred\n");
    }

    #[test]
    fn colour_is_put_on_whole_lines_and_only_when_asked() {
        let page = || {
            let mut page = Page::new(80);
            page.line(Tone::Bad, "INVALID");
            page.blank();
            page.blank();
            page
        };
        assert_eq!(page().finish(true), "\x1b[1;31mINVALID\x1b[0m\n\n");
        assert_eq!(page().finish(false), "INVALID\n\n");
    }
}
