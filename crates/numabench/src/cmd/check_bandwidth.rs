//! `numabench check --bandwidth`: whether this node's GPUs copy as fast as those of their kind do, as a job's prologue asks.
//!
//! A pass is a short `numabench pingpong --order alone` in a process of its own: a GPU that hangs its driver cannot hang the check beyond the
//! pass' own time limit, and what is measured is what everybody can measure. What the figures come to is `analysis::gate`'s to say; a pass is
//! repeated only for a suspect. Launcher variables are kept from it: it is one process and not a rank.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use analysis::baseline::{Baseline, Value, values};
use analysis::gate::{Checked, Decision, Gate, PASSES, decide};
use anyhow::{Context, anyhow};
use report::Document;

use crate::args::check::Check;
use crate::documents;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::scratch::Scratch;
use crate::terminal;

/// What a pass measures: 64 MiB is large enough for the link's rate, and eight GPUs take two seconds.
const PASS: [&str; 15] = [
    "pingpong",
    "--quiet",
    "--order",
    "alone",
    "--gpus",
    "all",
    "--size",
    "64MiB",
    "--memory",
    "pinned",
    "--direction",
    "h2d,d2h",
    "--max-time",
    "2s",
    "--json",
];

/// Variables by which a process knows that it was launched with others.
const LAUNCHERS: [&str; 7] = ["SLURM_", "OMPI_", "PMI_", "PMIX_", "PALS_", "MPI_LOCAL", "FLUX_"];

/// Runs the command.
pub fn run(args: &Check) -> Result<Exit, Fault> {
    let began = Instant::now();
    let baseline = args.against.as_deref().map(read).transpose()?;
    let mut passes: Vec<Vec<Value>> = Vec::new();
    let (gate, suspects, document) = loop {
        let document = pass(args)?;
        passes.push(values(&document));
        let decision = match &baseline {
            Some(baseline) => decide(baseline, &passes),
            // Twins need no baseline, and each pass compares them; a slower one is looked at again like any suspect.
            None if document.slower_twins.is_empty() => Decision::Decided(Gate::Well, Vec::new()),
            None if passes.len() < PASSES => Decision::Again,
            None => Decision::Decided(Gate::Finding, Vec::new()),
        };
        if let Decision::Decided(gate, suspects) = decision {
            break (gate, suspects, document);
        }
    };
    // With a baseline a slower twin that is within what is normal is none.
    let twins = if gate == Gate::Finding { document.slower_twins.clone() } else { Vec::new() };
    let checked = Checked::new(&document, gate, suspects, twins, passes.len(), began.elapsed().as_secs_f64());
    if args.json {
        let json = report::json::json_value(&checked).map_err(|error| Fault::new(Exit::NoResult, error))?;
        terminal::print(&json)?;
    } else {
        terminal::print(render::compared::gate(&checked, terminal::width()).as_bytes())?;
    }
    Ok(match gate {
        Gate::Well => Exit::Ok,
        Gate::Finding => Exit::Finding,
        Gate::Undecided => Exit::Undecided,
    })
}

fn read(path: &Path) -> Result<Baseline, Fault> {
    let bytes = documents::bytes(path)?;
    let read = Baseline::from_json(&bytes).map_err(|error| anyhow!("{}: {error}", path.display()));
    read.map_err(Fault::usage)
}

/// One pass: the document of a short run.
fn pass(args: &Check) -> Result<Document, Fault> {
    let no_result = |error: anyhow::Error| Fault::new(Exit::NoResult, error);
    let folder =
        Scratch::new("numabench-check-").context("cannot make a folder for the pass' document").map_err(no_result)?;
    let file = folder.path().join("pass.json");
    let program = std::env::current_exe().context("cannot find this program").map_err(no_result)?;
    let mut command = Command::new(program);
    let limit = format!("{}s", args.timeout.as_secs().max(1));
    command.args(PASS).arg(&file).args(["--timeout", &limit]).stdin(Stdio::null()).stdout(Stdio::null());
    let launched = std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| LAUNCHERS.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)));
    for name in launched {
        command.env_remove(name);
    }
    let status = command.status().context("cannot start a pass").map_err(no_result)?;
    let exit = Exit::from_code(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
    match exit {
        Exit::Ok | Exit::Partial | Exit::Finding => documents::read(&file),
        // The pass has said why.
        other => Err(Fault::silent(other)),
    }
}
