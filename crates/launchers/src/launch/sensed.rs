//! From environment variables to the launch.
//!
//! Launchers nest, and the inner one counts. `mpirun` and Hydra start their daemons with `srun` where there is Slurm, so their
//! processes carry the variables of a step whose `SLURM_STEP_NUM_TASKS` is the number of daemons: they come before `srun`. Flux instances are
//! themselves started with `srun`: so does Flux. Slurm's `cray_shasta` sets the variables of PALS: so `srun` comes before PALS.
//!
//! `SLURM_NTASKS` says what a job asked for, in its batch script too, which is one process; only a step's variables say that this is
//! one of several tasks. One case cannot be told apart: a batch script submitted from inside a step of several tasks inherits that
//! step's variables (`sbatch --export=NONE` avoids it), and is refused rather than run as one of N.
//!
//! `torchrun` stands inside any of them: it is started once a node, and its workers are the ranks. Scripts under `srun` and `mpirun` set the same
//! names by hand, from the launcher's own: without torchrun's mark they count only where they tell of more processes than the launcher.

use super::{Interface, Launch, LaunchSize, Launcher};

/// Step numbers from here on are Slurm's own: the batch script, the interactive step of `salloc` (`slurm.h`, `SLURM_MAX_NORMAL_STEP_ID`).
const FIRST_SPECIAL_STEP: u64 = 0xffff_fff0;

impl Launch {
    /// The launch that these variables tell of. An empty value counts as none.
    pub fn sensed(value_of: impl Fn(&str) -> Option<String>) -> Self {
        Variables { value_of: &value_of }.launch()
    }
}

/// The environment of this process.
pub(super) struct Variables<'v> {
    value_of: &'v dyn Fn(&str) -> Option<String>,
}

