//! What lies in a folder, in order; and a folder of which nothing is left. Errors name the folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The paths of what lies in a folder, sorted.
///
/// # Errors
/// It cannot be read.
pub fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder).and_then(|all| all.map(|entry| Ok(entry?.path())).collect());
    let mut paths: Vec<PathBuf> = paths.with_context(|| format!("cannot list {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

/// Removes the folder with all that is in it; what an earlier version had, this one may not have.
///
/// # Errors
/// Something in it cannot be removed.
pub fn removed(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}
