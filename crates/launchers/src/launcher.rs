//! Every launcher that numabench knows, in the order in which they are sensed: a file each in `launcher/`.
//!
//! Launchers nest, and the inner one counts. `mpirun` and Hydra start their daemons with `srun` where there
//! is Slurm, so their processes carry the variables of a step whose `SLURM_STEP_NUM_TASKS` is the number of
//! daemons: they come before `srun`. Flux instances are themselves started with `srun`: so does Flux. Slurm's
//! `cray_shasta` sets the variables of PALS: so `srun` comes before PALS. IBM's Job Step Manager also sets
//! Open MPI's variables, for Spectrum MPI: so `jsrun` comes before `mpirun`. `torchrun` stands inside any of
//! them: it is started once a node, and its workers are the ranks. What is known by its interface alone comes
//! last.

pub(crate) mod flux;
pub(crate) mod hydra;
mod jsrun;
mod nobody;
pub(crate) mod open_mpi;
pub(crate) mod pals;
mod pmi;
mod pmix;
pub(crate) mod srun;
pub(crate) mod torchrun;

use crate::facts::{LauncherFacts, Reads};

/// Makes the type of a list of launchers, each with the file of its facts.
macro_rules! launchers {
    ($($(#[$doc:meta])+ $launcher:ident: $file:ident,)+) => {
        /// What started the processes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Launcher {
            $($(#[$doc])+ $launcher,)+
        }

        impl Launcher {
            /// All of them, in the order in which they are sensed.
            pub(crate) const ALL: &[Self] = &[$(Self::$launcher,)+];

            /// What is known of it.
            pub fn facts(self) -> &'static LauncherFacts {
                match self {
                    $(Self::$launcher => &$file::FACTS,)+
                }
            }
        }
    };
}

launchers! {
    /// `torchrun` and its kin: launchers of Python's workers, which set `LOCAL_RANK` and `WORLD_SIZE` and
    /// know no MPI.
    Torchrun: torchrun,
    /// IBM's `jsrun`.
    Jsrun: jsrun,
    /// Open MPI's `mpirun`, or `prterun` in its name.
    Mpirun: open_mpi,
    /// Hydra: the `mpiexec` of MPICH and of Intel MPI.
    Hydra: hydra,
    /// `flux run`.
    Flux: flux,
    /// Slurm's `srun`.
    Srun: srun,
    /// PALS: the `mpiexec` of HPE Cray systems under PBS.
    Pals: pals,
    /// Some launcher that speaks PMI.
    Pmi: pmi,
    /// Some launcher that speaks PMIx.
    Pmix: pmix,
    /// Nothing: this process is on its own.
    Nobody: nobody,
}

/// Variables of other libraries that no launcher here sets by itself, beside those that one of them does.
const NOBODYS: [&str; 3] = ["MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_RANK", "ALPS_APP_PE"];

impl Launcher {
    /// As a sentence names it.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The processes of all launchers that start ranks on a node, as the kernel names them.
    pub fn starters() -> Vec<&'static str> {
        Self::ALL.iter().flat_map(|launcher| launcher.facts().starters).copied().collect()
    }

    /// Whether a process that the kernel shows by this name starts ranks: a command of some launcher, or one
    /// of its daemons.
    pub fn is_any(process: &str) -> bool {
        let of = |launcher: &Self| {
            let facts = launcher.facts();
            facts.reads.commands().contains(&process) || facts.starters.contains(&process)
        };
        process == "torchrun" || Self::ALL.iter().any(of)
    }

    /// The words by which the launcher of this command binds no rank; none where it is not known. `mpiexec`
    /// alone is several's: these are Open MPI's words, which Hydra takes too, and not those of PALS.
    pub fn leaves_unbound(command: &str) -> &'static [&'static str] {
        let launcher = if command == "mpiexec" { Some(Self::Mpirun) } else { Self::of_command(command) };
        launcher.map_or(&[], |launcher| launcher.facts().leaves_unbound)
    }

    /// The commands that are taken for its own.
    pub(crate) fn commands(self) -> &'static [&'static str] {
        self.facts().reads.commands()
    }

    /// The launcher that a command's name stands for, as far as a name tells: `mpirun` and `mpiexec` are
    /// several's.
    pub(crate) fn of_command(command: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|launcher| launcher.commands().contains(&command))
    }

    /// Its variable that tells what a variable of some launcher tells.
    pub(crate) fn own_variable(self, name: &str) -> Option<&'static str> {
        let tells = |launcher: Self| launcher.facts().tells.iter();
        let (_, told) =
            Self::ALL.iter().flat_map(|launcher| tells(*launcher)).find(|(known, _)| *known == name)?;
        let same = tells(self).filter(|(_, own)| own == told).map(|(own, _)| *own);
        same.clone().find(|own| *own == name).or_else(|| same.clone().next())
    }

    /// The variables that this launcher does not set, and some other one does.
    pub(crate) fn not_told(self) -> Vec<&'static str> {
        let names = |launcher: Self| launcher.facts().tells.iter().map(|(name, _)| *name);
        let own = |name: &&'static str| names(self).any(|known| known == *name);
        // What Slurm's plug-ins for PMI set depends on `--mpi`; daemons that srun starts pass its step on.
        let open = |name: &&'static str| match self {
            Self::Srun => name.starts_with("PMI") || name.starts_with("PALS"),
            Self::Mpirun | Self::Hydra | Self::Flux => *name == "SLURM_STEP_ID",
            _ => false,
        };
        let all = Self::ALL.iter().flat_map(|launcher| names(*launcher)).chain(NOBODYS);
        all.filter(|name| !own(name) && !open(name)).collect()
    }
}

