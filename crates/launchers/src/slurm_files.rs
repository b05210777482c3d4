//! What is known of a site's Slurm beside the line.

use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use crate::gres_conf::GresConf;
use crate::slurm_node::SlurmNodes;

/// The site's files, where they are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlurmFiles {
    /// gres.conf: which cores each GPU is near to.
    pub gres: Option<GresConf>,
    /// slurm.conf, or what scontrol prints: what a socket and a CPU are.
    pub nodes: Option<SlurmNodes>,
}

/// Of a gres.conf: a line a GPU and node group has some hundred bytes.
const MOST_BYTES: u64 = 1 << 20;

impl SlurmFiles {
    /// Reads the files that are given.
    ///
    /// # Errors
    /// One that cannot be read, by its option.
    pub fn read(gres_conf: Option<&Path>, slurm_conf: Option<&Path>) -> Result<Self, String> {
        let gres = gres_conf.map(|path| file("--gres-conf", path)).transpose()?;
        let nodes = slurm_conf.map(|path| file("--slurm-conf", path)).transpose()?;
        Ok(Self { gres, nodes })
    }
}

fn file<T: FromStr<Err: Display>>(option: &str, path: &Path) -> Result<T, String> {
    let unread = |error: &dyn Display| format!("{option} {}: {error}", path.display());
    let bytes = topo::read_input(path, MOST_BYTES).map_err(|error| unread(&error))?;
    String::from_utf8_lossy(&bytes).parse().map_err(|error: T::Err| unread(&error))
}
