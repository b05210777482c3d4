//! Every pair of options of every command that prints a plan, on a machine with GPUs and on one without: the
//! plan or the output changes with each of the two, or the pair is refused with both names. Nothing is run: a
//! plan is made of a saved machine.
//!
//! What is observed of a line is its plan and what is printed of the result; of `mpi`, `laplace` and `trial`,
//! whose plan takes ranks or runs, what their library is told. A line that is refused by itself on such a
//! machine (`--threads` of `matrix` with GPUs) must say so, and is in no pair there.
#![allow(clippy::print_stdout, reason = "a count of what was tried is a figure of this test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use experiments::driver::{Measurement, outline_on};
use experiments::exit::Exit;
use topo::Survey;

use super::samples::{COMMANDS, Sample, samples};
use crate::args::measuring::Measuring;
use crate::args::{Args, ColorChoice, Command};
use crate::command_line::parse_as;
use crate::fault::Fault;
use crate::{cmd, examples};

/// What becomes of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Observed {
    /// It is carried out so.
    Done(String),
    /// It is refused with exit 2 and this message.
    Refused(String),
    /// It cannot be carried out on this machine, with another exit code.
    Absent,
}

/// How many pairs there were, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    pairs: usize,
    refused: usize,
    changed: usize,
}

/// What is printed of the result, and where it goes.
fn output(args: &Measuring) -> String {
    if args.dry_run {
        return "the plan alone".to_owned();
    }
    let table = (args.full, args.brief, &args.reference, args.color);
    let table = (args.json.as_deref() != Some(Path::new("-"))).then_some(table);
    format!("{:?} {:?} {}", args.json, table, args.quiet)
}

/// What is printed of a document, and where it goes.
fn printed(json: &Option<PathBuf>, [full, quiet]: [bool; 2], color: ColorChoice) -> String {
    let table = (json.as_deref() != Some(Path::new("-"))).then_some((full, color));
    format!("{json:?} {table:?} {quiet}")
}

fn observe(line: &str, machine: &Survey, description: &mut clap::Command) -> Observed {
    // A trial is of a program.
    let program = ["--", "true"].into_iter().filter(|_| line.starts_with("trial"));
    let words = std::iter::once("numabench").chain(line.split_whitespace()).chain(program);
    let args = match parse_as(description, words) {
        Ok(args) => args,
        Err(error) => return Observed::Refused(error.to_string()),
    };
    match carried_out(&args, machine) {
        Ok(text) => Observed::Done(text),
        Err(fault) if fault.exit == Exit::Usage => Observed::Refused(fault.to_string()),
        Err(_) => Observed::Absent,
    }
}

/// The plan of these arguments, and what is printed.
fn carried_out(args: &Args, machine: &Survey) -> Result<String, Fault> {
    let plan =
        |measurement: &dyn Measurement| outline_on(measurement, machine).map(|outline| outline.to_string());
    let with = |measurement: &dyn Measurement, args: &Measuring| Ok(plan(measurement)? + &output(args));
    match &args.command {
        Command::Pingpong(command) => {
            if let Some(moving) = command.moving()? {
                return with(&moving, &command.measuring);
            }
            let (plan, fits) = command.options().outline_on(&machine.topology)?;
            fits?;
            let launch = (command.rank, command.ranks, &command.fail_on);
            Ok(format!("{plan}{}{launch:?} {:?}", output(&command.measuring), command.warmup))
        }
        Command::Matrix(command) => match command.moving()? {
            Some(moving) => with(&moving, &command.measuring),
            None => with(&command.options(), &command.measuring),
        },
        Command::Sweep(command) => match command.moving()? {
            Some(moving) => with(&moving, &command.measuring),
            None => with(&command.options(), &command.measuring),
        },
        Command::Latency(command) => with(&command.options(), &command.measuring),
        Command::Peer(command) => with(&command.options(), &command.measuring),
        Command::Contend(command) => with(&command.options(), &command.measuring),
        Command::Kernels(command) => with(&command.options(), &command.measuring),
        Command::Suite(command) => with(&command.options(), &command.measuring),
        Command::Topo(command) if command.measure.is_empty() => Ok("a view".to_owned()),
        Command::Topo(command) => {
            let shown = if command.dry_run {
                "the plan alone".to_owned()
            } else {
                format!("{:?} {:?}", command.json, command.color)
            };
            Ok(plan(&cmd::topo_measure::groups(command))? + &shown)
        }
        // What a run of ranks, or of a program, would do: what the library is told, and what is printed.
        Command::Mpi(command) => Ok(format!(
            "{:?}{}",
            command.options(),
            printed(&command.json, [command.full, command.quiet], command.color)
        )),
        Command::Laplace(command) => Ok(format!(
            "{:?}{}",
            command.options(),
            printed(&command.json, [command.full, command.quiet], command.color)
        )),
        Command::Trial(command) => {
            let printed = printed(&command.json, [command.full, command.quiet], command.color);
            Ok(format!("{:?}{:?}{printed}", command.options(), (command.dry_run, &command.resume)))
        }
        other => panic!("{other:?} prints no plan"),
    }
}