impl Reads {
    /// The commands that are taken for the launcher's.
    fn commands(&self) -> &'static [&'static str] {
        match self {
            Self::Own(commands, _) | Self::Mpirun(commands) => commands,
            Self::Nothing => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::facts::Sensed;
    use crate::variables::LauncherVariables;

    #[test]
    fn every_launcher_has_an_ending_and_none_names_another_launchers_option() {
        for &launcher in Launcher::ALL {
            for ending in [
                launcher.facts().frees_from_affinity,
                launcher.facts().widens_cpuset,
                launcher.facts().shows_devices,
            ] {
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
        assert!(srun.facts().frees_from_affinity.contains("--cpu-bind=none"));
        assert!(
            ["--exclusive", "-c N", "--overlap"]
                .iter()
                .all(|option| srun.facts().widens_cpuset.contains(option))
        );
        assert!(
            ["--gpus-per-node=N", "--gpu-bind=none"]
                .iter()
                .all(|option| srun.facts().shows_devices.contains(option))
        );
        assert!(Launcher::Mpirun.facts().frees_from_affinity.contains("--bind-to"));
    }

    /// Each of these, which must not be there twice.
    fn unique(names: impl IntoIterator<Item = &'static str>) -> BTreeSet<&'static str> {
        let mut all = BTreeSet::new();
        names
            .into_iter()
            .for_each(|name| assert!(!name.is_empty() && all.insert(name), "{name} is two launchers'"));
        all
    }

    #[test]
    fn names_commands_and_processes_are_one_launchers() {
        let all = || Launcher::ALL.iter().map(|launcher| launcher.facts());
        assert_eq!(unique(all().map(|facts| facts.name)).len(), Launcher::ALL.len());
        let commands = unique(all().flat_map(|facts| facts.reads.commands()).copied());
        commands.iter().for_each(|command| assert!(Launcher::of_command(command).is_some(), "{command}"));
        unique(Launcher::starters());
        for &launcher in Launcher::ALL {
            unique(launcher.facts().tells.iter().map(|(name, _)| *name));
            assert!(
                !launcher.facts().through_exec.is_empty() && !launcher.facts().of_one_launch.is_empty(),
                "{launcher:?}"
            );
        }
    }

    #[test]
    fn the_words_that_leave_ranks_unbound_are_those_of_the_lines_through_exec() {
        for &launcher in Launcher::ALL.iter().filter(|launcher| **launcher != Launcher::Srun) {
            let facts = launcher.facts();
            assert!(facts.through_exec.contains(&facts.leaves_unbound.join(" ")), "{launcher:?}");
            assert!(facts.frees_from_affinity.contains(&facts.leaves_unbound.join(" ")), "{launcher:?}");
        }
        // The others bind nobody, or numabench knows no words of theirs.
        let has_words = Launcher::ALL.iter().filter(|launcher| !launcher.facts().leaves_unbound.is_empty());
        let with_words = [
            Launcher::Jsrun,
            Launcher::Mpirun,
            Launcher::Hydra,
            Launcher::Flux,
            Launcher::Srun,
            Launcher::Pals,
        ];
        assert_eq!(has_words.copied().collect::<Vec<_>>(), with_words);
        assert_eq!(Launcher::leaves_unbound("flux"), ["-o", "mpibind=off", "-o", "cpu-affinity=off"]);
        assert_eq!(Launcher::leaves_unbound("srun"), ["--cpu-bind=none"]);
        assert_eq!(Launcher::leaves_unbound("mpiexec"), ["--bind-to", "none"]);
        assert_eq!(Launcher::leaves_unbound("./start.sh"), [""; 0]);
        assert!(Launcher::is_any("prted") && Launcher::is_any("torchrun") && !Launcher::is_any("app"));
    }

    /// Variables that a launcher sets and that its facts do not say it gives its ranks, and why.
    const UNTOLD: [(Launcher, &str, &str); 6] = [
        (Launcher::Flux, "FLUX_URI", "of its instance, which is no launch"),
        (Launcher::Srun, "SLURM_STEP_NUM_TASKS", "scripts read SLURM_NTASKS"),
        (Launcher::Pmi, "MV2_COMM_WORLD_SIZE", "of MVAPICH's mpirun_rsh, whose lines are not read"),
        (Launcher::Pmi, "MV2_COMM_WORLD_RANK", "as the size"),
        (Launcher::Pmix, "PMIX_NAMESPACE", "it has no line"),
        (Launcher::Pmix, "PMIX_RANK", "as the namespace"),
    ];

    fn sets(launcher: Launcher, name: &str) -> bool {
        launcher.facts().tells.iter().any(|(told, _)| *told == name)
            || UNTOLD.iter().any(|(owner, untold, _)| *owner == launcher && *untold == name)
    }

    #[test]
    fn a_launcher_is_sensed_by_the_variables_that_it_sets() {
        let number = || Some("1".to_owned());
        for &launcher in Launcher::ALL.iter().filter(|launcher| **launcher != Launcher::Nobody) {
            let facts = launcher.facts();
            let own = |name: &str| number().filter(|_| sets(launcher, name));
            match (facts.sensed)(&LauncherVariables::new(&own)) {
                Some(Sensed::OneOf(_, rank)) => {
                    assert!(sets(launcher, rank), "{launcher:?} does not set {rank}")
                }
                _ => panic!("{launcher:?} is not sensed by what it sets"),
            }
            let numbers = facts.local_rank.iter().filter(|_| !facts.tells.is_empty());
            numbers.for_each(|name| assert!(sets(launcher, name), "{launcher:?} does not set {name}"));
            // What it looks at beside its own tells other launchers from it.
            for answer in [None, number()] {
                let value_of = |name: &str| {
                    let is_set = Launcher::ALL.iter().any(|launcher| sets(*launcher, name));
                    assert!(is_set, "{launcher:?} is sensed by {name}, which nobody sets");
                    answer.clone()
                };
                (facts.sensed)(&LauncherVariables::new(&value_of));
            }
        }
    }
}
