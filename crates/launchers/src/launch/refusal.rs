//! Whether a launch and an MPI go together, and what to change where they do not. Some 440 lines because half
//! of them are tests, a launch each.
//!
//! Asked twice. Before `MPI_Init`, [`Launch::accepts`] refuses what is certain to fail: an Open MPI without
//! PMIx aborts under `srun` (4.x) or becomes N singletons (5.x, open-mpi/ompi issue 13523). What may work is
//! tried: an MPICH can be built with PMIx (Aurora's is), or be given Slurm's own libpmi, which needs no
//! `--mpi` at all (Intel MPI's `I_MPI_PMI_LIBRARY`). After `MPI_Init`, [`Launch::agrees`] holds the number of
//! processes that MPI sees against the number launched, and that settles it whatever was built how.

use ranks::{Flavour, Library};

use super::Launch;
use crate::interface::Interface;
use crate::launch_size::LaunchSize;
use crate::launcher::Launcher;

/// The processes of this launch cannot work as one run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchRefusal {
    /// Several processes, and no plug-in to find one another with.
    #[error(
        "{} started {size}, and numabench has no MPI to join them into one run ({tried}): each process would \
         measure alone. {remedy}",
        launcher.name()
    )]
    NoPlugin {
        /// What started them.
        launcher: Launcher,
        /// How many.
        size: LaunchSize,
        /// Where the plug-in was looked for, and what happened.
        tried: String,
        /// What to change.
        remedy: String,
    },
    /// The library cannot use what the launcher offers.
    #[error(
        "{} started {size} and offers them {}, but {library} needs {needs}: MPI_Init would abort, or each \
         process would see itself as rank 0 of 1. {remedy}",
        launcher.name(), offered.name()
    )]
    Unheard {
        /// What started them.
        launcher: Launcher,
        /// How many.
        size: LaunchSize,
        /// What they were offered.
        offered: Interface,
        /// What the library needs.
        needs: &'static str,
        /// The library.
        library: Library,
        /// What to change.
        remedy: String,
    },
    /// MPI sees fewer processes than were launched.
    #[error(
        "{} started {size}, but {library} sees {seen} in MPI_COMM_WORLD: each of those would measure alone. \
         {remedy}",
        launcher.name()
    )]
    Apart {
        /// What started them.
        launcher: Launcher,
        /// How many.
        size: LaunchSize,
        /// How many MPI sees.
        seen: usize,
        /// The library.
        library: Library,
        /// What to change.
        remedy: String,
    },
    /// Workers of a launcher that knows no MPI.
    #[error(
        "{} started {size}, and MPI cannot join processes of that launcher into one run: each process would \
         measure alone. Start numabench once on each node, without the launcher: its ranks are threads, one \
         for each GPU. numabench check shows where the workers are, and numabench exec places them",
        launcher.name()
    )]
    Workers {
        /// What started them.
        launcher: Launcher,
        /// How many.
        size: LaunchSize,
    },
    /// A shell's step has several tasks.
    #[error(
        "srun --pty started {size}, of which only the first has this terminal, so this step cannot run them \
         together. For a shell start one task (srun -N1 -n1 --pty bash), for several processes leave --pty \
         out"
    )]
    Terminal {
        /// How many.
        size: LaunchSize,
    },
}

impl Launch {
    /// Whether this library's `MPI_Init` can be called in this launch at all.
    ///
    /// # Errors
    /// [`LaunchRefusal::Unheard`] where it fails, or does unless it was built for what is offered;
    /// [`LaunchRefusal::Terminal`].
    pub fn accepts(&self, library: &Library) -> Result<(), LaunchRefusal> {
        self.can_be_one_run()?;
        let needs_pmix = library.flavour == Flavour::OpenMpi && !self.open_mpi_with_pmi;
        let only_pmi =
            matches!(self.launcher, Launcher::Srun | Launcher::Hydra) && self.interface != Interface::Pmix;

        // MPICH 4.0 under Open MPI's mpirun runs as many times rank 0 of 1; later ones find a PMI that
        // answers them nothing, and abort.
        let needs_pmi = library.flavour == Flavour::Mpich;
        let only_pmix = self.launcher == Launcher::Mpirun;
        let needs = match () {
            () if self.is_alone() => return Ok(()),
            () if needs_pmix && only_pmi => "PMIx",
            () if needs_pmi && only_pmix => "PMI-1 or PMI-2",
            () => return Ok(()),
        };

        Err(LaunchRefusal::Unheard {
            launcher: self.launcher,
            size: self.size,
            offered: self.interface,
            needs,
            library: library.clone(),
            remedy: self.remedy(library),
        })
    }

