//! Lists of words: a command's, an array's, a shell's arguments.

use crate::unknown::UNKNOWN;

/// Words one after another, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// The words. An unknown part stands as one of them.
    pub words: Vec<String>,
    /// From this word on neither the words nor their number are known (`$(cat FILE)`, unquoted).
    open_from: Option<usize>,
    /// Whether some words of an array were never set, so that their number is not known.
    has_gaps: bool,
}

impl From<Vec<String>> for Words {
    fn from(words: Vec<String>) -> Self {
        Self { words, ..Self::default() }
    }
}

impl Words {
    /// Any number of unknown words.
    pub fn unknown() -> Self {
        Self { words: vec![UNKNOWN.to_string()], open_from: Some(0), has_gaps: false }
    }

    /// Says that the words from this one on are not known.
    pub fn open(&mut self, from: usize) {
        self.open_from = Some(self.open_from.map_or(from, |before| before.min(from)));
    }

    /// Whether neither this word nor the number of words from here on is known.
    pub fn is_open_at(&self, at: usize) -> bool {
        self.has_gaps || self.open_from.is_some_and(|from| at >= from)
    }

    /// How many there are; `None` where that is not known.
    pub fn count(&self) -> Option<usize> {
        (self.open_from.is_none() && !self.has_gaps).then_some(self.words.len())
    }

    /// A word; `None` where there is none.
    pub fn get(&self, at: usize) -> Option<String> {
        match self.open_from {
            Some(from) if at >= from => Some(UNKNOWN.to_string()),
            _ => self.words.get(at).cloned(),
        }
    }

    /// Gives a word of an array a value; where it is not known which word, the array is not known.
    pub fn set(&mut self, at: Option<usize>, value: String) {
        let Some(at) = at.filter(|at| *at < 10_000 && self.open_from.is_none_or(|from| *at < from)) else {
            *self = Self::unknown();
            return;
        };
        self.has_gaps |= at > self.words.len();
        self.words.resize(self.words.len().max(at + 1), String::new());
        self.words[at] = value;
    }

    /// Adds words behind the last one.
    pub fn append(&mut self, more: Self) {
        let count = self.words.len();
        if let Some(from) = more.open_from {
            self.open(count + from);
        }
        self.has_gaps |= more.has_gaps;
        self.words.extend(more.words);
    }

    /// The words without the first ones, and at most so many.
    pub fn part(&self, first: usize, most: usize) -> Self {
        if self.has_gaps {
            return Self::unknown();
        }
        let mut part = Self::from(self.words.iter().skip(first).take(most).cloned().collect::<Vec<_>>());
        match self.open_from {
            Some(from) if from < first => return Self::unknown(),
            Some(from) if from - first < most => part.open(from - first),
            _ => {}
        }
        part
    }

    /// What this list and another one agree on.
    pub fn merge(&mut self, other: &Self) {
        if self != other {
            *self = Self::unknown();
        }
    }
}
