//! Hydra, the mpiexec of MPICH and of Intel MPI: its facts, and whose line it is.
//!
//! MPICH reads `-bind-to` and `-map-by` and binds nothing without them (`mpich`); Intel MPI reads
//! `I_MPI_PIN_*` and pins by itself (`intel_mpi`). Intel MPI's mpiexec takes `-bind-to` without a word and
//! does nothing with it, so a line with that option and without `I_MPI_` is taken for MPICH's.

mod intel_mpi;
mod mpich;

use ranks::Flavour;

use crate::assumption::Choice;
use crate::dialect::{Dialect, Starter, say};
use crate::error::LineError;
use crate::facts::{LauncherFacts, OF_ANY, Reads, Sensed, SharedPus, UsualMpi, Written};
use crate::grammar::Given;
use crate::interface::Interface;
use crate::layout::{LaunchLine, Layout, Tells};
use crate::mpi_options::Common;

pub(crate) static FACTS: LauncherFacts = LauncherFacts {
    name: "Hydra's mpiexec",
    // It tells MPI_LOCALNRANKS, which a plain PMI does not; scripts on PALS systems set it by hand, though.
    sensed: |variables| {
        variables.number("MPI_LOCALNRANKS")?;
        let is_hydras = variables.is_set("SLURM_STEP_ID") || !variables.is_set("PALS_RANKID");
        let size = variables.number("PMI_SIZE").filter(|_| is_hydras)?;
        Some(Sensed::one_of(size, "PMI_RANK"))
    },
    local_rank: &["MPI_LOCALRANKID"],
    local_size: |variables| variables.number("MPI_LOCALNRANKS"),
    // It has PMI-1 only; a PMIX_NAMESPACE is that of a step around it.
    interface: |_| Interface::Pmi1,
    tells: &[
        ("MPI_LOCALRANKID", Tells::LocalRank),
        ("MPI_LOCALNRANKS", Tells::LocalSize),
        ("PMI_RANK", Tells::Rank),
        ("PMI_SIZE", Tells::Size),
    ],
    starters: &["hydra_pmi_proxy", "pmi_proxy"],
    shared_pus: SharedPus::OfDaemons(&["hydra_pmi_proxy", "mpiexec", "mpirun"]),
    frees_from_affinity: "start it with mpiexec -bind-to none (Intel MPI: I_MPI_PIN=off)",
    usual_mpi: Some(UsualMpi { flavour: Flavour::Mpich, is_only: true }),
    reads: Reads::Mpirun(&["mpiexec", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich"]),
    writes: Some(|topology, places, situation| {
        say(topology, places, Dialect::Mpich, situation).usable().map(Written::line)
    }),
    leaves_unbound: &["-bind-to", "none"],
    through_exec: "mpiexec -bind-to none … numabench exec -- PROGRAM",
    starter: Some(Starter::Mpiexec),
    ..OF_ANY
};

/// Options that no other `mpirun` or `mpiexec` has.
pub(crate) const ITS_OWN: &str = "genv genvlist genvall perhost bootstrap rmk launcher topolib iface grr \
    print-all-exitcodes";

/// Where Hydra's options put ranks.
///
/// # Errors
/// [`LineError`]: mpiexec would refuse them.
pub(crate) fn layouts(common: &Common<'_>, line: &LaunchLine<'_>) -> Result<Vec<Layout>, LineError> {
    let [bind_to, map_by] = ["bind-to", "map-by"].map(|name| common.last(&[name]).map(Given::value));
    // MPICH reads its options from variables too.
    let bind_to = bind_to.or_else(|| line.variables.get("HYDRA_BINDING").map(String::as_str));
    let mut names = line.variables.keys().chain(common.environment.keys());
    let is_intels = names.any(|name| name.starts_with("I_MPI_"));
    Ok(match (is_intels, bind_to) {
        (true, _) => intel_mpi::layouts(common, line)?,
        (false, Some(bind_to)) => vec![mpich::layout(bind_to, map_by, common, line)?],
        // By default Intel MPI divides the CPUs among the ranks; MPICH leaves them unbound.
        (false, None) => {
            let free = Layout::free(common.count.here(1)?)
                .assuming(Choice::MpiVersion, "the mpiexec is MPICH's, which binds no rank by itself");
            [vec![free], intel_mpi::layouts(common, line)?].concat()
        }
    })
}
