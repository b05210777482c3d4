//! What is seen of a running process, this one or another of this machine: PUs, memory policy, where its
//! pages are, its GPUs.
//!
//! Read from its folder in `/proc` (proc(5)) and never asked of it: a program that is judged need not know.
//! The PUs are those of all its threads together, because a program may bind its threads after it was started
//! (OpenMP does), and then its first thread tells of one core only. What may not be read of another user's
//! process is a value with the reason. `pages` counts memory, `gpus` finds the GPUs, `closed` those that it
//! may not open, `threads` says who its threads are. Left out: when a thread last ran where, and which thread
//! uses what memory.

mod closed;
mod gpus;
mod off_bus;
mod pages;
mod threads;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;

use crate::cgroup::Cgroup;
use crate::fs_root::{FsRoot, THIS, value_of};
use crate::model::Topology;
use crate::proc_file;
use crate::process::{MemoryPolicy, in_folder};
use stats::printable;

pub use closed::ClosedGpu;
pub use gpus::{UsableGpus, absent_of, having_open};
pub use pages::{NodePages, Pages, node_pages};
pub use threads::{ProcessThreads, ThreadGroup, threads};

/// A running process as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Running {
    /// Its id.
    pub pid: u32,
    /// Its program's name (`comm`); null where it cannot be read.
    pub program: Option<String>,
    /// PUs that its threads may run on, all threads together; those of the first thread where no thread's own
    /// file can be read, null where none can.
    pub pus: Option<IdSet>,
    /// PUs that its first thread may run on.
    pub first_thread_pus: Option<IdSet>,
    /// NUMA nodes that it may allocate on.
    pub memory_nodes: Option<IdSet>,
    /// Where its memory goes.
    pub policy: MemoryPolicy,
    /// What its cgroup gives it.
    pub cgroup: Cgroup,
    /// Where its memory is.
    pub pages: Pages,
    /// The GPUs that it can use.
    pub gpus: UsableGpus,
}

/// Whose process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The one that asks.
    This,
    /// The one with this id.
    Pid(u32),
}

impl Who {
    fn folder(self) -> String {
        match self {
            Self::This => THIS.to_owned(),
            Self::Pid(pid) => format!("/proc/{pid}"),
        }
    }
}

/// There is no such process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no process {pid} can be seen here: give the id of a running program of this machine, as ps shows it \
     ({reason})"
)]
pub struct NoProcess {
    /// The id as given.
    pub pid: u32,
    /// The system's reason.
    pub reason: String,
}

/// What is seen of a process now. Its GPUs are found among those of `topology`; a saved machine has no device
/// files to look at.
///
/// # Errors
/// [`NoProcess`].
pub fn running(topology: &Topology, who: Who) -> Result<Running, NoProcess> {
    under(&FsRoot::default(), topology, who)
}

/// The environment that a process was started with.
///
/// # Errors
/// The kernel's reason: it is another user's, or has ended.
pub fn environment(who: Who) -> Result<BTreeMap<String, String>, String> {
    variables(&FsRoot::default(), &who.folder())
}

fn under(root: &FsRoot, topology: &Topology, who: Who) -> Result<Running, NoProcess> {
    let folder = who.folder();
    let status = root.lines(&format!("{folder}/status"), &["Name"]);
    let pid = match (who, &status) {
        (Who::Pid(pid), Err(reason)) => return Err(NoProcess { pid, reason: reason.clone() }),
        (Who::Pid(pid), Ok(_)) => pid,
        (Who::This, _) => std::process::id(),
    };
    let own = in_folder(root, &folder);
    let gpus = gpus::usable(root, topology, who, &folder, variables(root, &folder));

    Ok(Running {
        pid,
        program: status.ok().and_then(|lines| value_of(&lines, "Name").map(printable::name)),
        pus: pus(root, &folder).or_else(|| own.affinity.clone()),
        first_thread_pus: own.affinity,
        memory_nodes: own.memory_nodes,
        policy: own.policy,
        cgroup: own.cgroup,
        pages: pages::pages(root, &folder),
        gpus,
    })
}

/// The PUs of all threads; nothing where no thread's file can be read. One that ends meanwhile is left out.
fn pus(root: &FsRoot, folder: &str) -> Option<IdSet> {
    let tasks = format!("{folder}/task");
    let affinity = |thread: &String| -> Option<IdSet> {
        let line = root.lines(&format!("{tasks}/{thread}/status"), &["Cpus_allowed_list"]).ok()?;
        value_of(&line, "Cpus_allowed_list")?.parse().ok()
    };
    root.names(&tasks).iter().filter_map(affinity).reduce(|all, one| all.or(&one))
}

