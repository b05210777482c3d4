//! Who chose a rank's PU, and why that one: in words where a table or a document says it.

use stats::IdSet;

/// Who chose a rank's PU, and why that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The user.
    Asked,
    /// The first free allowed core of the target's locality domain.
    Domain {
        /// The domain's PUs.
        cores: IdSet,
    },
    /// As `Domain`, but all its cores were taken already: the PU shares its core, or is itself shared.
    DomainShared {
        /// The domain's PUs.
        cores: IdSet,
    },
    /// None of the domain's PUs is allowed here: a core elsewhere.
    DomainNotAllowed {
        /// The domain's PUs.
        cores: IdSet,
    },
    /// No PU at all is local to the target (a device or memory on a node without CPUs): the first free
    /// allowed core.
    NoLocalPu,
    /// Nobody knows the target's locality: the first free allowed core.
    LocalityUnknown,
}

impl ChosenBy {
    /// In words, for outputs.
    pub fn text(&self) -> String {
        match self {
            Self::Asked => "asked for".to_owned(),
            Self::Domain { cores } => {
                format!("first free allowed core of the device's locality domain ({cores})")
            }
            Self::DomainShared { cores } => {
                format!(
                    "shared: every allowed core of the device's locality domain ({cores}) already has a rank"
                )
            }
            Self::DomainNotAllowed { cores } => {
                format!("none of the device's local PUs ({cores}) is allowed here: a core elsewhere")
            }
            Self::NoLocalPu => "no PU is local to the device: first free allowed core".to_owned(),
            Self::LocalityUnknown => "the device's locality is unknown: first free allowed core".to_owned(),
        }
    }
}
