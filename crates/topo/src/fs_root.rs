//! The root that `/proc`, `/sys` and `/etc` are read under: this machine's, a test's, or what a saved file
//! holds of them.
//!
//! Files there are small and come from the kernel, but a mount may be missing (containers) or forbidden; the
//! caller gets the reason in words, because an absent value must say why. What was read is kept, so that
//! `--save` can write it beside hwloc's topology and `--input` gives the same result by the same code. So
//! readers ask for lines where files are long.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use stats::printable;

/// The folder of the process that asks.
pub(crate) const THIS: &str = "/proc/self";

/// A file-system root; [`FsRoot::default()`] is `/`.
#[derive(Clone, Debug)]
pub struct FsRoot {
    at: At,
    /// What was found, by absolute path: the text of files, the targets of links, nothing for what only
    /// exists.
    seen: RefCell<BTreeMap<String, String>>,
}

#[derive(Clone, Debug)]
enum At {
    Disk(PathBuf),
    Saved,
}

impl Default for FsRoot {
    fn default() -> Self {
        Self::at("/")
    }
}

impl FsRoot {
    /// A root elsewhere, as in a test.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { at: At::Disk(path.into()), seen: RefCell::default() }
    }

    /// What another root found, and nothing else: no disk is read.
    pub(crate) fn saved(seen: BTreeMap<String, String>) -> Self {
        Self { at: At::Saved, seen: RefCell::new(seen) }
    }

    /// What was found so far.
    pub(crate) fn seen(&self) -> BTreeMap<String, String> {
        self.seen.borrow().clone()
    }

    /// The text of a file without surrounding white space.
    ///
    /// # Errors
    /// Why there is none, naming the file: missing, forbidden, or not text.
    pub fn text(&self, path: &str) -> Result<String, String> {
        self.found(path, |file| Ok(std::fs::read_to_string(file)?.trim().to_owned()))
    }

    /// The first `key: value` line of each key, one below the other, of a file that has much else.
    ///
    /// # Errors
    /// As [`FsRoot::text`].
    pub fn lines(&self, path: &str, keys: &[&str]) -> Result<String, String> {
        self.found(path, |file| {
            let mut lines: Vec<String> = Vec::new();
            let mut missing: Vec<&str> = keys.to_vec();
            let mut reader = BufReader::new(File::open(file)?).lines();
            while !missing.is_empty()
                && let Some(line) = reader.next().transpose()?
            {
                if let Some(at) = missing.iter().position(|key| value_of(&line, key).is_some()) {
                    missing.remove(at);
                    lines.push(line);
                }
            }
            Ok(lines.join("\n"))
        })
    }

    /// The lines of a file that hold `words`.
    ///
    /// # Errors
    /// As [`FsRoot::text`].
    pub fn lines_holding(&self, path: &str, words: &str) -> Result<String, String> {
        self.found(path, |file| {
            let lines: io::Result<Vec<String>> = BufReader::new(File::open(file)?).lines().collect();
            Ok(lines?.into_iter().filter(|line| line.contains(words)).collect::<Vec<_>>().join("\n"))
        })
    }

    /// The first line of a file, for those that get long: the kernel makes the rest only when it is read.
    ///
    /// # Errors
    /// As [`FsRoot::text`].
    pub(crate) fn first_line(&self, path: &str) -> Result<String, String> {
        self.found(path, |file| {
            let mut line = Vec::new();
            BufReader::new(File::open(file)?).read_until(b'\n', &mut line)?;
            Ok(String::from_utf8_lossy(&line).trim().to_owned())
        })
    }

    /// The bytes of a file that is no text, such as a device's configuration space. They are not kept: no
    /// saved file has them.
    ///
    /// # Errors
    /// As [`FsRoot::text`].
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(self.disk(path)?).map_err(|error| format!("{path}: {error}"))
    }

    /// The names in a directory, sorted; empty where it cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = match &self.at {
            At::Disk(root) => {
                let Ok(entries) = std::fs::read_dir(below(root, path)) else { return Vec::new() };
                entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
            }
            At::Saved => {
                let seen = self.seen.borrow();
                let inside = |known: &String| known.strip_prefix(path)?.strip_prefix('/').map(str::to_owned);
                seen.keys()
                    .filter_map(inside)
                    .filter_map(|rest| Some(rest.split('/').next()?.to_owned()))
                    .collect()
            }
        };

        names.sort();
        names.dedup();
        names
    }

    /// The names in a directory that are numbers, ascending.
    pub(crate) fn numbers(&self, path: &str) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.names(path).iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Where a file lies on the disk, for what must not be kept: lists of open files, secrets.
    ///
    /// # Errors
    /// What a saved file holds is on no disk.
    pub(crate) fn disk(&self, path: &str) -> Result<PathBuf, String> {
        match &self.at {
            At::Disk(root) => Ok(below(root, path)),
            At::Saved => Err(format!("{path}: not in the saved file")),
        }
    }

    /// Whether something is at `path`.
    pub fn exists(&self, path: &str) -> bool {
        match &self.at {
            At::Disk(root) if below(root, path).exists() => {
                self.seen.borrow_mut().entry(path.to_owned()).or_default();
                true
            }
            At::Disk(_) => false,
            At::Saved => self.seen.borrow().contains_key(path),
        }
    }

    /// Where the symbolic link at `path` leads in the end: an absolute path under this root.
    pub fn target(&self, path: &str) -> Option<String> {
        self.kept_or(path, || {
            let [target, root] = [path, "/"].map(|path| std::fs::canonicalize(self.disk(path).ok()?).ok());
            let (target, root) = (target?, root?);
            Some(format!("/{}", target.strip_prefix(root).ok()?.to_str()?))
        })
    }

    /// What `ask` answers on this machine, which is kept as `name`; or what was kept. For what is known from
    /// elsewhere than files.
    pub(crate) fn kept_or(&self, name: &str, ask: impl FnOnce() -> Option<String>) -> Option<String> {
        if let At::Saved = self.at {
            return self.seen.borrow().get(name).cloned();
        }
        let answer = ask()?;
        self.seen.borrow_mut().insert(name.to_owned(), answer.clone());
        Some(answer)
    }

    /// What `read` makes of the file at `path`, which is kept; or what was kept of it.
    fn found(&self, path: &str, read: impl Fn(&Path) -> io::Result<String>) -> Result<String, String> {
        let At::Disk(root) = &self.at else {
            let kept = self.seen.borrow().get(path).cloned();
            return kept.ok_or_else(|| format!("{path}: not in the saved file"));
        };
        let text = read(&below(root, path)).map_err(|error| format!("{path}: {error}"))?;
        let text = printable::lines(&text);
        self.seen.borrow_mut().insert(path.to_owned(), text.clone());
        Ok(text)
    }
}

