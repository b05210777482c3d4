//! Where a process stands among those of its launch on its node, by the variables of the launcher that
//! counts.
//!
//! A launcher's own variables only: `SLURM_LOCALID` of the step that `mpirun` put its daemons in is the
//! daemon's number and no rank's. Names are from srun(1), mpirun(1) of Open MPI, Hydra's and PALS'
//! environments as seen, flux-core's `src/shell/task.c` and IBM's JSM documentation.
//!
//! Left out: guessing. A number divided evenly over nodes is right until a job's last node is not full.

use crate::launch_size::LaunchSize;
use crate::launcher::Launcher;
use crate::variables::LauncherVariables;

/// More processes of a launch than this no node has: a number beyond it is a mistake in a variable. Linux
/// counts up to 8,192 PUs, and the page of shared memory that processes of a node have counts up to 65,535 of
/// them.
const MOST: usize = 65_535;

/// This process's number on its node, and how many there are; a number beyond the size takes the size away,
/// since the two are then from different launches.
pub(super) fn on_node(
    variables: &LauncherVariables<'_>,
    launcher: Launcher,
    all: LaunchSize,
) -> (Option<usize>, Option<usize>) {
    let facts = launcher.facts();
    let rank = variables.first(facts.local_rank);
    // Whether the launcher says that all its processes are on this node.
    let is_on_one = || facts.number_of_nodes.and_then(|name| variables.number(name)) == Some(1);
    let size = (facts.local_size)(variables).or_else(|| is_on_one().then(|| known(all)).flatten());
    (rank, size.filter(|size| (1..=MOST).contains(size) && rank.is_none_or(|rank| rank < *size)))
}

