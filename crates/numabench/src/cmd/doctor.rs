//! `numabench doctor`: read the machine, look at its settings, show what costs placement or bandwidth.
//! Nothing is measured and nothing changed.

use experiments::journal::FinishedRun;
use std::path::Path;

use experiments::document::Origin;
use experiments::driver::survey_of;
use report::doctor::SavedMachine;
use report::{DoctorDocument, SavedDocument};

use crate::args::doctor::Doctor;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::fleet;
use crate::result_output::{Extent, Output, origin};

/// Runs the command.
pub fn run(args: &Doctor) -> Result<Exit, Fault> {
    match fleet::folder(args.json.as_deref()) {
        Some(folder) => fleet::run(folder, args.color, |file| look(args, Some(file))),
        None => look(args, args.json.as_deref()),
    }
}

/// Looks at this node, and writes the document to `json`.
fn look(args: &Doctor, json: Option<&Path>) -> Result<Exit, Fault> {
    let Origin { tool, argv, began } = origin();
    let output = Output::plain(json, Extent::of(args.full, false, args.quiet), args.quiet, args.color);
    let sink = output.open()?;
    let survey = survey_of(&args.input)?;
    // Settings are this machine's, whichever they are judged by.
    let (host, judged_by) = match survey.topology.source.files() {
        None => (survey.topology.hostname.clone(), None),
        Some(file) => {
            let hostname = survey.topology.hostname.clone();
            (topo::this_hostname(), Some(SavedMachine { hostname, file }))
        }
    };
    let checks = doctor::look(&survey);
    let answer = doctor::answer(&checks);
    let exit = Exit::from_code(answer.exit_code);
    let document = DoctorDocument {
        schema: DoctorDocument::SCHEMA.to_owned(),
        schema_version: DoctorDocument::VERSION.number(),
        tool,
        argv,
        started_at: began.started_at(),
        elapsed_s: began.elapsed().as_secs_f64(),
        host,
        judged_by,
        exit_code: answer.exit_code,
        verdict: answer.verdict,
        checks,
    };

    let ended = FinishedRun::kept(sink.as_ref(), document, exit);

    // In a launch the table of all nodes stands in place of each node's own.
    if fleet::is_launched() && fleet::folder(args.json.as_deref()).is_some() {
        return ended.fault.map_or(Ok(exit), Err);
    }
    output.show_as(ended, render::terminal::doctor)
}
