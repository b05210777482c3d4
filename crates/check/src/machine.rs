//! The machine that is looked at, and the one that is judged by: the same, unless a saved one is given.
//!
//! Judging real ranks by a saved machine answers "would this binding be right on that node", and lets a login node or a laptop try it.
//! What is said of processes is always of this machine.

use std::path::{Path, PathBuf};

use topo::interconnect::Interconnect;
use topo::model::TopologySource;
use topo::{Start, Survey, TopoError, Topology};

/// A machine cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The saved one.
    #[error(transparent)]
    Saved(TopoError),
    /// This one.
    #[error(transparent)]
    Here(TopoError),
}

/// What was read.
pub struct Machine {
    /// This machine.
    pub here: Start,
    /// The saved one that is judged by; `None`: this one.
    pub saved: Option<Survey>,
}

impl Machine {
    /// Reads this machine, and the saved one that these files describe, where there are any.
    ///
    /// # Errors
    /// [`MachineError`], which says whose reading failed.
    pub fn read(input: &[PathBuf]) -> Result<Self, MachineError> {
        let saved = (!input.is_empty()).then(|| topo::survey_files(input)).transpose().map_err(MachineError::Saved)?;
        let here = topo::start().map_err(MachineError::Here)?;
        Ok(Self { here, saved })
    }

    /// The machine that is judged by.
    pub fn judged_by(&self) -> &Topology {
        self.saved.as_ref().map_or(&self.here.topology, |saved| &saved.topology)
    }

    /// What a headline calls the machine that is judged by: its host's name, of a saved one without a name that of its file.
    pub fn judged_name(&self) -> String {
        let topology = self.judged_by();
        match (&topology.hostname, &topology.source) {
            (None, TopologySource::XmlFile { path }) => file_name(path),
            (None, TopologySource::Texts { paths, .. }) => {
                paths.iter().map(|path| file_name(path)).collect::<Vec<_>>().join(", ")
            }
            _ => topology.host(),
        }
    }

    /// What lies between its GPUs and network adapters. Of this machine it is read now: only who shows the table needs it, and not each rank.
    pub fn interconnect(&self) -> Option<Interconnect> {
        match &self.saved {
            Some(saved) => Some(saved.interconnect.clone()),
            None => topo::survey().ok().map(|survey| survey.interconnect),
        }
    }
}

fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    name.map_or_else(|| path.to_owned(), |name| stats::printable::name(&name))
}
