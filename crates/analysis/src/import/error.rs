//! Why a text cannot be read as a program's output, and at which line.

use std::fmt;

/// Why, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The line, 1 first; `None` where it is a matter of the whole text.
    pub line: Option<u64>,
    /// Why.
    pub refused: ImportErrorKind,
}

/// Why a text is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportErrorKind {
    /// Nothing in it.
    #[error("there is nothing in it: give the file that the program's standard output went to")]
    Empty,
    /// Bytes that are no UTF-8.
    #[error("this is not text (UTF-8): give the file that the program's standard output went to")]
    NotText,
    /// Another program's output.
    #[error("this is not the output of {program}: {missing}; `numabench import --help` lists what is read")]
    NotThis {
        /// The program asked for.
        program: &'static str,
        /// What such an output has.
        missing: &'static str,
    },
    /// A test of the program that is not read.
    #[error("{test} is not read here: {known}")]
    UnknownTest {
        /// Which.
        test: String,
        /// Those that are.
        known: &'static str,
    },
    /// A figure with a comma.
    #[error(
        "{text:?} has a comma where {wanted} is to be: run the program with LC_ALL=C, which writes a point"
    )]
    Comma {
        /// What is there.
        text: String,
        /// What is to be there.
        wanted: &'static str,
    },
    /// No figure where one is to be.
    #[error("{text:?} stands where {wanted} is to be")]
    NoNumber {
        /// What is there.
        text: String,
        /// What is to be there.
        wanted: &'static str,
    },
    /// A table of rates whose unit is not said.
    #[error("the heading above has no unit ({units}): import the whole output")]
    NoUnit {
        /// What it can be.
        units: &'static str,
    },
    /// A line that is none of the program's.
    #[error("{text:?} is no line of {of}: if the launcher wrote it, take it out")]
    Line {
        /// The line.
        text: String,
        /// The program, or the part of its output.
        of: &'static str,
    },
    /// A row with other columns than its header.
    #[error("the row has {found} columns and its header {wanted}")]
    Columns {
        /// How many there are.
        found: usize,
        /// How many there are to be.
        wanted: usize,
    },
    /// It ends too early.
    #[error("the output ends in the middle: {missing}; import it once the program has ended")]
    Truncated {
        /// What is not there.
        missing: String,
    },
    /// A sum that is not that of its figures.
    #[error("the sum {sum} is not that of the figures above it, {added}: the output is damaged")]
    Sum {
        /// What the program says.
        sum: String,
        /// What its figures come to.
        added: String,
    },
    /// JSON that cannot be read.
    #[error("this is not the JSON of {program} ({fault})")]
    Json {
        /// The program asked for.
        program: &'static str,
        /// What is wrong, with line and column.
        fault: String,
    },
    /// The program measured nothing.
    #[error("the program measured nothing; it says: {said}")]
    NoFigures {
        /// What it says.
        said: String,
    },
    /// A case twice in one text.
    #[error(
        "{case} is there twice{}: give each run in a file of its own",
        .first.map_or(String::new(), |line| format!(" (first in line {line})"))
    )]
    Twice {
        /// Which.
        case: String,
        /// Its first line.
        first: Option<u64>,
    },
    /// A case in two files.
    #[error("{case} is in {first} too: import each run by itself; `compare` takes several documents a side")]
    InTwoFiles {
        /// Which.
        case: String,
        /// The other file.
        first: String,
    },
    /// Files of two runs.
    #[error("{what} is {here}, and in {first} it is {there}: import each run by itself")]
    OtherRun {
        /// What differs.
        what: String,
        /// What it is here.
        here: String,
        /// What it is there.
        there: String,
        /// The other file.
        first: String,
    },
}

impl ImportError {
    pub(super) fn at(line: u64, refused: ImportErrorKind) -> Self {
        Self { line: Some(line), refused }
    }

    pub(super) fn whole(refused: ImportErrorKind) -> Self {
        Self { line: None, refused }
    }

    /// A line that has no place where it stands.
    pub(super) fn stray(line: u64, words: &str, of: &'static str) -> Self {
        Self::at(line, ImportErrorKind::Line { text: short(words), of })
    }

    /// What began at this line has no end.
    pub(super) fn truncated(line: u64, missing: String) -> Self {
        Self::at(line, ImportErrorKind::Truncated { missing })
    }
}

/// Refuses a row with another number of columns than its header.
pub(super) fn as_many(found: usize, wanted: usize, line: u64) -> Result<(), ImportError> {
    match found == wanted {
        true => Ok(()),
        false => Err(ImportError::at(line, ImportErrorKind::Columns { found, wanted })),
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.refused),
            None => self.refused.fmt(f),
        }
    }
}

impl std::error::Error for ImportError {}

/// A text of a program, cut at 120 characters for a message.
pub(super) fn short(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(120) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