fn known(size: LaunchSize) -> Option<usize> {
    match size {
        LaunchSize::Known(size) => Some(size),
        LaunchSize::AtLeast(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Launch;
    use super::*;

    fn on_node(text: &str) -> (Launcher, Option<usize>, Option<usize>) {
        let pairs: Vec<(&str, &str)> =
            text.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
        let launch = Launch::sensed(|name| {
            pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        });
        (launch.launcher, launch.local_rank, launch.local_size)
    }

    /// Task 3 of 5, the second one on the second node, as a step of `srun -N2 -n5` was seen to have it
    /// (22.05).
    const STEP: &str = "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=5 SLURM_PROCID=4 SLURM_LOCALID=1 SLURM_NODEID=1 \
        SLURM_STEP_NUM_NODES=2 SLURM_STEP_TASKS_PER_NODE=3,2";

    #[test]
    fn each_launchers_own_numbers_are_taken() {
        for (variables, launcher) in [
            (
                "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_LOCAL_RANK=1 \
                 OMPI_COMM_WORLD_LOCAL_SIZE=2",
                Launcher::Mpirun,
            ),
            ("PMI_RANK=3 PMI_SIZE=4 MPI_LOCALNRANKS=2 MPI_LOCALRANKID=1", Launcher::Hydra),
            (STEP, Launcher::Srun),
            ("PALS_RANKID=3 PALS_LOCAL_RANKID=1 PALS_LOCAL_SIZE=2 PMI_SIZE=4", Launcher::Pals),
            (
                "JSM_NAMESPACE_SIZE=4 JSM_NAMESPACE_RANK=3 JSM_NAMESPACE_LOCAL_RANK=1 \
                 JSM_NAMESPACE_LOCAL_SIZE=2",
                Launcher::Jsrun,
            ),
            (
                "FLUX_URI=local:///x FLUX_JOB_SIZE=2 FLUX_TASK_RANK=1 FLUX_TASK_LOCAL_ID=1 FLUX_JOB_NNODES=1",
                Launcher::Flux,
            ),
            (
                "MV2_COMM_WORLD_SIZE=4 MV2_COMM_WORLD_RANK=3 MV2_COMM_WORLD_LOCAL_RANK=1 \
                 MV2_COMM_WORLD_LOCAL_SIZE=2",
                Launcher::Pmi,
            ),
            ("PMI_SIZE=4 PMI_RANK=3 PMI_LOCAL_RANK=1 PMI_LOCAL_SIZE=2", Launcher::Pmi),
            ("PMIX_NAMESPACE=prterun-7 PMIX_RANK=3 PMIX_LOCAL_RANK=1 PMIX_LOCAL_SIZE=2", Launcher::Pmix),
        ] {
            assert_eq!(on_node(variables), (launcher, Some(1), Some(2)), "{variables}");
        }
    }

    #[test]
    fn torchruns_workers_are_told_their_places_and_its_kins_too() {
        let torchrun =
            "TORCHELASTIC_RUN_ID=none RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 GROUP_RANK=1";
        assert_eq!(on_node(torchrun), (Launcher::Torchrun, Some(1), Some(2)));
        let one_a_node = "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_LOCALID=0";
        assert_eq!(on_node(&format!("{one_a_node} {torchrun}")), (Launcher::Torchrun, Some(1), Some(2)));
        let deepspeed = "RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_SIZE=2";
        assert_eq!(on_node(&format!("{one_a_node} {deepspeed}")), (Launcher::Torchrun, Some(1), Some(2)));
        let one_node = "GROUP_WORLD_SIZE=1 TORCHELASTIC_RUN_ID=x RANK=1 WORLD_SIZE=4 LOCAL_RANK=1";
        assert_eq!(on_node(one_node), (Launcher::Torchrun, Some(1), Some(4)));
    }

    #[test]
    fn a_script_that_names_sruns_tasks_as_torch_does_leaves_them_sruns() {
        let by_hand = "RANK=4 WORLD_SIZE=5 LOCAL_RANK=1";
        assert_eq!(on_node(&format!("{STEP} {by_hand}")), (Launcher::Srun, Some(1), Some(2)));
        assert_eq!(on_node("RANK=0 WORLD_SIZE=1 LOCAL_RANK=0"), (Launcher::Nobody, Some(0), Some(1)));
        assert_eq!(
            on_node("WORLD_SIZE=8 LOCAL_RANK=x"),
            (Launcher::Torchrun, None, None),
            "which one is not known"
        );
        assert_eq!(on_node("LOCAL_RANK=x"), (Launcher::Torchrun, None, None), "and so are there several");

        assert_eq!(
            on_node(&format!("{STEP} LOCAL_RANK=x")),
            (Launcher::Srun, Some(1), Some(2)),
            "srun says it"
        );
        assert_eq!(on_node("LOCAL_RANK=1"), (Launcher::Torchrun, Some(1), None), "of how many is not said");
        assert_eq!(
            on_node("WORLD_SIZE=8"),
            (Launcher::Nobody, Some(0), Some(1)),
            "and not which one this is"
        );
    }

    #[test]
    fn a_process_on_its_own_is_the_first_of_one() {
        for variables in
            ["", "SLURM_JOB_ID=4 SLURM_NTASKS=2 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_TASKS_PER_NODE=2"]
        {
            assert_eq!(on_node(variables), (Launcher::Nobody, Some(0), Some(1)), "{variables}");
        }
        assert_eq!((Launch::ALONE.local_rank, Launch::ALONE.local_size), (Some(0), Some(1)));
    }

    #[test]
    fn the_step_around_another_launcher_is_not_asked() {
        let daemon = "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_LOCALID=0 SLURM_NODEID=1 \
            SLURM_STEP_TASKS_PER_NODE=1(x2)";
        let mpirun = "OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_RANK=6 OMPI_COMM_WORLD_LOCAL_RANK=2 \
            OMPI_COMM_WORLD_LOCAL_SIZE=4";
        assert_eq!(on_node(&format!("{daemon} {mpirun}")), (Launcher::Mpirun, Some(2), Some(4)));
        // PMIx' own word would be the same; what it does not say stays untold.
        let silent = "OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_RANK=6";
        assert_eq!(on_node(&format!("{daemon} {silent}")), (Launcher::Mpirun, None, None));
    }

    #[test]
    fn a_number_that_no_node_has_is_none() {
        let told = |size: &str| {
            on_node(&format!(
                "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=1 \
                 OMPI_COMM_WORLD_LOCAL_SIZE={size}"
            ))
            .2
        };
        assert_eq!(told("65535"), Some(65_535));
        for size in ["65536", "10000000000", "18446744073709551615"] {
            assert_eq!(told(size), None, "{size}");
        }
    }

    #[test]
    fn one_node_has_all_tasks_and_contradictions_say_nothing() {
        let one =
            "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=5 SLURM_PROCID=4 SLURM_LOCALID=4 SLURM_STEP_NUM_NODES=1";
        assert_eq!(on_node(one), (Launcher::Srun, Some(4), Some(5)));
        assert_eq!(on_node(&one.replace("NODES=1", "NODES=2")), (Launcher::Srun, Some(4), None));
        let beyond = STEP.replace("SLURM_LOCALID=1", "SLURM_LOCALID=2");
        assert_eq!(on_node(&beyond), (Launcher::Srun, Some(2), None));
        let flux = "FLUX_JOB_SIZE=4 FLUX_TASK_RANK=1 FLUX_TASK_LOCAL_ID=1 FLUX_JOB_NNODES=2";
        assert_eq!(
            on_node(flux),
            (Launcher::Flux, Some(1), None),
            "how they are spread over two nodes is not told"
        );
    }
}
