//! What is known of the job step that the lines are for: only what this process is told, and nothing for a
//! saved machine.

use launchers::{Launch, Situation, Starter};
use topo::Survey;

use crate::request::PlaceRequest;

/// The situation of this process.
pub fn situation(asked: &PlaceRequest, survey: &Survey) -> Situation {
    let step = survey.step.as_ref().filter(|_| asked.input.is_empty());
    Situation { owns_node: step.map(|step| owns_node(&step.cpus)), ..Situation::default() }
}

/// The launcher that the line to paste is for: the one this process is under, else the one its job belongs
/// to, else one that is installed; srun for a saved machine.
pub fn starter(is_saved: bool) -> Starter {
    if is_saved {
        return Starter::Srun;
    }
    if let Some(starter) = Launch::here().launcher.facts().starter {
        return starter;
    }
    let is_set = |name| std::env::var_os(name).is_some();
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folder_of = |name: &str| std::env::split_paths(&folders).find(|folder| folder.join(name).is_file());
    let is_installed = |name: &str| folder_of(name).is_some();
    // Its package is one folder a version: /opt/cray/pals/1.8/bin.
    let is_pals = || folder_of("mpiexec").is_some_and(|folder| folder.iter().any(|name| name == "pals"));

    match () {
        // An instance of Flux may stand inside of a job of another scheduler.
        () if is_set("FLUX_URI") => Starter::Flux,
        () if is_set("SLURM_JOB_ID") || is_installed("srun") => Starter::Srun,
        () if is_pals() => Starter::Pals,
        () if is_set("PBS_JOBID") => Starter::Mpiexec,
        () if is_installed("orterun") || is_installed("prterun") => Starter::Mpirun,
        () if is_installed("mpiexec.hydra") => Starter::Mpiexec,
        () if is_installed("flux") => Starter::Flux,
        () => Starter::Srun,
    }
}

/// Whether the step has every CPU of its node: what is not known to be in it is not.
fn owns_node(cpus: &topo::step::StepShare) -> bool {
    cpus.not_in_step.is_empty() && cpus.untold.is_empty()
}
