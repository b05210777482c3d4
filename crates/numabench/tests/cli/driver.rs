//! Stand-in driver libraries, each in a folder of the target folder for LD_LIBRARY_PATH.
//!
//! `fake` is the workspace's `tests/fake-driver` (its module documentation says what it can be told),
//! `lacking` the same without some functions; `tripwire` leaves a file behind when something loads it.

use std::error::Error;
use std::path::{Path, PathBuf};

#[path = "../../../../tests/fake-driver/stand_in.rs"]
mod stand_in;

#[allow(unused_imports, reason = "not every binary of tests uses all")]
pub use stand_in::{Driver, lacking, stand_in, stand_in_with_math, stand_in_with_nvml};

/// A driver of two simulated devices with 256 MiB each, 0000:05:00.0 and 0000:c1:00.0, unless FAKE_DEVICES
/// says otherwise.
pub fn fake() -> Result<PathBuf, Box<dyn Error>> {
    stand_in(Driver::Cuda)
}

/// HIP's library over whatever libcuda comes after it.
pub fn hip_over_cuda() -> Result<PathBuf, Box<dyn Error>> {
    stand_in::hip_over_cuda()
}

/// A driver that writes to the file `TRIPWIRE` names when it is loaded, and has no device.
pub fn tripwire() -> Result<PathBuf, Box<dyn Error>> {
    tripwire_as(Driver::Cuda.library())
}

/// The same in the place of NVIDIA's management library.
pub fn nvml_tripwire() -> Result<PathBuf, Box<dyn Error>> {
    tripwire_as(NVML)
}

/// The name under which `topo` opens it.
pub const NVML: &str = "libnvidia-ml.so.1";

fn tripwire_as(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/tripwire.rs");
    stand_in::under_its_name(&stand_in::compiled(&source)?, name, "whole", Ok)
}

/// The library of `numabench witness` and `numabench exec --workers`.
#[allow(dead_code, reason = "of the tests of both")]
pub fn witness_hook() -> Result<PathBuf, Box<dyn Error>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let included = ["witness/src/layout.rs", "exec/src/worker_table.rs"].map(|file| crates.join(file));
    stand_in::compiled_with(
        &crates.join("witness-hook/src/lib.rs"),
        &included.each_ref().map(PathBuf::as_path),
    )
}

/// An MPI that mishandles device memory, to be preloaded (`tests/fake-mpi`).
#[allow(dead_code, reason = "of the tests of `mpi`")]
pub fn fake_mpi() -> Result<PathBuf, Box<dyn Error>> {
    stand_in::compiled(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fake-mpi/src/lib.rs"))
}

/// The folder of a stand-in for Cray's library between MPI and a GPU.
#[allow(dead_code, reason = "of the tests of `mpi`")]
pub fn fake_gtl() -> Result<PathBuf, Box<dyn Error>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fake-mpi/gtl/lib.rs");
    stand_in::under_its_name(&stand_in::compiled(&source)?, "libmpi_gtl_cuda.so", "whole", Ok)
}
