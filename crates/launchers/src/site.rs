//! What is known of a site's Slurm beside the line.

use crate::gres_conf::GresConf;
use crate::slurm_node::SlurmNodes;

/// The site's files, where they are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// gres.conf: which cores each GPU is near to.
    pub gres: Option<GresConf>,
    /// slurm.conf, or what scontrol prints: what a socket and a CPU are.
    pub nodes: Option<SlurmNodes>,
}
