//! The file that a path names, links followed: by the kernel's own rule for links in folders where all may
//! write.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fstat, open, readlinkat};

use super::SinkError;

/// A chain of links longer than this is a ring, as for the kernel.
const LINKS: usize = 40;

/// The file that a link names, through further links, whether it exists or not; any other path is itself.
///
/// The kernel follows no link of another user in a folder with the sticky bit where all may write
/// (`fs.protected_symlinks`, proc(5)): in /tmp anybody can put one in the place of somebody's next file.
/// Links that are followed here never come before that rule, so it is kept here, switched on or not; and for
/// the folders of the path too, of which the kernel asks nothing.
///
/// # Errors
/// [`SinkError::ForeignLink`] for such a link.
pub(super) fn end_of_links(path: &Path) -> Result<PathBuf, SinkError> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        for folder in path.ancestors().skip(1) {
            target(folder)?;
        }
        let Some(named) = target(&path)? else { break };
        path = folder_of(&path).join(named);
    }
    Ok(path)
}

/// The folder that the last name of a path stands in.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path in a link; `None` for a file of another kind, or none. Owner and path are read of one opened
/// link: nobody can put another one in its place between the two.
fn target(path: &Path) -> Result<Option<PathBuf>, SinkError> {
    const STICKY_AND_OPEN: u32 = 0o1002;
    let Ok(link) = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) else {
        return Ok(None);
    };
    let Ok(named) = readlinkat(&link, "", Vec::new()) else { return Ok(None) };
    let owner = fstat(&link).ok().map(|link| link.st_uid);
    let is_foreign = fs::metadata(folder_of(path)).is_ok_and(|around| {
        around.mode() & STICKY_AND_OPEN == STICKY_AND_OPEN
            && owner != Some(rustix::process::geteuid().as_raw())
            && owner != Some(around.uid())
    });
    if is_foreign {
        return Err(SinkError::ForeignLink { path: path.display().to_string() });
    }
    Ok(Some(OsStr::from_bytes(named.as_bytes()).into()))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    use super::*;
    use crate::sink::Sink;

    type Done = Result<(), Box<dyn std::error::Error>>;

    fn refusal(path: &Path) -> String {
        Sink::open(path).map_or_else(|error| error.to_string(), |_| "opened".into())
    }

    /// The file is not opened because of this link.
    #[track_caller]
    fn foreign(file: &Path, link: &Path) {
        let refused = Sink::open(file).err();
        let Some(SinkError::ForeignLink { path }) = &refused else { panic!("{refused:?}") };
        assert_eq!(Path::new(path).file_name(), link.file_name(), "{path}");
    }

    #[test]
    #[allow(clippy::print_stderr)]
    fn a_link_of_another_user_in_a_folder_for_all_is_not_followed() -> Done {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED links of another user: only root can make one");
            return Ok(());
        }
        let (folder, own) = (tempfile::tempdir()?, tempfile::tempdir()?);
        fs::set_permissions(folder.path(), Permissions::from_mode(0o1777))?;
        let (link, mine) = (folder.path().join("result.json"), own.path().join("mine"));
        fs::write(&mine, "mine")?;

        for target in [mine.clone(), own.path().join("not-there")] {
            symlink(&target, &link)?;
            lchown(&link, Some(65534), None)?;
            foreign(&link, &link);
            // Nor where a link of one's own leads to it.
            let way = own.path().join("way");
            symlink(&link, &way)?;
            foreign(&way, &link);
            fs::remove_file(&way)?;
            fs::remove_file(&link)?;
        }

        assert_eq!(fs::read_to_string(&mine)?, "mine");

        // Nor as the folder of a file.
        let way = folder.path().join("way");
        symlink(own.path(), &way)?;
        lchown(&way, Some(65534), None)?;
        foreign(&way.join("new.json"), &way);

        // The folder's owner may, and so may everybody where nobody else writes.
        symlink(&mine, &link)?;
        lchown(&link, Some(65534), None)?;
        chown(folder.path(), Some(65534), None)?;
        assert_eq!(refusal(&link), "opened");
        chown(folder.path(), Some(0), None)?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        assert_eq!(refusal(&link), "opened");
        Ok(())
    }
}
