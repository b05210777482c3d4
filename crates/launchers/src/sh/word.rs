//! A word of a script before it is expanded: text, and what stands for something else.

use super::{Unread, parse::Reader};

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// As it is written; `quoted` text is no pattern and is never split.
    Text { text: String, quoted: bool },
    /// `$NAME`, `${NAME…}`.
    Parameter { parameter: Parameter, quoted: bool },
    /// `$((…))`.
    Arithmetic(String),
    /// `$(…)` and `` `…` ``: the script inside.
    Output { script: String, quoted: bool },
}

/// `${NAME[INDEX]OPERATOR WORD}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameter {
    pub name: String,
    /// `[…]` of an array.
    pub index: Option<String>,
    /// `${#NAME}`.
    pub length: bool,
    /// `:-`, `-`, `:=`, `:+`, `%`, `##`, …; empty for none.
    pub operator: String,
    pub word: Word,
}

/// A word.
pub(super) type Word = Vec<Piece>;

/// `NAME=WORD`, `NAME+=WORD`, `NAME=(WORD…)`, `NAME[INDEX]=WORD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub name: String,
    pub index: Option<String>,
    pub append: bool,
    pub value: AssignmentValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AssignmentValue {
    Word(Word),
    Array(Vec<Word>),
}

/// Whether the text is a variable's name.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Operators behind a name, the longer ones first.
const OPERATORS: [&str; 20] =
    [":-", ":=", ":+", ":?", "##", "%%", "//", "/#", "/%", "^^", ",,", "-", "=", "+", "?", "#", "%", "/", ":", "@"];

/// What stands between `${` and `}`.
pub(super) fn parameter(text: &str) -> Result<Parameter, Unread> {
    let unread = || Unread::new(format!("${{{text}}}"));
    let (length, text_of) = match text.strip_prefix('#') {
        Some(rest) if !rest.is_empty() => (true, rest),
        _ => (false, text),
    };
    let special = text_of.starts_with(['@', '*', '#', '?', '$', '!']);
    let end = if special {
        1
    } else {
        text_of.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text_of.len())
    };
    let (name, mut rest) = text_of.split_at(end);
    let is_known = special || is_name(name) || name.bytes().all(|byte| byte.is_ascii_digit());
    if name.is_empty() || !is_known {
        return Err(unread());
    }
    let mut index = None;
    if let Some(behind) = rest.strip_prefix('[') {
        let (inside, after) = behind.split_once(']').ok_or_else(unread)?;
        (index, rest) = (Some(inside.to_owned()), after);
    }
    let operator = match rest.is_empty() {
        true => "",
        false => OPERATORS.into_iter().find(|operator| rest.starts_with(operator)).ok_or_else(unread)?,
    };
    let word = Reader::new(&rest[operator.len()..]).word_to_end()?;
    Ok(Parameter { name: name.to_owned(), index, length, operator: operator.to_owned(), word })
}
