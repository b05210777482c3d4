//! Which MPI plug-in a launch is given: the one that is named, the site's own, or one of those that a release brings.
//!
//! `ranks::Plugin` opens what `NUMABENCH_MPI` names or what a site has put beside the binary or in ../lib; that stays so. A release that is
//! unpacked on many systems brings one for each family of MPIs, in folders of their own:
//!
//! ```text
//! bin/numabench   lib/numabench/openmpi/   lib/numabench/mpich/
//! ```
//!
//! They have no path to an MPI in them: each can be opened where the dynamic linker finds its MPI, which is what loading the MPI's module
//! does. Those of the launcher's family are tried first, and the first that can be opened is taken; whether it and the launch go together
//! is then `ranks::launch`'s to say. Left out: looking for an MPI that no module has loaded.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ranks::{Interface, Launch, Launcher, Plugin, PluginError, abi};

/// The variable that names a plug-in.
pub const VARIABLE: &str = "NUMABENCH_MPI";

/// Open MPI's family, and that of MPICH and what keeps its binary interface.
const OPEN_MPI: &str = "openmpi";
const MPICH: &str = "mpich";

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

/// The plug-ins that are there: what the variable names and nothing else, or the site's own and those of the release.
pub fn files(variable: Option<&OsStr>, executable: &Path) -> Vec<PathBuf> {
    if let Some(named) = variable.filter(|value| !value.is_empty()) {
        return vec![named.into()];
    }
    let folder = executable.parent().unwrap_or(Path::new("."));
    let library = folder.parent().unwrap_or(folder).join("lib");
    let families = [OPEN_MPI, MPICH].map(|family| library.join("numabench").join(family));
    let folders = [folder.to_path_buf(), library.clone()].into_iter().chain(families);
    folders.map(|folder| folder.join(abi::FILE_NAME)).filter(|file| file.exists()).collect()
}

/// The files in the order in which this launch tries them: a site's own first, then those of its launcher's family.
pub fn order(files: &[PathBuf], launch: &Launch) -> Vec<PathBuf> {
    let family = |file: &PathBuf| Some(file.parent()?.file_name()?.to_str()?.to_owned());
    let open_mpi_first = match launch.launcher {
        Launcher::Mpirun => true,
        Launcher::Hydra | Launcher::Pals => false,
        _ => launch.interface == Interface::Pmix,
    };
    let mut ordered = files.to_vec();
    ordered.sort_by_key(|file| match family(file).as_deref() {
        Some(OPEN_MPI) => 1 + usize::from(!open_mpi_first),
        Some(MPICH) => 1 + usize::from(open_mpi_first),
        _ => 0,
    });
    ordered
}

#[cfg(test)]
mod tests {
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
    fn a_release_has_one_for_each_family_and_the_launchers_own_is_tried_first() -> std::io::Result<()> {
        let all = ["lib/numabench/openmpi", "lib/numabench/mpich"];
        let (release, executable) = release(&all)?;
        let found = files(None, &executable);
        assert_eq!(names(release.path(), &found), all);
        for (launcher, interface, first) in [
            (Launcher::Mpirun, Interface::Pmix, all[0]),
            (Launcher::Srun, Interface::Pmix, all[0]),
            (Launcher::Srun, Interface::Pmi2, all[1]),
            (Launcher::Hydra, Interface::Pmi1, all[1]),
            (Launcher::Pals, Interface::Cray, all[1]),
        ] {
            let launch = Launch { launcher, interface, ..Launch::ALONE };
            let ordered = names(release.path(), &order(&found, &launch));
            assert_eq!((ordered[0].as_str(), ordered.len()), (first, 2), "{launcher:?}");
        }
        Ok(())
    }

    #[test]
    fn what_a_site_has_built_goes_before_what_a_release_brings_and_a_named_one_before_all() -> std::io::Result<()> {
        let (release, executable) = release(&["lib", "lib/numabench/mpich", "bin"])?;
        let found = files(Some(OsStr::new("")), &executable);
        assert_eq!(names(release.path(), &order(&found, &Launch::ALONE)), ["bin", "lib", "lib/numabench/mpich"]);
        assert_eq!(files(Some(OsStr::new("/x/y.so")), &executable), [Path::new("/x/y.so")]);
        Ok(())
    }
}
