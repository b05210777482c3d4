//! A word of a script before it is expanded: text, and what stands for something else.

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

impl Assignment {
    /// Whether a command's output is in it, whose exit code becomes that of the assignment.
    pub fn has_output(&self) -> bool {
        let words = match &self.value {
            AssignmentValue::Word(word) => std::slice::from_ref(word),
            AssignmentValue::Array(words) => words,
        };
        words.iter().flatten().any(|piece| matches!(piece, Piece::Output { .. }))
    }
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
