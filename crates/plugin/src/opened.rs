//! Libraries that are opened at run time and never closed: the plug-in, and what Cray MPICH wants beside it.
//!
//! All symbols are bound at once (a wrong MPI is found now and not in the middle of a run) and globally
//! visible: Open MPI opens its components at run time, and they expect to find libmpi's symbols there. No MPI
//! expects to be closed.

use std::path::Path;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::abi;
use crate::calls::{Calls, WorldError, text};

/// Why a file is not the plug-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotOpened {
    /// The dynamic linker does not open it; in its words.
    ByLinker(String),
    /// It opens, and is something else or of another version.
    Foreign(String),
}

/// A plug-in that is open.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    table: &'static abi::FunctionTable,
}

/// Opens a library for the rest of the process's life.
///
/// Its initialisers run now: the caller knows that nobody else can have put the file there.
///
/// # Errors
/// The linker's words.
pub fn keep_open(path: &Path) -> Result<(), String> {
    open(path).map(std::mem::forget)
}

fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: opening a library runs its initialisers. The file is one that the user or the site named for
    // this, and the caller has looked whether anybody else can have put it there; those of an MPI library,
    // and of what it uses, run before main in every MPI program.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map_err(|error| {
        // The error says only which call failed; the linker's own words, which name the library that is
        // missing, are its source.
        let linkers = std::error::Error::source(&error).map(ToString::to_string);
        linkers.unwrap_or_else(|| error.to_string())
    })
}

impl Opened {
    /// Opens the plug-in, which calls nothing of MPI. The caller knows that nobody else can have put the file
    /// there.
    ///
    /// # Errors
    /// [`NotOpened`].
    pub fn open(path: &Path) -> Result<Self, NotOpened> {
        let opened = open(path).map_err(NotOpened::ByLinker)?;
        // SAFETY: the symbol's name belongs to this interface and holds its version, so what bears it has
        // this type.
        let entry = unsafe { opened.get::<abi::Entry>(abi::SYMBOL.to_bytes_with_nul()) };
        let Ok(entry) = entry.map(|entry| *entry) else {
            let symbol = abi::SYMBOL.to_string_lossy();
            return Err(NotOpened::Foreign(format!(
                "it has no `{symbol}`, so it is not a plug-in for this numabench"
            )));
        };

        // SAFETY: the entry has no preconditions.
        let table = unsafe { entry() };

        // SAFETY: it gives the address of a table that lives as long as the library is open, or null. The
        // first two fields are in every version, and nothing else is looked at before they have said that the
        // rest is there.
        let (version, bytes) = match unsafe { table.as_ref() } {
            Some(table) => (table.version, table.bytes as usize),
            None => (0, 0),
        };

        if version != abi::VERSION || bytes < size_of::<abi::FunctionTable>() {
            let (wanted, size) = (abi::VERSION, size_of::<abi::FunctionTable>());
            return Err(NotOpened::Foreign(format!(
                "interface version {version} of {bytes} bytes, where {wanted} of {size} bytes is needed"
            )));
        }

        // The table and MPI itself live from now on to the end of the process. (What was refused above is
        // closed again.)
        std::mem::forget(opened);

        // SAFETY: as above, and it is as long as ours.
        let table: &'static abi::FunctionTable = unsafe { &*table };
        Ok(Self { table })
    }

    /// The version text of the MPI that it was linked with. Known without a launcher.
    pub fn version(&self) -> String {
        // SAFETY: `library` writes at most `capacity` bytes to `buffer`; that is its interface.
        text(|buffer, capacity| unsafe { (self.table.library)(buffer, capacity) })
    }

    /// Starts MPI in this thread, which from now on makes all calls; `place` says how, and what MPI made of
    /// it comes back. Collective over the launch.
    ///
    /// # Errors
    /// What failed. Some MPIs end the process instead.
    pub fn start(self, mut place: abi::RawPlace) -> Result<(Calls, abi::RawPlace), WorldError> {
        let calls = Calls::of(self.table);
        // SAFETY: `start` fills in the place, which is ours alone meanwhile.
        calls.check(unsafe { (self.table.start)(&raw mut place) })?;
        Ok((calls, place))
    }
}
