//! `numabench exec`: find out this rank's place, bind to it, say so if asked, and become the program.

use std::collections::BTreeMap;

use ranks::Launch;

use crate::args::exec::{Exec, ExecMembind, Sees};
use crate::document::hostname;
use crate::exec::place::{MemoryWish, Wish};
use crate::exec::{Asked, become_program, bind, report, settle};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::place::saved::Saved;
use crate::terminal;

/// Runs the command. It comes back only where the program is not started.
pub fn run(args: &Exec) -> Result<Exit, Fault> {
    let launch = Launch::here();
    let start = topo::start().map_err(|error| Fault::new(Exit::NoResult, error))?;
    let settled = settle(&launch, &start, &asked(args)?, &environment())?;
    let host = hostname(&start.topology);
    if args.print {
        terminal::print(report::assignments(&settled, &host).as_bytes())?;
        return Ok(Exit::Ok);
    }
    bind(&settled)?;
    if args.report {
        terminal::say(&report::line(&settled, &host));
    }
    Err(become_program(&settled, &args.program))
}

/// The variables that are set and are text.
fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

fn asked(args: &Exec) -> Result<Asked, Fault> {
    let memory = match args.membind {
        ExecMembind::Local => MemoryWish::Local,
        ExecMembind::Node(node) => MemoryWish::Node(node),
        ExecMembind::None => MemoryWish::Untouched,
    };
    // The arguments end far below.
    let number = |asked: u64| usize::try_from(asked).unwrap_or(usize::MAX);
    let wish = Wish {
        cores_per_rank: args.cores_per_rank,
        smt: args.smt,
        strategy: args.strategy,
        reserve: args.reserve.clone().unwrap_or_default(),
        memory,
    };
    let (rank, ranks) = (args.rank.map(number), args.ranks.map(number));
    let from = args.from.as_deref().map(Saved::read).transpose()?;
    let shows_all = args.gpu == Sees::Near;
    Ok(Asked { rank, ranks, gpus: args.gpus.clone(), shows_all, keep_cpus: args.keep_cpus, from, wish })
}
