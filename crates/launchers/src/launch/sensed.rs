//! From environment variables to the launch: the first launcher whose variables are there, in the order of
//! [`Launcher::ALL`].

use super::Launch;
use super::on_node::on_node;
use crate::facts::Sensed;
use crate::launch_size::LaunchSize;
use crate::launcher::Launcher;
use crate::variables::LauncherVariables;

impl Launch {
    /// The launch that these variables tell of. An empty value counts as none.
    pub fn sensed(value_of: impl Fn(&str) -> Option<String>) -> Self {
        let variables = LauncherVariables::new(&value_of);
        let mut found = Launcher::ALL.iter().filter_map(|launcher| launch_by(&variables, *launcher));
        let inner = found.next().unwrap_or(Self::ALONE);
        let Some(counts_inside) = inner.launcher.facts().counts_inside else { return inner };
        let around = found.next().unwrap_or(Self::ALONE);
        let size = (around.launcher != Launcher::Nobody).then_some(around.size);
        if counts_inside(&variables, inner.size, size) { inner } else { around }
    }
}

/// The launch of this launcher, where its variables are there.
fn launch_by(variables: &LauncherVariables<'_>, launcher: Launcher) -> Option<Launch> {
    let (size, rank) = match (launcher.facts().sensed)(variables)? {
        Sensed::OneOf(size, rank) => (size, variables.number(rank)),
        Sensed::Alone => return Some(Launch::ALONE),
    };
    let needed = rank.map_or(1, |rank| rank.saturating_add(1));
    let (rank, size) = match size {
        LaunchSize::AtLeast(size) => (rank, LaunchSize::AtLeast(size.max(needed))),
        // Variables that contradict each other are from two launches: neither is known to be this one's.
        LaunchSize::Known(size) if size < needed => (None, LaunchSize::AtLeast(needed)),
        known => (rank, known),
    };
    let srun = launcher == Launcher::Srun;
    let (local_rank, local_size) = on_node(variables, launcher, size);

    Some(Launch {
        launcher,
        size,
        rank,
        local_rank,
        local_size,
        interface: (launcher.facts().interface)(variables),
        // Slurm sets it only where the terminal was given, which it is to task 0 alone.
        pseudo_terminal: srun && variables.is_set("SLURM_PTY_PORT"),
        open_mpi_with_pmi: srun
            && variables.get("OMPI_MCA_pmix").is_some_and(|v| v.split(',').any(|v| v == "s1" || v == "s2")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Interface;

    // What a task was seen to have (Slurm 22.05.8, Open MPI 4.1.4, MPICH 4.0.2), less what is read by nobody.
    const STEP: &str =
        "SLURM_JOB_ID=3 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_NPROCS=2";
    const PMI2: &str = "PMI_FD=13 PMI_JOBID=3.0 PMI_RANK=1 PMI_SIZE=2 SLURM_MPI_TYPE=pmi2";
    const PMIX: &str = "PMIX_NAMESPACE=slurm.pmix.3.0 PMIX_RANK=1 SLURM_MPI_TYPE=pmix";
    const SHASTA: &str =
        "PALS_RANKID=1 PALS_APINFO=/x PALS_LOCAL_RANKID=1 PMI_RANK=1 PMI_SIZE=2 PMI_CONTROL_PORT=20161";
    const BATCH: &str = "SLURM_JOB_ID=4 SLURM_NTASKS=2 SLURM_NPROCS=2 SLURM_PROCID=0 SLURM_LOCALID=0";
    const SALLOC: &str = "SLURM_JOB_ID=5 SLURM_NNODES=1 SLURM_TASKS_PER_NODE=1";
    const MPIRUN: &str = "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 \
        PMIX_NAMESPACE=75169793 PMIX_RANK=1 OMPI_MCA_pmix=^s1,s2,cray,isolated";
    const HYDRA: &str = "PMI_FD=8 PMI_RANK=1 PMI_SIZE=2 MPI_LOCALNRANKS=2 MPI_LOCALRANKID=1";
    /// A daemon's step, as mpirun and Hydra start one on each node.
    const DAEMON: &str =
        "SLURM_JOB_ID=8 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_NPROCS=1";

    /// The launch that these `NAME=VALUE`s tell of; of a name given twice the last counts.
    fn sensed(texts: &[&str]) -> Launch {
        let pairs: Vec<(&str, &str)> = texts
            .iter()
            .flat_map(|text| text.split_whitespace())
            .filter_map(|pair| pair.split_once('='))
            .collect();
        Launch::sensed(|name| {
            pairs.iter().rev().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn sensed_facts(texts: &[&str]) -> (Launcher, LaunchSize, Option<usize>, Interface) {
        let launch = sensed(texts);
        (launch.launcher, launch.size, launch.rank, launch.interface)
    }

    fn two(launcher: Launcher, interface: Interface) -> (Launcher, LaunchSize, Option<usize>, Interface) {
        (launcher, LaunchSize::Known(2), Some(1), interface)
    }

    #[test]
    fn a_process_started_by_hand_a_batch_script_and_a_shell_of_salloc_are_alone() {
        for variables in
            ["", BATCH, SALLOC, "PMI_SIZE= PALS_RANKID= OMPI_COMM_WORLD_SIZE=", "FLUX_URI=local:///x"]
        {
            assert_eq!(sensed(&[variables]), Launch::ALONE, "{variables}");
        }
    }

    #[test]
    fn a_step_of_one_task_is_alone_whatever_the_job_asked_for() {
        let shell = "SLURM_JOB_ID=6 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 SLURM_NTASKS=8 \
            SLURM_PTY_PORT=1";
        assert!(sensed(&[shell]).is_alone());
        assert!(sensed(&[shell, "PMIX_NAMESPACE=slurm.pmix.6.0 PMIX_RANK=0"]).is_alone());
        // salloc with LaunchParameters=use_interactive_step.
        let interactive = "SLURM_STEP_ID=4294967290 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 SLURM_NTASKS=2 \
            SLURM_PTY_PORT=32925";
        assert!(sensed(&[interactive]).is_alone());
        assert!(sensed(&[STEP, "SLURM_STEP_ID=4294967291"]).is_alone(), "a batch step is no step of tasks");
        assert!(
            sensed(&["OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0", STEP]).is_alone(),
            "mpirun -n 1 over two nodes"
        );
    }

    #[test]
    fn srun_and_what_it_offers_are_told_apart() {
        assert_eq!(sensed_facts(&[STEP]), two(Launcher::Srun, Interface::None));
        assert_eq!(sensed_facts(&[STEP, PMI2]), two(Launcher::Srun, Interface::Pmi2));
        assert_eq!(sensed_facts(&[STEP, PMIX]), two(Launcher::Srun, Interface::Pmix));
        assert_eq!(sensed_facts(&[STEP, SHASTA]), two(Launcher::Srun, Interface::Cray), "not PALS");
        assert!(sensed(&[STEP, "SLURM_PTY_PORT=45137"]).pseudo_terminal);
        assert!(!sensed(&[STEP]).pseudo_terminal);
        assert!(sensed(&[STEP, PMI2, "OMPI_MCA_pmix=s2"]).open_mpi_with_pmi);
        assert!(!sensed(&[STEP, PMI2, "OMPI_MCA_pmix=^s1"]).open_mpi_with_pmi);
    }

    #[test]
    fn what_an_outer_step_offered_is_not_offered_by_the_inner_one() {
        let inner = "SLURM_STEP_ID=1";
        assert_eq!(sensed_facts(&[STEP, PMIX, inner]), two(Launcher::Srun, Interface::None));
        assert_eq!(sensed_facts(&[STEP, PMI2, inner]), two(Launcher::Srun, Interface::None));
        assert_eq!(
            sensed_facts(&[STEP, PMIX, "PMIX_NAMESPACE=prterun-7"]),
            two(Launcher::Srun, Interface::Pmix),
            "a form not known"
        );
        assert_eq!(
            sensed_facts(&[STEP, PMIX, inner, "SLURM_HET_SIZE=2"]),
            two(Launcher::Srun, Interface::Pmix)
        );
        assert_eq!(sensed(&[PMIX]), Launch::ALONE, "a batch script submitted from a step");
    }

    #[test]
    fn mpirun_and_hydra_come_before_the_step_of_their_daemons() {
        for around in ["", BATCH, DAEMON, "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1"] {
            assert_eq!(sensed_facts(&[around, MPIRUN]), two(Launcher::Mpirun, Interface::Pmix), "{around}");
            assert_eq!(sensed_facts(&[around, HYDRA]), two(Launcher::Hydra, Interface::Pmi1), "{around}");
        }
        assert_eq!(
            sensed_facts(&[DAEMON, "PMIX_NAMESPACE=slurm.pmix.8.0 PMIX_RANK=0", HYDRA]).3,
            Interface::Pmi1
        );
        let jsm = "JSM_NAMESPACE_SIZE=2 JSM_NAMESPACE_RANK=1";
        assert_eq!(sensed_facts(&[MPIRUN, jsm]), two(Launcher::Jsrun, Interface::Pmix));
    }

    #[test]
    fn flux_comes_before_the_srun_that_started_its_instance() {
        let task = "FLUX_URI=local:///x FLUX_JOB_SIZE=2 FLUX_TASK_RANK=1 PMI_FD=20 PMI_RANK=1 PMI_SIZE=2";
        assert_eq!(sensed_facts(&[STEP, task]), two(Launcher::Flux, Interface::Pmi1));
        assert_eq!(sensed_facts(&[STEP, task, "PALS_APINFO=/x PALS_RANKID=1"]).3, Interface::Cray);
        assert!(sensed(&[STEP, "FLUX_URI=local:///x"]).is_alone(), "the instance's own script");
    }

    #[test]
    fn pals_says_the_size_or_at_least_a_part_of_it() {
        let pals = "PALS_RANKID=1 PALS_LOCAL_RANKID=1 PALS_LOCAL_SIZE=2 PALS_NODEID=0";
        assert_eq!(sensed_facts(&[pals, "PMI_SIZE=2"]), two(Launcher::Pals, Interface::Cray));
        let pmix = "PMI_SIZE= PMIX_NAMESPACE=x PMIX_RANK=1";
        assert_eq!(
            sensed_facts(&[pals, pmix]),
            (Launcher::Pals, LaunchSize::AtLeast(2), Some(1), Interface::Pmix)
        );
        assert_eq!(sensed_facts(&[pals, "PALS_RANKID=11"]).1, LaunchSize::AtLeast(12));
        assert_eq!(
            sensed_facts(&[pals, "PMI_SIZE=24 MPI_LOCALNRANKS=2"]).0,
            Launcher::Pals,
            "a script's shim is no Hydra"
        );
    }

    #[test]
    fn other_launchers_are_known_by_what_they_speak() {
        assert_eq!(
            sensed_facts(&["PMI_SIZE=2 PMI_RANK=1 PMI_PORT=h:1"]),
            two(Launcher::Pmi, Interface::Pmi1)
        );
        assert_eq!(
            sensed_facts(&["MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_RANK=1"]),
            two(Launcher::Pmi, Interface::None)
        );
        let prterun = (Launcher::Pmix, LaunchSize::AtLeast(2), Some(1), Interface::Pmix);
        assert_eq!(sensed_facts(&["PMIX_NAMESPACE=prterun-7 PMIX_RANK=1"]), prterun);
        assert!(!sensed(&["PMIX_NAMESPACE=prterun-7 PMIX_RANK=0"]).is_alone(), "nobody says that it is");
    }

    #[test]
    fn a_rank_beyond_the_size_makes_the_size_unknown() {
        assert_eq!(sensed_facts(&[STEP, "SLURM_PROCID=5"]).1, LaunchSize::AtLeast(6));
        assert_eq!(
            sensed_facts(&["OMPI_COMM_WORLD_SIZE=4"]),
            (Launcher::Mpirun, LaunchSize::Known(4), None, Interface::None)
        );
        assert_eq!(
            sensed_facts(&[STEP, "SLURM_PROCID=18446744073709551615"]),
            (Launcher::Srun, LaunchSize::Known(2), None, Interface::None)
        );
        assert!(sensed(&["OMPI_COMM_WORLD_SIZE=18446744073709551615"]).is_alone());
    }

    #[test]
    fn a_worker_of_an_engine_that_says_no_size_is_not_alone_unless_it_may_be_the_only_one() {
        let of = |variables: &str| {
            let launch = sensed(&[variables]);
            (launch.launcher, launch.size, launch.local_rank, launch.local_size)
        };
        let alone = (Launcher::Nobody, LaunchSize::Known(1), Some(0), Some(1));
        for variables in ["LOCAL_RANK=0", "LOCAL_RANK=-1", "LOCAL_RANK=0 LOCAL_WORLD_SIZE=1", "LOCAL_RANK="] {
            assert_eq!(of(variables), alone, "{variables}");
        }
        let worker = |least, rank, of_node| (Launcher::Torchrun, LaunchSize::AtLeast(least), rank, of_node);
        assert_eq!(of("LOCAL_RANK=5"), worker(6, Some(5), None));
        assert_eq!(of("LOCAL_RANK=1 LOCAL_WORLD_SIZE=8"), worker(8, Some(1), Some(8)));
        assert_eq!(of("LOCAL_RANK=five"), worker(1, None, None));
        assert_eq!(sensed(&[STEP, "LOCAL_RANK=5"]).launcher, Launcher::Srun, "a script's own name for it");
    }

    #[test]
    fn what_goes_wrong_is_said_by_the_first_and_by_whoever_has_no_number() {
        let of = |rank, size| Launch { rank, size, ..Launch::ALONE }.speaks();
        assert!(of(Some(0), LaunchSize::Known(4)) && !of(Some(1), LaunchSize::Known(4)));
        assert!(
            of(Some(0), LaunchSize::AtLeast(2))
                && of(Some(1), LaunchSize::AtLeast(2))
                && !of(Some(2), LaunchSize::AtLeast(3))
        );
        assert!(of(None, LaunchSize::Known(4)));
    }
}
