//! `numabench man`: manual pages, from the same description that parses the command line.
//!
//! clap_mangen writes name, description and options; its synopsis leaves out the options' values, so that is
//! written here. What stands behind `--help` (exit codes and examples) would become one paragraph with it;
//! here the codes are a list and the examples are lines. The date is the commit's: a page is the same for the
//! same sources.

use std::io;
use std::path::Path;

use clap::Arg;
use clap_mangen::Man as Page;
use roff::{Roff, bold, italic, roman};

use crate::args::man::Man;
use crate::exit::{Exit, TABLE};
use crate::fault::Fault;
use crate::{examples, output_file, terminal, version};

/// Runs the command.
pub fn run(args: &Man) -> Result<Exit, Fault> {
    let mut pages = Vec::new();
    let mut command = examples::command().disable_help_subcommand(true);
    command.build();
    collect(&command, &mut pages).map_err(|error| Fault::new(Exit::NoResult, error))?;
    match &args.dir {
        None => terminal::print(&pages[0].1)?,
        Some(folder) => write(folder, &pages)?,
    }
    Ok(Exit::Ok)
}

/// This command's page and those of the commands below it.
fn collect(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    pages.push(page(command)?);
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        collect(below, pages)?;
    }
    Ok(())
}

/// The file's name and text.
fn page(command: &clap::Command) -> io::Result<(String, Vec<u8>)> {
    let page = Page::new(command.clone())
        .manual("numabench")
        .date(version::DATE)
        .source(format!("numabench {}", version::NUMBER));
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    synopsis(command).to_writer(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    let mut end = Roff::new();
    exit_status(&mut end);
    lines(&mut end, command);
    end.to_writer(&mut text)?;

    // clap_mangen's empty line between two breaks is a space between paragraphs, and said so it passes every
    // lint.
    let text = String::from_utf8_lossy(&text).replace("\n.br\n\n.br\n", "\n.sp\n");
    Ok((page.get_filename(), text.into_bytes()))
}

/// The command with its options and what they take.
fn synopsis(command: &clap::Command) -> Roff {
    let mut words = vec![bold(command.get_bin_name().unwrap_or_else(|| command.get_name()))];
    let mut options: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_positional()).collect();
    options.sort_by_key(|option| (is_switch(option), option.get_display_order()));

    for option in options {
        let Some(name) = name_of(option).filter(|_| !option.is_hide_set()) else { continue };
        words.extend([roman(" ["), bold(name)]);
        words.extend(
            values(option)
                .into_iter()
                .flat_map(|(before, value, after)| [roman(before), italic(value), roman(after)]),
        );
        words.push(roman("]"));
    }
    for place in command.get_positionals() {
        let [before, after] = if place.is_required_set() { [" ", ""] } else { [" [", "]"] };
        words.extend([roman(before), italic(value_name(place)), roman(after)]);
    }
    words.extend(command.has_subcommands().then(|| roman(" COMMAND")));

    let mut synopsis = Roff::new();
    synopsis.control("SH", ["SYNOPSIS"]).text(words);
    synopsis
}

/// Whether an argument is an option that takes no value.
fn is_switch(arg: &Arg) -> bool {
    !arg.is_positional() && !arg.get_action().takes_values()
}

/// As it is typed.
fn name_of(arg: &Arg) -> Option<String> {
    arg.get_long()
        .map(|long| format!("--{long}"))
        .or_else(|| arg.get_short().map(|short| format!("-{short}")))
}

/// What stands between an option and its value, the value, and what stands behind it; `None` for a switch.
fn values(option: &Arg) -> Option<(&'static str, String, &'static str)> {
    let may_miss = option.get_num_args().is_some_and(|count| count.min_values() == 0);
    let [before, after] = match (may_miss, option.is_require_equals_set()) {
        (true, true) => ["[=", "]"],
        (true, false) => [" [", "]"],
        (false, true) => ["=", ""],
        (false, false) => [" ", ""],
    };
    option.get_action().takes_values().then(|| (before, value_name(option), after))
}

/// The words that an option takes, or what they are called.
fn value_name(arg: &Arg) -> String {
    let words: Vec<String> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let named =
        || arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect::<Vec<_>>();
    if words.is_empty() { named().join(" ") } else { words.join("|") }
}

/// [`TABLE`] as a list: a code and what it means.
fn exit_status(to: &mut Roff) {
    to.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in TABLE.lines().filter_map(|line| line.trim_start().split_once("  ")) {
        to.control("TP", ["8"]).text([bold(code)]).text([roman(meaning.trim_start())]);
    }
}

/// The command's examples, each line as it is typed with what it is for.
fn lines(to: &mut Roff, command: &clap::Command) {
    let path = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let examples = examples::command_examples(path);
    if examples.is_empty() {
        return;
    }
    to.control("SH", ["EXAMPLES"]);
    for (line, what) in examples {
        to.control("TP", []).text([bold(line)]).text([roman(what)]);
    }
}

fn write(folder: &Path, pages: &[(String, Vec<u8>)]) -> Result<(), Fault> {
    let fault = |error: io::Error, path: &Path| {
        let error = anyhow::Error::new(error).context(format!("cannot write {}", path.display()));
        Fault::new(Exit::NoResult, error)
    };
    std::fs::create_dir_all(folder).map_err(|error| fault(error, folder))?;
    for (name, text) in pages {
        let written = output_file::open(&folder.join(name))?.write(text);
        written.map_err(|error| Fault::new(Exit::NoResult, error))?;
    }
    Ok(())
}
