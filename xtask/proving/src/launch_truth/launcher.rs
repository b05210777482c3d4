//! The launchers of this machine: whose they are and which version, by what they say themselves.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::machine::Machine;
use super::{intel_mpi, mpich, open_mpi};

/// Launchers that read the same options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Open MPI's `mpirun`.
    OpenMpi,
    /// MPICH's `mpiexec`.
    Mpich,
    /// Intel MPI's `mpiexec`.
    IntelMpi,
}

impl Family {
    pub const ALL: [Self; 3] = [Self::OpenMpi, Self::Mpich, Self::IntelMpi];

    /// As the table's file is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "open-mpi",
            Self::Mpich => "mpich",
            Self::IntelMpi => "intel-mpi",
        }
    }

    /// The lines that are tried on a machine, each once.
    pub fn lines(self, machine: &Machine) -> Vec<String> {
        let drawn = match self {
            Self::OpenMpi => open_mpi::lines(machine),
            Self::Mpich => mpich::lines(machine),
            Self::IntelMpi => intel_mpi::lines(machine),
        };
        let mut lines: Vec<String> = Vec::with_capacity(drawn.len());
        let mut seen = std::collections::BTreeSet::new();
        for line in drawn {
            let line = line.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
            if seen.insert(line.clone()) {
                lines.push(line);
            }
        }
        lines
    }

    fn commands(self) -> &'static [&'static str] {
        match self {
            Self::OpenMpi => &["mpirun", "mpirun.openmpi"],
            Self::Mpich | Self::IntelMpi => &["mpiexec.hydra"],
        }
    }
}

/// A launcher that is here.
#[derive(Clone, Debug)]
pub struct Installed {
    pub family: Family,
    pub version: String,
    pub program: PathBuf,
}

/// All launchers on the PATH and below these folders, the oldest of a family first, a version once.
pub fn installed(prefixes: &[PathBuf]) -> Vec<Installed> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(prefixes.iter().flat_map(|prefix| below(prefix)));
    let mut found: Vec<Installed> = Vec::new();
    for folder in folders {
        for family in Family::ALL {
            let programs =
                family.commands().iter().map(|name| folder.join(name)).filter(|program| program.is_file());
            for program in programs {
                let known =
                    |version: &str| found.iter().any(|one| one.family == family && one.version == version);
                if let Some(version) = version(&program, family).filter(|version| !known(version)) {
                    found.push(Installed { family, version, program });
                }
            }
        }
    }
    found.sort_by_cached_key(|one| (one.family.name(), version_key(&one.version)));
    found
}

/// Numbers of a version, for sorting.
pub fn version_key(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or_default()).collect()
}

/// The `bin` of a folder, and of the folders in it.
fn below(prefix: &Path) -> Vec<PathBuf> {
    let inside =
        std::fs::read_dir(prefix).into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
    std::iter::once(prefix.join("bin")).chain(inside).filter(|folder| folder.is_dir()).collect()
}

/// The version that a program says it is, if it is this family's.
fn version(program: &Path, family: Family) -> Option<String> {
    let output = Command::new(program).arg("--version").env("OMPI_ALLOW_RUN_AS_ROOT", "1").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let marked = match family {
        Family::OpenMpi => "(Open MPI) ",
        Family::Mpich => "Version:",
        Family::IntelMpi => "Linux* OS, Version ",
    };
    if family == Family::Mpich && !text.contains("HYDRA") {
        return None;
    }
    let (_, behind) = text.split_once(marked)?;
    let version = behind.split_ascii_whitespace().next()?;
    // Intel MPI asks each CPU what it is before 2021.16, so that no saved machine can be shown to it.
    let can_be_shown = family != Family::IntelMpi || version_key(version) >= vec![2021, 16];
    can_be_shown.then(|| version.to_owned())
}