    /// Whether MPI sees all the processes that were launched. More than were told of are well: MPI knows
    /// better.
    ///
    /// # Errors
    /// [`LaunchRefusal::Apart`], in every process that was told of others.
    pub fn agrees(&self, library: &Library, seen: usize) -> Result<(), LaunchRefusal> {
        if seen >= self.size.least() {
            return Ok(());
        }
        let (launcher, size, library, remedy) =
            (self.launcher, self.size, library.clone(), self.remedy(library));
        Err(LaunchRefusal::Apart { launcher, size, seen, library, remedy })
    }

    /// What to say where several processes were launched and no plug-in was found. `tried` says where it was
    /// looked for.
    ///
    /// # Errors
    /// Always, unless the process is alone.
    pub fn without_plugin(&self, tried: &str) -> Result<(), LaunchRefusal> {
        if self.is_alone() {
            return Ok(());
        }
        self.can_be_one_run()?;
        let remedy = format!(
            "Build the plug-in with this system's MPI (cargo xtask mpi-plugin) and put it beside the binary \
             or name it in NUMABENCH_MPI=…, or {}",
            self.one_process()
        );
        Err(LaunchRefusal::NoPlugin {
            launcher: self.launcher,
            size: self.size,
            tried: tried.to_owned(),
            remedy,
        })
    }

    fn can_be_one_run(&self) -> Result<(), LaunchRefusal> {
        if self.launcher == Launcher::Torchrun && !self.is_alone() {
            return Err(LaunchRefusal::Workers { launcher: self.launcher, size: self.size });
        }
        let shell = self.pseudo_terminal && !self.is_alone();
        if shell { Err(LaunchRefusal::Terminal { size: self.size }) } else { Ok(()) }
    }

    /// The ways out, the nearest first.
    fn remedy(&self, library: &Library) -> String {
        let own = own_launcher(library);
        let start = self.start_for(library).map_or(own.clone(), |start| format!("{start} or with {own}"));
        let rebuild = match self.launcher.facts().belongs_to_one_mpi {
            true => {
                "build the plug-in with the MPI whose launcher this is (MPICC=… cargo xtask mpi-plugin), or "
            }
            false => "",
        };
        let built = if self.may_know_pmi(library) {
            ". If it was built --with-pmi, which its version does not say, set OMPI_MCA_pmix=s2"
        } else {
            ""
        };
        format!("Start it with {start}, or {rebuild}{}{built}", self.one_process())
    }

    /// Whether this may be an Open MPI that asks Slurm's PMI-2 by itself: its opal/mca/pmix/s2, before 5.
    fn may_know_pmi(&self, library: &Library) -> bool {
        let major: Option<u32> = library.version.split('.').next().and_then(|major| major.parse().ok());
        library.flavour == Flavour::OpenMpi
            && self.launcher == Launcher::Srun
            && self.interface == Interface::Pmi2
            && !self.open_mpi_with_pmi
            && major.is_some_and(|major| major < 5)
    }

    /// The same launcher with another option, where that helps. Not the option already given: then the
    /// library was built without it.
    fn start_for(&self, library: &Library) -> Option<String> {
        let option = (self.launcher.facts().mpi_option)(library)?;
        // Intel's also needs a variable, which nobody can see here.
        (option.offers != Some(self.interface) || library.name.starts_with("Intel")).then_some(option.start)
    }

    /// The way without MPI.
    fn one_process(&self) -> String {
        let without = || format!("without {}", self.launcher.name());
        let how = self.launcher.facts().one_process.map_or_else(without, str::to_owned);
        format!("start one process, whose ranks are threads ({how})")
    }
}

