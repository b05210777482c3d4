//! Every pair of options of the commands that print no plan: the result changes with each of the two, or the
//! pair is refused with exit 2 and both names.
//!
//! Options are those that `--help` lists; each has a value here, and what it needs beside it. What is
//! observed of a line is its exit code, what it prints and the files it writes, without the moment and the
//! command line that documents keep. Commands that print a plan have theirs in the binary's own tests
//! (`rules`), where no process is needed. A pair of which one option cannot show on a plain machine (`--nic`
//! without an adapter) is named with the reason. Left out: options whose effect is no text (time limits,
//! colour of a line that has none); those of `place --measure` and `topo --measure`, which would measure.
#![allow(clippy::print_stdout, reason = "a count of what was tried is a figure of this test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::option_samples::{COMMANDS, Command, Sample, write_files};
use crate::run::{Done, end, numabench};

/// The options that the help of a command lists.
fn options(command: &str) -> Vec<String> {
    let help = end(&mut numabench(), [command, "--help"]).out;
    let indented = |line: &&str| line.starts_with(' ') && !line.starts_with("        ");
    let long = |line: &str| {
        let (_, long) = line.split_once("--")?;
        Some(long.split([' ', '[', '=']).next().unwrap_or(long).to_owned())
    };
    let begins = |line: &&str| line.trim_start().starts_with('-');
    let found = help.lines().filter(indented).filter(begins).filter_map(long);
    found.filter(|long| !["help", "version"].contains(&&long[..])).collect()
}

/// What becomes of a line: its exit code, its words, its files.
type Observed = (Option<i32>, String, String, BTreeMap<String, String>);

/// Without what every run has of its own.
fn redacted(text: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        // The moment stands in the heading of some tables.
        let own = |word: &str| word.len() > 20 && word.ends_with('Z') && word.contains('T');
        let line = |line: &str| {
            line.split(' ').map(|word| if own(word) { "NOW" } else { word }).collect::<Vec<_>>().join(" ")
        };
        return text.lines().map(line).collect::<Vec<_>>().join("\n");
    };
    fn without(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for own in ["argv", "started_at", "elapsed_s", "pages", "memory_pages", "free_bytes"] {
                    fields.remove(own);
                }
                fields.values_mut().for_each(without);
            }
            Value::Array(values) => values.iter_mut().for_each(without),
            _ => {}
        }
    }
    without(&mut value);
    value.to_string()
}

struct Tried<'a> {
    command: &'a Command,
    files: &'a Path,
    seen: BTreeMap<String, Observed>,
    ignored: Vec<String>,
    refused: usize,
    changed: usize,
    same: usize,
}

fn option_of(typed: &str) -> &str {
    typed.split([' ', '=']).next().unwrap_or(typed)
}

