//! The topology file that NCCL would read here: the one that its variable names, else the one that a host's
//! daemon left in its usual place.
//!
//! Source: NCCL, `ncclTopoGetSystem` in src/graph/topo.cc. A file that is not there stops nothing: NCCL goes
//! on with what the machine shows.

use topo::fs_root::FsRoot;

/// NCCL's topology file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NcclFile {
    /// None is given.
    None,
    /// This file, which is there.
    Given(String),
    /// The variable names this file, which is not there.
    Missing(String),
    /// The variable names this file by where a program starts, which is not known here.
    Relative(String),
}

/// Where a host's daemon puts the topology of a virtual machine.
const LEFT_BY_HOST: &str = "/var/run/nvidia-topologyd/virtualTopology.xml";

/// Looks for the file.
pub fn nccl_file(root: &FsRoot, variable: &dyn Fn(&str) -> Option<String>) -> NcclFile {
    match variable("NCCL_TOPO_FILE").filter(|path| !path.is_empty()) {
        // A relative path is of each program's own folder, and a job starts elsewhere than this process.
        Some(path) if !path.starts_with('/') => NcclFile::Relative(path),
        Some(path) if root.exists(&path) => NcclFile::Given(path),
        Some(path) => NcclFile::Missing(path),
        None if root.exists(LEFT_BY_HOST) => NcclFile::Given(LEFT_BY_HOST.to_owned()),
        None => NcclFile::None,
    }
}
