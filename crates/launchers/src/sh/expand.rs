//! Words as a command gets them: variables and arithmetic put in, unquoted values split at blanks, or where
//! `IFS` says. Names of files are not known here: a pattern of them is any number of words.

use super::arithmetic::{self, Target, Variables, integer};
use super::braces;
use super::condition::Operand;
use super::fields::Fields;
use super::pattern::{Pattern, without};
use super::run::Shell;
use super::word::{Parameter, Piece, Word};
use super::words::Words;
use crate::error::LineError;
use crate::unknown::{OWN_PID, UNKNOWN, is_never_empty, is_unknown};

/// Text that came of a piece.
struct Part {
    text: String,
    /// Whether it stands for itself, and is no pattern.
    quoted: bool,
    /// Whether it came of a variable or a command and stands unquoted, so that it is split into words.
    is_split: bool,
    /// Whether it may stand for any number of unknown words: files that fit a pattern are not known.
    is_open: bool,
}

impl Part {
    fn of_value(text: String, quoted: bool) -> Self {
        let is_open = !quoted && (is_unknown(&text) || text.contains(['*', '?']));
        Self { text, quoted, is_split: !quoted, is_open }
    }
}

/// How the words of a list stand in a word's parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    /// As words of their own, `"$*"` as one.
    Apart,
    /// As one text.
    Joined,
}

