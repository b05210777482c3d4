//! `numabench import`: read what another program printed, write it as a document that says so.

use std::path::PathBuf;

use analysis::import::{About, ProgramOutput, import};
use analysis::imported_fits::answer;
use analysis::model_answer::sentences;
use anyhow::anyhow;
use experiments::document::Origin;
use experiments::documents;
use report::document::Status;

use crate::args::import::Import;
use crate::cmd::reference::with as references;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::{json, origin, write};
use crate::{output_file, terminal};

/// Runs the command.
pub fn run(args: &Import) -> Result<Exit, Fault> {
    let sink = args.output.as_deref().map(output_file::open).transpose()?;
    let output = |path: &PathBuf| {
        Ok(ProgramOutput { name: path.display().to_string(), bytes: documents::bytes(path)? })
    };
    let outputs = args.files.iter().map(output).collect::<Result<Vec<_>, Fault>>()?;
    let Origin { tool, argv, .. } = origin();
    let about = About {
        tool,
        argv,
        started_at: documents::began(args.started_at.as_deref(), &args.files),
        host: args.host.clone(),
    };
    let document = import(args.program, &outputs, about)
        .map_err(|(name, fault)| Fault::usage(anyhow!("{name}: {fault}")))?;
    let json = json(&document)?;
    match sink {
        Some(sink) => write(&sink, &json)?,
        None => terminal::print(&json)?,
    }

    let normal = sentences(vec![answer(&document, &references(args.reference.as_deref())?)]);
    for line in normal.iter().chain(&document.verdict).chain(&document.notes) {
        terminal::say(line);
    }

    Ok(match document.status {
        Status::Complete => Exit::Ok,
        Status::Partial => Exit::Partial,
        _ => Exit::NoResult,
    })
}
