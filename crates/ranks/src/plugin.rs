//! Finding and opening the MPI plug-in.
//!
//! It is a file named by `NUMABENCH_MPI`, or lies beside the executable, or in ../lib as an installation has
//! it. It runs as the user, so it is opened only from where nobody else can have put it (`file_ownership`),
//! whichever of the three named it.
//!
//! Opening it calls nothing of MPI but its version text; [`Plugin::start`] is what needs a launcher.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use plugin::{NotOpened, Opened, abi};

use crate::cray_gtl::{self, Gtl};
use crate::library;
use crate::mpi::{Mpi, ThreadLevel};
use crate::world::WorldError;
use sys::file_ownership::{self, Untrusted};

/// Why a file is not the plug-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginRejection {
    /// There is no such file.
    Absent,
    /// Somebody else could have put it there.
    Untrusted(Untrusted),
    /// The dynamic linker does not open it; in its words.
    CannotOpen(String),
    /// It opens, and is something else or of another version.
    Foreign(String),
}

/// A path that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The path.
    pub path: PathBuf,
    /// Why it is not the plug-in.
    pub why: PluginRejection,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            PluginRejection::Absent => write!(f, "{path}: no such file"),
            PluginRejection::Untrusted(why) => write!(f, "{path}: {why}"),
            // The linker names the file itself, or the library that the file needs: the path alone would hide
            // which.
            PluginRejection::CannotOpen(message) => write!(f, "{path}: {message}"),
            PluginRejection::Foreign(what) => write!(f, "{path}: {what}"),
        }
    }
}

/// There is no MPI plug-in to be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginError {
    /// Every path tried, in order.
    pub tried: Vec<Tried>,
}

impl PluginError {
    /// Whether no file was there at all: nobody has built the plug-in, or it lies elsewhere.
    pub fn is_absent(&self) -> bool {
        self.tried.iter().all(|tried| tried.why == PluginRejection::Absent)
    }
}

impl fmt::Display for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "no MPI plug-in ({}):", abi::FILE_NAME)?;
        for tried in &self.tried {
            writeln!(f, "  {tried}")?;
        }
        let remedy = match self
            .tried
            .iter()
            .find(|tried| tried.why != PluginRejection::Absent)
            .map(|tried| &tried.why)
        {
            None => {
                "load the MPI your launcher starts and run `cargo xtask mpi-plugin`, or let NUMABENCH_MPI \
                 name a plug-in"
            }
            Some(PluginRejection::Untrusted(_)) => {
                "copy numabench and the plug-in to a folder of your own (or chmod go-w what is yours), or \
                 let NUMABENCH_MPI name a plug-in that is safe"
            }
            Some(PluginRejection::CannotOpen(_)) => {
                "load the MPI module it was built with, or build it anew with `cargo xtask mpi-plugin`"
            }
            Some(_) => "build it anew with `cargo xtask mpi-plugin`, from the sources of this numabench",
        };

        write!(f, "{remedy}")
    }
}

impl std::error::Error for PluginError {}

/// An opened plug-in.
#[derive(Clone, Debug)]
pub struct Plugin {
    opened: Opened,
    path: PathBuf,
    library: library::Library,
    gtl: &'static Gtl,
}

impl Plugin {
    /// Opens the file that `variable` (the value of `NUMABENCH_MPI`) names, and nothing else if it names one;
    /// or else the one beside `executable` or in ../lib of its folder. Before that what Cray MPICH wants for
    /// GPUs is brought in, unless it was ([`cray_gtl::bring_in`]).
    ///
    /// # Errors
    /// [`PluginError`] with every path tried.
    pub fn find(variable: Option<&OsStr>, executable: &Path) -> Result<Self, PluginError> {
        let mut tried = Vec::new();
        let gtl = cray_gtl::bring_in();
        for path in candidates(variable, executable) {
            match Self::open(&path, gtl) {
                Ok(plugin) => return Ok(plugin),
                Err(why) => tried.push(Tried { path, why }),
            }
        }
        Err(PluginError { tried })
    }

