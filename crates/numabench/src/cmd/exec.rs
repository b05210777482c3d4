//! `numabench exec`: find out this rank's place, bind to it, say so if asked, and become the program; or,
//! with `--workers`, become it unbound, with a library that binds its workers.

use std::time::{SystemTime, UNIX_EPOCH};

use ::exec::{MemoryWish, become_other, become_program, bind, environment, plan, plan_workers, report};
use ::place::Saved;
use ::witness::hook;
use launchers::Launch;
use placement::{Membind, TargetId, nic};
use topo::Start;
use trial::rank_observer::{ASKED, AskedPlace, MARK};

use crate::args::exec::Exec;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command. It comes back only where the program is not started.
pub fn run(args: &Exec) -> Result<Exit, Fault> {
    let launch = Launch::here();
    let start = topo::start().map_err(|error| Fault::new(Exit::NoResult, error))?;
    if let Some(of_each_gpu) = args.workers {
        return run_engine(args, of_each_gpu, &launch, &start);
    }
    let mut asked = args.asked();
    if let Some(file) = &args.from {
        let pool = ::exec::pool(&launch, &start, args.keep_cpus);
        let saved = Saved::read(file).and_then(|saved| saved.way(&start.topology, &pool.pus));
        asked.from = Some(saved.map_err(Fault::usage)?.places.places);
    }

    let mut setup = plan(&launch, &start, &asked, &environment())?;

    if args.nic {
        let survey = topo::survey().map_err(|error| Fault::new(Exit::NoResult, error))?;
        let gpu = setup.drives.first().and_then(|seen| match seen.target.id {
            TargetId::Gpu(pci) => Some(pci),
            TargetId::Node(_) => None,
        });
        let (variables, said) = nic::variables_and_note(&survey.interconnect, gpu, &environment());
        setup.variables.extend(variables);
        setup.notes.extend(said);
    }

    if std::env::var_os(MARK).is_some() {
        // A trial looks whether the rank stays where it is put here.
        let place =
            AskedPlace { pus: setup.bound_pus().cloned(), memory_nodes: setup.bound_memory().cloned() };
        setup.variables.push((ASKED, place.text()));
    }

    let host = start.topology.host();
    if args.print {
        terminal::print(report::assignments(&setup, &host).as_bytes())?;
        return Ok(Exit::Ok);
    }
    bind(&setup).map_err(|error| Fault::new(Exit::NoResult, error))?;
    if args.report {
        terminal::say(&report::line(&setup, &host));
    }
    Err(become_program(&setup, &args.program).into())
}

/// Becomes an engine, which starts its workers itself.
fn run_engine(args: &Exec, of_each_gpu: usize, launch: &Launch, start: &Start) -> Result<Exit, Fault> {
    if !matches!(args.membind, MemoryWish::Bound(Membind::Local) | MemoryWish::Untouched) {
        let text = "--workers: a worker prefers the memory near its GPU (--membind local) or keeps it as it \
            is (--membind none)";
        return Err(Fault::usage(text));
    }
    let executable = std::env::current_exe().unwrap_or_default();
    let hook = hook::find(std::env::var_os(hook::VARIABLE).as_deref(), &executable).map_err(Fault::usage)?;
    let setup = plan_workers(launch, start, &args.asked_workers(of_each_gpu))?;

    if let Some(why) = &setup.unseen {
        terminal::say(&format!("warning: {why}"));
    }

    // Another start, of the same process number after a reboot of a container say, is another token.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (pid, reports) = (std::process::id(), args.report || args.print);
    let token = format!("{pid}.{}", now.as_micros());
    let parent = (!args.print).then_some(pid);
    let variables = setup.variables(&hook, parent, &token, reports, &environment());

    if args.print {
        terminal::print(report::engine(&setup, &variables).as_bytes())?;
        return Ok(Exit::Ok);
    }
    if args.report {
        setup.lines().iter().chain(&setup.notes).for_each(|line| terminal::say(line));
    }
    let own = std::env::vars_os();
    let all = own.chain(variables.into_iter().map(|(name, value)| (name.into(), value))).collect();
    Err(become_other(&args.program, all).into())
}
