//! The machine that is looked at, and the one that is judged by: the same, unless a saved one is given.
//!
//! Judging real ranks by a saved machine answers "would this binding be right on that node", and lets a login node or a laptop try it.
//! What is said of processes is always of this machine.

use std::path::Path;

use placement::Situation;
use topo::{Start, Topology};

use super::seen::Seen;
use crate::exit::Exit;
use crate::fault::Fault;

/// What was read.
pub struct Machine {
    /// This machine.
    pub here: Start,
    /// The saved one that is judged by; `None`: this one.
    pub saved: Option<Topology>,
}

impl Machine {
    /// Reads this machine, and the saved one where there is one.
    pub fn read(input: Option<&Path>) -> Result<Self, Fault> {
        let saved = input.map(topo::from_xml).transpose().map_err(Fault::usage)?;
        let here = topo::start().map_err(|error| Fault::new(Exit::NoResult, error))?;
        Ok(Self { here, saved })
    }

    /// What is known of the step where these ranks were seen.
    pub fn situation(&self, seen: &[Seen]) -> Situation {
        let cpus = self.here.step.as_ref().map(|step| &step.cpus);
        let owns_node = cpus.and_then(|cpus| match (cpus.not_in_step.is_empty(), cpus.untold.is_empty()) {
            (false, _) => Some(false),
            (true, true) => Some(true),
            (true, false) => None,
        });
        let refused = |seen: &Seen| seen.running.gpus.refused.as_ref().map(|refused| !refused.is_empty());
        let refused: Option<Vec<bool>> = seen.iter().map(refused).collect();
        Situation { owns_node, slurm: None, gpus_are_confined: refused.map(|all| all.contains(&true)) }
    }

    /// The machine that is judged by.
    pub fn judged_by(&self) -> &Topology {
        self.saved.as_ref().unwrap_or(&self.here.topology)
    }
}
