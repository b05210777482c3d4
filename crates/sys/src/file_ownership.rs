//! Whether a file may be opened as code: whose it is, and who else could have put it there.
//!
//! A library that is opened runs as the user. So the file and every folder above it must belong to the user,
//! to root, or to whoever owns the running executable (whose code runs already), and nobody else may be able
//! to change them:
//!
//! | | file, and the folder it lies in | folders above |
//! |---|---|---|
//! | others may write | refused | refused |
//! | a group may write | refused, unless it is the owner's own | root's are believed: projects' folders |
//! | others may write, sticky (`/tmp`) | nobody can put another file in this one's place | likewise |
//!
//! A group is its owner's own when it has the owner's number, as `useradd` makes them, or is root's. An
//! access control list shows in the group's bits. Left out: a file that its owner or root changes between
//! this look and its opening; who could do that needs no library. A library that is named to the dynamic
//! linker, as drivers are, is held to less (`linker_path`).

use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const STICKY: u32 = 0o1000;
const BY_GROUP: u32 = 0o020;
const BY_OTHERS: u32 = 0o002;

/// Why a file is not opened as code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untrusted {
    /// It, or a folder above it, belongs to somebody else.
    Foreign {
        /// What.
        path: PathBuf,
        /// Whose.
        user: u32,
    },
    /// Somebody else may write to it, or to a folder above it.
    Writable {
        /// To what.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It cannot be looked at.
    Unseen {
        /// What.
        path: PathBuf,
        /// In the system's words.
        why: String,
    },
}

impl fmt::Display for Untrusted {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign { path, user } => write!(
                to,
                "not opened, because {} belongs to user {user}: numabench opens code only from files and \
                 folders of yours, of root or of its own owner",
                path.display()
            ),
            Self::Writable { path, mode } => write!(
                to,
                "not opened, because others may write to {} (mode {:o}): numabench opens code only from \
                 where no other user can write",
                path.display(),
                mode & 0o7777
            ),
            Self::Unseen { path, why } => {
                write!(to, "not opened, because {} cannot be looked at: {why}", path.display())
            }
        }
    }
}

/// Whether the file at `path` may be opened as code by this process.
///
/// # Errors
/// [`Untrusted`]: what of it, or above it, is not as it must be.
pub fn may_open(path: &Path) -> Result<(), Untrusted> {
    let mut owners = vec![0, rustix::process::geteuid().as_raw()];
    // In a container root's files may have another number, which is then that of `/`.
    owners.extend(["/", "/proc/self/exe"].iter().filter_map(|path| Some(fs::metadata(path).ok()?.uid())));
    judged(path, &owners)
}

fn judged(path: &Path, owners: &[u32]) -> Result<(), Untrusted> {
    let real = seen(path, fs::canonicalize(path))?;
    // A link is looked at where it lies and where it leads.
    let link = seen(path, fs::symlink_metadata(path))?;
    if link.is_symlink() {
        is_owned(path, &link, owners)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        above(&seen(folder, fs::canonicalize(folder))?, owners)?;
    }
    let file = seen(&real, fs::metadata(&real))?;
    is_owned(&real, &file, owners)?;
    if may_be_changed(&file) {
        return Err(Untrusted::Writable { path: real, mode: file.mode() });
    }
    real.parent().map_or(Ok(()), |folder| above(folder, owners))
}

/// Looks at a folder and all above it.
fn above(folder: &Path, owners: &[u32]) -> Result<(), Untrusted> {
    for (at, folder) in folder.ancestors().enumerate() {
        let meta = seen(folder, fs::metadata(folder))?;
        is_owned(folder, &meta, owners)?;
        let is_sites = at > 0 && meta.uid() == 0 && meta.mode() & BY_OTHERS == 0;
        if may_be_changed(&meta) && !is_sites {
            return Err(Untrusted::Writable { path: folder.to_path_buf(), mode: meta.mode() });
        }
    }
    Ok(())
}

/// Whether everybody may write to the file at `path`, or put another one in its place or in that of a folder
/// above it.
///
/// # Errors
/// [`Untrusted`]: to what everybody may write.
pub(crate) fn nobody_else_writes(path: &Path) -> Result<(), Untrusted> {
    let real = seen(path, fs::canonicalize(path))?;
    for part in real.ancestors() {
        let meta = seen(part, fs::metadata(part))?;
        let is_sticky = meta.is_dir() && meta.mode() & STICKY != 0;
        if meta.mode() & BY_OTHERS != 0 && !is_sticky {
            return Err(Untrusted::Writable { path: part.to_path_buf(), mode: meta.mode() });
        }
    }
    Ok(())
}

fn seen<T>(path: &Path, looked: std::io::Result<T>) -> Result<T, Untrusted> {
    looked.map_err(|error| Untrusted::Unseen { path: path.to_path_buf(), why: error.to_string() })
}

fn is_owned(path: &Path, meta: &Metadata, owners: &[u32]) -> Result<(), Untrusted> {
    match meta.uid() {
        user if owners.contains(&user) => Ok(()),
        user => Err(Untrusted::Foreign { path: path.to_path_buf(), user }),
    }
}

