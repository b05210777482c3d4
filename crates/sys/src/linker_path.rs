//! Where the dynamic linker would find a library that is named to it: the folders of `LD_LIBRARY_PATH`,
//! before those of the system.
//!
//! The linker opens a driver by its name as it does for every program, and numabench's own libraries before
//! `main`: whoever sets `LD_LIBRARY_PATH` decides which code runs. What no user means is refused: a library
//! in a folder to which everybody may write, and one that an empty or relative entry finds, which is in
//! whatever folder the command was started in. Folders of other users are believed, unlike those of a path
//! (`file_ownership`): sites have drivers' libraries in folders of an account of their own, and containers
//! bring them in with a number that is nobody's.
//!
//! Left out: what the library itself needs, which the linker finds by itself, and a file that is put there
//! between this look and the opening.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::file_ownership::{Untrusted, nobody_else_writes};

/// Why a library that is named to the linker is not opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// An empty or relative entry of `LD_LIBRARY_PATH` finds it.
    Relative {
        /// The entry.
        entry: String,
        /// What it finds.
        name: String,
    },
    /// Everybody may write to it, or to a folder above it.
    Untrusted(Untrusted),
}

impl fmt::Display for Refused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative { entry, name } => write!(
                to,
                "{name} is not opened, because the entry \"{entry}\" of LD_LIBRARY_PATH finds it in the \
                 folder that the command was started in: name whole paths there, and leave no entry empty"
            ),
            Self::Untrusted(why) => {
                write!(to, "{why}; take that folder out of LD_LIBRARY_PATH, or chmod o-w it")
            }
        }
    }
}

/// Whether the linker may be given this name of a library: a name that it does not find in `LD_LIBRARY_PATH`
/// may.
///
/// # Errors
/// [`Refused`]: what the linker would open, and why it must not.
pub fn may_be_named(name: &str) -> Result<(), Refused> {
    if name.contains('/') {
        return Ok(());
    }
    let folders = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    found_in(&folders, name)
}

fn found_in(folders: &OsStr, name: &str) -> Result<(), Refused> {
    // An empty variable is no list; an empty entry is the folder of the process.
    if folders.is_empty() {
        return Ok(());
    }
    for entry in folders.as_bytes().split(|byte| matches!(byte, b':' | b';')) {
        let entry = Path::new(OsStr::from_bytes(entry));
        let folder = if entry.as_os_str().is_empty() { Path::new(".") } else { entry };
        let Some(library) = library_in(folder, name) else { continue };
        if !entry.is_absolute() {
            return Err(Refused::Relative { entry: entry.display().to_string(), name: name.to_owned() });
        }
        return nobody_else_writes(&library).map_err(Refused::Untrusted);
    }
    Ok(())
}

/// The library in a folder, or in one of those for newer processors below it, which come first (ld.so(8),
/// `glibc-hwcaps`).
fn library_in(folder: &Path, name: &str) -> Option<PathBuf> {
    let below = folder.join("glibc-hwcaps").read_dir().into_iter().flatten().flatten();
    let folders = below.map(|entry| entry.path()).chain([folder.to_path_buf()]);
    folders.map(|folder| folder.join(name)).find(|library| library.exists())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NAME: &str = "libnumabench-driver.so.1";

    fn folder(mode: u32) -> std::io::Result<tempfile::TempDir> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join(NAME), "")?;
        fs::set_permissions(folder.path(), Permissions::from_mode(mode))?;
        Ok(folder)
    }

    fn refusal(folders: &str) -> String {
        found_in(OsStr::new(folders), NAME).err().map(|why| why.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_library_where_everybody_may_write_is_not_opened_and_the_folder_is_named() -> std::io::Result<()> {
        let open = folder(0o777)?;
        let path = open.path().display().to_string();
        let said = refusal(&format!("/nonexistent:{path}"));
        assert!(said.contains(&format!("others may write to {path} (mode 777)")), "{said}");
        assert!(said.ends_with("take that folder out of LD_LIBRARY_PATH, or chmod o-w it"), "{said}");
        // Below it too, for newer processors.
        let closed = tempfile::tempdir()?;
        let newer = closed.path().join("glibc-hwcaps/x86-64-v3");
        fs::create_dir_all(&newer)?;
        fs::write(newer.join(NAME), "")?;
        fs::set_permissions(&newer, Permissions::from_mode(0o777))?;
        let said = refusal(&closed.path().display().to_string());
        assert!(said.contains("x86-64-v3 (mode 777)"), "{said}");
        Ok(())
    }

    #[test]
    fn a_library_that_an_empty_or_relative_entry_finds_is_not_opened() -> std::io::Result<()> {
        let here = env::current_dir()?;
        let library = tempfile::Builder::new().prefix("libnumabench").tempfile_in(&here)?;
        let name = library.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        for folders in [":/nonexistent", "/nonexistent:", ".", "/nonexistent:./"] {
            let found = found_in(OsStr::new(folders), &name);
            assert!(matches!(found, Err(Refused::Relative { .. })), "{folders}: {found:?}");
        }
        Ok(())
    }

    #[test]
    fn a_library_of_a_closed_folder_is_opened_and_so_is_one_that_the_list_does_not_have()
    -> std::io::Result<()> {
        let closed = folder(0o755)?;
        let path = closed.path().display().to_string();
        assert_eq!(refusal(&path), "");
        // The first that has it is the one that is opened.
        let open = folder(0o777)?;
        assert_eq!(refusal(&format!("{path}:{}", open.path().display())), "");
        assert_eq!((refusal(""), refusal("/nonexistent::./nowhere")), (String::new(), String::new()));
        Ok(())
    }
}
