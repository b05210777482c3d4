//! What every run begins with: the machine is read, the output opened, the memory that is asked for held against what is there.
//! The same for a process on its own and for one of a launch.

use std::path::Path;

use pingpong::{RunConfig, check_budget, device_bytes};
use placement::Plan;
use report::sink::Sink;
use topo::Topology;

use crate::args::Pingpong;
use crate::backends::Found;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::signals::survive_file_size_limit;

/// Reads the machine.
pub fn read() -> Result<Topology, Fault> {
    topo::read().map_err(|error| Fault::new(Exit::NoResult, error))
}

/// Opens the file that the document goes to, where it goes to one.
pub fn open(args: &Pingpong) -> Result<Option<Sink>, Fault> {
    survive_file_size_limit();
    let file = args.json.as_deref().filter(|path| *path != Path::new("-"));
    file.map(|path| Sink::open(path).map_err(Fault::usage)).transpose()
}

/// Whether the memory asked for by the ranks of this node is there.
pub fn budget(config: &RunConfig, plan: &Plan, topology: &Topology, found: &Found) -> Result<(), Fault> {
    let host = |node| topology.memory_bytes(node);
    check_budget(config, plan, host, |target| device_bytes(&*found.platform, target)).map_err(Fault::usage)
}
