//! Where the hook is, the library that is preloaded into programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The environment variable with the path of the hook.
pub const VARIABLE: &str = "NUMABENCH_WITNESS_HOOK";
/// The name of its file.
pub const FILE_NAME: &str = "libnumabench_witness.so";

/// The hook cannot be preloaded.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// There is no such file.
    #[error(
        "the library that is preloaded into the program is not found ({tried}): put {FILE_NAME} beside \
         numabench or into ../lib, or name it in {VARIABLE}"
    )]
    Missing {
        /// Where it was looked for.
        tried: String,
    },
    /// The dynamic linker's list of libraries cannot hold its path.
    #[error(
        "the path {0} has a space or a colon, which LD_PRELOAD cannot hold: name a copy of the library in \
         {VARIABLE}"
    )]
    PathNotPreloadable(String),
}

/// Finds the hook: what the variable names, or the file beside this program or in `../lib`,
/// `../lib/numabench`.
///
/// # Errors
/// [`HookError`].
pub fn find(variable: Option<&OsStr>, executable: &Path) -> Result<PathBuf, HookError> {
    let folder = executable.parent().unwrap_or(Path::new("."));
    let lib_folder = folder.parent().unwrap_or(folder).join("lib");
    let files = match variable.filter(|value| !value.is_empty()) {
        Some(named) => vec![PathBuf::from(named)],
        None => [folder.to_path_buf(), lib_folder.clone(), lib_folder.join("numabench")]
            .map(|folder| folder.join(FILE_NAME))
            .to_vec(),
    };
    let Some(found) = files.iter().find(|file| file.is_file()) else {
        let tried: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        return Err(HookError::Missing { tried: tried.join(", ") });
    };
    let found = std::path::absolute(found).unwrap_or_else(|_| found.clone());
    let text = found.display().to_string();
    if text.contains([' ', ':']) { Err(HookError::PathNotPreloadable(text)) } else { Ok(found) }
}
