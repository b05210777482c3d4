//! `numabench check --bandwidth`: whether this node's GPUs copy as fast as those of their kind do, as a job's prologue asks.
//!
//! A pass is a short `numabench pingpong --order alone`, and a short `numabench peer` for what stays between GPUs, each in a process of its own: a GPU that
//! hangs its driver cannot hang the check beyond the pass' own time limit, and what is measured is what everybody can measure. What the figures come
//! to is `analysis::gate`'s to say; a pass is repeated only for a suspect, or on each node of a fleet, whose nodes are compared afterwards. Launcher variables are
//! kept from it: it is one process and not a rank.
//!
//! Copies within a GPU's memory are 512 MiB: with what they write four times the largest cache of today's GPUs, each byte counted once. Copies between GPUs go
//! from each GPU to the next one, so that every GPU sends and receives once.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use analysis::baseline::{Baseline, Value, values};
use analysis::gate::{Checked, Decision, Gate, PASSES, decide};
use analysis::slower_twins::slower_memory;
use anyhow::{Context, anyhow};
use experiments::documents;
use experiments::scratch::Scratch;
use report::Document;
use report::slower_twin::SlowerTwin;

use crate::args::ColorChoice;
use crate::args::check::{Check, What};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::fleet;
use crate::output_file;
use crate::terminal;

/// What a pass measures of copies to the GPUs and back: 64 MiB is large enough for the link's rate, and eight GPUs take two seconds.
const COPIES: [&str; 12] = [
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
    "--max-time",
    "2s",
];
/// What it measures between GPUs and within each: of eight GPUs sixteen cases of ten blocks.
const PEERS: [&str; 6] = ["peer", "--quiet", "--gpus", "all", "--max-time", "1500ms"];

/// Variables by which a process knows that it was launched with others.
const LAUNCHERS: [&str; 7] = ["SLURM_", "OMPI_", "PMI_", "PMIX_", "PALS_", "MPI_LOCAL", "FLUX_"];

/// Runs the command.
pub fn run(args: &Check) -> Result<Exit, Fault> {
    if let Some(folder) = fleet::folder(args.json.as_deref()) {
        return fleet::run(folder, ColorChoice::Auto, |file| {
            let sink = output_file::open(file)?;
            let checked = check(args, fleet::is_launched())?;
            let json = report::json::json_value(&checked).map_err(|error| Fault::new(Exit::NoResult, error))?;
            sink.write(&json).map_err(|error| Fault::new(Exit::NoResult, error))?;
            if !fleet::is_launched() {
                terminal::print(render::compared::gate(&checked, terminal::width()).as_bytes())?;
            }
            Ok(exit(checked.gate))
        });
    }
    let printed = args.json.as_deref() == Some(Path::new("-"));
    let sink = output_file::of_document(args.json.as_deref())?;
    let checked = check(args, false)?;
    let json = || report::json::json_value(&checked).map_err(|error| Fault::new(Exit::NoResult, error));
    if let Some(sink) = sink {
        sink.write(&json()?).map_err(|error| Fault::new(Exit::NoResult, error))?;
    }
    let shown = match (printed, args.quiet) {
        (true, _) => json()?,
        (_, true) => render::compared::reason(&checked).into_bytes(),
        _ => render::compared::gate(&checked, terminal::width()).into_bytes(),
    };
    terminal::print(&shown)?;
    Ok(exit(checked.gate))
}

fn exit(gate: Gate) -> Exit {
    match gate {
        Gate::Well => Exit::Ok,
        Gate::Finding => Exit::Finding,
        Gate::Undecided => Exit::Undecided,
    }
}