/// `/proc/PID/environ`: `NAME=VALUE`s with zero bytes between. Not kept anywhere, because it may hold
/// secrets.
fn variables(root: &FsRoot, folder: &str) -> Result<BTreeMap<String, String>, String> {
    let path = format!("{folder}/environ");
    let bytes = proc_file::at_once(&root.disk(&path)?).map_err(|error| format!("{path}: {error}"))?;
    let pair = |entry: &[u8]| {
        let text = String::from_utf8_lossy(entry);
        text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    Ok(bytes.split(|byte| *byte == 0).filter_map(pair).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn this_process_is_seen_with_its_pus_and_its_pages() -> Outcome {
        let topology = crate::read()?;
        let seen = running(&topology, Who::This)?;
        assert_eq!(seen.pid, std::process::id());
        assert!(topology.allowed.pus.is_subset(&seen.pus.ok_or("no PUs")?));
        match (seen.pages.nodes, seen.pages.reason) {
            (Some(nodes), None) => assert!(nodes.iter().any(|node| node.bytes > 4096), "{nodes:?}"),
            (None, Some(reason)) => assert!(reason.contains("numa_maps"), "{reason}"),
            other => return Err(format!("{other:?}").into()),
        }
        Ok(())
    }

    #[test]
    fn another_process_is_seen_with_what_it_was_started_with_and_is_missed_once_it_has_gone() -> Outcome {
        let topology = crate::read()?;
        let pu = topology.allowed.pus.first().ok_or("no PU")?;
        let mut sleep = Command::new("taskset");
        sleep.args(["-c", &pu.to_string(), "sleep", "100"]).env("CUDA_VISIBLE_DEVICES", "7");
        let Ok(mut child) = sleep.spawn() else { return Ok(()) };
        let who = Who::Pid(child.id());
        let started = std::time::Instant::now();

        // Until taskset has become sleep, whose name is there a little before its environment is.
        let is_there = || -> Result<bool, Box<dyn std::error::Error>> {
            Ok(running(&topology, who)?.program.as_deref() == Some("sleep") && !environment(who)?.is_empty())
        };
        while !is_there()? && started.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let (seen, variables) = (running(&topology, who)?, environment(who)?);
        child.kill()?;
        child.wait()?;
        assert_eq!(seen.pus.map(|pus| pus.to_string()), Some(pu.to_string()));
        assert_eq!(variables.get("CUDA_VISIBLE_DEVICES").map(String::as_str), Some("7"));
        let gone = running(&topology, who).map_or_else(|error| error.to_string(), |_| String::new());
        insta::assert_snapshot!(gone.replace(&child.id().to_string(), "PID"), @"no process PID can be seen \
            here: give the id of a running program of this machine, as ps shows it (/proc/PID/status: No \
            such file or directory (os error 2))");
        Ok(())
    }

    #[test]
    fn the_pus_are_those_of_all_threads_together() -> Outcome {
        let folder = tempfile::tempdir()?;
        for (thread, pus) in [("9", "0"), ("10", "4-5"), ("11", "0")] {
            let task = folder.path().join("proc/9/task").join(thread);
            fs::create_dir_all(&task)?;
            fs::write(task.join("status"), format!("Name:\tx\nCpus_allowed_list:\t{pus}\n"))?;
        }
        fs::write(folder.path().join("proc/9/status"), "Name:\tx\nPid:\t9\nCpus_allowed_list:\t0\n")?;
        let seen = under(&FsRoot::at(folder.path()), &crate::read()?, Who::Pid(9))?;
        let shown = |set: Option<IdSet>| set.map(|set| set.to_string());
        assert_eq!(
            (shown(seen.pus), shown(seen.first_thread_pus)),
            (Some("0,4-5".to_owned()), Some("0".to_owned()))
        );
        assert!(seen.gpus.devices.is_none() || topology_has_no_gpu(&seen.gpus), "{:?}", seen.gpus);
        Ok(())
    }

    fn topology_has_no_gpu(gpus: &UsableGpus) -> bool {
        gpus.devices.as_ref().is_some_and(Vec::is_empty)
    }
}