fn own_launcher(library: &Library) -> String {
    match library.flavour {
        // It binds each process to a core otherwise.
        Flavour::OpenMpi => format!("the mpirun of {library} itself (mpirun --bind-to none …)"),
        Flavour::Mpich => format!("the mpiexec of {library} itself"),
        Flavour::CrayMpich => "the system's own launcher (srun, or PALS' mpiexec)".to_owned(),
        Flavour::Other => format!("the launcher of {library} itself"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN_MPI: &str =
        "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";
    const MPICH: &str = "MPICH Version:\t4.0.2\n";
    const INTEL: &str = "Intel(R) MPI Library 2021.9 for Linux* OS\n";
    const CRAY: &str = "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\n";

    fn launch(launcher: Launcher, interface: Interface) -> Launch {
        Launch { launcher, size: LaunchSize::Known(4), rank: Some(0), interface, ..Launch::ALONE }
    }

    fn before(launcher: Launcher, interface: Interface, library: &str) -> Result<(), String> {
        launch(launcher, interface)
            .accepts(&Library::from_version(library))
            .map_err(|refusal| refusal.to_string())
    }

    /// What is said where MPI sees one process.
    fn after(launcher: Launcher, interface: Interface, library: &str) -> String {
        let refused = launch(launcher, interface).agrees(&Library::from_version(library), 1);
        refused.map_or_else(|refusal| refusal.to_string(), |()| "agreed".to_owned())
    }

    #[track_caller]
    fn says(text: &str, parts: &[&str]) {
        parts.iter().for_each(|part| assert!(text.contains(part), "no \"{part}\" in: {text}"));
    }

    #[test]
    fn an_open_mpi_without_pmix_is_refused_before_it_can_abort() {
        for offered in [Interface::None, Interface::Pmi2, Interface::Cray] {
            let text = before(Launcher::Srun, offered, OPEN_MPI).err().unwrap_or_default();
            says(
                &text,
                &["srun started 4 processes", offered.name(), "Open MPI 4.1.4 needs PMIx", "rank 0 of 1"],
            );
            says(&text, &["Start it with srun --mpi=pmix", "the mpirun of Open MPI 4.1.4", "srun -N1 -n1"]);
            assert_eq!(text.contains("--with-pmi"), offered == Interface::Pmi2, "{text}");
        }
        let five = before(Launcher::Srun, Interface::Pmi2, &OPEN_MPI.replace("4.1.4", "5.0.3"));
        assert!(five.is_err_and(|text| !text.contains("--with-pmi")), "Open MPI 5 knows PMIx alone");
        let text = before(Launcher::Hydra, Interface::Pmi1, OPEN_MPI).err().unwrap_or_default();
        says(
            &text,
            &["Hydra's mpiexec started 4 processes", "PMI-1", "Start it with the mpirun of Open MPI 4.1.4"],
        );
        assert!(!text.contains("srun"), "{text}");
    }

    #[test]
    fn an_mpich_under_open_mpis_mpirun_is_refused_before_it_can_abort() {
        for library in [MPICH, INTEL] {
            let text = before(Launcher::Mpirun, Interface::Pmix, library).err().unwrap_or_default();
            says(
                &text,
                &["Open MPI's mpirun started 4 processes", "offers them PMIx", "needs PMI-1 or PMI-2"],
            );
            says(&text, &["Start it with the mpiexec of ", "the MPI whose launcher this is (MPICC="]);
        }
        let alone = Launch { size: LaunchSize::Known(1), ..launch(Launcher::Mpirun, Interface::Pmix) };
        assert_eq!(alone.accepts(&Library::from_version(MPICH)), Ok(()), "one process is rank 0 of 1");
    }

    #[test]
    fn what_may_work_is_let_through_and_judged_by_what_mpi_sees() {
        for (launcher, offered, library) in [
            (Launcher::Srun, Interface::Pmix, OPEN_MPI),
            (Launcher::Mpirun, Interface::Pmix, OPEN_MPI),
            (Launcher::Flux, Interface::Pmi1, OPEN_MPI),
            (Launcher::Srun, Interface::None, INTEL),
            (Launcher::Srun, Interface::Pmix, MPICH),
            (Launcher::Srun, Interface::Cray, CRAY),
        ] {
            assert_eq!(before(launcher, offered, library), Ok(()), "{launcher:?} {offered:?} {library}");
            assert!(launch(launcher, offered).agrees(&Library::from_version(library), 4).is_ok());
        }

        let told = Launch { open_mpi_with_pmi: true, ..launch(Launcher::Srun, Interface::Pmi2) };
        assert_eq!(
            told.accepts(&Library::from_version(OPEN_MPI)),
            Ok(()),
            "an Open MPI 4 with Slurm's PMI-2"
        );
    }

    #[test]
    fn singletons_are_refused_with_both_numbers_and_the_option_of_their_library() {
        for (offered, library, parts) in [
            (Interface::None, MPICH, ["Start it with srun --mpi=pmi2 …", "the mpiexec of MPICH 4.0.2"]),
            (Interface::Pmix, MPICH, ["Start it with srun --mpi=pmi2 …", "the mpiexec of MPICH 4.0.2"]),
            (
                Interface::None,
                CRAY,
                ["Start it with srun --mpi=cray_shasta …", "Cray MPICH 8.1.25.17 sees 1"],
            ),
            (
                Interface::Pmi2,
                INTEL,
                ["I_MPI_PMI_LIBRARY set to Slurm's libpmi2.so", "Intel MPI 2021.9 sees 1"],
            ),
        ] {
            let text = after(Launcher::Srun, offered, library);
            says(
                &text,
                &[
                    "srun started 4 processes, but ",
                    " sees 1 in MPI_COMM_WORLD",
                    "srun --mpi=list",
                    "srun -N1 -n1",
                ],
            );
            says(&text, &parts);
        }

        let text = after(Launcher::Mpirun, Interface::Pmix, MPICH);
        says(
            &text,
            &[
                "Open MPI's mpirun started 4 processes, but MPICH 4.0.2 sees 1",
                "Start it with the mpiexec of MPICH",
            ],
        );

        says(&text, &["the MPI whose launcher this is", "(without Open MPI's mpirun)"]);
        says(&after(Launcher::Pals, Interface::Cray, OPEN_MPI), &["Start it with mpiexec --pmi=pmix"]);
        says(&after(Launcher::Flux, Interface::Pmi1, OPEN_MPI), &["Start it with flux run -o pmi=pmix"]);
    }

    #[test]
    fn the_option_already_given_is_not_the_remedy() {
        for (offered, library, given) in [
            (Interface::Pmix, OPEN_MPI, "--mpi=pmix"),
            (Interface::Pmi2, MPICH, "--mpi=pmi2"),
            (Interface::Cray, CRAY, "--mpi=cray_shasta"),
        ] {
            let text = after(Launcher::Srun, offered, library);
            assert!(!text.contains(given) && text.contains("Start it with the "), "{text}");
        }
    }

    #[test]
    fn an_unknown_library_is_refused_without_a_guess_at_its_option() {
        let text = after(Launcher::Srun, Interface::None, "Some MPI 1.0");
        says(
            &text,
            &["Some MPI 1.0 sees 1", "the srun --mpi=… that it needs", "the launcher of Some MPI 1.0 itself"],
        );
    }

    #[test]
    fn more_processes_than_were_told_of_are_well_and_fewer_are_not() {
        let library = Library::from_version(MPICH);
        let at_least =
            Launch { size: LaunchSize::AtLeast(2), rank: Some(1), ..launch(Launcher::Pmix, Interface::Pmix) };
        assert!(at_least.agrees(&library, 1).is_err() && at_least.agrees(&library, 2).is_ok());
        assert!(at_least.agrees(&library, 64).is_ok());
        assert!(launch(Launcher::Srun, Interface::Pmi2).agrees(&library, 3).is_err());
        assert!(Launch::ALONE.agrees(&library, 1).is_ok());
    }

    #[test]
    fn without_a_plug_in_several_processes_are_refused_and_one_is_not() {
        let text = launch(Launcher::Srun, Interface::Pmix)
            .without_plugin("no libnumabench_mpi.so beside /opt/numabench");
        let text = text.map_or_else(|refusal| refusal.to_string(), |()| "agreed".to_owned());
        says(
            &text,
            &[
                "srun started 4 processes",
                "(no libnumabench_mpi.so beside /opt/numabench)",
                "each process would measure alone",
            ],
        );

        says(&text, &["cargo xtask mpi-plugin", "NUMABENCH_MPI", "srun -N1 -n1", "whose ranks are threads"]);
        let unknown = Launch { size: LaunchSize::AtLeast(2), ..launch(Launcher::Nobody, Interface::None) };
        let text = unknown
            .without_plugin("none")
            .map_or_else(|refusal| refusal.to_string(), |()| "agreed".to_owned());
        says(
            &text,
            &[
                "an unknown launcher started 2 or more processes",
                "whose ranks are threads (without a launcher)",
            ],
        );

        assert_eq!(Launch::ALONE.without_plugin(""), Ok(()));
        let one = Launch { size: LaunchSize::Known(1), ..launch(Launcher::Srun, Interface::None) };
        assert_eq!((one.without_plugin(""), one.accepts(&Library::from_version(OPEN_MPI))), (Ok(()), Ok(())));
    }

    #[test]
    fn workers_of_torchrun_are_refused_whatever_mpi_there_is_and_told_what_works() {
        let workers = launch(Launcher::Torchrun, Interface::None);
        let refused = workers.accepts(&Library::from_version(MPICH));
        assert_eq!(
            refused,
            Err(LaunchRefusal::Workers { launcher: Launcher::Torchrun, size: LaunchSize::Known(4) })
        );
        assert_eq!(refused, workers.without_plugin("not there"));
        let text = refused.map_or_else(|refusal| refusal.to_string(), |()| "agreed".to_owned());

        says(
            &text,
            &[
                "torchrun or its like started 4 processes",
                "once on each node",
                "numabench check",
                "numabench exec",
            ],
        );
    }

    #[test]
    fn a_shell_over_several_tasks_is_refused_because_the_others_would_never_come() {
        let shell = Launch { pseudo_terminal: true, ..launch(Launcher::Srun, Interface::Pmix) };
        let refused = shell.accepts(&Library::from_version(OPEN_MPI));
        assert_eq!(refused, Err(LaunchRefusal::Terminal { size: LaunchSize::Known(4) }));
        assert_eq!(refused, shell.without_plugin("not there"));
        assert!(refused.is_err_and(|refusal| refusal.to_string().contains("--pty")));
        let one = Launch { size: LaunchSize::Known(1), ..shell };
        assert_eq!(one.accepts(&Library::from_version(OPEN_MPI)), Ok(()));
    }
}
