//! What is tried: every launch line with every placement and every combination of values, and the baseline
//! before them.
//!
//! The baseline is the program as it is started without help: the first launch line, or the program on its
//! own. Placements that come to the same places here are tried once. Under a launcher each rank finds its
//! place by `numabench exec`, and the launcher's own binding is switched off where the line has `{bind}`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use exec::{MemoryWish, environment as here_set};
use experiments::{Exit, Fault};
use launchers::{Launch, Launcher};
use placement::Strategy;
use report::trial::TrialVariant;
use topo::Start;

use crate::options::{TrialOptions, Vary};
use crate::placed::placed;
use crate::rank_observer::{ASKED, AskedPlace};
use crate::run::Bind;
use crate::template::{Template, shell_line};
use crate::through_exec::{asked, exec_options, memory, nothing_changed, shows_all};

/// More variants than this are no trial of placements: a block would be that many runs.
const MOST: usize = 24;

/// The program that does nothing, looked for in PATH as programs are.
const DOES_NOTHING: &str = "true";

/// The name of the variable-like option that says where memory lies.
const MEMBIND: &str = "membind";

/// A variant, ready to run.
pub(crate) struct Variant {
    /// As the document has it.
    pub described: TrialVariant,
    /// The command.
    pub command: Vec<OsString>,
    /// Variables beside those of this process.
    pub environment: Vec<(String, String)>,
    /// How the program is bound; `None`: as this process is.
    pub bind: Option<Arc<Bind>>,
    /// The command with a program that does nothing in the place of the user's: what starting costs.
    pub start: Vec<OsString>,
    /// Whether it differs from the baseline by its placement alone.
    pub differs_by_place: bool,
}

/// The variants, the baseline first, and what the user should know of them.
pub(crate) struct Variants {
    /// The variants.
    pub all: Vec<Variant>,
    /// What to know.
    pub notes: Vec<String>,
}

/// One combination, before it is worked out.
#[derive(Clone)]
struct Choice<'c> {
    launch: Option<(usize, &'c Template)>,
    strategy: Option<Strategy>,
    values: Vec<(&'c str, &'c str)>,
}

impl Choice<'_> {
    /// Whether numabench places the program, or its memory.
    fn is_placed(&self) -> bool {
        self.strategy.is_some()
            || self.values.iter().any(|(name, value)| *name == MEMBIND && *value != "none")
    }

    /// Whether nothing but the placement differs from the baseline, which has the first launch line.
    fn differs_by_place(&self) -> bool {
        let is_of_first_line = self.launch.is_none_or(|(at, _)| at == 0);
        self.is_placed() && is_of_first_line && self.values.iter().all(|(name, _)| *name == MEMBIND)
    }
}

/// Works the variants out.
///
/// # Errors
/// A program or launcher that is not there, a line or a placement that cannot be followed here.
pub(crate) fn variants(asked: &TrialOptions, start: &Start) -> Result<Variants, Fault> {
    launched_once()?;
    let program = found(&asked.program)?;
    varied_once(&asked.vary)?;
    let mut templates: Vec<Template> = asked
        .launch
        .iter()
        .map(|line| Template::parse(line))
        .collect::<Result<_, _>>()
        .map_err(Fault::usage)?;
    let names = asked.vary.iter().map(|vary| vary.name.as_str()).filter(|name| *name != MEMBIND);
    let names: Vec<&str> = names.collect();
    for template in &mut templates {
        found(&[template.launcher_path().into()])?;
        if !names.is_empty() {
            template.vary(&names).map_err(Fault::usage)?;
        }
    }
    let mut all: Vec<Variant> = Vec::new();
    let mut notes = Vec::new();
    let choices = choices(asked, &templates)?;

    if asked.shows_all_gpus.is_some() && !choices.iter().any(Choice::is_placed) {
        let why = "--gpu says which GPUs a placed program sees, and none is placed here: add --placements, \
            or leave --gpu out";
        return Err(Fault::usage(why));
    }

    for choice in choices {
        let variant = worked_out(&choice, &program, start, asked, templates.len() > 1)?;
        let same = |other: &&Variant| {
            other.command == variant.command
                && other.environment == variant.environment
                && other.described.pus == variant.described.pus
                && other.described.memory_nodes == variant.described.memory_nodes
        };
        match all.iter().find(same) {
            Some(other) => notes.push(format!(
                "{} gives the same placement as {} here: tried once",
                variant.described.name, other.described.name
            )),
            None => all.push(variant),
        }
    }

    if !asked.against_itself && all.len() < 2 {
        let why = if notes.is_empty() {
            "there is nothing to compare the baseline with".to_owned()
        } else {
            notes.join("; ")
        };
        let ways = "give --placements, a second --launch, --vary, or --aa for the baseline against itself";
        return Err(Fault::usage(format!("{why}: {ways}")));
    }
    Ok(Variants { all, notes })
}

