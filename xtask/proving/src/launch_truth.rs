//! `cargo xtask launch-truth`: what real launchers do with thousands of lines on saved machines, as the
//! tables in `crates/launchers/tests/truth`.
//!
//! Every launcher that is found (on the PATH, and below folders given with `--prefix`) starts every line of
//! its family, for real: hwloc tells it a saved machine, and a preloaded library writes a binding down
//! instead of doing it (`recorder.c`), so that two cores serve for 96. Lines that the table already has for a
//! version are not started again, unless `--again` says so: a new version is added by one call where it is
//! installed.
//!
//! `launcher` finds launchers, `machine` reads saved machines, `open_mpi`, `mpich` and `intel_mpi` draw the
//! lines, `start` starts one, `table` is the file.

mod intel_mpi;
mod launcher;
mod machine;
mod mpich;
mod open_mpi;
mod start;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};

use launcher::{Family, Installed};
use machine::Machine;
use start::{Outcome, Recorder};
use table::Table;

/// Where the tables lie, and the files that their lines name.
const FOLDER: &str = "crates/launchers/tests/truth";

/// What the command was asked.
#[derive(Default)]
struct Asked {
    prefixes: Vec<PathBuf>,
    only: Option<String>,
    jobs: Option<usize>,
    again: bool,
}

/// Starts the lines and writes the tables.
///
/// # Errors
/// No launcher is here, or one of them does what is no answer.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let asked = parse(args)?;
    let found = launcher::installed(&asked.prefixes);
    for one in &found {
        println!("found  {} {}  ({})", one.family.name(), one.version, one.program.display());
    }
    if found.is_empty() {
        bail!(
            "no mpirun or mpiexec of Open MPI, MPICH or Intel MPI is here: install one, or name its folder \
             with --prefix"
        );
    }

    let folder = root.join("target/launch-truth");
    let machines = machine::saved(root, &folder.join("machines"))?;
    let recorder = Recorder::build(&folder)?;
    for family in Family::ALL {
        if asked.only.as_deref().is_some_and(|only| only != family.name()) {
            continue;
        }
        let versions: Vec<&Installed> = found.iter().filter(|one| one.family == family).collect();
        if !versions.is_empty() {
            make_table(root, family, &versions, &machines, &recorder, &asked)?;
        }
    }
    Ok(())
}

fn parse(args: &[String]) -> Result<Asked> {
    let mut asked = Asked::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--prefix" => asked.prefixes.push(value()?.into()),
            "--only" => asked.only = Some(value()?),
            "--jobs" => asked.jobs = Some(value()?.parse().context("--jobs: write a whole number")?),
            "--again" => asked.again = true,
            _ => bail!(
                "{word} is no option: --prefix FOLDER, --only open-mpi|mpich|intel-mpi, --jobs N, --again"
            ),
        }
    }
    Ok(asked)
}

/// Starts the lines of one family that its table lacks, and writes the table after every machine.
fn make_table(
    root: &Path,
    family: Family,
    versions: &[&Installed],
    machines: &[Machine],
    recorder: &Recorder,
    asked: &Asked,
) -> Result<()> {
    let folder = root.join(FOLDER);
    let path = folder.join(format!("{}.txt", family.name()));
    let mut table = Table::read(&path)?;
    let (mut started, mut lines) = (0, 0);
    for machine in machines {
        let wanted = family.lines(machine);
        lines += wanted.len();
        table.keep_only(&machine.name, &wanted);
        let todo: Vec<(&Installed, &String)> = versions
            .iter()
            .flat_map(|version| wanted.iter().map(|line| (*version, line)))
            .filter(|(version, line)| asked.again || !table.has(&machine.name, line, &version.version))
            .collect();
        started += todo.len();
        let outcomes = start_all(&todo, machine, &folder, recorder, asked.jobs.unwrap_or(2))?;
        for ((version, line), outcome) in todo.into_iter().zip(outcomes) {
            table.insert(&machine.name, line, &version.version, outcome);
        }
        table.write(&path)?;
    }
    println!("{}: {lines} lines on {} machines; {started} launches made", family.name(), machines.len());
    Ok(())
}

/// Starts these lines, some at a time.
fn start_all(
    todo: &[(&Installed, &String)],
    machine: &Machine,
    folder: &Path,
    recorder: &Recorder,
    jobs: usize,
) -> Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<Option<Result<Outcome>>>> = Mutex::new(todo.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((installed, line)) = todo.get(at) else { break };
                    let outcome = recorder.start(installed, line, machine, folder);
                    if let Ok(mut all) = outcomes.lock() {
                        all[at] = Some(outcome);
                    }
                }
            });
        }
    });
    let all = outcomes.into_inner().map_err(|_| anyhow::anyhow!("a thread that started lines died"))?;
    all.into_iter().map(|one| one.context("a line was not started")?).collect()
}
