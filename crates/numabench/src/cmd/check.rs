//! `numabench check`: look at each rank, bring the node's together, judge, show, and end with one code for
//! all of the node.
//!
//! Ranks of other nodes are judged by their own first rank, since placement is a node's own matter; each node
//! writes its table in one piece. Nothing is started and nothing is changed, so it can stand before any
//! program: without `--strict` nothing that goes wrong here keeps the program from starting, since a prologue
//! must never cost the job.

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
            Ok(Err(fault)) => {
                terminal::say(&format!("warning: {fault}; the program is started all the same"))
            }
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
    let launch = Launch::here()
        .with_numbers_of_user(args.rank, args.ranks.map(NonZeroUsize::get))
        .map_err(Fault::usage)?;
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

    // Before a program nothing is started that could keep it from starting: a driver that hangs in the kernel
    // would.
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

/// The table as standard output has it: whole in a file or a pipe.
fn shown(table: &str, fix: &[String]) -> String {
    match terminal::is_terminal() {
        true => on_screen(table, fix, terminal::width(), terminal::screen()),
        false => table.to_owned(),
    }
}

/// The table on a screen: no line is wider than it, but for those to paste; notes that have no room are
/// counted, and an answer that has scrolled away stands once more at the end.
fn on_screen(table: &str, fix: &[String], width: usize, screen: usize) -> String {
    let is_pasted = |line: &str| line.starts_with("fix:") || fix.iter().any(|fix| fix.contains(line));
    let one = |line: &str| if is_pasted(line) { line.to_owned() } else { terminal::wrapped(line, width) };
    let height = |text: &str| text.lines().count();
    let is_note = |text: &&String| text.starts_with("note: ");
    let all: Vec<String> = table.lines().map(one).collect();

    let needed: usize = all.iter().filter(|text| !is_note(text)).map(|text| height(text)).sum();
    let notes: usize = all.iter().filter(is_note).map(|text| height(text)).sum();
    // A line says how many there are more.
    let mut room = screen.saturating_sub(needed + usize::from(needed + notes > screen));
    let mut left_out = 0;
    let mut text = String::new();
    for part in &all {
        if is_note(&part) && height(part) > room {
            (room, left_out) = (0, left_out + 1);
            continue;
        }
        room = room.saturating_sub(if is_note(&part) { height(part) } else { 0 });
        text.push_str(&format!("{part}\n"));
    }
    if left_out > 0 {
        text.push_str(&format!(
            "{}: numabench check … | less has all\n",
            stats::units::counted(left_out, "more note")
        ));
    }
    if height(&text) > screen {
        let answer = table.lines().next().unwrap_or_default();
        text.push_str(&format!("{}\n", render::terminal::answer_again(answer, width)));
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
    let table = || shown(&node.table(args.threads, args.nic), node.fix()).into_bytes();
    let bytes = if printed { json()? } else { table() };

    // The program's standard output is its own.
    if args.program.is_empty() {
        terminal::print(&bytes)?
    } else {
        terminal::say_bytes(&bytes)
    }

    Ok(match node.placed() {
        _ if args.nic && node.sent_elsewhere() > 0 => Exit::Finding,
        PlacementVerdict::Well => Exit::Ok,
        PlacementVerdict::Misplaced => Exit::Finding,
        PlacementVerdict::Unknown => Exit::Undecided,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_give_way_to_the_screen_and_an_answer_that_has_scrolled_away_is_said_again() {
        let long = "what is said of a rank in more words than a screen is wide for ".repeat(2);
        let table = |wrong: usize| {
            let wrong: String = (0..wrong).map(|at| format!("misplaced: rank {at}: {long}\n")).collect();
            format!("node: WRONG\nfix: srun {}\n{wrong}", "--option ".repeat(12))
                + &format!("note: {long}\n").repeat(9)
        };
        let fits = on_screen(&table(2), &[], 80, 22);
        assert_eq!((fits.lines().count(), fits.matches("note: ").count()), (21, 7), "{fits}");
        assert!(fits.ends_with("2 more notes: numabench check … | less has all\n"), "{fits}");
        let wide = fits.lines().filter(|line| line.chars().count() > 80);
        assert!(wide.eq(fits.lines().filter(|line| line.starts_with("fix: "))), "{fits}");
        let more = on_screen(&table(12), &[], 80, 22);
        assert!(
            more.matches("misplaced: ").count() == 12 && more.ends_with("Answer: node: WRONG\n"),
            "{more}"
        );
        let short = "node: well placed\nnote: all is well\n";
        assert_eq!(on_screen(short, &[], 80, 22), short);
    }
}
