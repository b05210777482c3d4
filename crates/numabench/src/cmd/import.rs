//! `numabench import`: read what another program printed, write it as a document that says so.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use analysis::import::{About, ProgramOutput, import};
use anyhow::anyhow;
use experiments::document::Origin;
use experiments::documents;
use report::document::Status;
use report::timestamp::rfc3339_utc;

use crate::args::import::Import;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::{json, origin, write};
use crate::{output_file, terminal};

/// Runs the command.
pub fn run(args: &Import) -> Result<Exit, Fault> {
    let sink = args.output.as_deref().map(output_file::open).transpose()?;
    let output =
        |path: &PathBuf| Ok(ProgramOutput { name: path.display().to_string(), bytes: documents::bytes(path)? });
    let outputs = args.files.iter().map(output).collect::<Result<Vec<_>, Fault>>()?;
    let Origin { tool, argv, .. } = origin();
    let about = About { tool, argv, started_at: started_at(args), host: args.host.clone() };
    let document =
        import(args.program, &outputs, about).map_err(|(name, fault)| Fault::usage(anyhow!("{name}: {fault}")))?;
    let json = json(&document)?;
    match sink {
        Some(sink) => write(&sink, &json)?,
        None => terminal::print(&json)?,
    }
    for line in document.verdict.iter().chain(&document.notes) {
        terminal::say(line);
    }
    Ok(match document.status {
        Status::Complete => Exit::Ok,
        Status::Partial => Exit::Partial,
        _ => Exit::NoResult,
    })
}

/// When the run was, and who says so.
fn started_at(args: &Import) -> (String, String) {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let first = args.files.first().filter(|path| *path != Path::new("-"));
    match (&args.started_at, first.and_then(|path| Some((path, changed(path)?)))) {
        (Some(told), _) => (told.clone(), "--started-at".to_owned()),
        (None, Some((path, changed))) => (rfc3339_utc(changed), format!("the time of {}", path.display())),
        (None, None) => (rfc3339_utc(SystemTime::now()), "the time of the import".to_owned()),
    }
}
