//! Compiles a stand-in (a driver, a disk, an MPI) from its source, as the tests do: no package of the
//! workspace needs it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

/// The libraries of a campaign, each compiled once: parts that go on at once share them.
pub struct Libraries {
    root: PathBuf,
    folder: PathBuf,
    made: Mutex<BTreeMap<&'static str, PathBuf>>,
}

impl Libraries {
    /// None yet, of the repository at `root`; they go into `folder`.
    pub fn new(root: &Path, folder: &Path) -> Self {
        Self { root: root.to_owned(), folder: folder.to_owned(), made: Mutex::default() }
    }

    /// The folder with the stand-in driver.
    pub fn driver(&self) -> Result<PathBuf> {
        self.library("driver/libcuda.so.1", "tests/fake-driver/src/lib.rs")?;
        Ok(self.folder.join("driver"))
    }

    /// The slow disk, to be preloaded.
    pub fn slow_disk(&self) -> Result<PathBuf> {
        self.library("disk/slow_disk.so", "tests/slow-disk/lib.rs")
    }

    /// The MPI whose calls fail, to be preloaded.
    pub fn mpi(&self) -> Result<PathBuf> {
        self.library("mpi/fake_mpi.so", "tests/fake-mpi/src/lib.rs")
    }

    /// Compiles `source` as the library of this name, or takes the one that is there.
    fn library(&self, name: &'static str, source: &str) -> Result<PathBuf> {
        // Held meanwhile: who needs the same one waits for it.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = made.get(name) {
            return Ok(file.clone());
        }
        let file = self.folder.join(name);
        fs::create_dir_all(file.parent().unwrap_or(&self.folder))?;
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "stand_in", "-o"]);
        let compiled =
            rustc.arg(&file).arg(self.root.join(source)).output().context("rustc cannot be started")?;
        if !compiled.status.success() {
            bail!("{source} cannot be compiled: {}", String::from_utf8_lossy(&compiled.stderr));
        }
        made.insert(name, file.clone());
        Ok(file)
    }
}

/// The stand-in driver's words for so many devices.
pub fn devices(count: usize) -> String {
    let device = |at: usize| format!("device 0000:{:02x}:00.0; memory 64MiB", 0x10 + at);
    (0..count).map(device).collect::<Vec<_>>().join(";")
}
