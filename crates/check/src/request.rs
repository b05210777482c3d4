//! What is to be looked at.

use std::path::PathBuf;
use std::time::Duration;

use launchers::Launch;
use launchers::slurm_files::SlurmFiles;

/// Whom to look at, and how.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// Whom.
    pub whom: Whom,
    /// The files that describe the machine that they are judged by (`topo::survey_files`); none: this
    /// machine.
    pub input: Vec<PathBuf>,
    /// GPUs that a driver has and that nothing else here shows, in words; `None` where there are none, or no
    /// driver was asked.
    pub driver_gpus: Option<String>,
    /// How long the ranks of a node wait for each other.
    pub wait: Duration,
}

/// Whom to look at.
#[derive(Clone, Debug)]
pub enum Whom {
    /// This process, and the ranks that were launched with it on this node.
    Launch(Launch),
    /// The ranks that this line would start; it is not run. With what is known of the site.
    Line(String, SlurmFiles),
    /// The ranks of which a launcher printed this; with the line that started them, which says their GPUs.
    Printed(String, Option<(String, SlurmFiles)>),
    /// The running processes of these numbers.
    Processes(Vec<u32>),
    /// All processes here that use a GPU.
    GpuUsers,
}
