//! Text split into words where `IFS` says.

/// Words under construction.
#[derive(Default)]
pub(super) struct Fields {
    all: Vec<String>,
    open: Option<String>,
    /// Whether a blank ended the last word: another separator behind it belongs to the same end.
    is_behind_blank: bool,
}

impl Fields {
    /// How many words are complete: the number of the one that comes next.
    pub fn complete(&self) -> usize {
        self.all.len()
    }

    /// Adds text to the last word; an empty one makes a word too.
    pub fn add(&mut self, text: &str) {
        self.open.get_or_insert_default().push_str(text);
    }

    /// Adds text that is split: at blanks, which count once, and at each other separator.
    pub fn add_split(&mut self, text: &str, separators: &str) {
        for c in text.chars() {
            if !separators.contains(c) {
                self.open.get_or_insert_default().push(c);
                self.is_behind_blank = false;
            } else if c.is_ascii_whitespace() {
                self.is_behind_blank |= self.open.is_some();
                self.end_word();
            } else if !std::mem::take(&mut self.is_behind_blank) {
                self.all.push(self.open.take().unwrap_or_default());
            }
        }
    }

    /// Ends the last word.
    pub fn end_word(&mut self) {
        self.all.extend(self.open.take());
    }

    /// All words.
    pub fn finish(mut self) -> Vec<String> {
        self.end_word();
        self.all
    }
}

/// The first field of a line that `read` reads, and what is behind it.
pub(super) fn first_field<'t>(text: &'t str, separators: &str) -> (&'t str, &'t str) {
    let is_blank = |c: char| separators.contains(c) && c.is_ascii_whitespace();
    let text = text.trim_start_matches(is_blank);
    let end = text.find(|c| separators.contains(c)).unwrap_or(text.len());

    let behind = text[end..].trim_start_matches(is_blank);
    let is_other = |c: char| separators.contains(c) && !c.is_ascii_whitespace();
    (&text[..end], behind.strip_prefix(is_other).unwrap_or(behind))
}
