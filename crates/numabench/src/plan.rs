//! From arguments and a topology to the plan, for a run and for `--dry-run` alike.

use placement::{Plan, Request};
use topo::Topology;

use crate::args::Pingpong;
use crate::exit::Exit;
use crate::fault::Fault;

/// The plan for what was asked, on these targets.
pub fn planned(args: &Pingpong, topology: &Topology, available: Vec<placement::Target>) -> Result<Plan, Fault> {
    let targets = args.gpus.as_ref().map(|selection| selection.resolve(&available)).transpose();
    let targets = targets.map_err(|error| match error {
        placement::SelectionError::Absent { .. } => Fault::new(Exit::Absent, error),
        _ => Fault::usage(error),
    })?;
    let request = Request { cpus: args.cpus.clone(), targets, available, membind: args.membind };
    placement::plan(topology, &request).map_err(Fault::usage)
}
