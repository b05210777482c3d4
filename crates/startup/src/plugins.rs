//! Which MPI plug-in a launch is given: the one that is named, the site's own, or one of those that a release
//! brings.
//!
//! `ranks::Plugin` opens what `NUMABENCH_MPI` names or what a site has put beside the binary or in ../lib;
//! that stays so. A release that is unpacked on many systems brings one for each family of MPIs, in folders
//! of their own:
//!
//! ```text
//! bin/numabench   lib/numabench/openmpi/   lib/numabench/mpich/   lib/numabench/mpi-abi/
//! ```
//!
//! They have no path to an MPI in them: each can be opened where the dynamic linker finds its MPI, which is
//! what loading the MPI's module does. Those of the launcher's family are tried first, and the first that can
//! be opened is taken; whether it and the launch go together is then `launchers::Launch`'s to say. Left out:
//! looking for an MPI that no module has loaded.
//!
//! The one for the standard's interface (MPI 5.0) is every MPI's. Only one is ever opened, because an MPI
//! that is open answers for the next one too, so what it would be is not looked at first. Where the launcher
//! is surely one family's, it goes before the other family's: that one can only be another MPI of the
//! machine. Where that is a guess it goes last.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use launchers::{Interface, Launch};
use ranks::{Flavour, Plugin, PluginError, abi};

/// The variable that names a plug-in.
pub const VARIABLE: &str = "NUMABENCH_MPI";

/// Open MPI's family, and that of MPICH and what keeps its binary interface.
const OPEN_MPI: &str = "openmpi";
const MPICH: &str = "mpich";
/// The MPI standard's own interface, whichever family's.
const STANDARD: &str = "mpi-abi";

/// Opens the plug-in for this launch.
///
/// # Errors
/// None of them can be opened: every path tried.
pub fn find(launch: &Launch) -> Result<Plugin, PluginError> {
    let variable = std::env::var_os(VARIABLE);
    let executable = std::env::current_exe().unwrap_or_default();
    let files = files(variable.as_deref(), &executable);
    if files.is_empty() {
        return Plugin::find(variable.as_deref(), &executable);
    }
    let mut tried = Vec::new();
    for file in order(&files, launch) {
        match Plugin::find(Some(file.as_os_str()), &executable) {
            Ok(plugin) => return Ok(plugin),
            Err(error) => tried.extend(error.tried),
        }
    }
    Err(PluginError { tried })
}

/// The plug-ins that are there: what the variable names and nothing else, or the site's own and those of the
/// release.
pub fn files(variable: Option<&OsStr>, executable: &Path) -> Vec<PathBuf> {
    if let Some(named) = variable.filter(|value| !value.is_empty()) {
        return vec![named.into()];
    }
    let folder = executable.parent().unwrap_or(Path::new("."));
    let library = folder.parent().unwrap_or(folder).join("lib");
    let families = [OPEN_MPI, MPICH, STANDARD].map(|family| library.join("numabench").join(family));
    let folders = [folder.to_path_buf(), library.clone()].into_iter().chain(families);
    folders.map(|folder| folder.join(abi::FILE_NAME)).filter(|file| file.exists()).collect()
}

/// The files in the order in which this launch tries them: a site's own first, then those of its launcher's
/// family.
pub fn order(files: &[PathBuf], launch: &Launch) -> Vec<PathBuf> {
    let family = |file: &PathBuf| Some(file.parent()?.file_name()?.to_str()?.to_owned());
    let usual = launch.launcher.facts().usual_mpi;
    let is_open_mpi =
        usual.map_or(launch.interface == Interface::Pmix, |mpi| mpi.flavour == Flavour::OpenMpi);
    let (own, is_sure) = (if is_open_mpi { OPEN_MPI } else { MPICH }, usual.is_some_and(|mpi| mpi.is_only));
    let mut ordered = files.to_vec();
    ordered.sort_by_key(|file| match family(file).as_deref() {
        Some(name) if name == own => 1,
        Some(STANDARD) if is_sure => 2,
        Some(OPEN_MPI | MPICH) => 3,
        Some(STANDARD) => 4,
        _ => 0,
    });
    ordered
}

#[cfg(test)]
mod tests {
    use launchers::Launcher;

    use super::*;

    /// A release with these plug-ins in it, and the executable's path.
    fn release(files: &[&str]) -> std::io::Result<(tempfile::TempDir, PathBuf)> {
        let release = tempfile::tempdir()?;
        for file in files {
            let path = release.path().join(file).join(abi::FILE_NAME);
            std::fs::create_dir_all(path.parent().unwrap_or(release.path()))?;
            std::fs::write(path, "")?;
        }
        let executable = release.path().join("bin/numabench");
        Ok((release, executable))
    }

    fn names(release: &Path, files: &[PathBuf]) -> Vec<String> {
        let inside = files.iter().filter_map(|file| file.parent()?.strip_prefix(release).ok());
        inside.map(|folder| folder.display().to_string()).collect()
    }

    #[test]
    fn a_release_has_one_for_each_family_and_the_standards_goes_before_what_is_surely_another_familys()
    -> std::io::Result<()> {
        let all = ["lib/numabench/openmpi", "lib/numabench/mpich", "lib/numabench/mpi-abi"];
        let (release, executable) = release(&all)?;
        let found = files(None, &executable);
        assert_eq!(names(release.path(), &found), all);
        let [open_mpi, mpich, standard] = all;

        for (launcher, interface, expected) in [
            (Launcher::Mpirun, Interface::Pmix, [open_mpi, standard, mpich]),
            (Launcher::Srun, Interface::Pmix, [open_mpi, mpich, standard]),
            (Launcher::Srun, Interface::Pmi2, [mpich, open_mpi, standard]),
            (Launcher::Hydra, Interface::Pmi1, [mpich, standard, open_mpi]),
            (Launcher::Pals, Interface::Cray, [mpich, open_mpi, standard]),
        ] {
            let launch = Launch { launcher, interface, ..Launch::ALONE };
            assert_eq!(names(release.path(), &order(&found, &launch)), expected, "{launcher:?}");
        }
        Ok(())
    }

    #[test]
    fn what_a_site_has_built_goes_before_what_a_release_brings_and_a_named_one_before_all()
    -> std::io::Result<()> {
        let brought = ["lib/numabench/mpich", "lib/numabench/mpi-abi"];
        let (release, executable) = release(&["lib", brought[0], brought[1], "bin"])?;
        let found = files(Some(OsStr::new("")), &executable);
        assert_eq!(
            names(release.path(), &order(&found, &Launch::ALONE)),
            ["bin", "lib", brought[0], brought[1]]
        );
        assert_eq!(files(Some(OsStr::new("/x/y.so")), &executable), [Path::new("/x/y.so")]);
        Ok(())
    }
}