    fn open(path: &Path, gtl: &'static Gtl) -> Result<Self, PluginRejection> {
        match path.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(PluginRejection::Absent),
            Err(error) => return Err(PluginRejection::CannotOpen(error.to_string())),
        }
        file_ownership::may_open(path).map_err(PluginRejection::Untrusted)?;
        let opened = Opened::open(path).map_err(|why| match why {
            NotOpened::ByLinker(words) => PluginRejection::CannotOpen(words),
            NotOpened::Foreign(what) => PluginRejection::Foreign(what),
        })?;
        let library = library::Library::from_version(&opened.version());
        Ok(Self { opened, path: path.into(), library, gtl })
    }

    /// The file it was opened from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was done about the library that Cray MPICH wants for GPUs.
    pub fn gtl(&self) -> &Gtl {
        self.gtl
    }

    /// The MPI it was linked with. Known without a launcher.
    pub fn library(&self) -> &library::Library {
        &self.library
    }

    /// Starts MPI in this thread, which from now on makes all calls. Collective over the launch: it returns
    /// when all have come, so a launch that is not one for this MPI must have been recognised before. Once in
    /// a process. `wanted`: the thread level, where it matters; `Single` is for measuring alone, where no
    /// other thread does anything.
    ///
    /// # Errors
    /// [`WorldError`] if MPI cannot be started. Some MPIs end the process instead.
    pub fn start(self, wanted: Option<ThreadLevel>) -> Result<Mpi, WorldError> {
        Mpi::start(self.opened, &self.library, wanted)
    }
}

fn candidates(variable: Option<&OsStr>, executable: &Path) -> Vec<PathBuf> {
    if let Some(named) = variable.filter(|value| !value.is_empty()) {
        // With a slash in it, or the linker would search its own folders for a bare name.
        return vec![std::path::absolute(named).unwrap_or_else(|_| named.into())];
    }
    let folder = executable.parent().unwrap_or(Path::new("."));
    let installed = folder.parent().unwrap_or(folder).join("lib");
    vec![folder.join(abi::FILE_NAME), installed.join(abi::FILE_NAME)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_for_beside_the_executable_and_in_lib_unless_the_variable_names_it() {
        let executable = Path::new("/opt/numabench/bin/numabench");
        let found = ["/opt/numabench/bin/libnumabench_mpi.so", "/opt/numabench/lib/libnumabench_mpi.so"];
        for unset in [None, Some(OsStr::new(""))] {
            assert_eq!(candidates(unset, executable), found.map(PathBuf::from));
        }
        assert_eq!(candidates(Some(OsStr::new("/x/y.so")), executable), [PathBuf::from("/x/y.so")]);
        assert!(candidates(Some(OsStr::new("y.so")), executable)[0].is_absolute());
    }

    #[test]
    fn what_is_not_there_is_named_with_the_way_to_build_it() {
        let error = Plugin::find(None, Path::new("/nonexistent/bin/numabench")).expect_err("nothing there");
        assert!(error.is_absent());
        assert_eq!(
            error.to_string(),
            "no MPI plug-in (libnumabench_mpi.so):\n  /nonexistent/bin/libnumabench_mpi.so: no such file\n  \
             /nonexistent/lib/libnumabench_mpi.so: no such file\n\
             load the MPI your launcher starts and run `cargo xtask mpi-plugin`, or let NUMABENCH_MPI name a \
             plug-in"
        );
    }

    #[test]
    fn a_file_that_cannot_be_looked_for_is_not_said_to_be_absent() {
        // What stands before the name is no folder.
        let below_a_file = OsStr::new("/proc/self/stat/x.so");
        let error = Plugin::find(Some(below_a_file), Path::new("/x")).expect_err("no library");
        assert!(!error.is_absent() && error.to_string().contains("Not a directory"), "{error}");
    }

    #[test]
    fn what_the_linker_refuses_is_told_in_its_words() {
        let error =
            Plugin::find(Some(OsStr::new("/proc/self/stat")), Path::new("/x")).expect_err("no library");
        assert!(!error.is_absent());
        let text = error.to_string();
        assert!(
            text.contains("/proc/self/stat: ") && text.contains("load the MPI module it was built with"),
            "{text}"
        );
    }
}
