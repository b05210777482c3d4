//! Makes the stand-in drivers for tests: built with rustc when a test first needs one, and kept in the target
//! folder under a name made of the source, so that a changed source is another library. Not part of the
//! library; tests of several crates include this file by its path.
//!
//! A driver that lacks functions is a copy in whose table of names theirs begin with another letter: the
//! dynamic loader itself then does not find them.

use std::error::Error;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a driver is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Driver {
    Cuda,
    Hip,
}

impl Driver {
    /// The first name under which the backend looks for it.
    pub fn library(self) -> &'static str {
        match self {
            Self::Cuda => "libcuda.so.1",
            Self::Hip => "libamdhip64.so.7",
        }
    }
}

type Made = Result<PathBuf, Box<dyn Error>>;

/// The folder of a stand-in driver, for LD_LIBRARY_PATH.
pub fn stand_in(driver: Driver) -> Made {
    under_its_name(&whole()?, driver.library(), "whole", Ok)
}

/// The folder of a stand-in of CUDA's driver with the management library beside it, which knows the same
/// devices.
pub fn stand_in_with_nvml() -> Made {
    let folder = under_its_name(&whole()?, Driver::Cuda.library(), "with nvml", Ok)?;
    let nvml = folder.join("libnvidia-ml.so.1");
    if !nvml.exists() {
        // Under a name of its own first: another test may look for it now.
        let making = tempfile::NamedTempFile::new_in(&folder)?;
        fs::copy(folder.join(Driver::Cuda.library()), making.path())?;
        making.persist(nvml)?;
    }
    Ok(folder)
}

/// The folder of a stand-in driver with its vendor's libraries of matrices and transforms beside it: the same
/// file, so that they share the devices' memory.
#[allow(dead_code, reason = "not every crate of tests uses all")]
pub fn stand_in_with_math(driver: Driver) -> Made {
    let folder = under_its_name(&whole()?, driver.library(), "with math", Ok)?;
    let names = match driver {
        Driver::Cuda => ["libcublas.so.12", "libcufft.so.11"],
        Driver::Hip => ["librocblas.so.4", "libhipfft.so.0"],
    };
    for name in names {
        match fs::hard_link(folder.join(driver.library()), folder.join(name)) {
            // Another test was faster.
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
    }
    Ok(folder)
}

/// The same without these functions.
pub fn lacking(driver: Driver, functions: &[&str]) -> Made {
    under_its_name(&whole()?, driver.library(), &functions.join("-"), |mut library| {
        for function in functions {
            assert_ne!(*function, "numabench_simulation", "a stand-in that does not say so must not be made");
            let name = [b"\0", function.as_bytes(), b"\0"].concat();
            let places: Vec<usize> = (0..library.len().saturating_sub(name.len()))
                .filter(|at| library[*at..].starts_with(&name))
                .collect();

            if places.is_empty() {
                return Err(format!("the stand-in driver has no {function}").into());
            }
            for at in places {
                library[at + 1] = b'_';
            }
        }
        Ok(library)
    })
}

/// The folder of HIP's interface over whatever libcuda there is (`tests/hip-over-cuda`).
pub fn hip_over_cuda() -> Made {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/hip-over-cuda/src/lib.rs");
    under_its_name(&compiled(&source)?, Driver::Hip.library(), "over cuda", Ok)
}

fn whole() -> Made {
    compiled(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fake-driver/src/lib.rs"))
}

/// The dynamic library of a source file and those beside it.
pub fn compiled(source: &Path) -> Made {
    compiled_with(source, &[])
}

/// The same of a source that includes these files of another folder.
pub fn compiled_with(source: &Path, others: &[&Path]) -> Made {
    let mut hash = DefaultHasher::new();
    for other in others {
        fs::read(other)?.hash(&mut hash);
    }

    let folder = source.parent().ok_or("a source lies in a folder")?;
    let mut beside: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, Box<dyn Error>>>()?;
    beside.sort();
    for file in beside.iter().filter(|file| file.is_file()) {
        fs::read(file)?.hash(&mut hash);
    }
    // One file for all crates, whose ways to it differ.
    fs::canonicalize(source)?.hash(&mut hash);
    // A sanitizer's, if the tests are built with one (`cargo xtask sanitize`).
    let flags = std::env::var("STAND_IN_FLAGS").unwrap_or_default();
    flags.hash(&mut hash);

    let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = all.join(format!("stand-in-{:016x}.so", hash.finish()));
    // One of the tests that need it builds it; the others wait.
    let lock = File::create(library.with_extension("lock"))?;
    lock.lock()?;
    if library.exists() {
        return Ok(library);
    }

    let making = tempfile::tempdir_in(all)?;
    let made = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "stand_in"])
        // Small, since a driver that lacks something is a copy; optimised, since it computes what kernels
        // would.
        .args(["-C", "opt-level=3", "-C", "strip=symbols"])
        .args(flags.split_whitespace())
        .arg("-o")
        .arg(making.path().join("made.so"))
        .arg(source)
        .output()?;
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::rename(making.path().join("made.so"), &library)?;
    Ok(library)
}

/// A folder with a library, changed or not, under a name that programs look for.
pub fn under_its_name(
    library: &Path,
    name: &str,
    variant: &str,
    change: impl FnOnce(Vec<u8>) -> Result<Vec<u8>, Box<dyn Error>>,
) -> Made {
    let mut hash = DefaultHasher::new();
    (library, name, variant).hash(&mut hash);
    let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = all.join(format!("{name}-{:016x}", hash.finish()));

    if folder.join(name).exists() {
        return Ok(folder);
    }
    let making = tempfile::tempdir_in(all)?;
    fs::write(making.path().join(name), change(fs::read(library)?)?)?;
    // Another test may have been faster: its folder holds the same.
    match fs::rename(making.path(), &folder) {
        Err(error) if !folder.join(name).exists() => Err(error.into()),
        _ => Ok(folder),
    }
}
