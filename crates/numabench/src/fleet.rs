//! A command on each node of a launch: its nodes are shown in one table by the first.

use std::path::Path;

use experiments::fleet::{FleetDesk, run as run_fleet};

use crate::args::ColorChoice;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::{terminal, version};

pub use experiments::fleet::{folder, is_launched};

/// Measures this node by `measure`, which is given the file for the document, and as the first of several
/// shows them all.
pub fn run(
    folder: &Path,
    color: ColorChoice,
    measure: impl FnOnce(&Path) -> Result<Exit, Fault>,
) -> Result<Exit, Fault> {
    let show = |found: &_| {
        let text = render::compared::nodes(found, terminal::width(), terminal::color(color));
        terminal::print(text.as_bytes())
    };
    run_fleet(folder, FleetDesk { tool: &version::tool(), say: terminal::say, show: &show }, measure)
}