/// Checks this node; `all_passes` also where the first one is well.
fn check(args: &Check, all_passes: bool) -> Result<Checked, Fault> {
    let began = Instant::now();
    let baseline = args.against.as_deref().map(read).transpose()?;
    let mut passes: Vec<Vec<Value>> = Vec::new();
    loop {
        let documents = pass(args)?;
        let Some(document) = documents.first() else {
            return Err(Fault::usage("nothing is to be measured: --what takes h2d, d2h, hbm and peer"));
        };
        let figures =
            documents.iter().flat_map(values).filter(|value| args.what.iter().any(|what| is_of(*what, value)));
        passes.push(figures.collect());
        let mut twins: Vec<SlowerTwin> = document.slower_twins.clone();
        if args.what.contains(&What::Hbm) {
            twins.extend(documents.iter().flat_map(slower_memory));
        }
        let decision = match &baseline {
            Some(baseline) => decide(baseline, &passes),
            // Twins need no baseline, and each pass compares them; a slower one is looked at again like any suspect.
            None if twins.is_empty() => Decision::Decided(Gate::Well, Vec::new()),
            None if passes.len() < PASSES => Decision::Again,
            None => Decision::Decided(Gate::Finding, Vec::new()),
        };
        match decision {
            Decision::Decided(gate, suspects) if !all_passes || passes.len() >= PASSES => {
                // With a baseline a slower twin that is within what is normal is none.
                let twins = if gate == Gate::Finding { twins } else { Vec::new() };
                return Ok(Checked::new(document, gate, suspects, twins, &passes, began.elapsed().as_secs_f64()));
            }
            Decision::Decided(..) | Decision::Again => {}
        }
    }
}

/// Whether a figure is of what was asked for.
fn is_of(what: What, value: &Value) -> bool {
    let mut parts = value.case.split('/').skip(2);
    let direction = parts.next().unwrap_or_default();
    let group = parts.nth(1).unwrap_or_default();
    match what {
        What::H2d => direction == "h2d",
        What::D2h => direction == "d2h",
        What::Hbm => direction == "d2d" && group == "within",
        What::Peer => direction == "d2d" && group == "one-way",
    }
}

fn read(path: &Path) -> Result<Baseline, Fault> {
    let bytes = documents::bytes(path)?;
    let read = Baseline::from_json(&bytes).map_err(|error| anyhow!("{}: {error}", path.display()));
    read.map_err(Fault::usage)
}

/// One pass: the documents of its short runs.
fn pass(args: &Check) -> Result<Vec<Document>, Fault> {
    let has = |what: What| args.what.contains(&what);
    let directions: Vec<&str> = [(What::H2d, "h2d"), (What::D2h, "d2h")]
        .into_iter()
        .filter(|(what, _)| has(*what))
        .map(|(_, name)| name)
        .collect();
    let mut documents = Vec::new();
    if !directions.is_empty() {
        documents.push(short_run(args, &[&COPIES[..], &["--direction", &directions.join(",")]].concat())?);
    }
    if has(What::Hbm) || has(What::Peer) {
        let pairs = if has(What::Peer) { "ring" } else { "none" };
        documents.push(short_run(args, &[&PEERS[..], &["--pairs", pairs]].concat())?);
    }
    Ok(documents)
}

/// The document of a short run.
fn short_run(args: &Check, arguments: &[&str]) -> Result<Document, Fault> {
    let no_result = |error: anyhow::Error| Fault::new(Exit::NoResult, error);
    let folder =
        Scratch::new("numabench-check-").context("cannot make a folder for the pass' document").map_err(no_result)?;
    let file = folder.path().join("pass.json");
    let program = std::env::current_exe().context("cannot find this program").map_err(no_result)?;
    let mut command = Command::new(program);
    let limit = format!("{}s", args.timeout.as_secs().max(1));
    command.args(arguments).arg("--json").arg(&file).args(["--timeout", &limit]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
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
        // One that began says in its document why it ended; one that did not has said so itself.
        other => Err(match documents::read(&file).map(|document| document.status_reason) {
            Ok(Some(why)) => Fault::new(other, anyhow!("a pass (numabench {}) ended early: {why}", arguments[0])),
            _ => Fault::silent(other),
        }),
    }
}
