//! `numabench trial`: show the plan, warm up, run until it is decided, say what it comes to.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsFd;
use std::path::Path;

use ::trial::planned::{PlannedTrial, read_before};
use ::trial::session::TrialSession;
use anyhow::anyhow;
use experiments::documents;
use report::TrialDocument;

use crate::args::Command;
use crate::args::trial::Trial;
use crate::command_line;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::result_output::{Extent, Output, origin};
use crate::signals::Signals;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Trial) -> Result<Exit, Fault> {
    match &args.resume {
        Some(file) => resumed(file),
        None => trial(args, None),
    }
}

/// Takes a trial up: its own command line again, with the runs that it has.
fn resumed(file: &Path) -> Result<Exit, Fault> {
    let document = read_before(&file.display().to_string(), &documents::bytes(file)?)?;
    let parsed = command_line::parse(&document.argv).map(|args| args.command);
    let Ok(Command::Trial(mut args)) = parsed else {
        let text = format!(
            "{}: its command line is not one that this numabench takes: {}",
            file.display(),
            document.argv.join(" ")
        );
        return Err(Fault::usage(anyhow!(text)));
    };
    args.json = Some(file.to_path_buf());
    trial(&args, Some(document))
}

fn trial(args: &Trial, before: Option<TrialDocument>) -> Result<Exit, Fault> {
    refuse_input()?;
    let output =
        Output::plain(args.json.as_deref(), Extent::of(args.full, false, args.quiet), args.quiet, args.color);
    let sink = output.open()?;
    let trial = PlannedTrial::new(args.options(), origin(), before)?;
    let plan = terminal::shown(&trial.text());

    if !args.quiet && !args.dry_run {
        // On a terminal the answer is to stand on the screen that the plan began.
        let whole = args.full || !terminal::is_terminal();
        let told = if whole { &plan[..] } else { plan.split_inclusive('\n').next().unwrap_or_default() };
        terminal::say_bytes(terminal::wrapped_for_errors(told).as_bytes());
    }

    let signals = Signals::catch()?;
    let mut progress = Progress::of_words(args.quiet);
    let (sink, observer) = (sink.as_ref(), &mut progress);
    let session = TrialSession { sink, signals: &signals, observer, say: terminal::say };
    if let Some(trials) = args.aa {
        let found = trial.against_itself(trials, session)?;
        return terminal::print(found.to_string().as_bytes()).map(|()| found.exit);
    }
    let warm = trial.warm_up(session)?;
    let estimate = warm.estimate();
    if args.dry_run {
        let answer = warm.answer().map_or_else(String::new, |lines| lines.join("\n") + "\n");
        return terminal::print(format!("{plan}{estimate}\n{answer}").as_bytes()).map(|()| Exit::Ok);
    }
    if !args.quiet {
        terminal::say_bytes(terminal::wrapped_for_errors(&format!("{estimate}\n\n")).as_bytes());
    }
    output.show_as(warm.run()?, render::terminal::trial)
}

/// Refuses a file as standard input, which would be read by the first of many runs at most. A shell that
/// reads its script there has read on in it.
fn refuse_input() -> Result<(), Fault> {
    let mut input = io::stdin().as_fd().try_clone_to_owned().map(File::from).map_err(Fault::no_result)?;
    let is_file = input.metadata().is_ok_and(|about| about.is_file() && about.len() > 0);
    if is_file && input.stream_position().is_ok_and(|position| position == 0) {
        let text = "standard input is a file, and the standard input of a trial's runs is empty: let the \
            program open the file, as in numabench trial -- sh -c './app <FILE', or give </dev/null";
        return Err(Fault::usage(anyhow!(text)));
    }
    Ok(())
}
