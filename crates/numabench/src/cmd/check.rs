//! `numabench check`: look at each rank, bring the node's together, judge, show, and end with one code for all of the node.
//!
//! Ranks of other nodes are judged by their own first rank, since placement is a node's own matter; each node writes its table in
//! one piece. Nothing is started and nothing is changed, so it can stand before any program: without `--strict` nothing that goes wrong here
//! keeps the program from starting, since a prologue must never cost the job.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::check::{CheckRequest, Looked, Node, Whom};
use launchers::Launch;
use launchers::slurm_files::SlurmFiles;
use placement::judge::PlacementVerdict;

use crate::args::check::Check;
use crate::cmd::check_bandwidth;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::{output_file, terminal};
use experiments::backends;

/// Runs the command.
pub fn run(args: &Check) -> Result<Exit, Fault> {
    if args.bandwidth {
        return check_bandwidth::run(args);
    }
    if args.program.is_empty() {
        return look(args);
    }
    if args.strict {
        match look(args)? {
            Exit::Ok => {}
            exit => return Ok(exit),
        }
    } else {
        match catch_unwind(AssertUnwindSafe(|| look(args))) {
            Ok(Ok(_)) => {}
            Ok(Err(fault)) => terminal::say(&format!("warning: {fault}; the program is started all the same")),
            // What is wrong has been said by the panic itself.
            Err(_) => terminal::say("warning: the check failed; the program is started all the same"),
        }
    }
    Err(::exec::become_other(&args.program, std::env::vars_os().collect()).into())
}

/// Looks, judges and shows.
fn look(args: &Check) -> Result<Exit, Fault> {
    match ::check::look(&asked(args)?)? {
        Looked::Told(code) => Ok(Exit::from_code(code)),
        Looked::Judged(node) => {
            let shown = show(args, &node);
            node.answer(shown.as_ref().map_or_else(|fault| fault.exit, |exit| *exit).code());
            shown
        }
    }
}

fn asked(args: &Check) -> Result<CheckRequest, Fault> {
    let launch =
        Launch::here().with_numbers_of_user(args.rank, args.ranks.map(NonZeroUsize::get)).map_err(Fault::usage)?;
    let line = args.launch.as_ref().map(|line| {
        let site = SlurmFiles::read(args.gres_conf.as_deref(), args.slurm_conf.as_deref());
        site.map(|site| (line.clone(), site)).map_err(Fault::usage)
    });
    let whom = match (&args.printed, line.transpose()?) {
        (Some(path), line) => Whom::Printed(printed(path)?, line),
        (None, Some((line, site))) => Whom::Line(line, site),
        (None, None) if args.all => Whom::GpuUsers,
        (None, None) if args.pid.is_empty() => Whom::Launch(launch),
        (None, None) => Whom::Processes(args.pid.clone()),
    };
    // Before a program nothing is started that could keep it from starting: a driver that hangs in the kernel would.
    let asks_driver = matches!(whom, Whom::Launch(_)) && args.program.is_empty() && args.input.is_empty();
    let driver_gpus = if asks_driver { backends::off_bus_in_time() } else { None };
    Ok(CheckRequest { whom, input: args.input.clone(), driver_gpus, wait: args.timeout })
}

/// The most that is read of what a launcher printed.
const MOST_PRINTED: u64 = 64 << 20;

/// The text of what a launcher printed.
fn printed(path: &Path) -> Result<String, Fault> {
    let bytes = topo::read_input(path, MOST_PRINTED)
        .map_err(|error| Fault::usage(anyhow::anyhow!("--printed {}: {error}", path.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The table as a terminal has it: no line is wider than it, but for those to paste, and an answer that has scrolled away stands once more at the end.
fn on_terminal(table: &str, fix: &[String]) -> String {
    if !terminal::is_terminal() {
        return table.to_owned();
    }
    let width = terminal::width();
    let is_pasted = |line: &str| line.starts_with("fix:") || fix.iter().any(|fix| fix.contains(line));
    let one = |line: &str| if is_pasted(line) { line.to_owned() } else { terminal::wrapped(line, width) };
    let mut text = table.split('\n').map(one).collect::<Vec<_>>().join("\n");
    if text.lines().count() > terminal::screen() {
        let answer = table.lines().next().unwrap_or_default();
        text.push_str(&format!("Answer: {answer}\n"));
    }
    text
}

/// Shows the node, and says what its placement is as an exit code.
fn show(args: &Check, node: &Node) -> Result<Exit, Fault> {
    let json = || node.json().map_err(|error| Fault::new(Exit::NoResult, error));
    let printed = args.json.as_deref() == Some(Path::new("-"));
    if let Some(sink) = output_file::of_document(args.json.as_deref())? {
        sink.write(&json()?).map_err(|error| Fault::new(Exit::NoResult, error))?;
    }
    let table = || on_terminal(&node.table(args.threads, args.nic), node.fix()).into_bytes();
    let bytes = if printed { json()? } else { table() };
    // The program's standard output is its own.
    if args.program.is_empty() {
        terminal::print(&bytes)?
    } else {
        terminal::say_bytes(&bytes)
    }
    Ok(match node.placed() {
        PlacementVerdict::Well if args.nic && node.sent_elsewhere() > 0 => Exit::Finding,
        PlacementVerdict::Well => Exit::Ok,
        PlacementVerdict::Misplaced => Exit::Finding,
        PlacementVerdict::Unknown => Exit::Undecided,
    })
}
