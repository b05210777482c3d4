//! The options of a command, read as its own parser reads them: where they end, which of them take the next
//! word, and which letters stand together.
//!
//! An option that is not known is an error that names it. It must not be guessed: whether the next word is
//! its value or the program decides what all the rest of the line is.

use crate::error::LineError;
use crate::value::count;

/// The options of one command.
#[derive(Debug)]
pub(crate) struct Grammar {
    /// As sentences call the command.
    pub tool: &'static str,
    /// How options are written.
    pub style: Style,
    /// Letters as getopt(3) has them: `:` behind one that takes a value, `::` behind one that takes a glued
    /// one only.
    pub letters: &'static str,
    /// Names with blanks between, and the same behind them: `mem:` takes a value, behind `=` or the next
    /// word, `nice::` one behind `=` or none. `mca:+` takes two words (`--mca KEY VALUE`, `-genv NAME
    /// VALUE`), one where it is `NAME=VALUE`.
    pub names: &'static str,
    /// Whether others may add options of their own: what is not known is passed over with a note where it
    /// says its value itself (`--name=value`), unless it is nearly the name of an option.
    pub is_open: bool,
}

/// How options are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// getopt_long(3): `-ab`, `-n8`, `--name`, `--name=value`; a name may be cut short as long as it is one
    /// option's.
    Getopt,
    /// Open MPI's and Hydra's: `-name` is `--name`, and a letter stands alone (`-n8` is read all the same).
    Words,
}

/// An option of the line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'l> {
    /// Its name, or its letter.
    pub name: &'l str,
    /// What it was given.
    pub value: Option<&'l str>,
    /// Of two words the second.
    pub second: Option<&'l str>,
}

impl<'l> Given<'l> {
    /// What it was given; nothing where it takes nothing.
    pub fn value(&self) -> &'l str {
        self.value.unwrap_or_default()
    }

    /// How many of something it was given: at least one.
    pub fn count(&self) -> Result<usize, LineError> {
        count(&self.spelled(), self.value())
    }

    /// `NAME=VALUE`; of two words the name and the value.
    pub fn assignment(&self) -> Option<(String, String)> {
        let of_two = self.second.map(|second| (self.value(), second));
        let (name, value) = self.value().split_once('=').or(of_two)?;
        Some((name.to_owned(), value.to_owned()))
    }

    /// As it is written.
    pub fn spelled(&self) -> String {
        spelled(self.name)
    }
}

fn spelled(name: &str) -> String {
    format!("{}{name}", if name.len() == 1 { "-" } else { "--" })
}

/// What an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Maybe,
    Two,
}

impl Takes {
    /// By what stands behind a letter or a name.
    fn marked(mark: &str) -> Self {
        match mark {
            "" => Self::Nothing,
            ":" => Self::Value,
            "::" => Self::Maybe,
            _ => Self::Two,
        }
    }
}

/// Whether the word is one of a list with blanks between.
pub(crate) fn is_among(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// The options of a line, and the words behind them.
pub(crate) type Read<'l> = (Vec<Given<'l>>, &'l [&'l str]);

impl Grammar {
    /// Reads options up to the first word that is none.
    pub fn read<'l>(&self, words: &'l [&'l str]) -> Result<Read<'l>, LineError> {
        let mut given = Vec::new();
        let mut rest = words;
        while let Some((word, after)) = rest.split_first() {
            let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) else { break };
            rest = after;
            if name == "-" {
                break;
            }
            match (name.strip_prefix('-'), self.style) {
                (Some(long), _) => given.push(self.long(word, long, &mut rest)?),
                (None, Style::Getopt) => self.cluster(word, name, &mut rest, &mut given)?,
                (None, Style::Words) => match self.numbered(name) {
                    Some(numbered) => given.push(numbered),
                    None => given.push(self.long(word, name, &mut rest)?),
                },
            }
        }

        Ok((given, rest))
    }