/// Where the absolute path `path` lies under `root`.
fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// The value of a `key: value` or `key = value` line.
pub fn value_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix(key)?.trim_start();
        Some(rest.strip_prefix([':', '='])?.trim())
    })
}

/// The kernel's kB, which are KiB, as bytes.
pub fn kernel_bytes(value: &str) -> Option<u64> {
    value.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_found_again_without_the_disk_and_nothing_else_is() -> io::Result<()> {
        let disk = tempfile::tempdir()?;
        std::fs::create_dir_all(disk.path().join("sys/devices/a"))?;
        std::fs::write(disk.path().join("sys/devices/a/vendor"), "0x10de\n")?;
        std::fs::write(disk.path().join("sys/many"), "x: 0\nflags\t: fpu vme\ny: 2\nflags\t: other\nz: 3\n")?;
        std::os::unix::fs::symlink(disk.path().join("sys/devices/a"), disk.path().join("sys/link"))?;
        let look = |root: &FsRoot| {
            (
                root.text("/sys/devices/a/vendor"),
                root.lines("/sys/many", &["flags", "x"]),
                root.first_line("/sys/devices/a/vendor"),
                root.target("/sys/link"),
                root.exists("/sys/devices/a"),
                root.names("/sys/devices"),
            )
        };

        let live = FsRoot::at(disk.path());
        let seen = look(&live);
        assert_eq!(seen.1, Ok("x: 0\nflags\t: fpu vme".to_owned()));
        assert_eq!(seen.3.as_deref(), Some("/sys/devices/a"));
        let saved = FsRoot::saved(live.seen());
        assert_eq!(look(&saved), seen);
        assert!(!saved.exists("/sys/module"), "nobody looked there");
        assert_eq!(saved.text("/proc/version"), Err("/proc/version: not in the saved file".to_owned()));
        Ok(())
    }
}
