//! What else stands before a program: variables, env, a shell with its script, a wrapper's file.

use super::grammar::{Grammar, Style};
use super::{LineError, Said};

const ENV: Grammar = Grammar {
    tool: "env",
    style: Style::Getopt,
    letters: "iu:C:S:v0a:",
    nothing: &["ignore-environment", "null", "debug", "list-signal-handling", "help", "version"],
    value: &["unset", "chdir", "split-string", "argv0"],
    maybe: &["default-signal", "ignore-signal", "block-signal"],
    two: &[],
    is_open: false,
};

/// sh, dash and bash: `-c` takes nothing, and the first word that is no option is its script.
const SHELL: Grammar = Grammar {
    tool: "the shell",
    style: Style::Getopt,
    letters: "abcefhiklmnprstuvxBCDEHPTo:O:",
    nothing: &["login", "norc", "noprofile", "noediting", "posix", "restricted", "verbose", "help", "version"],
    value: &["rcfile", "init-file"],
    maybe: &[],
    two: &[],
    is_open: false,
};

/// `NAME=VALUE`.
pub(super) fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(fits))
        .then_some((name, value))
}

impl Said<'_> {
    /// Variables at the beginning, and the words behind them.
    pub(super) fn variables<'l>(&mut self, words: &'l [&'l str]) -> &'l [&'l str] {
        let mut rest = words;
        while let Some(((name, value), after)) =
            rest.split_first().and_then(|(word, after)| Some((assignment(word)?, after)))
        {
            self.variable(name, value);
            rest = after;
        }
        rest
    }

    pub(super) fn variable(&mut self, name: &str, value: &str) {
        if matches!(name, "CUDA_VISIBLE_DEVICES" | "ROCR_VISIBLE_DEVICES" | "HIP_VISIBLE_DEVICES") {
            self.visible = Some(value.to_owned());
        }
    }

    pub(super) fn env(&mut self, words: &[&str]) -> Result<(), LineError> {
        let (given, rest) = ENV.read(words)?;
        if given.iter().any(|one| matches!(one.name, "S" | "split-string")) {
            return Err(LineError::NotSaid("env -S hides the command in one word: write its words apart".to_owned()));
        }
        let program = self.variables(rest);
        self.program(program)
    }

    pub(super) fn shell(&mut self, words: &[&str]) -> Result<(), LineError> {
        let (given, rest) = SHELL.read(words)?;
        match (rest.first(), given.iter().any(|one| one.name == "c")) {
            (Some(script), true) => self.script(script),
            (Some(file), false) => self.file(file),
            (None, _) => Ok(()),
        }
    }
}
