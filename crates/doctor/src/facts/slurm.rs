//! Slurm's configuration as this node has it: slurm.conf, gres.conf and cgroup.conf of one folder.
//!
//! Nothing is asked of a daemon: `scontrol` takes a while and may be refused. In "configless" clusters slurmd
//! keeps the files that it was sent in its spool folder or in /run. Left out: files that `Include` names, and
//! what slurmctld has been told since.

use std::collections::BTreeMap;

use topo::fs_root::FsRoot;

/// Where slurm.conf lies where `SLURM_CONF` does not say it (slurm.conf(5), "configless").
const FOLDERS: [&str; 5] =
    ["/etc/slurm", "/etc/slurm-llnl", "/usr/local/etc", "/run/slurm/conf", "/var/spool/slurmd/conf-cache"];

/// The configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slurm {
    /// The folder that it lies in; `None` where this process is in a job and no file can be read.
    pub folder: Option<String>,
    /// Parameters of slurm.conf by name in lower case, as written.
    pub parameters: BTreeMap<String, String>,
    /// Whether slurm.conf includes other files, which are not read.
    pub includes: bool,
    /// The same of cgroup.conf; `None` where there is no such file.
    pub cgroup: Option<BTreeMap<String, String>>,
    /// The text of gres.conf; `None` where there is none.
    pub gres: Option<String>,
    /// The name that Slurm has for this node, in a job.
    pub node: Option<String>,
}

/// Reads it; `None` where there is no Slurm.
pub fn slurm(root: &FsRoot, variable: &dyn Fn(&str) -> Option<String>) -> Option<Slurm> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let named = set("SLURM_CONF").and_then(|file| Some(file.rsplit_once('/')?.0.to_owned()));
    let folders = named.into_iter().chain(FOLDERS.map(str::to_owned));
    let folder = folders.into_iter().find(|folder| root.text(&format!("{folder}/slurm.conf")).is_ok());
    if folder.is_none() && set("SLURM_JOB_ID").is_none() {
        return None;
    }
    let text = |file: &str| root.text(&format!("{}/{file}", folder.as_ref()?)).ok();
    let conf = text("slurm.conf").unwrap_or_default();

    Some(Slurm {
        parameters: parameters(&conf),
        includes: conf.lines().any(|line| line.trim_start().to_lowercase().starts_with("include ")),
        cgroup: text("cgroup.conf").map(|text| parameters(&text)),
        gres: text("gres.conf"),
        node: set("SLURMD_NODENAME"),
        folder,
    })
}

/// `Name=value` a line; names count in any case, `#` begins a comment. Lines that describe nodes and
/// partitions have many and are none of these.
fn parameters(text: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let (name, value) = line.split('#').next()?.split_once('=')?;
        let name = name.trim().to_lowercase();
        (!matches!(name.as_str(), "nodename" | "partitionname")).then(|| (name, value.trim().to_owned()))
    };
    text.lines().filter_map(line).collect()
}
