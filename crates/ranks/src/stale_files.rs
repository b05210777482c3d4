//! What processes that were killed have left in a folder that all users share: known by a name and by a lock
//! that nobody holds any more.
//!
//! A process id would not do: in another container's /proc it is another process. The kernel takes a lock
//! away with the last process that has the file open, however that ends, and tells every process of the node
//! the same of it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};

/// What is younger may have been made and not locked yet.
const YOUNG: Duration = Duration::from_secs(60);

/// Says that this process lives, for as long as the file (or folder) is open. Where a file system has no
/// locks nothing is removed either.
pub fn hold(file: &File) {
    let _ = flock(file, FlockOperation::NonBlockingLockShared);
}

/// Removes the files and folders of this user whose name begins so, that nobody holds.
pub fn sweep(folder: &Path, prefix: &str) {
    sweep_older(folder, prefix, YOUNG);
}

fn sweep_older(folder: &Path, prefix: &str, young: Duration) {
    let me = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        // Not followed: a link that another user made leads elsewhere.
        let Ok(meta) = entry.metadata() else { continue };
        let age = meta.modified().ok().and_then(|then| then.elapsed().ok()).unwrap_or_default();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(prefix)) && meta.uid() == me;
        if !is_ours || age < young || !(meta.is_file() || meta.is_dir()) {
            continue;
        }

        let flags = (OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK).bits().cast_signed();
        let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(&path) else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = if meta.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Done = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn what_nobody_holds_goes_and_what_somebody_holds_stays() -> Done {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        for name in ["numabench-left", "numabench-held", "another"] {
            fs::write(at(name), "")?;
        }
        for name in ["numabench-folder", "numabench-held-folder"] {
            fs::create_dir(at(name))?;
            fs::write(at(name).join("output"), "")?;
        }

        std::os::unix::fs::symlink(at("another"), at("numabench-link"))?;
        let holders = [File::open(at("numabench-held"))?, File::open(at("numabench-held-folder"))?];
        holders.iter().for_each(hold);
        sweep(folder.path(), "numabench-");
        assert!(at("numabench-left").exists(), "it is young");
        sweep_older(folder.path(), "numabench-", Duration::ZERO);
        let mut names: Vec<_> =
            fs::read_dir(folder.path())?.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        assert_eq!(names, ["another", "numabench-held", "numabench-held-folder", "numabench-link"]);
        drop(holders);
        sweep_older(folder.path(), "numabench-", Duration::ZERO);
        assert!(!at("numabench-held").exists() && !at("numabench-held-folder").exists());
        Ok(())
    }
}
