//! Exit codes and examples at the end of every `--help` and in the manual pages; and the command line's
//! description with them.
//!
//! They stand in one file instead of in each command's attributes, so that help, manual and the test that
//! parses every line read the same words. A command without an example fails that test.

use clap::{Command, CommandFactory};

use crate::args::Args;
use crate::exit::TABLE;
use crate::{command_list, short_help};

/// A line as it is typed, and what it is for.
type Example = (&'static str, &'static str);

/// The examples, as people read and write them.
const EXAMPLES: &str = include_str!("examples.txt");

/// Each command that has examples, by its path, with its part of the file.
fn parts() -> impl Iterator<Item = (&'static str, &'static str)> {
    EXAMPLES.split("\n== ").skip(1).filter_map(|part| part.split_once('\n'))
}

/// The examples of the command of this path (`numabench topo diff`).
pub fn command_examples(path: &str) -> Vec<Example> {
    let part = parts().find(|(name, _)| *name == path).map_or("", |(_, part)| part);
    let lines: Vec<&str> = part.lines().filter(|line| !line.is_empty()).collect();
    lines.as_chunks().0.iter().map(|[line, what]| (*line, what.trim_start())).collect()
}

/// Commands that end as any program does: exit codes are not explained there.
const CODELESS: [&str; 3] = ["numabench schema", "numabench completions", "numabench man"];

/// The command line's description, with exit codes and each command's examples behind its help. That of a
/// command is completed when it is asked for: of all of them it takes longer than everything else of an
/// unoptimised start, of which the tests have thousands.
pub fn command() -> Command {
    let mut command = Args::command().help_template(command_list::template());
    for name in names_below(&command) {
        command = command.mut_subcommand(name, |below| below.defer(of_its_own_name));
    }

    with_own_examples(command, "numabench")
}

/// A command directly below `numabench`.
fn of_its_own_name(command: Command) -> Command {
    let path = format!("numabench {}", command.get_name());
    with_examples(command, &path)
}

/// With those of the commands below.
fn with_examples(mut command: Command, path: &str) -> Command {
    for name in names_below(&command) {
        let path = format!("{path} {name}");
        command = command.mut_subcommand(name, |below| with_examples(below, &path));
    }
    with_own_examples(command, path)
}

fn names_below(command: &Command) -> Vec<String> {
    command.get_subcommands().map(|below| below.get_name().to_owned()).collect()
}

fn with_own_examples(command: Command, path: &str) -> Command {
    let examples = command_examples(path);
    if examples.is_empty() {
        return command;
    }
    let codes = if CODELESS.contains(&path) { String::new() } else { format!("{TABLE}\n\n") };
    let all = format!("{codes}{}", in_lines(&examples));
    if command.has_subcommands() && path == "numabench" {
        return command.after_help(all);
    }
    if short_help::shows_all(&command) {
        return command.after_help(all);
    }
    let short = format!("{}\n\n--help shows all options, exit codes and examples.", in_lines(&examples[..1]));
    command.mut_args(short_help::shortened).after_help(short).after_long_help(all)
}

fn in_lines(examples: &[Example]) -> String {
    let lines: String = examples.iter().map(|(line, what)| format!("\n  {line}\n      {what}")).collect();
    format!("Examples:{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(command: &Command, path: &str, found: &mut Vec<String>) {
        found.push(path.to_owned());
        for below in command.get_subcommands() {
            paths(below, &format!("{path} {}", below.get_name()), found);
        }
    }

    #[test]
    fn every_command_has_an_example_and_every_example_a_command() {
        let mut commands = Vec::new();
        paths(&command(), "numabench", &mut commands);
        let without: Vec<_> = commands.iter().filter(|path| command_examples(path).is_empty()).collect();
        assert_eq!(without, [""; 0], "add a line to examples.txt");
        for (path, _) in parts() {
            assert!(commands.iter().any(|command| command == path), "no command is called {path}");
        }
    }

    #[test]
    fn every_example_is_a_command_line_of_this_version() {
        for (path, _) in parts() {
            for (line, _) in command_examples(path) {
                let typed =
                    line.split(['|', '>']).next().unwrap_or(line).replace("source <(", "").replace(')', "");
                let typed = if line.contains('\'') { line.to_owned() } else { typed };
                let words = shell_words::split(&typed).unwrap_or_else(|error| panic!("{line}: {error}"));

                let ours = words.iter().skip_while(|word| *word != "numabench");
                let parsed = crate::command_line::parse(ours);
                assert!(
                    parsed.is_ok(),
                    "{line}: {}",
                    parsed.err().map(|error| error.to_string()).unwrap_or_default()
                );
                assert!(line.contains(path), "{line} is no example of {path}");
            }
        }
    }
}