/// Whether anybody but its owner may write to it, or put another file in its place.
fn may_be_changed(meta: &Metadata) -> bool {
    let mode = meta.mode();
    let is_own_group = meta.gid() == meta.uid() || meta.gid() == 0;
    let by_others = mode & BY_OTHERS != 0 || (mode & BY_GROUP != 0 && !is_own_group);
    by_others && !(meta.is_dir() && mode & STICKY != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    type Done = Result<(), Box<dyn std::error::Error>>;

    /// A file in a folder of this user's, with these modes.
    fn file(folder_mode: u32, file_mode: u32) -> std::io::Result<(tempfile::TempDir, PathBuf)> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("library.so");
        fs::write(&path, "")?;
        fs::set_permissions(&path, Permissions::from_mode(file_mode))?;
        fs::set_permissions(folder.path(), Permissions::from_mode(folder_mode))?;
        Ok((folder, path))
    }

    /// What others may write to, and its permissions.
    fn writable(path: &Path) -> Option<(PathBuf, u32)> {
        match may_open(path) {
            Err(Untrusted::Writable { path, mode }) => Some((path, mode & 0o7777)),
            _ => None,
        }
    }

    /// What belongs to somebody else, and to whom.
    fn foreign(path: &Path) -> Option<(PathBuf, u32)> {
        match may_open(path) {
            Err(Untrusted::Foreign { path, user }) => Some((path, user)),
            _ => None,
        }
    }

    #[test]
    fn a_refusal_says_what_is_opened() {
        let path = || PathBuf::from("/x");
        for (refusal, said) in [
            (
                Untrusted::Foreign { path: path(), user: 7 },
                "not opened, because /x belongs to user 7: numabench opens code only from files and folders \
                 of yours, of root or of its own owner",
            ),
            (
                Untrusted::Writable { path: path(), mode: 0o100_666 },
                "not opened, because others may write to /x (mode 666): numabench opens code only from where \
                 no other user can write",
            ),
            (
                Untrusted::Unseen { path: path(), why: "why".to_owned() },
                "not opened, because /x cannot be looked at: why",
            ),
        ] {
            assert_eq!(refusal.to_string(), said);
        }
    }

    #[test]
    fn what_only_this_user_may_change_is_opened_also_below_a_sticky_folder() -> Done {
        for folder_mode in [0o700, 0o755, 0o1777] {
            let (_folder, path) = file(folder_mode, 0o755)?;
            assert_eq!(may_open(&path), Ok(()), "{folder_mode:o}");
        }
        let libc = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"].map(Path::new);
        for library in libc.iter().filter(|path| path.exists()) {
            assert_eq!(may_open(library), Ok(()));
        }
        Ok(())
    }

    #[test]
    fn what_others_may_write_to_is_not_opened_and_the_folder_is_named() -> Done {
        let (folder, path) = file(0o777, 0o755)?;
        assert_eq!(writable(&path), Some((fs::canonicalize(folder.path())?, 0o777)));
        let (_folder, path) = file(0o755, 0o666)?;
        assert_eq!(writable(&path), Some((fs::canonicalize(&path)?, 0o666)));
        let (outer, path) = file(0o755, 0o755)?;
        let inner = outer.path().join("inner");
        fs::create_dir(&inner)?;
        fs::rename(&path, inner.join("library.so"))?;
        fs::set_permissions(outer.path(), Permissions::from_mode(0o777))?;
        let further_up = writable(&inner.join("library.so"));
        assert_eq!(further_up, Some((fs::canonicalize(outer.path())?, 0o777)));
        let nowhere = may_open(Path::new("/nonexistent/library.so"));
        assert!(matches!(nowhere, Err(Untrusted::Unseen { .. })), "{nowhere:?}");
        Ok(())
    }

    #[test]
    fn a_link_is_looked_at_where_it_lies_too() -> Done {
        let (_folder, path) = file(0o755, 0o755)?;
        let (open, _) = file(0o777, 0o755)?;
        let link = open.path().join("link.so");
        symlink(&path, &link)?;
        assert_eq!(writable(&link).map(|(_, mode)| mode), Some(0o777));
        Ok(())
    }

    #[test]
    fn what_belongs_to_another_user_is_not_opened() -> Done {
        let (folder, path) = file(0o1777, 0o755)?;
        let nobody = 65_534;
        if chown(&path, Some(nobody), Some(nobody)).is_err() {
            // Not root: judged as if this user were another one.
            let refused = judged(&path, &[0, nobody]);
            assert!(matches!(refused, Err(Untrusted::Foreign { .. })), "{refused:?}");
            return Ok(());
        }
        assert_eq!(foreign(&path), Some((fs::canonicalize(&path)?, nobody)));
        chown(&path, Some(0), Some(0))?;
        chown(folder.path(), Some(nobody), None)?;
        assert_eq!(foreign(&path), Some((fs::canonicalize(folder.path())?, nobody)));
        Ok(())
    }

    #[test]
    fn a_group_may_write_where_it_is_the_owners_own() -> Done {
        let (folder, path) = file(0o775, 0o775)?;
        let meta = fs::metadata(folder.path())?;
        if meta.gid() == meta.uid() {
            assert_eq!(may_open(&path), Ok(()));
        }
        if chown(folder.path(), None, Some(12_345)).is_ok() {
            assert_eq!(writable(&path).map(|(_, mode)| mode), Some(0o775));
        }
        Ok(())
    }
}
