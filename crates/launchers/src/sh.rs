//! What a wrapper's script does, without a shell: a subset of sh and bash, read and followed for one rank.
//!
//! A wrapper chooses a rank's GPU, cores or memory from the rank's number, in as many ways as a shell has.
//! Matching lines of text cannot tell what it does; running it could do anything. So it is followed:
//! variables, arithmetic, arrays, `case`, `if`, `[ ]`, loops and functions change values here and nothing
//! else, and what would be started is handed to the function that follows a program.
//!
//! * `word`, `parse` from text to commands; `expand` words to text and to lists (`words`, split by `fields`),
//!   `braces`, `pattern`, `arithmetic`, `condition` (`[ ]` and `[[ ]]`), `output` (`$(…)`) its parts;
//! * `run` commands, one after another, and the ways between them; `builtins` what a simple command does,
//!   `assignment` what it sets, `programs` what it starts.
//!
//! What is not known here (a file, a program's output, another variable) is
//! [`UNKNOWN`](crate::unknown::UNKNOWN) in a value, and both ways are followed where a condition depends on
//! it. What the reader has not got is an [`Unread`], which makes the rank's placement unknown and never
//! wrong.

mod arithmetic;
mod assignment;
mod braces;
mod builtins;
mod condition;
mod expand;
mod fields;
mod output;
mod parse;
mod pattern;
mod programs;
mod run;
#[cfg(test)]
mod tests;
mod word;
mod words;

pub(crate) use programs::is_neutral;
pub(crate) use run::{Follow, run, started};

/// Whether the text can be read as commands of a shell.
pub(crate) fn reads(text: &str) -> bool {
    parse::script(text).is_ok()
}

/// What the reader has not got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Where, and what.
    pub what: String,
}

impl Unread {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}
