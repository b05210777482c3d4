//! Exit codes and examples at the end of every `--help` and in the manual pages; and the command line's description with them.
//!
//! They stand in one file instead of in each command's attributes, so that help, manual and the test that parses every line read the same words. A command without an example fails that test.

use clap::{Command, CommandFactory};

use crate::args::Args;
use crate::command_list;
use crate::exit::TABLE;

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

/// The command line's description, with exit codes and each command's examples behind its help.
pub fn command() -> Command {
    with_examples(Args::command().help_template(command_list::template()), "numabench")
}

fn with_examples(mut command: Command, path: &str) -> Command {
    let below: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    for name in below {
        let path = format!("{path} {name}");
        command = command.mut_subcommand(name, |below| with_examples(below, &path));
    }
    let examples = command_examples(path);
    if examples.is_empty() {
        return command;
    }
    let codes = if CODELESS.contains(&path) { String::new() } else { format!("{TABLE}\n\n") };
    let all = format!("{codes}{}", in_lines(&examples));
    if command.has_subcommands() && path == "numabench" {
        return command.after_help(all);
    }
    if command.get_opts().count() <= FEW_OPTIONS {
        return command.after_help(all);
    }
    let short = format!("{}\n\n--help shows all options, exit codes and examples.", in_lines(&examples[..1]));
    command.mut_args(shortened).after_help(short).after_long_help(all)
}

fn in_lines(examples: &[Example]) -> String {
    let lines: String = examples.iter().map(|(line, what)| format!("\n  {line}\n      {what}")).collect();
    format!("Examples:{lines}")
}

/// A command with no more options than this shows all of them by `-h` too.
const FEW_OPTIONS: usize = 12;

/// Options that most begin with: `-h` has these, those without a heading, and of their help the first words. `--help` has all.
const FIRST_OPTIONS: &[&str] = &[
    "gpus",
    "cpus",
    "size",
    "direction",
    "rows",
    "order",
    "pairs",
    "ways",
    "grid",
    "measure",
    "placements",
    "vary",
    "metric",
    "within",
    "max-time",
    "dry-run",
    "json",
    "full",
];

/// Options without a heading that few begin with.
const LATER_OPTIONS: &[&str] =
    &["with", "emit", "guest", "identity", "color", "gres-conf", "slurm-conf", "printed", "nic"];

/// The argument as `-h` has it.
fn shortened(arg: clap::Arg) -> clap::Arg {
    let is_one_of = |names: &[&str]| arg.get_long().is_some_and(|name| names.contains(&name));
    let is_plain = arg.get_long().is_none() || arg.get_help_heading().is_none();
    let is_first = is_one_of(FIRST_OPTIONS) || (is_plain && !is_one_of(LATER_OPTIONS));
    let Some(help) = arg.get_help().map(ToString::to_string) else { return arg.hide_short_help(!is_first) };
    let first = [": ", "; ", ". ", " ["].iter().filter_map(|end| help.find(end)).min().unwrap_or(help.len());
    let long = arg.get_long_help().map_or_else(|| help.clone(), ToString::to_string);
    arg.help(help[..first].to_owned()).long_help(long).hide_short_help(!is_first)
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
    fn the_short_help_of_a_command_with_many_options_fits_a_screen_and_the_long_one_has_them_all() {
        let mut command = command().term_width(80);
        command.build();
        for below in command.get_subcommands_mut() {
            let (short, long) = (below.render_help().to_string(), below.render_long_help().to_string());
            let name = below.get_name();
            if below.get_opts().count() > FEW_OPTIONS {
                let most = if below.has_subcommands() { 48 } else { 40 };
                assert!(short.lines().count() <= most, "{name}: {} lines\n{short}", short.lines().count());
            }
            for option in below.get_opts().filter(|option| !option.is_hide_set()).filter_map(clap::Arg::get_long) {
                assert!(long.contains(&format!("--{option}")), "{name}: --{option} is not in --help");
            }
        }
    }

    #[test]
    fn every_example_is_a_command_line_of_this_version() {
        for (path, _) in parts() {
            for (line, _) in command_examples(path) {
                let typed = line.split(['|', '>']).next().unwrap_or(line).replace("source <(", "").replace(')', "");
                let typed = if line.contains('\'') { line.to_owned() } else { typed };
                let words = shell_words::split(&typed).unwrap_or_else(|error| panic!("{line}: {error}"));
                let ours = words.iter().skip_while(|word| *word != "numabench");
                let parsed = crate::command_line::parse(ours);
                assert!(parsed.is_ok(), "{line}: {}", parsed.err().map(|error| error.to_string()).unwrap_or_default());
                assert!(line.contains(path), "{line} is no example of {path}");
            }
        }
    }
}