/// Each variable has one list of values: of two lists a combination would have two values of it.
fn varied_once(vary: &[Vary]) -> Result<(), Fault> {
    let is_again = |(at, list): &(usize, &Vary)| vary[..*at].iter().any(|before| before.name == list.name);
    let Some((_, Vary { name, .. })) = vary.iter().enumerate().find(is_again) else { return Ok(()) };
    let lists = vary.iter().filter(|list| list.name == *name);
    let values: Vec<&str> = lists.flat_map(|list| &list.values).map(String::as_str).collect();
    Err(Fault::usage(format!(
        "--vary names {name} more than once: give all its values as one list, --vary {name}={}",
        values.join(",")
    )))
}

/// A trial starts ranks; it is not one of several itself.
fn launched_once() -> Result<(), Fault> {
    let launch = Launch::here();
    if launch.is_alone() {
        return Ok(());
    }
    let name = launch.launcher.name();
    Err(Fault::usage(format!(
        "numabench trial is one of {} of {name}, and each would start the program: start it once, and let it \
         start the ranks: numabench trial --launch 'srun -n8 {{bind}} {{app}}' -- PROGRAM",
        launch.size
    )))
}

/// The command with its program found, so that what is not there is an error before any run.
fn found(command: &[OsString]) -> Result<Vec<OsString>, Fault> {
    let Some(program) = command.first() else { return Err(Fault::usage("no program was given")) };
    let is_program = |path: &Path| path.is_file();
    let is_there = if Path::new(program).components().count() > 1 {
        is_program(Path::new(program))
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program)))
    };
    if is_there {
        return Ok(command.to_vec());
    }
    let name = program.to_string_lossy();

    Err(Fault::new(
        Exit::NotFound,
        format!("there is no program {name}: give a path, or a name that is in PATH"),
    ))
}

/// The combinations, the baseline first.
fn choices<'c>(asked: &'c TrialOptions, templates: &'c [Template]) -> Result<Vec<Choice<'c>>, Fault> {
    let lines: Vec<Option<(usize, &Template)>> =
        if templates.is_empty() { vec![None] } else { templates.iter().enumerate().map(Some).collect() };
    let baseline = Choice { launch: lines[0], strategy: None, values: Vec::new() };
    if asked.against_itself && templates.len() > 1 {
        let lines = templates.len();
        return Err(Fault::usage(format!(
            "--aa tries one line against itself, and --launch gives {lines}: leave the others out"
        )));
    }

    if asked.against_itself {
        return Ok(vec![baseline]);
    }
    let says_nothing = asked.placements.is_empty() && asked.vary.is_empty();
    let mut all = vec![baseline];

    for launch in lines {
        let can_bind = launch.is_none_or(|(_, template)| template.has_bind());
        let strategies: Vec<Option<Strategy>> = match () {
            () if !can_bind => vec![None],
            () if !asked.placements.is_empty() => asked.placements.iter().copied().map(Some).collect(),
            () if says_nothing => [Strategy::Close, Strategy::Spread, Strategy::Compact].map(Some).to_vec(),
            () => vec![None],
        };
        if !asked.placements.is_empty() && !can_bind && templates.iter().all(|template| !template.has_bind())
        {
            let text = format!(
                "--placements: the launch line \"{}\" has no place for the binding: write {{bind}} among its \
                 options",
                asked.launch[0]
            );
            return Err(Fault::usage(text));
        }
        for strategy in strategies {
            for values in combined(&asked.vary) {
                all.push(Choice { launch, strategy, values });
            }
        }
    }

    // The first line as it is, without a placement and a value, is the baseline itself.
    let is_baseline = |choice: &Choice<'_>| {
        choice.strategy.is_none() && choice.values.is_empty() && choice.launch.is_none_or(|(at, _)| at == 0)
    };
    let others = all.split_off(1);
    all.extend(others.into_iter().filter(|choice| !is_baseline(choice)));

    if all.len() > MOST {
        let text = format!(
            "{} variants are too many for blocks that have each of them once: at most {MOST}; leave values \
             or placements out",
            all.len()
        );
        return Err(Fault::usage(text));
    }
    Ok(all)
}

/// Every combination of the values, one of each list.
fn combined(vary: &[Vary]) -> Vec<Vec<(&str, &str)>> {
    let mut all = vec![Vec::new()];
    for list in vary {
        let mut longer = Vec::new();
        for values in &all {
            for value in &list.values {
                let mut values: Vec<(&str, &str)> = Vec::clone(values);
                values.push((&list.name, value));
                longer.push(values);
            }
        }
        all = longer;
    }
    all
}

