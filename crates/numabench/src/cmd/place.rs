//! `numabench place`: read the machine, plan (or read back, or measure), show the places and the lines that
//! make them so.

use ::place::document::{self, Invocation};
use ::place::{Candidates, Saved, TURNS_AT_MOST, knows_nics, pasted, planned, situation};
use experiments::backends;
use experiments::document::Origin;
use experiments::driver::survey_of;
use experiments::fastest_placement::TurnDesk;
use experiments::journal::FinishedRun;
use launchers::{Dialect, Situation};
use topo::Survey;

use crate::args::place::{Emit, Place};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::result_output::{Extent, Output, origin};
use crate::terminal;

/// Runs the command.
pub fn run(args: &Place) -> Result<Exit, Fault> {
    let origin = origin();
    // The output is opened first: a measurement whose result cannot be kept must not begin.
    let output =
        Output::plain(args.json.as_deref(), Extent::of(args.full, false, args.quiet), args.quiet, args.color);
    let sink = output.open()?;
    let survey = survey_of(&args.input)?;
    let topology = &survey.topology;
    if args.emit == Some(Emit::GresConf) {
        return gres_conf(&survey, args.quiet).map(|()| Exit::Ok);
    }
    let asked = args.asked();
    let unseen = (!args.measure && args.input.is_empty() && args.from.is_none())
        .then(backends::off_bus_in_time)
        .flatten();

    if let Some(unseen) = unseen {
        terminal::say(&format!(
            "warning: {unseen}: no rank is planned for them; `numabench place --measure` asks the driver, \
             and measures what is near"
        ));
    }

    let situation = situation::situation(&asked, &survey);
    let build =
        |found: &Candidates| document::build(&asked, command(args, &origin), &survey, found, &situation);
    let (found, exit) = if args.measure {
        let (progress, most) = (Progress::new(args.quiet), TURNS_AT_MOST as u64);
        let turns = |names: &str, turns| {
            progress.say(format!("{names}: {turns} of at most {most} turns each"), turns, most);
        };
        let desk = TurnDesk { say: terminal::say, turns: &turns, sink: sink.as_ref(), build: &build };
        let measured = args.measuring().measure(&asked, topology, desk)?;
        progress.clear();
        measured
    } else if let Some(path) = &args.from {
        let way = Saved::read(path).and_then(|saved| saved.way(topology, &topology.allowed.pus));
        (Candidates::only(way.map_err(Fault::usage)?), Exit::Ok)
    } else {
        (Candidates::only(planned(&asked, &survey)?), Exit::Ok)
    };

    if let Some(Emit::Places(dialect)) = args.emit {
        let said = emit(args, dialect, &survey, &found, &situation);
        let kept = FinishedRun::kept(sink.as_ref(), build(&found), exit).fault.map_or(Ok(()), Err);
        return said.and(kept).map(|()| exit);
    }
    output.show_as(FinishedRun::kept(sink.as_ref(), build(&found), exit), render::terminal::place)
}

fn command(args: &Place, origin: &Origin) -> Invocation {
    Invocation {
        tool: origin.tool.clone(),
        argv: origin.argv.clone(),
        started_at: origin.began.started_at(),
        elapsed: origin.began.elapsed(),
        from: args.from.clone(),
        json: args.json.clone(),
        launcher: args.launcher,
    }
}

/// Prints the places in one dialect's words and nothing else.
fn emit(
    args: &Place,
    dialect: Dialect,
    survey: &Survey,
    found: &Candidates,
    situation: &Situation,
) -> Result<(), Fault> {
    let saying = pasted(survey, found, dialect, args.nic, situation)?;
    if args.nic && !knows_nics(survey, found) {
        terminal::say("note: no network adapter is known to be near a rank's GPU, and no variable names one");
    }
    if !args.quiet {
        saying.remarks.iter().for_each(|remark| terminal::say(&format!("note: {remark}")));
    }
    terminal::print(format!("{}\n", saying.text.trim_end()).as_bytes())
}

/// Prints the lines of the node's GPUs in gres.conf, which no rank's place has a part in.
fn gres_conf(survey: &Survey, quiet: bool) -> Result<(), Fault> {
    let found = launchers::node_gres::node_gres(survey);
    if !quiet {
        found.remarks.iter().for_each(|remark| terminal::say(&format!("note: {remark}")));
    }
    if found.conf.lines.is_empty() {
        return Err(Fault::new(
            Exit::Absent,
            anyhow::anyhow!("gres.conf has lines for GPUs, and no GPU is here"),
        ));
    }
    terminal::print(found.conf.to_string().as_bytes())
}
