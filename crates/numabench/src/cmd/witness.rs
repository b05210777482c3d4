//! `numabench witness`: run the program with the library that counts its copies, read what that wrote, say
//! what is far. The program's output stays its own: the answer goes to standard error.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ::witness::buffers::NearNodes;
use ::witness::document::{RunFacts, document};
use ::witness::gain::MatrixRates;
use ::witness::hook::{self, VARIABLE};
use ::witness::record::Records;
use ::witness::run::{HookedProgram, RunError};
use analysis::witness_launch::WitnessLaunch;
use experiments::document::Origin;
use experiments::documents;
use launchers::Launch;
use render::terminal::Style;
use report::{Document, SavedDocument, WitnessDocument, timestamp};

use crate::args::witness::Witness;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::output_file;
use crate::result_output::{json, origin, write};
use crate::signals::Signals;
use crate::terminal;

/// Runs the command. Its exit code is the program's.
pub fn run(args: &Witness) -> Result<Exit, Fault> {
    let launch = Launch::here();
    let rank = if launch.is_alone() { None } else { launch.rank };
    let file = args.json.as_deref().map(|file| rank.map_or(file.to_path_buf(), |rank| of_rank(file, rank)));
    let sink = output_file::of_document(file.as_deref())?;
    let mut rates = MatrixRates::default();
    args.matrix.iter().try_for_each(|file| read_matrix(file, &mut rates))?;
    let executable = std::env::current_exe().unwrap_or_default();
    let hook = hook::find(std::env::var_os(VARIABLE).as_deref(), &executable).map_err(Fault::usage)?;
    let topology = topo::read().map_err(|error| Fault::new(Exit::NoResult, error))?;

    let signals = Signals::catch()?;
    let run =
        HookedProgram { program: &args.program, hook: &hook, times_all: args.time, looks_at_all: args.pages };
    let signal = || signals.exit().map(|exit| i32::from(exit.code()) - 128);
    let ran = run.to_end(&signal).map_err(not_run)?;

    let records = Records::read(ran.records.path()).map_err(Fault::no_result)?;
    let Origin { tool, argv, .. } = origin();
    let about = RunFacts {
        tool,
        argv,
        started_at: timestamp::rfc3339_utc(ran.began),
        elapsed: ran.elapsed,
        host: topology.hostname.clone(),
        rank: rank.and_then(|rank| u32::try_from(rank).ok()),
        program: args.program.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        status: ran.status,
    };
    let matrix = (!args.matrix.is_empty()).then_some(&rates);
    let found = document(about, &records, &NearNodes::of(&topology), matrix);
    // Of a launch the first rank speaks; each has its document.
    if rank.is_none_or(|rank| rank == 0) {
        if !launch.is_alone() {
            terminal::say_bytes(of_first_rank(&launch, args.json.as_deref()).as_bytes());
        }
        say(found.clone(), args.full, file.as_deref());
    }
    sink.map_or(Ok(()), |sink| write(&sink, &json(&found)?))?;
    Ok(exit_of(&found))
}

/// The program's own exit, with a shell's code for a signal.
fn exit_of(found: &WitnessDocument) -> Exit {
    let number = |code: i32| u8::try_from(code).unwrap_or(u8::MAX);
    match (found.exit_code, found.signal) {
        (Some(code), _) => Exit::OfProgram(number(code)),
        (None, Some(signal)) => Exit::Signal(number(signal)),
        (None, None) => Exit::NoResult,
    }
}

fn say(found: WitnessDocument, full: bool, file: Option<&Path>) {
    let saved_to = file.map(|path| path.display().to_string());
    let screen = (!full).then_some(render::terminal::SCREEN);
    let style = Style { width: terminal::width(), color: false, quiet: false, saved_to, screen };
    let launch = WitnessLaunch::of_one("", found);
    terminal::say_bytes(terminal::shown(&render::terminal::witness(&launch, &style)).as_bytes());
}

/// A rank's own file: its number before the extension.
fn of_rank(file: &Path, rank: usize) -> PathBuf {
    of_ranks(file, &rank.to_string())
}

/// The same of several ranks.
fn of_ranks(file: &Path, ranks: &str) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let extension =
        file.extension().and_then(OsStr::to_str).map(|text| format!(".{text}")).unwrap_or_default();
    file.with_file_name(format!("{stem}.rank{ranks}{extension}"))
}

/// That what follows is of the first rank alone, and how to see all.
fn of_first_rank(launch: &Launch, file: Option<&Path>) -> String {
    let all = match file {
        Some(file) => format!("`numabench report {}` shows all", of_ranks(file, "*").display()),
        None => "with --json FILE each rank keeps its own".to_owned(),
    };
    format!("Rank 0 of {} alone ({all}):\n", launch.size)
}

/// Adds the rates of a matrix's document.
fn read_matrix(file: &Path, rates: &mut MatrixRates) -> Result<(), Fault> {
    let name = file.display().to_string();
    let matrix: Document = Document::from_json(&documents::bytes(file)?)
        .map_err(|error| Fault::usage(format!("{name}: {error}")))?;
    if !rates.add(&name, &matrix) {
        let text = "no rates of copies alone between NUMA nodes and GPUs, by copy engines: give a document \
            of `numabench matrix --json`, without --concurrent";
        return Err(Fault::usage(format!("{name}: {text}")));
    }
    Ok(())
}

fn not_run(error: RunError) -> Fault {
    let exit = match &error {
        RunError::Start { source, .. } if source.kind() == ErrorKind::NotFound => Exit::NotFound,
        RunError::Start { .. } => Exit::NotExecutable,
        RunError::Folder { .. } | RunError::Wait(_) => Exit::NoResult,
    };
    Fault::new(exit, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ranks_file_has_its_number_before_the_extension() {
        let of = |file: &str| of_rank(Path::new(file), 3).display().to_string();
        assert_eq!([of("a/w.json"), of("w")], ["a/w.rank3.json", "w.rank3"]);
    }
}
