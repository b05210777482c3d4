//! `numabench exec`: find out this rank's place, bind to it, say so if asked, and become the program.

use ::exec::{become_program, bind, environment, plan, report};
use ::place::Saved;
use launchers::Launch;
use placement::{TargetId, nic};
use trial::rank_observer::{ASKED, AskedPlace, MARK};

use crate::args::exec::Exec;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command. It comes back only where the program is not started.
pub fn run(args: &Exec) -> Result<Exit, Fault> {
    let launch = Launch::here();
    let start = topo::start().map_err(|error| Fault::new(Exit::NoResult, error))?;
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