/// The option at the beginning of a sample.
fn option_of(typed: &str) -> &str {
    typed.split([' ', '=']).next().unwrap_or(typed)
}

/// The words of these samples, each option once, with what they need beside them but for the options that are
/// there.
fn line(command: &str, samples: &[&Sample], also: &[&Sample]) -> String {
    let mut words: Vec<&str> = samples.iter().map(|sample| sample.typed).collect();
    for beside in samples.iter().chain(also).map(|sample| sample.beside).filter(|beside| !beside.is_empty()) {
        if !words
            .iter()
            .chain(also.iter().map(|sample| &sample.typed))
            .any(|typed| option_of(typed) == option_of(beside))
        {
            words.push(beside);
        }
    }
    format!("{command} {}", words.join(" "))
}

/// Whether a refusal names this sample, or what it needs beside it.
fn names(refusal: &str, sample: &Sample) -> bool {
    let named = |typed: &str| !typed.is_empty() && refusal.contains(option_of(typed));
    named(sample.typed) || named(sample.beside)
}

struct Tried<'a> {
    command: &'a str,
    machine: &'a Survey,
    description: clap::Command,
    seen: BTreeMap<String, Observed>,
    counts: Counts,
    ignored: Vec<String>,
}

impl Tried<'_> {
    fn observe(&mut self, line: String) -> Observed {
        let Self { machine, description, seen, .. } = self;
        seen.entry(line).or_insert_with_key(|line| observe(line, machine, description)).clone()
    }

    fn is_done_anyway(&self, sample: &Sample, line: &str) -> bool {
        let is_without_gpu = self.machine.topology.gpus.is_empty() || line.contains("--backend host");
        let holds = |when: Already| match when {
            Already::WithoutGpu => is_without_gpu,
            Already::Beside(option) => line.contains(option),
        };
        ALREADY.iter().any(|(typed, when)| *typed == sample.typed && holds(*when))
    }

    /// The samples that can be carried out here by themselves; one that is refused must name its option.
    fn possible(&mut self, samples: Vec<Sample>) -> Vec<Sample> {
        let mut possible = Vec::new();
        for sample in samples {
            let typed = line(self.command, &[&sample], &[]);
            let without = line(self.command, &[], &[&sample]);
            match (self.observe(typed.clone()), self.observe(without)) {
                (Observed::Refused(why), _) if !names(&why, &sample) => {
                    self.ignored.push(format!("{typed}: {why}"))
                }
                (Observed::Refused(_) | Observed::Absent, _) => {}
                (done, without) if done == without => {
                    if !self.is_done_anyway(&sample, &typed) {
                        self.ignored.push(typed);
                    }
                }
                _ => possible.push(sample),
            }
        }
        possible
    }

    fn pair(&mut self, one: &Sample, other: &Sample) {
        let both = line(self.command, &[one, other], &[]);
        self.counts.pairs += 1;
        match self.observe(both.clone()) {
            Observed::Refused(why) if names(&why, one) && names(&why, other) => self.counts.refused += 1,
            Observed::Refused(why) => {
                self.ignored.push(format!("{both}: the refusal names one of them: {why}"))
            }
            Observed::Absent => self.counts.pairs -= 1,
            done => {
                let only_other = line(self.command, &[other], &[one]);
                let only_one = line(self.command, &[one], &[other]);
                let by_one = self.observe(only_other) != done || self.is_done_anyway(one, &both);
                let by_other = self.observe(only_one) != done || self.is_done_anyway(other, &both);
                match (by_one, by_other) {
                    (true, true) => self.counts.changed += 1,
                    (false, _) => self.ignored.push(format!("{both}: {} changes nothing", one.typed)),
                    _ => self.ignored.push(format!("{both}: {} changes nothing", other.typed)),
                }
            }
        }
    }
}

