//! `[ … ]` and `[[ … ]]`: whether it holds, where that is known.

use super::arithmetic::integer;
use super::pattern::{Pattern, fits};
use crate::unknown::{is_never_empty, is_unknown};

/// A word of a condition: its text, and itself as a pattern.
pub(super) struct Operand {
    pub text: String,
    pub pattern: Pattern,
}

impl Operand {
    /// A word that stands for itself.
    pub fn of_text(text: &str) -> Self {
        Self { text: text.to_owned(), pattern: text.chars().map(|c| (c, true)).collect() }
    }
}

/// Words of a condition: each may stand for a level of the reader.
const MOST_WORDS: usize = 200;

/// Whether it holds; `None` where that is not known. In `[[ ]]` the right side of `==` is a pattern.
pub(super) fn holds(words: &[Operand], with_patterns: bool) -> Option<bool> {
    if words.len() > MOST_WORDS {
        return None;
    }
    let mut reader = Reader { words, at: 0, with_patterns };
    let value = reader.or();
    (reader.at == words.len()).then_some(value).flatten()
}

struct Reader<'r> {
    words: &'r [Operand],
    at: usize,
    with_patterns: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&str> {
        self.words.get(self.at).map(|word| word.text.as_str())
    }

    fn or(&mut self) -> Option<bool> {
        self.joined(["||", "-o"], true, Self::and)
    }

    fn and(&mut self) -> Option<bool> {
        self.joined(["&&", "-a"], false, Self::not)
    }

    /// Conditions with one of these operators between; one with the value that decides settles it, also
    /// beside one that is not known.
    fn joined(
        &mut self,
        operators: [&str; 2],
        decides: bool,
        one: fn(&mut Self) -> Option<bool>,
    ) -> Option<bool> {
        let mut value = one(self);
        while self.peek().is_some_and(|word| operators.contains(&word)) {
            self.at += 1;
            value = match (value, one(self)) {
                (left, right) if left == Some(decides) || right == Some(decides) => Some(decides),
                (Some(_), Some(_)) => Some(!decides),
                _ => None,
            };
        }
        value
    }

    fn not(&mut self) -> Option<bool> {
        match self.peek() {
            Some("!") if self.words.len() > self.at + 1 => {
                self.at += 1;
                self.not().map(|value| !value)
            }
            Some("(") => {
                self.at += 1;
                let value = self.or();
                self.at += 1;
                value
            }
            _ => self.primary(),
        }
    }

    fn primary(&mut self) -> Option<bool> {
        let (first, rest) = self.words.get(self.at..)?.split_first()?;
        if let [operator, right, ..] = rest
            && is_binary(&operator.text)
        {
            self.at += 3;
            return self.binary(first, &operator.text, right);
        }

        if let (true, Some(operand)) = (first.text.len() == 2 && first.text.starts_with('-'), rest.first()) {
            self.at += 2;
            return match first.text.as_str() {
                "-z" => is_filled(&operand.text).map(|is_filled| !is_filled),
                "-n" => is_filled(&operand.text),
                // Files, terminals, whether a variable is set.
                _ => None,
            };
        }

        self.at += 1;
        is_filled(&first.text)
    }

    fn binary(&self, left: &Operand, operator: &str, right: &Operand) -> Option<bool> {
        if is_unknown(&left.text) || is_unknown(&right.text) {
            return None;
        }
        let equal = || match self.with_patterns {
            true => fits(&right.pattern, &left.text.chars().collect::<Vec<_>>()),
            false => left.text == right.text,
        };
        // `[[ ]]` works out numbers as `$(( ))` does; `[` reads decimal digits, also behind a 0.
        let number = |operand: &Operand| match self.with_patterns {
            true => integer(operand.text.trim()),
            false => operand.text.trim().parse().ok(),
        };
        let compare = |is: fn(&i64, &i64) -> bool| Some(is(&number(left)?, &number(right)?));

        match operator {
            "=" | "==" => Some(equal()),
            "!=" => Some(!equal()),
            "-eq" => compare(i64::eq),
            "-ne" => compare(i64::ne),
            "-lt" => compare(i64::lt),
            "-le" => compare(i64::le),
            "-gt" => compare(i64::gt),
            "-ge" => compare(i64::ge),
            "<" => Some(left.text < right.text),
            ">" => Some(left.text > right.text),
            _ => None,
        }
    }
}

/// Whether a word is not empty; `None` where that is not known.
fn is_filled(text: &str) -> Option<bool> {
    let is_filled = is_never_empty(text);
    (is_filled || text.is_empty()).then_some(is_filled)
}

fn is_binary(operator: &str) -> bool {
    matches!(
        operator,
        "=" | "=="
            | "!="
            | "-eq"
            | "-ne"
            | "-lt"
            | "-le"
            | "-gt"
            | "-ge"
            | "<"
            | ">"
            | "=~"
            | "-nt"
            | "-ot"
            | "-ef"
    )
}