fn worked_out(
    choice: &Choice<'_>,
    program: &[OsString],
    start: &Start,
    options: &TrialOptions,
    several_lines: bool,
) -> Result<Variant, Fault> {
    let name = name(choice, several_lines);
    let shows_all =
        options.shows_all_gpus.unwrap_or_else(|| shows_all(choice.launch.map(|(_, template)| template)));
    let membind = choice.values.iter().find(|(name, _)| *name == MEMBIND).map(|(_, value)| *value);
    let memory = memory(membind, choice.strategy.is_some())?;
    let mut environment: Vec<(String, String)> = choice
        .values
        .iter()
        .filter(|(name, _)| *name != MEMBIND)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let through_exec = choice.strategy.is_some() || memory != MemoryWish::Untouched;
    let words = exec_options(choice.strategy, &memory, shows_all);
    let app: Vec<OsString> = program.to_vec();
    let nothing: Vec<OsString> = vec![DOES_NOTHING.into()];
    let exec_line = |words: &[String], app: &[OsString]| -> Vec<OsString> {
        let line = ["numabench".to_owned(), "exec".to_owned()].into_iter().chain(words.iter().cloned());
        line.chain(["--".to_owned()]).map(OsString::from).chain(app.iter().cloned()).collect()
    };
    let failed = |fault: Fault| with_context(fault, &format!("{name} cannot be placed here"));
    let mut shown_environment = environment.clone();
    let (command, start, shown, bind, place) = match choice.launch {
        None if through_exec => {
            let text: BTreeMap<String, String> = here_set().into_iter().chain(environment.clone()).collect();
            let placed = placed(start, &asked(choice.strategy, memory, shows_all), &text).map_err(failed)?;
            let given: Vec<(String, String)> = placed.variables;
            environment.extend(given);
            (app.clone(), nothing, exec_line(&words, &app), Some(placed.bind), placed.place)
        }
        None => (app.clone(), nothing, app.clone(), None, AskedPlace::default()),
        Some((_, template)) => {
            let (template, given) = template.with_variables(&environment);
            environment = given.into_iter().chain(template.environment().iter().cloned()).collect();
            shown_environment.clone_from(&environment);
            let has_bind = template.has_bind();
            let bind = if through_exec && choice.strategy.is_some() {
                Launcher::leaves_unbound(template.launcher()).iter().map(|word| (*word).to_owned()).collect()
            } else {
                Vec::new()
            };
            let real_words = if through_exec { words.clone() } else { nothing_changed() };
            let shown = if through_exec {
                template.command(&bind, &exec_line(&words, &app))
            } else {
                template.command(&bind, &app)
            };
            // Where placed ranks go through exec, the baseline does so too.
            let real = |app: Vec<OsString>| {
                if through_exec || has_bind {
                    started_by(options, exec_line(&real_words, &app))
                } else {
                    Ok(app)
                }
            };
            let (command, start) =
                (template.command(&bind, &real(app.clone())?), template.command(&bind, &real(nothing)?));
            (command, start, shown, None, AskedPlace::default())
        }
    };

    // Of all variants, also where it says nothing: an environment has a length, and a shell finds its
    // variables by its place in a table.
    environment.push((ASKED.to_owned(), place.text()));
    let described = TrialVariant {
        what: what(choice, &place),
        line: shell_line(&shown_environment, &shown),
        pus: place.pus.clone(),
        memory_nodes: place.memory_nodes.clone(),
        name,
    };
    let differs_by_place = choice.differs_by_place();
    Ok(Variant { described, command, environment, bind, start, differs_by_place })
}

/// `baseline`, or what differs from it: `close`, `launch-2`, `close OMP_NUM_THREADS=7`.
fn name(choice: &Choice<'_>, several_lines: bool) -> String {
    let line =
        choice.launch.filter(|(at, _)| several_lines && *at > 0).map(|(at, _)| format!("launch-{}", at + 1));
    let strategy = choice.strategy.map(|strategy| strategy.name().to_owned());
    let values = choice.values.iter().map(|(name, value)| format!("{name}={value}"));
    let parts: Vec<String> = line.into_iter().chain(strategy).chain(values).collect();
    if parts.is_empty() { "baseline".to_owned() } else { parts.join(" ") }
}

fn what(choice: &Choice<'_>, place: &AskedPlace) -> String {
    let pus = place.pus.as_ref().map(|pus| format!("on PUs {pus}"));
    let memory = place.memory_nodes.as_ref().map(|nodes| format!("memory on node {nodes}"));
    let parts: Vec<String> = pus.into_iter().chain(memory).collect();
    match (choice.strategy, parts.is_empty()) {
        (_, false) => parts.join(", "),
        (Some(_), true) => "each rank is placed by numabench exec".to_owned(),
        (None, true) if choice.is_placed() => "each rank's memory is placed by numabench exec".to_owned(),
        (None, true) if choice.launch.is_none() => "as this shell starts it".to_owned(),
        (None, true) => "as the launcher places it".to_owned(),
    }
}

/// The command of this very program, or of the one that was named: what PATH has may be another.
fn started_by(options: &TrialOptions, mut command: Vec<OsString>) -> Result<Vec<OsString>, Fault> {
    let own = || {
        std::env::current_exe()
            .map_err(|error| format!("the path of this program itself is not known: {error}"))
    };
    let numabench = options.numabench.clone().map_or_else(own, Ok);
    command[0] = numabench.map_err(|why| Fault::new(Exit::NoResult, why))?.into_os_string();
    Ok(command)
}

fn with_context(fault: Fault, context: &str) -> Fault {
    Fault { exit: fault.exit, error: fault.error.is_some().then(|| format!("{context}: {fault}").into()) }
}

#[cfg(test)]
mod tests;