impl Variables<'_> {
    fn launch(&self) -> Launch {
        let launch = self.launch_of_mpi();
        let torch = self.torch();
        // docs.pytorch.org, "torchrun (Elastic Launch)", "Environment Variables".
        let is_torchruns = self.is_set("TORCHELASTIC_RUN_ID");
        let (LaunchSize::Known(launched) | LaunchSize::AtLeast(launched)) = launch.size;
        let counts = |torch: &Launch| match torch.size {
            LaunchSize::Known(size) => is_torchruns || size > launched,
            LaunchSize::AtLeast(_) => launch.launcher == Launcher::Nobody,
        };
        torch.filter(counts).unwrap_or(launch)
    }

    /// A worker of torchrun, DeepSpeed, Ray Train or another that sets their names.
    fn torch(&self) -> Option<Launch> {
        // A LOCAL_RANK that is no number is a slip in a script, whose processes are several all the same.
        let is_named = self.is_set("LOCAL_RANK");
        match self.number("WORLD_SIZE") {
            Some(size) if is_named => Some(self.of(Launcher::Torchrun, LaunchSize::Known(size), "RANK")),
            None if is_named && self.number("LOCAL_RANK").is_none() => {
                Some(self.of(Launcher::Torchrun, LaunchSize::AtLeast(1), "RANK"))
            }
            _ => None,
        }
    }

    fn launch_of_mpi(&self) -> Launch {
        // IBM's Job Step Manager also sets Open MPI's variables, for Spectrum MPI.
        if let Some(size) = self.number("JSM_NAMESPACE_SIZE") {
            return self.of(Launcher::Jsrun, LaunchSize::Known(size), "JSM_NAMESPACE_RANK");
        }
        // docs.open-mpi.org, "Environment variables set for MPI applications".
        if let Some(size) = self.number("OMPI_COMM_WORLD_SIZE") {
            return self.of(Launcher::Mpirun, LaunchSize::Known(size), "OMPI_COMM_WORLD_RANK");
        }
        let step = self.is_set("SLURM_STEP_ID");
        // Hydra tells MPI_LOCALNRANKS, which a plain PMI does not; scripts on PALS systems set it by hand, though.
        let local = self.number("MPI_LOCALNRANKS").filter(|_| step || !self.is_set("PALS_RANKID"));
        if let (Some(size), Some(_)) = (self.number("PMI_SIZE"), local) {
            return self.of(Launcher::Hydra, LaunchSize::Known(size), "PMI_RANK");
        }
        // flux-core, src/shell/task.c; the broker takes these away from what runs in an instance but is no job of it.
        if let (Some(size), true) = (self.number("FLUX_JOB_SIZE"), self.is_set("FLUX_TASK_RANK")) {
            return self.of(Launcher::Flux, LaunchSize::Known(size), "FLUX_TASK_RANK");
        }
        if step && !self.is_set("FLUX_URI") {
            return self.step();
        }
        // PALS sets PMI_SIZE or leaves it empty, by version and by --pmi=.
        if self.is_set("PALS_RANKID") && !step {
            let told = self.number("PMI_SIZE").map(LaunchSize::Known);
            let size = told.unwrap_or(LaunchSize::AtLeast(self.number("PALS_LOCAL_SIZE").unwrap_or(1)));
            return self.of(Launcher::Pals, size, "PALS_RANKID");
        }
        // The second pair is that of MVAPICH's mpirun_rsh.
        for (size, rank) in [("PMI_SIZE", "PMI_RANK"), ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK")] {
            if let (Some(size), true) = (self.number(size), self.is_set(rank)) {
                return self.of(Launcher::Pmi, LaunchSize::Known(size), rank);
            }
        }
        // The PMIx standard has a variable for the rank and none for the size. Slurm's, without a step, were inherited from one.
        if self.get("PMIX_NAMESPACE").is_some_and(|name| !name.starts_with("slurm.")) && self.is_set("PMIX_RANK") {
            return self.of(Launcher::Pmix, LaunchSize::AtLeast(1), "PMIX_RANK");
        }
        Launch::ALONE
    }

    /// A task of a Slurm step.
    fn step(&self) -> Launch {
        let special = self.get("SLURM_STEP_ID").and_then(|id| id.parse::<u64>().ok());
        match self.number("SLURM_STEP_NUM_TASKS") {
            Some(size) if special.is_some_and(|id| id < FIRST_SPECIAL_STEP) => {
                self.of(Launcher::Srun, LaunchSize::Known(size), "SLURM_PROCID")
            }
            _ => Launch::ALONE,
        }
    }

    fn of(&self, launcher: Launcher, size: LaunchSize, rank: &str) -> Launch {
        let rank = self.number(rank);
        let needed = rank.map_or(1, |rank| rank.saturating_add(1));
        let (rank, size) = match size {
            LaunchSize::AtLeast(size) => (rank, LaunchSize::AtLeast(size.max(needed))),
            // Variables that contradict each other are from two launches: neither is known to be this one's.
            LaunchSize::Known(size) if size < needed => (None, LaunchSize::AtLeast(needed)),
            known => (rank, known),
        };
        let srun = launcher == Launcher::Srun;
        let (local_rank, local_size) = self.on_node(launcher, size);
        Launch {
            launcher,
            size,
            rank,
            local_rank,
            local_size,
            interface: self.interface(launcher),
            // Slurm sets it only where the terminal was given, which it is to task 0 alone.
            pseudo_terminal: srun && self.is_set("SLURM_PTY_PORT"),
            open_mpi_with_pmi: srun
                && self.get("OMPI_MCA_pmix").is_some_and(|v| v.split(',').any(|v| v == "s1" || v == "s2")),
        }
    }

    fn interface(&self, launcher: Launcher) -> Interface {
        let pmi = self.is_set("PMI_FD") || self.is_set("PMI_PORT");
        // Slurm: src/plugins/mpi/cray_shasta/mpi_cray_shasta.c. Flux: flux-coral2, src/shell/plugins/cray_pals.c.
        let cray = self.is_set("PALS_APINFO") || self.is_set("PMI_CONTROL_PORT");
        let pmix = self.is_set("PMIX_NAMESPACE");
        match launcher {
            Launcher::Nobody | Launcher::Torchrun => Interface::None,
            // Hydra has PMI-1 only; a PMIX_NAMESPACE is that of a step around it.
            Launcher::Hydra => Interface::Pmi1,
            Launcher::Srun if pmix && self.is_this_steps_pmix() => Interface::Pmix,
            Launcher::Srun if cray => Interface::Cray,
            Launcher::Srun if pmi && self.is_this_steps_pmi() => Interface::Pmi2,
            Launcher::Srun => Interface::None,
            _ if pmix => Interface::Pmix,
            Launcher::Pals => Interface::Cray,
            _ if cray => Interface::Cray,
            _ if pmi => Interface::Pmi1,
            _ => Interface::None,
        }
    }

    /// `srun` inside a shell of another `srun` inherits that one's variables, and `--mpi=none` does not take them away. Slurm names its
    /// namespaces `slurm.pmix.JOB.STEP`; a name of another form is believed.
    fn is_this_steps_pmix(&self) -> bool {
        self.get("PMIX_NAMESPACE").is_some_and(|name| match name.strip_prefix("slurm.pmix.") {
            Some(job_and_step) => self.job_and_step().is_none_or(|own| own == job_and_step),
            None => true,
        })
    }

    /// As for PMIx: Slurm's `PMI_JOBID` is `JOB.STEP`.
    fn is_this_steps_pmi(&self) -> bool {
        match (self.get("PMI_JOBID"), self.job_and_step()) {
            (Some(told), Some(own)) => told == own,
            _ => true,
        }
    }

    /// `JOB.STEP`; nothing in a heterogeneous job, whose parts have numbers of their own.
    fn job_and_step(&self) -> Option<String> {
        let (job, step) = (self.get("SLURM_JOB_ID")?, self.get("SLURM_STEP_ID")?);
        (!self.is_set("SLURM_HET_SIZE")).then(|| format!("{job}.{step}"))
    }

    pub(super) fn get(&self, name: &str) -> Option<String> {
        (self.value_of)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// MPI counts its processes in an `int`: what is more is no number of processes.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok().filter(|number| *number <= i32::MAX as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // What a task was seen to have (Slurm 22.05.8, Open MPI 4.1.4, MPICH 4.0.2), less what is read by nobody.
    const STEP: &str =
        "SLURM_JOB_ID=3 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_NPROCS=2";
    const PMI2: &str = "PMI_FD=13 PMI_JOBID=3.0 PMI_RANK=1 PMI_SIZE=2 SLURM_MPI_TYPE=pmi2";
    const PMIX: &str = "PMIX_NAMESPACE=slurm.pmix.3.0 PMIX_RANK=1 SLURM_MPI_TYPE=pmix";
    const SHASTA: &str =
        "PALS_RANKID=1 PALS_APINFO=/x PALS_LOCAL_RANKID=1 PMI_RANK=1 PMI_SIZE=2 PMI_CONTROL_PORT=20161";
    const BATCH: &str = "SLURM_JOB_ID=4 SLURM_NTASKS=2 SLURM_NPROCS=2 SLURM_PROCID=0 SLURM_LOCALID=0";
    const SALLOC: &str = "SLURM_JOB_ID=5 SLURM_NNODES=1 SLURM_TASKS_PER_NODE=1";
    const MPIRUN: &str = "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=75169793 \
        PMIX_RANK=1 OMPI_MCA_pmix=^s1,s2,cray,isolated";
    const HYDRA: &str = "PMI_FD=8 PMI_RANK=1 PMI_SIZE=2 MPI_LOCALNRANKS=2 MPI_LOCALRANKID=1";
    /// A daemon's step, as mpirun and Hydra start one on each node.
    const DAEMON: &str =
        "SLURM_JOB_ID=8 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_NPROCS=1";

    /// The launch that these `NAME=VALUE`s tell of; of a name given twice the last counts.
    fn sensed(texts: &[&str]) -> Launch {
        let pairs: Vec<(&str, &str)> =
            texts.iter().flat_map(|text| text.split_whitespace()).filter_map(|pair| pair.split_once('=')).collect();
        Launch::sensed(|name| pairs.iter().rev().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    }

    fn told(texts: &[&str]) -> (Launcher, LaunchSize, Option<usize>, Interface) {
        let launch = sensed(texts);
        (launch.launcher, launch.size, launch.rank, launch.interface)
    }

    fn two(launcher: Launcher, interface: Interface) -> (Launcher, LaunchSize, Option<usize>, Interface) {
        (launcher, LaunchSize::Known(2), Some(1), interface)
    }

    #[test]
    fn a_process_started_by_hand_a_batch_script_and_a_shell_of_salloc_are_alone() {
        for variables in ["", BATCH, SALLOC, "PMI_SIZE= PALS_RANKID= OMPI_COMM_WORLD_SIZE=", "FLUX_URI=local:///x"] {
            assert_eq!(sensed(&[variables]), Launch::ALONE, "{variables}");
        }
    }

    #[test]
    fn a_step_of_one_task_is_alone_whatever_the_job_asked_for() {
        let shell =
            "SLURM_JOB_ID=6 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_PTY_PORT=1";
        assert!(sensed(&[shell]).is_alone());
        assert!(sensed(&[shell, "PMIX_NAMESPACE=slurm.pmix.6.0 PMIX_RANK=0"]).is_alone());
        // salloc with LaunchParameters=use_interactive_step.
        let interactive =
            "SLURM_STEP_ID=4294967290 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_PTY_PORT=32925";
        assert!(sensed(&[interactive]).is_alone());
        assert!(sensed(&[STEP, "SLURM_STEP_ID=4294967291"]).is_alone(), "a batch step is no step of tasks");
        assert!(
            sensed(&["OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0", STEP]).is_alone(),
            "mpirun -n 1 over two nodes"
        );
    }

    #[test]
    fn srun_and_what_it_offers_are_told_apart() {
        assert_eq!(told(&[STEP]), two(Launcher::Srun, Interface::None));
        assert_eq!(told(&[STEP, PMI2]), two(Launcher::Srun, Interface::Pmi2));
        assert_eq!(told(&[STEP, PMIX]), two(Launcher::Srun, Interface::Pmix));
        assert_eq!(told(&[STEP, SHASTA]), two(Launcher::Srun, Interface::Cray), "not PALS");
        assert!(sensed(&[STEP, "SLURM_PTY_PORT=45137"]).pseudo_terminal);
        assert!(!sensed(&[STEP]).pseudo_terminal);
        assert!(sensed(&[STEP, PMI2, "OMPI_MCA_pmix=s2"]).open_mpi_with_pmi);
        assert!(!sensed(&[STEP, PMI2, "OMPI_MCA_pmix=^s1"]).open_mpi_with_pmi);
    }

    #[test]
    fn what_an_outer_step_offered_is_not_offered_by_the_inner_one() {
        let inner = "SLURM_STEP_ID=1";
        assert_eq!(told(&[STEP, PMIX, inner]), two(Launcher::Srun, Interface::None));
        assert_eq!(told(&[STEP, PMI2, inner]), two(Launcher::Srun, Interface::None));
        assert_eq!(
            told(&[STEP, PMIX, "PMIX_NAMESPACE=prterun-7"]),
            two(Launcher::Srun, Interface::Pmix),
            "a form not known"
        );
        assert_eq!(told(&[STEP, PMIX, inner, "SLURM_HET_SIZE=2"]), two(Launcher::Srun, Interface::Pmix));
        assert_eq!(sensed(&[PMIX]), Launch::ALONE, "a batch script submitted from a step");
    }

    #[test]
    fn mpirun_and_hydra_come_before_the_step_of_their_daemons() {
        for around in ["", BATCH, DAEMON, "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1"] {
            assert_eq!(told(&[around, MPIRUN]), two(Launcher::Mpirun, Interface::Pmix), "{around}");
            assert_eq!(told(&[around, HYDRA]), two(Launcher::Hydra, Interface::Pmi1), "{around}");
        }
        assert_eq!(told(&[DAEMON, "PMIX_NAMESPACE=slurm.pmix.8.0 PMIX_RANK=0", HYDRA]).3, Interface::Pmi1);
        let jsm = "JSM_NAMESPACE_SIZE=2 JSM_NAMESPACE_RANK=1";
        assert_eq!(told(&[MPIRUN, jsm]), two(Launcher::Jsrun, Interface::Pmix));
    }

    #[test]
    fn flux_comes_before_the_srun_that_started_its_instance() {
        let task = "FLUX_URI=local:///x FLUX_JOB_SIZE=2 FLUX_TASK_RANK=1 PMI_FD=20 PMI_RANK=1 PMI_SIZE=2";
        assert_eq!(told(&[STEP, task]), two(Launcher::Flux, Interface::Pmi1));
        assert_eq!(told(&[STEP, task, "PALS_APINFO=/x PALS_RANKID=1"]).3, Interface::Cray);
        assert!(sensed(&[STEP, "FLUX_URI=local:///x"]).is_alone(), "the instance's own script");
    }

    #[test]
    fn pals_says_the_size_or_at_least_a_part_of_it() {
        let pals = "PALS_RANKID=1 PALS_LOCAL_RANKID=1 PALS_LOCAL_SIZE=2 PALS_NODEID=0";
        assert_eq!(told(&[pals, "PMI_SIZE=2"]), two(Launcher::Pals, Interface::Cray));
        let pmix = "PMI_SIZE= PMIX_NAMESPACE=x PMIX_RANK=1";
        assert_eq!(told(&[pals, pmix]), (Launcher::Pals, LaunchSize::AtLeast(2), Some(1), Interface::Pmix));
        assert_eq!(told(&[pals, "PALS_RANKID=11"]).1, LaunchSize::AtLeast(12));
        assert_eq!(told(&[pals, "PMI_SIZE=24 MPI_LOCALNRANKS=2"]).0, Launcher::Pals, "a script's shim is no Hydra");
    }

    #[test]
    fn other_launchers_are_known_by_what_they_speak() {
        assert_eq!(told(&["PMI_SIZE=2 PMI_RANK=1 PMI_PORT=h:1"]), two(Launcher::Pmi, Interface::Pmi1));
        assert_eq!(told(&["MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_RANK=1"]), two(Launcher::Pmi, Interface::None));
        let prterun = (Launcher::Pmix, LaunchSize::AtLeast(2), Some(1), Interface::Pmix);
        assert_eq!(told(&["PMIX_NAMESPACE=prterun-7 PMIX_RANK=1"]), prterun);
        assert!(!sensed(&["PMIX_NAMESPACE=prterun-7 PMIX_RANK=0"]).is_alone(), "nobody says that it is");
    }

    #[test]
    fn a_rank_beyond_the_size_makes_the_size_unknown() {
        assert_eq!(told(&[STEP, "SLURM_PROCID=5"]).1, LaunchSize::AtLeast(6));
        assert_eq!(told(&["OMPI_COMM_WORLD_SIZE=4"]), (Launcher::Mpirun, LaunchSize::Known(4), None, Interface::None));
        assert_eq!(
            told(&[STEP, "SLURM_PROCID=18446744073709551615"]),
            (Launcher::Srun, LaunchSize::Known(2), None, Interface::None)
        );
        assert!(sensed(&["OMPI_COMM_WORLD_SIZE=18446744073709551615"]).is_alone());
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