    /// `-n8` where letters do not stand together.
    fn numbered<'l>(&self, name: &'l str) -> Option<Given<'l>> {
        let (letter, digits) = name.split_at_checked(1)?;
        let (known, takes) = self.letter(letter.chars().next()?)?;
        let fits =
            takes == Takes::Value && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        fits.then_some(Given { name: known, value: Some(digits), second: None })
    }

    /// What to say of the options that are passed over.
    pub fn notes(&self, given: &[Given<'_>]) -> Vec<String> {
        let is_passed_over = |one: &&Given<'_>| !matches!(self.named(one.name), Ok(Some(_)));
        let is_word = |one: &&Given<'_>| one.name.chars().count() > 1;

        given
            .iter()
            .filter(is_word)
            .filter(is_passed_over)
            .map(|one| {
                format!(
                    "{} is no option of {} that numabench knows, and is passed over: if it binds ranks or \
                     chooses GPUs, run numabench check inside of the launch",
                    one.spelled(),
                    self.tool
                )
            })
            .collect()
    }

    /// `--name`, `--name=value`.
    fn long<'l>(&self, word: &str, text: &'l str, rest: &mut &'l [&'l str]) -> Result<Given<'l>, LineError> {
        let (name, glued) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let Some((name, takes)) = self.named(name)? else {
            if self.is_open && glued.is_some() && self.nearest(name).is_none() {
                return Ok(Given { name, value: glued, second: None });
            }
            return Err(self.unknown(word));
        };
        let mut given = Given { name, value: glued, second: None };

        match takes {
            Takes::Nothing if glued.is_some() => {
                return Err(LineError::Wrong(format!(
                    "{} of {} takes no value: {word}",
                    given.spelled(),
                    self.tool
                )));
            }
            Takes::Nothing | Takes::Maybe => {}
            Takes::Value | Takes::Two => {
                given.value = Some(glued.map_or_else(|| self.next(name, rest), Ok)?);
                if takes == Takes::Two && !given.value().contains('=') {
                    given.second = Some(self.next(name, rest)?);
                }
            }
        }
        Ok(given)
    }

    /// `-ab`, `-n8`, `-n 8`.
    fn cluster<'l>(
        &self,
        word: &str,
        letters: &'l str,
        rest: &mut &'l [&'l str],
        given: &mut Vec<Given<'l>>,
    ) -> Result<(), LineError> {
        for (at, letter) in letters.char_indices() {
            let (name, takes) = self.letter(letter).ok_or_else(|| self.unknown(word))?;
            let glued = letters.get(at + letter.len_utf8()..).filter(|glued| !glued.is_empty());
            let value = match takes {
                Takes::Nothing => None,
                Takes::Maybe => glued,
                Takes::Value | Takes::Two => Some(glued.map_or_else(|| self.next(name, rest), Ok)?),
            };
            given.push(Given { name, value, second: None });
            if takes != Takes::Nothing {
                break;
            }
        }
        Ok(())
    }

    fn next<'l>(&self, name: &str, rest: &mut &'l [&'l str]) -> Result<&'l str, LineError> {
        let (value, after) = rest
            .split_first()
            .ok_or_else(|| LineError::Wrong(format!("{} of {} needs a value", spelled(name), self.tool)))?;
        *rest = after;
        Ok(value)
    }

    fn letter(&self, letter: char) -> Option<(&'static str, Takes)> {
        let at = self.letters.find(letter).filter(|_| letter != ':')?;
        let (name, behind) = self.letters.get(at..)?.split_at_checked(letter.len_utf8())?;
        let next = behind.find(|c| c != ':').unwrap_or(behind.len());
        Some((name, Takes::marked(&behind[..next])))
    }

    /// The option of this name, or the one that alone begins so.
    fn named(&self, name: &str) -> Result<Option<(&'static str, Takes)>, LineError> {
        let all = || {
            self.names.split_ascii_whitespace().map(|marked| {
                let (known, mark) = marked.split_at(marked.find(':').unwrap_or(marked.len()));
                (known, Takes::marked(mark))
            })
        };
        if let Some(exact) = all().find(|(known, _)| *known == name) {
            return Ok(Some(exact));
        }

        if self.style == Style::Words {
            let mut letters = name.chars();
            let only = letters.next().filter(|_| letters.next().is_none());
            return Ok(only.and_then(|letter| self.letter(letter)));
        }

        let begun: Vec<(&str, Takes)> = all().filter(|(known, _)| known.starts_with(name)).collect();

        match begun.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            several => {
                let names: Vec<String> = several.iter().map(|(known, _)| spelled(known)).collect();
                let meant = names.join(", ");
                Err(LineError::Wrong(format!(
                    "{} of {} may be each of {meant}: write it out",
                    spelled(name),
                    self.tool
                )))
            }
        }
    }

    fn unknown(&self, word: &str) -> LineError {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        let remedy = match self.nearest(name.trim_start_matches('-')) {
            Some(known) => format!("did you mean {}?", spelled(known)),
            None if self.is_open && name.starts_with("--") => {
                format!("if it takes a value, write {name}=VALUE; else leave it out for the check")
            }
            None => "leave it out for the check".to_owned(),
        };
        LineError::Wrong(format!("{name} is no option of {} that numabench knows: {remedy}", self.tool))
    }

    /// The option whose name this nearly is: but for its hyphens, or one letter in a short name and two in a
    /// long one.
    fn nearest(&self, name: &str) -> Option<&'static str> {
        let plain = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
        let wanted = plain(name);
        let most = if wanted.len() < 8 { 1 } else { 2 };
        let known =
            self.names.split_ascii_whitespace().map(|marked| marked.split(':').next().unwrap_or(marked));
        let near = known.filter(|known| known.len() > 2 && wanted.len() > 2);
        near.map(|known| (letters_between(&wanted, &plain(known)), known))
            .filter(|(letters, _)| *letters <= most)
            .min_by_key(|(letters, _)| *letters)
            .map(|(_, known)| known)
    }
}

/// How many letters to change, add or leave out to make one word of the other (Levenshtein).
fn letters_between(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.bytes().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (place, known) in other.bytes().enumerate() {
            let changed = before + usize::from(letter != known);
            before = row[place + 1];
            row[place + 1] = changed.min(before + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}
