//! Stand-in driver libraries, built with rustc when a test first needs one and kept in the target folder under a name made of
//! their source, so that a changed source is another library.
//!
//! `fake` is the stand-in that `backend-cuda` is tested with (its module documentation says what it can be told);
//! `tripwire` leaves a file behind when something loads it.

use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A driver of two simulated devices with 256 MiB each, 0000:05:00.0 and 0000:c1:00.0.
pub fn fake() -> Result<PathBuf, Box<dyn Error>> {
    built("../backend-cuda/tests/fake/driver.rs", CUDA)
}

/// A driver that writes to the file `TRIPWIRE` names when it is loaded, and has no device.
pub fn tripwire() -> Result<PathBuf, Box<dyn Error>> {
    built("tests/fake/tripwire.rs", CUDA)
}

/// The same in the place of NVIDIA's management library.
pub fn nvml_tripwire() -> Result<PathBuf, Box<dyn Error>> {
    built("tests/fake/tripwire.rs", NVML)
}

const CUDA: &str = "libcuda.so.1";
/// The name under which `topo` opens it.
pub const NVML: &str = "libnvidia-ml.so.1";

/// The folder of a library of this name built from this source.
fn built(source: &str, library: &str) -> Result<PathBuf, Box<dyn Error>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let mut hash = DefaultHasher::new();
    fs::read(&source)?.hash(&mut hash);
    let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
    library.hash(&mut hash);
    let folder = all.join(format!("{library}-{:016x}", hash.finish()));
    if folder.join(library).exists() {
        return Ok(folder);
    }
    let making = tempfile::tempdir_in(all)?;
    let made = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "fake", "-C", "opt-level=1", "-o"])
        .arg(making.path().join(library))
        .arg(&source)
        .output()?;
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // Another test may have been faster: its folder holds the same.
    match fs::rename(making.path(), &folder) {
        Err(error) if !folder.join(library).exists() => Err(error.into()),
        _ => Ok(folder),
    }
}
