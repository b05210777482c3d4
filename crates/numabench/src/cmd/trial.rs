//! `numabench trial`: show the plan, warm up, run until it is decided, say what it comes to.

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
