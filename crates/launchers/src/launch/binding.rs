//! What to change at the launcher when a PU or a device that was asked for is not this process's: endings for the sentences of the
//! planner, which knows the machine but not who launched what. Each goes after "choose one of these, or …".
//!
//! Options as their manuals spell them: srun(1), mpirun(1) of Open MPI 4.1, Hydra's `mpiexec -bind-to` help, flux-run(1) `-o cpu-affinity`.
//! Only those of `srun` and of the two `mpi*` were tried.

use super::Launcher;

impl Launcher {
    /// What frees a process from the affinity it was started with.
    pub fn frees_from_affinity(self) -> &'static str {
        match self {
            Self::Nobody => "start without the binding (taskset, numactl, srun --cpu-bind=none)",
            Self::Srun => {
                "start the step with srun --cpu-bind=none, or bind the tasks there yourself (srun --cpu-bind=map_cpu:…)"
            }
            Self::Mpirun => "start it with mpirun --bind-to none",
            Self::Hydra => "start it with mpiexec -bind-to none (Intel MPI: I_MPI_PIN=off)",
            Self::Pals => "start it with mpiexec --cpu-bind none",
            Self::Jsrun => "start it with jsrun --bind none",
            Self::Flux => "start it with flux run -o cpu-affinity=off",
            Self::Torchrun => "start the launcher itself without a binding (taskset, numactl)",
            Self::Pmi | Self::Pmix => "start it without the launcher's binding",
        }
    }

    /// What widens the cpuset of a process.
    pub fn widens_cpuset(self) -> &'static str {
        match self {
            Self::Srun => {
                "ask for the whole node (sbatch or salloc --exclusive), for more CPUs a task (srun -c N), or for what other steps \
                 of the job hold too (srun --overlap)"
            }
            Self::Flux => "ask for the whole node (flux run --exclusive)",
            _ => "ask the job for the whole node (Slurm: --exclusive)",
        }
    }

    /// What shows a process the devices that its neighbours have.
    pub fn shows_devices(self) -> &'static str {
        match self {
            Self::Srun => {
                "show every task all GPUs of the step (srun --gpus-per-node=N --gpu-bind=none; --gpus-per-task=1 hides the others), \
                 name them in the order in which Slurm bound them, or leave --gpus out"
            }
            Self::Flux => "show every task all GPUs (flux run -o gpu-affinity=off), or leave --gpus out",
            _ => {
                "show every process all GPUs (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES: a wrapper may set them), name the one it \
                 sees, or leave --gpus out"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: [Launcher; 10] = [
        Launcher::Nobody,
        Launcher::Mpirun,
        Launcher::Hydra,
        Launcher::Srun,
        Launcher::Pals,
        Launcher::Jsrun,
        Launcher::Flux,
        Launcher::Torchrun,
        Launcher::Pmi,
        Launcher::Pmix,
    ];

    #[test]
    fn every_launcher_has_an_ending_and_none_names_another_launchers_option() {
        for launcher in EVERY {
            for ending in [launcher.frees_from_affinity(), launcher.widens_cpuset(), launcher.shows_devices()] {
                assert!(!ending.is_empty() && !ending.ends_with('.'), "{launcher:?}: {ending}");
                assert!(
                    !format!(" {ending}").replace("jsrun", "").contains("srun ")
                        || matches!(launcher, Launcher::Nobody | Launcher::Srun),
                    "{ending}"
                );
                assert!(!ending.contains("mpirun") || launcher == Launcher::Mpirun, "{launcher:?}: {ending}");
            }
        }
    }

    #[test]
    fn sruns_endings_name_its_options() {
        let srun = Launcher::Srun;
        assert!(srun.frees_from_affinity().contains("--cpu-bind=none"));
        assert!(["--exclusive", "-c N", "--overlap"].iter().all(|option| srun.widens_cpuset().contains(option)));
        assert!(["--gpus-per-node=N", "--gpu-bind=none"].iter().all(|option| srun.shows_devices().contains(option)));
        assert!(Launcher::Mpirun.frees_from_affinity().contains("--bind-to"));
    }
}
