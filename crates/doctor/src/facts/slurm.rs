//! Slurm's configuration as this node has it: slurm.conf, gres.conf and cgroup.conf of one folder.
//!
//! Nothing is asked of a daemon: `scontrol` takes a while and may be refused. In "configless" clusters slurmd
//! keeps the files that it was sent in its spool folder or in /run. Left out: what slurmctld has been told
//! since.

use launchers::conf_lines::{included, last_value};
use topo::fs_root::FsRoot;

/// Where slurm.conf lies where `SLURM_CONF` does not say it (slurm.conf(5), "configless").
const FOLDERS: [&str; 5] =
    ["/etc/slurm", "/etc/slurm-llnl", "/usr/local/etc", "/run/slurm/conf", "/var/spool/slurmd/conf-cache"];

/// Files within files: more is a circle.
const DEEPEST: usize = 8;

/// The configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slurm {
    /// The folder that it lies in; `None` where this process is in a job and no file can be read.
    pub folder: Option<String>,
    /// slurm.conf.
    pub conf: SlurmFile,
    /// cgroup.conf.
    pub cgroup: SlurmFile,
    /// gres.conf.
    pub gres: SlurmFile,
    /// The name that Slurm has for this node, in a job.
    pub node: Option<String>,
}

/// One of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlurmFile {
    /// Its lines, with those of the files that it includes; `None` where there is no such file, or it cannot
    /// be read.
    pub text: Option<String>,
    /// Whether it includes others, whose lines count with its own.
    pub includes: bool,
    /// It and files that it includes, those that cannot be read.
    pub unread: Vec<String>,
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
    let file =
        |name: &str| folder.as_deref().map_or_else(SlurmFile::default, |at| SlurmFile::read(root, at, name));

    Some(Slurm {
        conf: file("slurm.conf"),
        cgroup: file("cgroup.conf"),
        gres: file("gres.conf"),
        node: set("SLURMD_NODENAME"),
        folder,
    })
}

impl SlurmFile {
    fn read(root: &FsRoot, folder: &str, name: &str) -> Self {
        let mut file = Self::default();
        let path = format!("{folder}/{name}");
        if root.exists(&path) {
            let text = file.with_included(root, folder, &path, 0);
            file.text = text;
        }
        file
    }

    /// The lines of the file at `path` with those that it includes, whose names count from `folder`
    /// (slurm.conf(5), Include).
    fn with_included(&mut self, root: &FsRoot, folder: &str, path: &str, depth: usize) -> Option<String> {
        let Some(text) = root.text(path).ok().filter(|_| depth < DEEPEST) else {
            self.unread.push(path.to_owned());
            return None;
        };
        let mut whole = String::new();

        for line in text.lines() {
            let Some(name) = included(line.split('#').next().unwrap_or_default()) else {
                whole.push_str(line);
                whole.push('\n');
                continue;
            };
            self.includes = true;
            let path = if name.starts_with('/') { name.to_owned() } else { format!("{folder}/{name}") };
            whole.push_str(&self.with_included(root, folder, &path, depth + 1).unwrap_or_default());
        }
        Some(whole)
    }

    /// The value of a parameter, whose name counts in any case; of several lines the last. Lines that
    /// describe nodes and partitions have many and are none of these.
    pub fn parameter(&self, name: &str) -> Option<String> {
        last_value(self.text.as_deref()?, name)
    }
}