impl Shell<'_> {
    /// The word as one text.
    pub(super) fn text(&mut self, word: &Word) -> Result<String, LineError> {
        let parts = self.parts(word, Lists::Joined)?.into_iter().flatten();
        Ok(parts.map(|part| part.text).collect::<Vec<_>>().join(""))
    }

    /// The word as a pattern.
    pub(super) fn pattern(&mut self, word: &Word) -> Result<Pattern, LineError> {
        let parts = self.parts(word, Lists::Joined)?.into_iter().flatten();
        Ok(parts.flat_map(|part| part.text.chars().map(|c| (c, part.quoted)).collect::<Vec<_>>()).collect())
    }

    pub(super) fn operand(&mut self, word: &Word) -> Result<Operand, LineError> {
        Ok(Operand { text: self.text(word)?, pattern: self.pattern(word)? })
    }

    /// The words that these words become.
    pub(super) fn all_split(&mut self, words: &[Word]) -> Result<Words, LineError> {
        let mut all = Words::default();
        for word in words {
            all.append(self.split_words(word)?);
        }
        Ok(all)
    }

    /// Where unquoted values are split: at the characters of `IFS`, and at blanks where the script does not
    /// set it.
    pub(super) fn separators(&self) -> String {
        let own = self.process.variables.get("IFS").map(|variable| variable.value.clone());
        own.filter(|own| !is_unknown(own)).unwrap_or_else(|| " \t\n".to_owned())
    }

    /// The words that this word becomes.
    pub(super) fn split_words(&mut self, word: &Word) -> Result<Words, LineError> {
        let Some(words) = braces::expanded(word) else { return Ok(Words::unknown()) };
        let mut all = Words::default();
        for word in words {
            all.append(self.split_word(&word)?);
        }
        Ok(all)
    }

    /// The words that a word without braces becomes.
    fn split_word(&mut self, word: &Word) -> Result<Words, LineError> {
        let word = tilde(word);
        let separators = self.separators();
        let mut fields = Fields::default();
        let mut open_from = None;

        for (at, group) in self.parts(&word, Lists::Apart)?.into_iter().enumerate() {
            // Words of "$@" stand apart.
            if at > 0 {
                fields.end_word();
            }
            for part in group {
                if part.is_open {
                    open_from.get_or_insert(fields.complete());
                }
                if part.is_split {
                    fields.add_split(&part.text, &separators);
                } else if part.quoted || !part.text.is_empty() {
                    fields.add(&part.text);
                }
            }
        }

        let mut all = Words::from(fields.finish());
        if all.words == [""] && self.has_empty_list(&word)? {
            return Ok(Words::default());
        }
        open_from.into_iter().for_each(|from| all.open(from));
        Ok(all)
    }

    /// Whether a list of no words is among the pieces: `"$@"` is no word then, and `"$*"` is an empty one.
    fn has_empty_list(&mut self, word: &Word) -> Result<bool, LineError> {
        for piece in word {
            if let Piece::Parameter { parameter, .. } = piece
                && self.is_all(parameter)
                && !is_star(parameter)
                && self.all(parameter)?.count() == Some(0)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The parts of a word, in groups that are words of their own.
    fn parts(&mut self, word: &Word, lists: Lists) -> Result<Vec<Vec<Part>>, LineError> {
        let mut groups = vec![Vec::new()];
        for piece in word {
            let part = match piece {
                Piece::Text { text, quoted } => {
                    Part { is_split: false, ..Part::of_value(text.clone(), *quoted) }
                }
                Piece::Arithmetic(text) => Part::of_value(self.arithmetic(text)?, true),
                Piece::Output { script, quoted } => Part::of_value(self.output(script), *quoted),
                Piece::Parameter { parameter, quoted } if self.is_all(parameter) => {
                    let items = self.all(parameter)?;
                    let is_star = is_star(parameter);
                    if lists == Lists::Joined || is_star && *quoted {
                        let between = if is_star { self.separators().chars().next() } else { Some(' ') };
                        let text = match items.count() {
                            Some(_) => items.words.join(&between.map(String::from).unwrap_or_default()),
                            None => UNKNOWN.to_string(),
                        };
                        Part::of_value(text, *quoted)
                    } else {
                        add_words(&mut groups, &items, *quoted);
                        continue;
                    }
                }
                Piece::Parameter { parameter, quoted } => Part::of_value(self.parameter(parameter)?, *quoted),
            };
            if let Some(group) = groups.last_mut() {
                group.push(part);
            }
        }

        Ok(groups)
    }

    /// Whether it stands for several words: `$@`, `${list[@]}`.
    fn is_all(&self, parameter: &Parameter) -> bool {
        let several = matches!(parameter.name.as_str(), "@" | "*")
            || matches!(parameter.index.as_deref(), Some("@" | "*"));
        several && !parameter.length
    }

    fn all(&mut self, parameter: &Parameter) -> Result<Words, LineError> {
        let items = match parameter.name.as_str() {
            "@" | "*" => self.frame.arguments.clone(),
            name => self.arrays.get(name).cloned().unwrap_or_else(Words::unknown),
        };

        match (parameter.operator.as_str(), items.count().map(|count| count == 0)) {
            ("", _) | (":+" | "+", Some(true)) | (":-" | "-", Some(false)) => Ok(items),
            (":+" | "+", Some(false)) | (":-" | "-", Some(true)) => {
                Ok(vec![self.text(&parameter.word)?].into())
            }
            // ${@:2}, ${@:2:3}
            (":", _) => {
                let text = self.text(&parameter.word)?;
                let number =
                    |text: &str| integer(text.trim()).and_then(|number| usize::try_from(number).ok());
                let (from, most) = match text.split_once(':') {
                    Some((from, most)) => (number(from), number(most)),
                    None => (number(&text), Some(usize::MAX)),
                };
                // ${@:1} is the first argument: ${@:0} has the shell's name before it.
                let first =
                    if parameter.index.is_some() { from } else { from.and_then(|from| from.checked_sub(1)) };
                Ok(first.zip(most).map_or_else(Words::unknown, |(first, most)| items.part(first, most)))
            }
            _ => Ok(Words::unknown()),
        }
    }

    /// The value before its operator; `None`: it is not set.
    fn plain(&mut self, parameter: &Parameter) -> Result<Option<String>, LineError> {
        let name = parameter.name.as_str();
        if let Ok(number) = name.parse::<usize>() {
            return Ok(match number.checked_sub(1) {
                None => Some(self.name.clone()),
                Some(at) => self.frame.arguments.get(at),
            });
        }

        Ok(match name {
            "#" => Some(text_of_number(self.frame.arguments.count())),
            "$" => Some(OWN_PID.to_string()),
            "?" => Some(text_of_number(self.status)),
            "!" | "-" | "RANDOM" | "LINENO" | "BASHPID" => Some(UNKNOWN.to_string()),
            _ => match (self.arrays.get(name).cloned(), &parameter.index) {
                (Some(items), None) => items.get(0),
                (Some(items), Some(index)) => {
                    let at = self.arithmetic(index)?.parse::<usize>().ok();
                    match at {
                        Some(at) => items.get(at),
                        None => Some(UNKNOWN.to_string()),
                    }
                }
                (None, None) => {
                    if parameter.operator.is_empty() && !parameter.length {
                        self.process.reads_variable(name);
                    }
                    self.process.variable(name)
                }
                (None, Some(_)) => Some(UNKNOWN.to_string()),
            },
        })
    }

    fn parameter(&mut self, parameter: &Parameter) -> Result<String, LineError> {
        if parameter.length {
            let counted = Parameter { length: false, ..parameter.clone() };
            let length = if self.is_all(&counted) {
                self.all(&counted)?.count()
            } else {
                let value = self.plain(&counted)?.unwrap_or_default();
                (!is_unknown(&value)).then(|| value.chars().count())
            };
            return Ok(text_of_number(length));
        }

        let value = self.plain(parameter)?;
        let is_set =
            value.as_ref().is_some_and(|value| !parameter.operator.starts_with(':') || !value.is_empty());
        let unknown = value.as_deref().is_some_and(is_unknown);

        Ok(match parameter.operator.as_str() {
            "" => value.unwrap_or_default(),
            ":+" | "+" if value.as_deref().is_some_and(is_never_empty) => self.text(&parameter.word)?,
            _ if unknown => UNKNOWN.to_string(),
            ":-" | "-" | ":?" | "?" if is_set => value.unwrap_or_default(),
            ":-" | "-" => self.text(&parameter.word)?,
            ":?" | "?" => UNKNOWN.to_string(),
            ":=" | "=" if is_set => value.unwrap_or_default(),
            ":=" | "=" => {
                let value = self.text(&parameter.word)?;
                self.process.set(&parameter.name, value.clone());
                value
            }
            ":+" | "+" if is_set => self.text(&parameter.word)?,
            ":+" | "+" => String::new(),
            "#" | "##" | "%" | "%%" => {
                let pattern = self.pattern(&parameter.word)?;
                without(&value.unwrap_or_default(), &parameter.operator, &pattern)
            }
            ":" => {
                let text = self.text(&parameter.word)?;
                let (from, length) =
                    text.split_once(':').map_or((text.as_str(), None), |(from, length)| (from, Some(length)));
                let from = self.arithmetic(from)?.parse::<usize>().ok();
                let length = length.map(|length| self.arithmetic(length)).transpose()?;
                let most = length.map_or(Some(usize::MAX), |length| length.parse().ok());
                match (from, most) {
                    (Some(from), Some(most)) => {
                        value.unwrap_or_default().chars().skip(from).take(most).collect()
                    }
                    _ => UNKNOWN.to_string(),
                }
            }
            "/" | "//" => {
                let text = self.text(&parameter.word)?;
                let (from, to) = text.split_once('/').unwrap_or((&text, ""));
                let value = value.unwrap_or_default();
                match () {
                    () if from.is_empty() || from.contains(['*', '?', '[']) => UNKNOWN.to_string(),
                    () if parameter.operator == "/" => value.replacen(from, to, 1),
                    () => value.replace(from, to),
                }
            }
            _ => UNKNOWN.to_string(),
        })
    }

    /// An expression's value as text.
    pub(super) fn arithmetic(&mut self, text: &str) -> Result<String, LineError> {
        // Names stay for the expression itself, which may assign to them.
        let word = super::parse::Reader::new(text).word_to_end().unwrap_or_default();
        let text = match text.contains('$') || text.contains('`') {
            true => self.text(&word)?,
            false => text.to_owned(),
        };
        if is_unknown(&text) {
            return Ok(UNKNOWN.to_string());
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text.split(|c| !is_name(c)).for_each(|name| self.process.reads_variable(name));
        let value = if text.trim().is_empty() { Some(0) } else { arithmetic::value(&text, self) };
        Ok(value.map_or_else(|| UNKNOWN.to_string(), |value| value.to_string()))
    }
}

/// Whether the words of a list stand in one where it is quoted: `"$*"`, `"${list[*]}"`.
fn is_star(parameter: &Parameter) -> bool {
    parameter.name == "*" || parameter.index.as_deref() == Some("*")
}

/// A number as text.
fn text_of_number(number: Option<impl ToString>) -> String {
    number.map_or_else(|| UNKNOWN.to_string(), |number| number.to_string())
}

/// Adds words to the groups of a word: the first continues the last group.
fn add_words(groups: &mut Vec<Vec<Part>>, items: &Words, quoted: bool) {
    for (at, item) in items.words.iter().enumerate() {
        if at > 0 {
            groups.push(Vec::new());
        }
        if let Some(group) = groups.last_mut() {
            let part = Part::of_value(item.clone(), quoted);
            group.push(Part { is_open: part.is_open || items.is_open_at(at), ..part });
        }
    }
}

/// The home directory of who asks; another user's is not known.
fn tilde(word: &Word) -> Word {
    let mut word = word.clone();
    if let Some(Piece::Text { text, quoted: false }) = word.first_mut()
        && text.starts_with('~')
    {
        let own = std::env::var("HOME").ok().filter(|_| text == "~" || text.starts_with("~/"));
        text.replace_range(..1, &own.unwrap_or_else(|| UNKNOWN.to_string()));
    }
    word
}

impl Variables for Shell<'_> {
    fn number(&self, target: &Target) -> Option<i64> {
        let value = match (self.arrays.get(&target.name), target.index) {
            (Some(items), index) => items.get(usize::try_from(index.unwrap_or(Some(0))?).ok()?),
            (None, None | Some(Some(0))) => self.process.variable(&target.name),
            (None, Some(_)) => return None,
        };
        match value.as_deref().map(str::trim) {
            None | Some("") => Some(0),
            Some(text) => integer(text),
        }
    }

    fn assign(&mut self, target: &Target, value: Option<i64>) {
        let value = value.map_or_else(|| UNKNOWN.to_string(), |value| value.to_string());
        match target.index {
            None if !self.arrays.contains_key(&target.name) => self.process.set(&target.name, value),
            index => {
                let at = index.unwrap_or(Some(0)).and_then(|at| usize::try_from(at).ok());
                self.set_item(&target.name, at, value, false);
            }
        }
    }

    fn lose(&mut self, name: &str) {
        match self.arrays.contains_key(name) {
            true => drop(self.arrays.insert(name.to_owned(), Words::unknown())),
            false => self.process.set(name, UNKNOWN.to_string()),
        }
    }
}
