//! Which options mean something together, checked once after the command line is parsed: an option that would
//! be ignored is refused.
//!
//! clap knows options that exclude each other (`conflicts_with`). It does not hold `requires` where the
//! required option conflicts with another one that was given, and it knows nothing of values. So what an
//! option needs, and which values exclude which options, stands in `table.rs`, a list for each command, and
//! is held here against what was typed; defaults do not count. Whether GPUs take part is known later: options
//! for one of the two cases go with the other options to the library, which refuses them
//! (`experiments::for_one_platform`).

mod table;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use experiments::for_one_platform::ForOnePlatform;

/// An option as the table names it: `size` for `--size`, `memory=managed` for that value of it, `program` for
/// a positional argument.
type Name = &'static str;

/// How options go together.
#[derive(Clone, Copy, Debug)]
enum Relation {
    /// Each of them says something only beside one of the others.
    Needs,
    /// Neither of them says anything beside one of the others, and why.
    Apart(&'static str),
    /// They say nothing at all, and why.
    Never(&'static str),
    /// They say something of GPUs only.
    OfGpus,
    /// They say something only where no GPU takes part.
    OfHost,
}

/// A rule of a command.
#[derive(Clone, Copy, Debug)]
struct Rule {
    options: &'static [Name],
    relation: Relation,
    others: &'static [Name],
    /// With one of these the rule does not hold.
    unless: &'static [Name],
}

/// Each of `options` says something only beside one of `others`.
const fn needs(options: &'static [Name], others: &'static [Name]) -> Rule {
    Rule { options, relation: Relation::Needs, others, unless: &[] }
}

/// None of `options` says anything beside one of `others`.
const fn apart(options: &'static [Name], others: &'static [Name], why: &'static str) -> Rule {
    Rule { options, relation: Relation::Apart(why), others, unless: &[] }
}

/// None of `options` says anything.
const fn never(options: &'static [Name], why: &'static str) -> Rule {
    Rule { options, relation: Relation::Never(why), others: &[], unless: &[] }
}

/// `options` are of GPUs.
const fn of_gpus(options: &'static [Name]) -> Rule {
    Rule { options, relation: Relation::OfGpus, others: &[], unless: &[] }
}

/// `options` are of runs without a GPU.
const fn of_host(options: &'static [Name]) -> Rule {
    Rule { options, relation: Relation::OfHost, others: &[], unless: &[] }
}

impl Rule {
    const fn unless(self, unless: &'static [Name]) -> Self {
        Self { unless, ..self }
    }
}

/// What was typed behind one command.
struct Typed<'a> {
    command: &'a Command,
    matches: &'a ArgMatches,
}

impl Typed<'_> {
    fn arg(&self, name: Name) -> Option<&Arg> {
        let option = name.split_once('=').map_or(name, |(option, _)| option);
        self.command.get_arguments().find(|arg| arg.get_long() == Some(option) || arg.get_id() == option)
    }

    /// Whether this was typed.
    fn has(&self, name: Name) -> bool {
        let Some(id) = self.arg(name).map(|arg| arg.get_id().as_str()) else { return false };
        let is_typed = self.matches.value_source(id) == Some(ValueSource::CommandLine);
        let is_value =
            |value: &str| self.matches.get_raw(id).is_some_and(|mut raw| raw.any(|typed| typed == value));
        is_typed && name.split_once('=').is_none_or(|(_, value)| is_value(value))
    }