/// When an option asks for what is done in any case, which is not ignored.
#[derive(Clone, Copy, PartialEq)]
enum Already {
    /// Where no GPU takes part.
    WithoutGpu,
    /// Beside this option.
    Beside(&'static str),
}

/// Options that ask for what is done in any case.
const ALREADY: &[(&str, Already)] = &[
    ("--backend host", Already::WithoutGpu),
    ("--memory pageable", Already::WithoutGpu),
    // Loads are among the accesses that are measured.
    ("--latency", Already::WithoutGpu),
    ("--timing host", Already::Beside("--ranks-per-gpu")),
    ("--timing host", Already::Beside("--memory managed")),
    // One message at a time is what a matrix has.
    ("--pattern ping-pong", Already::Beside("--matrix")),
];

fn machine(name: &str) -> Survey {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures").join(name);
    topo::survey_xml(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[test]
fn no_pair_of_options_of_a_command_with_a_plan_is_ignored() {
    let description = examples::command();
    let (mut all, mut report, mut ignored) = (Counts::default(), String::new(), Vec::new());
    for (kind, file) in [("GPUs", "eight-gpus-nvswitch.xml"), ("no GPU", "cpu-only.xml")] {
        let machine = machine(file);
        for (name, lists) in COMMANDS {
            let command = description.find_subcommand(name).expect("a command");
            let mut tried = Tried {
                command: name,
                machine: &machine,
                description: description.clone(),
                seen: BTreeMap::new(),
                counts: Counts::default(),
                ignored: Vec::new(),
            };
            let longs = command
                .get_arguments()
                .filter_map(|arg| arg.get_long())
                .filter(|long| !["help", "version"].contains(long));
            // What `topo` shows without measuring has no plan; `tests/cli/pairs.rs` has those pairs.
            let longs = longs.filter(|long| {
                *name != "topo"
                    || ![
                        "input", "save", "svg", "with", "emit", "guest", "numa", "tree", "matrix", "identity",
                    ]
                    .contains(long)
            });
            let mut options: Vec<Vec<Sample>> = Vec::new();
            for long in longs {
                let found = samples(lists, long);
                assert!(!found.is_empty(), "numabench {name} has --{long}: add a value of it to samples.rs");
                options.push(tried.possible(found));
            }
            for (at, of_one) in options.iter().enumerate() {
                for of_other in &options[at + 1..] {
                    for (one, other) in
                        of_one.iter().flat_map(|one| of_other.iter().map(move |other| (one, other)))
                    {
                        tried.pair(one, other);
                    }
                }
            }
            let Counts { pairs, refused, changed } = tried.counts;
            report +=
                &format!("{name:<10} {kind:<7} {pairs:>5} pairs {refused:>5} refused {changed:>5} changed\n");
            all = Counts {
                pairs: all.pairs + pairs,
                refused: all.refused + refused,
                changed: all.changed + changed,
            };
            ignored.extend(tried.ignored.into_iter().map(|line| format!("{kind}: {line}")));
        }
    }
    println!("{report}{all:?}");
    assert!(ignored.is_empty(), "{} ignored:\n{}\n{report}", ignored.len(), ignored.join("\n"));
    assert_eq!(all.pairs, all.refused + all.changed);
}
