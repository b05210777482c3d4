//! The machine that is looked at, and the one that is judged by: the same, unless a saved one is given.
//!
//! Judging real ranks by a saved machine answers "would this binding be right on that node", and lets a login
//! node or a laptop try it. What is said of processes is always of this machine.

use std::path::{Path, PathBuf};

use topo::interconnect::Interconnect;
use topo::model::TopologySource;
use topo::step::Step;
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
pub enum Machine {
    /// This machine, by which it is judged.
    Here(Box<Start>),
    /// The saved one that is judged by; and this one, where something of it counts.
    Saved(Box<Survey>, Option<Box<Start>>),
}

/// The machine that these files describe, where there are any.
fn saved(input: &[PathBuf]) -> Result<Option<Survey>, MachineError> {
    (!input.is_empty()).then(|| topo::survey_files(input)).transpose().map_err(MachineError::Saved)
}

impl Machine {
    /// Reads this machine, and the saved one that these files describe, where there are any.
    ///
    /// # Errors
    /// [`MachineError`], which says whose reading failed.
    pub fn read(input: &[PathBuf]) -> Result<Self, MachineError> {
        let saved = saved(input)?;
        let here = Box::new(topo::start().map_err(MachineError::Here)?);
        Ok(match saved {
            Some(saved) => Self::Saved(Box::new(saved), Some(here)),
            None => Self::Here(here),
        })
    }

    /// Reads the machine that a line is judged by, which is not run here: of a saved one this machine has
    /// nothing to say.
    ///
    /// # Errors
    /// [`MachineError`].
    pub fn of_line(input: &[PathBuf]) -> Result<Self, MachineError> {
        match saved(input)? {
            Some(saved) => Ok(Self::Saved(Box::new(saved), None)),
            None => Self::read(input),
        }
    }

    /// This machine; `None` where nothing of it counts.
    pub fn here(&self) -> Option<&Start> {
        match self {
            Self::Here(here) => Some(here),
            Self::Saved(_, here) => here.as_deref(),
        }
    }

    /// The saved one that is judged by.
    pub fn saved(&self) -> Option<&Survey> {
        match self {
            Self::Here(_) => None,
            Self::Saved(saved, _) => Some(saved),
        }
    }

    /// The job step that this process is in.
    pub fn step(&self) -> Option<&Step> {
        self.here()?.step.as_ref()
    }

    /// The name of the host whose processes are judged: this one's, or that of the saved machine where
    /// nothing of this one counts.
    pub fn host(&self) -> String {
        self.here().map_or_else(|| self.judged_by().host(), |here| here.topology.host())
    }

    /// The machine that is judged by.
    pub fn judged_by(&self) -> &Topology {
        match self {
            Self::Here(here) => &here.topology,
            Self::Saved(saved, _) => &saved.topology,
        }
    }

    /// What a headline calls the machine that is judged by: its host's name, of a saved one without a name
    /// that of its file.
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

    /// What lies between its GPUs and network adapters. Of this machine it is read now: only who shows the
    /// table needs it, and not each rank.
    pub fn interconnect(&self) -> Option<Interconnect> {
        match self.saved() {
            Some(saved) => Some(saved.interconnect.clone()),
            None => topo::survey().ok().map(|survey| survey.interconnect),
        }
    }
}

fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    name.map_or_else(|| path.to_owned(), |name| stats::printable::name(&name))
}