    fn first<'n>(&self, names: &'n [Name]) -> Option<&'n Name> {
        names.iter().find(|name| self.has(name))
    }

    /// As users write it.
    fn shown(&self, name: Name) -> String {
        let Some(arg) = self.arg(name) else { return format!("--{name}") };
        let Some(long) = arg.get_long() else {
            return arg
                .get_value_names()
                .map_or_else(|| name.to_owned(), |names| names.iter().map(|name| name.as_str()).collect());
        };
        match name.split_once('=') {
            Some((_, value)) if arg.is_require_equals_set() => format!("--{long}={value}"),
            Some((_, value)) => format!("--{long} {value}"),
            None => format!("--{long}"),
        }
    }

    /// What was typed and excludes this.
    fn excludes(&self, rules: &[&Rule], name: Name) -> Option<String> {
        let needed = self.arg(name)?;
        let typed =
            |arg: &&Arg| self.matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        let excluded = |arg: &&Arg| {
            let excludes = |one: &Arg, other: &Arg| {
                self.command.get_arg_conflicts_with(one).iter().any(|found| found.get_id() == other.get_id())
            };
            arg.get_id() != needed.get_id() && (excludes(arg, needed) || excludes(needed, arg))
        };
        let by_clap = self.command.get_arguments().filter(typed).find(excluded);

        by_clap.map(as_typed).or_else(|| {
            let apart = rules.iter().filter(|rule| matches!(rule.relation, Relation::Apart(_)));
            let mut sides = apart.flat_map(|rule| [(rule.options, rule.others), (rule.others, rule.options)]);
            sides
                .find_map(|(one, other)| if one.contains(&name) { self.first(other) } else { None })
                .map(|found| self.shown(found))
        })
    }

    /// Why these options cannot be carried out together.
    fn refusal(&self, rules: &[&Rule], rule: &Rule) -> Option<(ErrorKind, String)> {
        if self.first(rule.unless).is_some() {
            return None;
        }
        let option = self.first(rule.options)?;
        let shown = self.shown(option);

        match rule.relation {
            Relation::Needs if self.first(rule.others).is_none() => {
                let needed = listed(&rule.others.iter().map(|name| self.shown(name)).collect::<Vec<_>>());
                let excluding = rule.others.iter().find_map(|name| self.excludes(rules, name));
                let text = match excluding {
                    Some(other) => format!(
                        "{shown} needs {needed}, which cannot be used with {other}: leave {shown} or {other} \
                         out"
                    ),
                    None => format!("{shown} needs {needed}: add it, or leave {shown} out"),
                };
                Some((ErrorKind::MissingRequiredArgument, text))
            }
            Relation::Apart(why) => {
                let other = self.shown(self.first(rule.others)?);
                Some((
                    ErrorKind::ArgumentConflict,
                    format!("{shown} cannot be used with {other}: {why}; leave one of them out"),
                ))
            }
            Relation::Never(why) => {
                let name = self.command.get_name();
                Some((
                    ErrorKind::ArgumentConflict,
                    format!("{shown} says nothing of {name}: {why}; leave it out"),
                ))
            }
            Relation::Needs | Relation::OfGpus | Relation::OfHost => None,
        }
    }
}

/// An argument by its name.
fn as_typed(arg: &Arg) -> String {
    let positional = || {
        arg.get_value_names()
            .map_or_else(String::new, |names| names.iter().map(|name| name.as_str()).collect())
    };
    arg.get_long().map_or_else(positional, |long| format!("--{long}"))
}

/// `a`, `a or b`, `a, b or c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Refuses options that say nothing beside the others that were typed.
///
/// # Errors
/// The first of them, what it does not go with, and what to do.
pub fn refuse_ignored(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name, below)) = matches.subcommand() else { return Ok(()) };
    let Some(command) = command.find_subcommand_mut(name) else { return Ok(()) };
    let rules: Vec<&Rule> = table::rules(name).collect();
    let typed = Typed { command, matches: below };
    let refused = rules.iter().find_map(|rule| typed.refusal(&rules, rule));
    match refused {
        Some((kind, text)) => Err(command.error(kind, text)),
        None => Ok(()),
    }
}

/// The options that were typed and say something only with GPUs, or only without.
pub fn for_one_platform(command: &Command, matches: &ArgMatches) -> ForOnePlatform {
    let mut found = ForOnePlatform::default();
    let Some((name, below)) = matches.subcommand() else { return found };
    let Some(command) = command.find_subcommand(name) else { return found };
    let typed = Typed { command, matches: below };

    for rule in table::rules(name) {
        let of = match rule.relation {
            Relation::OfGpus => &mut found.gpus,
            Relation::OfHost => &mut found.host,
            _ => continue,
        };
        if typed.first(rule.unless).is_some() {
            continue;
        }
        of.extend(rule.options.iter().filter(|name| typed.has(name)).map(|name| typed.shown(name)));
    }
    found
}

#[cfg(test)]
mod tests;
