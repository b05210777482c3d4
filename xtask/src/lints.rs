//! Everything compiled once, with clippy as the compiler: what a test runs is linted as it is compiled, where
//! `cargo clippy` would compile it all a second time.
//!
//! Cargo has a place for this ([`WRAPPER`], which `cargo clippy` sets as well), and repeats the warnings of
//! what it need not compile again. Whoever compiles without it afterwards (`cargo nextest run`) has files of
//! his own. Each warning is an error here, but the tests run all the same.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use cargo_metadata::Message;
use cargo_metadata::diagnostic::DiagnosticLevel;

use crate::step;

/// Cargo's variable for a compiler that takes the place of rustc for this workspace's own crates.
const WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";
const CLIPPY: &str = "clippy-driver";

/// Whether there is clippy: rustup has a program of its name on the PATH also where the toolchain has none.
fn is_here() -> bool {
    static HERE: OnceLock<bool> = OnceLock::new();
    *HERE.get_or_init(|| step::succeeds(Command::new(CLIPPY).arg("--version")))
}

/// The cargo command, with clippy as the compiler where there is one.
pub fn linting(mut cargo: Command) -> Command {
    if is_here() {
        cargo.env(WRAPPER, CLIPPY);
    }
    cargo
}

/// Compiles all that tests need of `packages`.
///
/// # Errors
/// Something does not compile, or there are warnings: all have been printed.
pub fn compile(root: &Path, packages: &[&str]) -> Result<()> {
    if !is_here() {
        eprintln!(
            "test: note: compiled without lints: `{CLIPPY}` is not installed (rustup component add clippy)"
        );
    }
    let mut cargo = linting(Command::new("cargo"));
    cargo.args(["test", "--no-run", "--message-format", "json"]).args(packages).current_dir(root);
    let line = step::line(&cargo);
    eprintln!("$ {line}");
    let mut child = cargo.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot run `{line}`"))?;
    let warnings = child.stdout.take().map_or(Ok(0), |out| print_warnings(BufReader::new(out)))?;
    let status = child.wait().with_context(|| format!("cannot wait for `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    if warnings > 0 {
        bail!("{warnings} warnings; each is an error here");
    }
    Ok(())
}

/// Prints what the compiler says in cargo's messages; how many warnings there are.
fn print_warnings(messages: impl BufRead) -> Result<usize> {
    let mut warnings = 0;
    for message in Message::parse_stream(messages) {
        if let Message::CompilerMessage(said) = message.context("cannot read what cargo says")? {
            warnings += usize::from(said.message.level == DiagnosticLevel::Warning);
            eprint!("{}", said.message.rendered.unwrap_or(said.message.message));
        }
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As cargo writes them, but for what is not read.
    fn message(level: &str) -> String {
        let target = r#"{"kind":["lib"],"crate_types":["lib"],"name":"a","src_path":"/a/src/lib.rs","edition":"2024"}"#;
        let said = format!(
            r#"{{"message":"unused","code":null,"level":"{level}","spans":[],"children":[],"rendered":"{level}: unused\n"}}"#
        );
        format!(
            r#"{{"reason":"compiler-message","package_id":"a 0.1.0","manifest_path":"/a/Cargo.toml","target":{target},"message":{said}}}"#
        )
    }

    #[test]
    fn warnings_are_counted_and_notes_and_other_lines_are_not() -> Result<()> {
        let lines =
            [message("warning"), message("note"), "a line of a build script".to_owned(), message("warning")];
        assert_eq!(print_warnings(lines.join("\n").as_bytes())?, 2);
        Ok(())
    }
}