impl Tried<'_> {
    fn line(&self, samples: &[&Sample], also: &[&Sample]) -> String {
        let mut words: Vec<&str> = samples.iter().map(|(_, typed, _)| *typed).collect();
        for beside in
            samples.iter().chain(also).map(|(.., beside)| *beside).filter(|beside| !beside.is_empty())
        {
            let is_there = |typed: &&str| option_of(typed) == option_of(beside);
            if !words.iter().chain(also.iter().map(|(_, typed, _)| typed)).any(is_there) {
                words.insert(0, beside);
            }
        }
        // A program stands last.
        words.sort_by_key(|word| word.contains(" -- "));
        format!("{} {} {} {}", self.command.name, self.command.base, words.join(" "), self.command.end)
    }

    fn observe(&mut self, line: String) -> Result<Observed, Box<dyn std::error::Error>> {
        if let Some(seen) = self.seen.get(&line) {
            return Ok(seen.clone());
        }
        let folder = tempfile::tempdir()?;
        for file in fs::read_dir(self.files)? {
            let file = file?;
            fs::copy(file.path(), folder.path().join(file.file_name()))?;
        }
        let ended = end(numabench().current_dir(folder.path()), shell_words::split(&line)?);
        let mut written = BTreeMap::new();
        for file in fs::read_dir(folder.path())? {
            let file = file?;
            if !self.files.join(file.file_name()).exists() {
                let text = String::from_utf8_lossy(&fs::read(file.path())?).into_owned();
                written.insert(file.file_name().to_string_lossy().into_owned(), redacted(&text));
            }
        }
        let seen = (ended.code, redacted(&ended.out), redacted(&ended.err), written);
        self.seen.insert(line, seen.clone());
        Ok(seen)
    }

    fn pair(&mut self, one: &Sample, other: &Sample) -> Done {
        let both = self.line(&[one, other], &[]);
        let done = self.observe(both.clone())?;
        let names = |sample: &Sample| {
            let named = |typed: &str| !typed.is_empty() && done.2.contains(option_of(typed));
            named(sample.1) || named(sample.2)
        };
        match done.0 {
            Some(2) if names(one) && names(other) => self.refused += 1,
            Some(2) => self.ignored.push(format!("{both}: the refusal does not name both: {}", done.2)),
            _ => {
                let (by_one, by_other) = (self.line(&[other], &[one]), self.line(&[one], &[other]));
                let changes = [self.observe(by_one)? != done, self.observe(by_other)? != done];
                let is_pair =
                    |(a, b, _): &&(&str, &str, &str)| [(one.0, other.0), (other.0, one.0)].contains(&(a, b));
                match changes {
                    [true, true] => self.changed += 1,
                    _ if self.command.same.iter().any(|pair| is_pair(&pair)) => self.same += 1,
                    [false, _] => self.ignored.push(format!("{both}: {} changes nothing", one.1)),
                    _ => self.ignored.push(format!("{both}: {} changes nothing", other.1)),
                }
            }
        }
        Ok(())
    }
}

fn no_pair_is_ignored(name: &str) -> Done {
    let folder = tempfile::tempdir()?;
    write_files(folder.path())?;
    let command = COMMANDS.iter().find(|command| command.name == name).ok_or("no such command")?;
    let mut tried = Tried {
        command,
        files: folder.path(),
        seen: BTreeMap::new(),
        ignored: Vec::new(),
        refused: 0,
        changed: 0,
        same: 0,
    };
    for option in options(name) {
        let is_known = command.samples.iter().any(|(name, ..)| *name == option)
            || command.unseen.iter().any(|(name, _)| *name == option);
        assert!(is_known, "numabench {name} has --{option}: add a value of it");
    }
    for (at, one) in command.samples.iter().enumerate() {
        for other in command.samples[at + 1..].iter().filter(|other| other.0 != one.0) {
            tried.pair(one, other)?;
        }
    }
    let Tried { ignored, refused, changed, same, .. } = tried;
    println!(
        "{name}: {} pairs, {refused} refused, {changed} changed, {same} the same on this machine, {} ignored",
        refused + changed + same + ignored.len(),
        ignored.len()
    );
    assert!(ignored.is_empty(), "{} ignored:\n{}", ignored.len(), ignored.join("\n"));
    Ok(())
}

#[test]
fn no_pair_of_options_of_topo_is_ignored() -> Done {
    no_pair_is_ignored("topo")
}

#[test]
fn no_pair_of_options_of_place_is_ignored() -> Done {
    no_pair_is_ignored("place")
}

#[test]
fn no_pair_of_options_of_check_is_ignored() -> Done {
    no_pair_is_ignored("check")
}

#[test]
fn no_pair_of_options_of_exec_is_ignored() -> Done {
    no_pair_is_ignored("exec")
}

#[test]
fn no_pair_of_options_of_commands_that_read_documents_is_ignored() -> Done {
    ["compare", "report", "reference", "export", "doctor", "history", "baseline", "import"]
        .into_iter()
        .try_for_each(no_pair_is_ignored)
}
