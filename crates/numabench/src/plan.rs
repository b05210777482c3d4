//! From arguments and a topology to the plan, for a run and for `--dry-run` alike.

use placement::{Plan, Request, Selection, Target};
use topo::Topology;

use crate::args::Pingpong;
use crate::exit::Exit;
use crate::fault::Fault;

/// The plan for what was asked, on these targets.
pub fn planned(args: &Pingpong, topology: &Topology, available: Vec<Target>) -> Result<Plan, Fault> {
    let targets = args.gpus.as_ref().map(|selection| resolved(selection, &available)).transpose()?;
    let request = Request { cpus: args.cpus.clone(), targets, available, membind: args.membind };
    placement::plan(topology, &request).map_err(Fault::usage)
}

/// The devices that a selection names; all of them where there is none.
pub fn chosen(selection: Option<&Selection>, available: Vec<Target>) -> Result<Vec<Target>, Fault> {
    selection.map_or(Ok(available.clone()), |selection| resolved(selection, &available))
}

fn resolved(selection: &Selection, available: &[Target]) -> Result<Vec<Target>, Fault> {
    selection.resolve(available).map_err(|error| match error {
        placement::SelectionError::Absent { .. } => Fault::new(Exit::Absent, error),
        _ => Fault::usage(error),
    })
}
