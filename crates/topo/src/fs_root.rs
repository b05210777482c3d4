//! The root that `/proc`, `/sys` and `/etc` are read under, so that tests can bring their own.
//!
//! Files there are small and come from the kernel, but a mount may be missing (containers) or forbidden; the caller gets the
//! reason in words, because an absent value must say why.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A file-system root; [`FsRoot::default()`] is `/`.
#[derive(Clone, Debug)]
pub struct FsRoot(PathBuf);

impl Default for FsRoot {
    fn default() -> Self {
        Self(PathBuf::from("/"))
    }
}

impl FsRoot {
    /// A root elsewhere, as in a test.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where the absolute path `path` lies under this root.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// The text of a file without surrounding white space.
    ///
    /// # Errors
    /// Why there is none, naming the file: missing, forbidden, or not text.
    pub fn text(&self, path: &str) -> Result<String, String> {
        match std::fs::read_to_string(self.path(path)) {
            Ok(text) => Ok(text.trim().to_owned()),
            Err(error) => Err(format!("{path}: {error}")),
        }
    }

    /// The first line of a file, for those that get long: the kernel makes the rest only when it is read.
    ///
    /// # Errors
    /// As [`FsRoot::text`].
    pub(crate) fn first_line(&self, path: &str) -> Result<String, String> {
        let mut line = Vec::new();
        let read = File::open(self.path(path)).and_then(|file| BufReader::new(file).read_until(b'\n', &mut line));
        match read {
            Ok(_) => Ok(String::from_utf8_lossy(&line).trim().to_owned()),
            Err(error) => Err(format!("{path}: {error}")),
        }
    }

    /// The names in a directory, sorted; empty where it cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(path)) else { return Vec::new() };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether something is at `path`.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Where the symbolic link at `path` leads in the end, as an absolute path of the real file system.
    pub fn resolve(&self, path: &str) -> Option<PathBuf> {
        std::fs::canonicalize(self.path(path)).ok()
    }
}

/// The value of a `key: value` or `key = value` line.
pub(crate) fn value_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix(key)?.trim_start();
        Some(rest.strip_prefix([':', '='])?.trim())
    })
}

/// The text of `path` on its own, for a caller that already holds a resolved path.
pub(crate) fn text_at(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
