//! Words as a command gets them: variables and arithmetic put in, unquoted values split at blanks, or where
//! `IFS` says. File names are not expanded: there are none here.

use super::Unread;
use super::arithmetic::{self, Target, Variables, integer};
use super::condition::Operand;
use super::pattern::{Pattern, fits};
use super::run::Shell;
use super::word::{Parameter, Piece, Word};
use crate::error::LineError;
use crate::hwloc_location;
use crate::unknown::{OWN_PID, UNKNOWN, is_unknown};

/// Text that came of a piece.
struct Part {
    text: String,
    /// Whether it stands for itself, and is no pattern.
    quoted: bool,
    /// Whether it came of a variable or a command and stands unquoted, so that it is split into words.
    is_split: bool,
}

impl Part {
    fn of_value(text: String, quoted: bool) -> Self {
        Self { text, quoted, is_split: !quoted }
    }
}

impl Shell<'_> {
    /// The word as one text.
    pub(super) fn text(&mut self, word: &Word) -> Result<String, LineError> {
        Ok(self.parts(word)?.into_iter().flatten().map(|part| part.text).collect::<Vec<_>>().join(""))
    }

    /// The word as a pattern.
    pub(super) fn pattern(&mut self, word: &Word) -> Result<Pattern, LineError> {
        let parts = self.parts(word)?.into_iter().flatten();
        Ok(parts.flat_map(|part| part.text.chars().map(|c| (c, part.quoted)).collect::<Vec<_>>()).collect())
    }

    pub(super) fn operand(&mut self, word: &Word) -> Result<Operand, LineError> {
        Ok(Operand { text: self.text(word)?, pattern: self.pattern(word)? })
    }

    /// The words that these words become.
    pub(super) fn all_split(&mut self, words: &[Word]) -> Result<Vec<String>, LineError> {
        Ok(words.iter().map(|word| self.split_words(word)).collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Where unquoted values are split: at the characters of `IFS`, and at blanks where the script does not
    /// set it.
    pub(super) fn separators(&self) -> String {
        let own = self.process.variables.get("IFS").map(|variable| variable.value.clone());
        own.filter(|own| !is_unknown(own)).unwrap_or_else(|| " \t\n".to_owned())
    }

    /// The words that this word becomes.
    fn split_words(&mut self, word: &Word) -> Result<Vec<String>, LineError> {
        let word = tilde(word);
        let separators = self.separators();
        let mut all = Vec::new();
        let mut open: Option<String> = None;

        for (at, group) in self.parts(&word)?.into_iter().enumerate() {
            // Words of "$@" stand apart.
            if at > 0 {
                all.extend(open.take());
            }
            for part in group {
                if !part.is_split {
                    if part.quoted || !part.text.is_empty() {
                        open.get_or_insert_default().push_str(&part.text);
                    }
                    continue;
                }
                let mut pieces = part.text.split(|c| separators.contains(c)).peekable();
                while let Some(piece) = pieces.next() {
                    if !piece.is_empty() {
                        open.get_or_insert_default().push_str(piece);
                    }
                    if pieces.peek().is_some() {
                        all.extend(open.take());
                    }
                }
            }
        }

        all.extend(open);
        Ok(all)
    }

    /// The parts of a word, in groups that are words of their own.
    fn parts(&mut self, word: &Word) -> Result<Vec<Vec<Part>>, LineError> {
        let mut groups = vec![Vec::new()];
        for piece in word {
            let part = match piece {
                Piece::Text { text, quoted } => Part { text: text.clone(), quoted: *quoted, is_split: false },
                Piece::Arithmetic(text) => Part::of_value(self.arithmetic(text)?, true),
                Piece::Output { script, quoted } => Part::of_value(self.output(script), *quoted),
                Piece::Parameter { parameter, quoted } if self.is_all(parameter) => {
                    let items = self.all(parameter)?;
                    for (at, item) in items.into_iter().enumerate() {
                        if at > 0 {
                            groups.push(Vec::new());
                        }
                        if let Some(group) = groups.last_mut() {
                            group.push(Part::of_value(item, *quoted));
                        }
                    }
                    continue;
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

    fn all(&mut self, parameter: &Parameter) -> Result<Vec<String>, LineError> {
        let items = match parameter.name.as_str() {
            "@" | "*" => self.arguments.clone(),
            name => self.arrays.get(name).cloned().unwrap_or_else(|| vec![UNKNOWN.to_string()]),
        };

        match (parameter.operator.as_str(), items.is_empty()) {
            ("", _) | (":+" | "+", true) | (":-" | "-", false) => Ok(items),
            (":+" | "+", false) | (":-" | "-", true) => Ok(vec![self.text(&parameter.word)?]),
            // ${@:2}, ${@:2:3}
            (":", _) => {
                let text = self.text(&parameter.word)?;
                let (from, length) = text.split_once(':').unwrap_or((&text, ""));
                let (from, length) = (integer(from.trim()), integer(length.trim()));
                let Some(from) = from.and_then(|from| usize::try_from(from).ok()) else {
                    return Ok(vec![UNKNOWN.to_string()]);
                };
                let skipped = if parameter.index.is_some() { from } else { from.saturating_sub(1) };
                let most = length.and_then(|length| usize::try_from(length).ok()).unwrap_or(usize::MAX);
                Ok(items.into_iter().skip(skipped).take(most).collect())
            }
            _ => Ok(vec![UNKNOWN.to_string()]),
        }
    }

    /// The value before its operator; `None`: it is not set.
    fn plain(&mut self, parameter: &Parameter) -> Result<Option<String>, LineError> {
        let name = parameter.name.as_str();
        if let Ok(number) = name.parse::<usize>() {
            return Ok(match number.checked_sub(1) {
                None => Some(self.name.clone()),
                Some(at) => self.arguments.get(at).cloned(),
            });
        }

        Ok(match name {
            "#" => Some(self.arguments.len().to_string()),
            "@" | "*" => Some(self.arguments.join(" ")),
            "$" => Some(OWN_PID.to_string()),
            "?" => Some(self.status.map_or_else(|| UNKNOWN.to_string(), |ok| u8::from(!ok).to_string())),
            "!" | "-" | "RANDOM" | "LINENO" | "BASHPID" => Some(UNKNOWN.to_string()),
            _ => match (self.arrays.get(name).cloned(), &parameter.index) {
                (Some(items), None) => items.first().cloned(),
                (Some(items), Some(index)) => {
                    let at = self.arithmetic(index)?.parse::<usize>().ok();
                    match at {
                        Some(at) => items.get(at).cloned(),
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
            let items = self.arrays.get(&parameter.name).map(Vec::len);
            let several = matches!(parameter.index.as_deref(), Some("@" | "*"));
            let length = match (several, items) {
                (true, Some(items)) => Some(items),
                (true, None) if matches!(parameter.name.as_str(), "@" | "*") => Some(self.arguments.len()),
                (true, None) => None,
                _ => {
                    let value =
                        self.plain(&Parameter { length: false, ..parameter.clone() })?.unwrap_or_default();
                    (!is_unknown(&value)).then(|| value.chars().count())
                }
            };
            return Ok(length.map_or_else(|| UNKNOWN.to_string(), |length| length.to_string()));
        }

        let value = self.plain(parameter)?;
        let is_set =
            value.as_ref().is_some_and(|value| !parameter.operator.starts_with(':') || !value.is_empty());
        let unknown = value.as_deref().is_some_and(is_unknown);

        Ok(match parameter.operator.as_str() {
            "" => value.unwrap_or_default(),
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

    /// What a command writes, of the few whose output follows from their words.
    fn output(&mut self, script: &str) -> String {
        self.worked_out(script).ok().flatten().unwrap_or_else(|| UNKNOWN.to_string())
    }

    fn worked_out(&mut self, script: &str) -> Result<Option<String>, LineError> {
        let unread = |_: Unread| LineError::NotSaid(String::new());
        let node = super::parse::script(script).map_err(unread)?;
        let super::parse::Node::List(list) = node else { return Ok(None) };
        let [(_, super::parse::Node::Simple(simple))] = list.as_slice() else { return Ok(None) };
        if !simple.assignments.is_empty() {
            return Ok(None);
        }
        let all = self.all_split(&simple.words)?;
        let all: Vec<&str> = all.iter().map(String::as_str).collect();

        Ok(match all.as_slice() {
            ["hwloc-calc", rest @ ..] => hwloc_location::calculated(self.process.topology, rest),
            ["echo", rest @ ..] => Some(rest.join(" ")),
            ["printf", "%s" | "%d" | "%s\\n" | "%d\\n", value] => Some((*value).to_owned()),
            ["expr", rest @ ..] => Some(self.arithmetic(&rest.join(" "))?),
            ["seq", "-s", between, first, last] => numbers(first, last).map(|all| all.join(between)),
            ["seq", first, last] => numbers(first, last).map(|all| all.join(" ")),
            ["seq", last] => numbers("1", last).map(|all| all.join(" ")),
            _ => None,
        })
    }
}

/// `seq FIRST LAST`, of a length that nodes have.
fn numbers(first: &str, last: &str) -> Option<Vec<String>> {
    let (first, last): (i64, i64) = (first.parse().ok()?, last.parse().ok()?);
    (last.checked_sub(first)? < 10_000).then(|| (first..=last).map(|number| number.to_string()).collect())
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

/// The value without the shortest (`#`, `%`) or longest part at its beginning or end that fits.
fn without(value: &str, operator: &str, pattern: &[(char, bool)]) -> String {
    let letters: Vec<char> = value.chars().collect();
    let count = letters.len();
    let fitting = |taken: &usize| match operator.starts_with('#') {
        true => fits(pattern, &letters[..*taken]),
        false => fits(pattern, &letters[count - taken..]),
    };
    let taken = match operator.len() {
        1 => (0..=count).find(fitting),
        _ => (0..=count).rev().find(fitting),
    };
    let taken = taken.unwrap_or(0);
    match operator.starts_with('#') {
        true => letters[taken..].iter().collect(),
        false => letters[..count - taken].iter().collect(),
    }
}

impl Variables for Shell<'_> {
    fn number(&self, target: &Target) -> Option<i64> {
        let value = match (self.arrays.get(&target.name), target.index) {
            (Some(items), index) => items.get(usize::try_from(index.unwrap_or(Some(0))?).ok()?).cloned(),
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
                self.set_item(&target.name, at, value);
            }
        }
    }

    fn lose(&mut self, name: &str) {
        match self.arrays.contains_key(name) {
            true => self.set_item(name, None, UNKNOWN.to_string()),
            false => self.process.set(name, UNKNOWN.to_string()),
        }
    }
}
