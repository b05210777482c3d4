//! What a launcher offers its processes to find one another with.

use crate::variables::LauncherVariables;

/// What a launcher offers its processes to find one another with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// PMIx.
    Pmix,
    /// PMI-2, as Slurm's `--mpi=pmi2` offers it (it answers in PMI-1 too).
    Pmi2,
    /// PMI-1, as Hydra and Flux offer it.
    Pmi1,
    /// What Cray's libpmi reads: PALS, and Slurm's `--mpi=cray_shasta`.
    Cray,
    /// Nothing.
    None,
}

impl Interface {
    /// As a sentence names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pmix => "PMIx",
            Self::Pmi2 => "PMI-2",
            Self::Pmi1 => "PMI-1",
            Self::Cray => "Cray's PMI",
            Self::None => "no PMI at all",
        }
    }

    /// The one that these variables are of, whoever set them.
    pub(crate) fn sensed(variables: &LauncherVariables<'_>) -> Self {
        match () {
            () if variables.is_set("PMIX_NAMESPACE") => Self::Pmix,
            () if Self::is_cray(variables) => Self::Cray,
            () if Self::is_pmi(variables) => Self::Pmi1,
            () => Self::None,
        }
    }

    /// Whether Cray's is offered. Slurm: src/plugins/mpi/cray_shasta/mpi_cray_shasta.c. Flux: flux-coral2,
    /// src/shell/plugins/cray_pals.c.
    pub(crate) fn is_cray(variables: &LauncherVariables<'_>) -> bool {
        variables.is_set("PALS_APINFO") || variables.is_set("PMI_CONTROL_PORT")
    }

    /// Whether PMI-1 or PMI-2 is offered.
    pub(crate) fn is_pmi(variables: &LauncherVariables<'_>) -> bool {
        variables.is_set("PMI_FD") || variables.is_set("PMI_PORT")
    }
}
