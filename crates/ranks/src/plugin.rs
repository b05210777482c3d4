//! Finding and opening the MPI plug-in.
//!
//! It is a file named by `NUMABENCH_MPI`, or lies beside the executable, or in ../lib as an installation has it. It runs as the user, so it is opened
//! only from where nobody else can have put it (`trust`), whichever of the three named it. It is opened with all
//! its symbols bound (a wrong MPI is found now and not in the middle of a run) and globally visible: Open MPI opens its components
//! at run time, and they expect to find libmpi's symbols there. It is never closed, which no MPI expects.
//!
//! Opening it calls nothing of MPI but its version text; [`Plugin::start`] is what needs a launcher.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::gtl::{self, Gtl};
use crate::mpi::{Mpi, ThreadLevel, text};
use crate::trust::{self, Untrusted};
use crate::world::WorldError;
use crate::{abi, library};

/// Why a file is not the plug-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
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
    pub why: Why,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Why::Absent => write!(f, "{path}: no such file"),
            Why::Untrusted(why) => write!(f, "{path}: {why}"),
            // The linker names the file itself, or the library that the file needs: the path alone would hide which.
            Why::CannotOpen(message) => write!(f, "{path}: {message}"),
            Why::Foreign(what) => write!(f, "{path}: {what}"),
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
        self.tried.iter().all(|tried| tried.why == Why::Absent)
    }
}

impl fmt::Display for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "no MPI plug-in ({}):", abi::FILE_NAME)?;
        for tried in &self.tried {
            writeln!(f, "  {tried}")?;
        }
        let remedy = match self.tried.iter().find(|tried| tried.why != Why::Absent).map(|tried| &tried.why) {
            None => {
                "load the MPI your launcher starts and run `cargo xtask mpi-plugin`, or let NUMABENCH_MPI name a plug-in"
            }
            Some(Why::Untrusted(_)) => {
                "copy numabench and the plug-in to a folder of your own (or chmod go-w what is yours), or let NUMABENCH_MPI name a plug-in that is safe"
            }
            Some(Why::CannotOpen(_)) => {
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
    table: &'static abi::Table,
    path: PathBuf,
    library: library::Library,
    gtl: Gtl,
}

impl Plugin {
    /// Opens the file that `variable` (the value of `NUMABENCH_MPI`) names, and nothing else if it names one; or else the one beside
    /// `executable` or in ../lib of its folder. Before that what Cray MPICH wants for GPUs is brought in, which may change the environment: nobody else reads
    /// it meanwhile.
    ///
    /// # Errors
    /// [`PluginError`] with every path tried.
    pub fn find(variable: Option<&OsStr>, executable: &Path) -> Result<Self, PluginError> {
        let mut tried = Vec::new();
        let gtl = gtl::bring_in(&std::env::vars_os().collect::<Vec<_>>());
        for path in candidates(variable, executable) {
            match Self::open(&path, &gtl) {
                Ok(plugin) => return Ok(plugin),
                Err(why) => tried.push(Tried { path, why }),
            }
        }
        Err(PluginError { tried })
    }

    fn open(path: &Path, gtl: &Gtl) -> Result<Self, Why> {
        if !path.exists() {
            return Err(Why::Absent);
        }
        trust::may_open(path).map_err(Why::Untrusted)?;
        // The error says only which call failed; the linker's own words, which name the library that is missing, are its source.
        let cannot = |error: libloading::Error| {
            let linkers = std::error::Error::source(&error).map(ToString::to_string);
            Why::CannotOpen(linkers.unwrap_or_else(|| error.to_string()))
        };
        // SAFETY: opening a library runs its initialisers. The file is one the user or the installation named for this, and nobody else
        // can have put it there; those of an MPI library run before main in every MPI program.
        let opened = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map_err(cannot)?;
        // SAFETY: the symbol's name belongs to this interface and holds its version, so what bears it has this type.
        let entry = unsafe { opened.get::<abi::Entry>(abi::SYMBOL.to_bytes_with_nul()) };
        let Ok(entry) = entry.map(|entry| *entry) else {
            let symbol = abi::SYMBOL.to_string_lossy();
            return Err(Why::Foreign(format!("it has no `{symbol}`, so it is not a plug-in for this numabench")));
        };
        // SAFETY: the entry has no preconditions.
        let table = unsafe { entry() };
        // SAFETY: it gives the address of a table that lives as long as the library is open, or null. The first two fields are in every
        // version, and nothing else is looked at before they have said that the rest is there.
        let (version, bytes) = match unsafe { table.as_ref() } {
            Some(table) => (table.version, table.bytes as usize),
            None => (0, 0),
        };
        if version != abi::VERSION || bytes < size_of::<abi::Table>() {
            let (wanted, size) = (abi::VERSION, size_of::<abi::Table>());
            return Err(Why::Foreign(format!(
                "interface version {version} of {bytes} bytes, where {wanted} of {size} bytes is needed"
            )));
        }
        // The table and MPI itself live from now on to the end of the process. (What was refused above is closed again.)
        std::mem::forget(opened);
        // SAFETY: as above, and it is as long as ours.
        let table: &'static abi::Table = unsafe { &*table };
        // SAFETY: `library` writes at most `capacity` bytes to `buffer`; that is its interface.
        let version = text(|buffer, capacity| unsafe { (table.library)(buffer, capacity) });
        Ok(Self { table, path: path.into(), library: library::Library::from_version(&version), gtl: gtl.clone() })
    }

    /// The file it was opened from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was done about the library that Cray MPICH wants for GPUs.
    pub fn gtl(&self) -> &Gtl {
        &self.gtl
    }

    /// The MPI it was linked with. Known without a launcher.
    pub fn library(&self) -> &library::Library {
        &self.library
    }

    /// Starts MPI in this thread, which from now on makes all calls. Collective over the launch: it returns when all have come, so a launch that
    /// is not one for this MPI must have been recognised before. Once in a process. `wanted`: the thread level, where it matters; `Single` is
    /// for measuring alone, where no other thread does anything.
    ///
    /// # Errors
    /// [`WorldError`] if MPI cannot be started. Some MPIs end the process instead.
    pub fn start(self, wanted: Option<ThreadLevel>) -> Result<Mpi, WorldError> {
        Mpi::start(self.table, wanted)
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
            "no MPI plug-in (libnumabench_mpi.so):\n  \
             /nonexistent/bin/libnumabench_mpi.so: no such file\n  \
             /nonexistent/lib/libnumabench_mpi.so: no such file\n\
             load the MPI your launcher starts and run `cargo xtask mpi-plugin`, or let NUMABENCH_MPI name a plug-in"
        );
    }

    #[test]
    fn what_the_linker_refuses_is_told_in_its_words() {
        let error = Plugin::find(Some(OsStr::new("/proc/self/stat")), Path::new("/x")).expect_err("no library");
        assert!(!error.is_absent());
        let text = error.to_string();
        assert!(text.contains("/proc/self/stat: ") && text.contains("load the MPI module it was built with"), "{text}");
    }
}
