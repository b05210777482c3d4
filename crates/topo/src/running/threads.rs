//! The threads of a process and the processes that it started, grouped by name and by the PUs that they may
//! run on.
//!
//! Libraries name their helper threads (`NCCL Progress`, `pt_autograd_0`, `cuda-EvtHandlr`), OpenMP's have
//! the program's name, and a data loader's workers are processes: the names of a group say whose threads they
//! are. Apart from [`Running`](super::Running), since only who asks for threads wants to read a file for
//! each.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;

use super::Who;
use crate::fs_root::{FsRoot, value_of};
use stats::printable;

/// More processes than anybody starts from one; so that a loop in what the kernel says has an end.
const MOST: usize = 4096;

/// Threads, or processes, of one name that may run on the same PUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadGroup {
    /// What the kernel calls them (`comm`); numbers at the end are left out.
    pub name: String,
    /// The PUs that each of them may run on.
    pub pus: IdSet,
    /// How many.
    pub count: u32,
}

/// Who works for a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Threads")]
pub struct ProcessThreads {
    /// Its threads, the group of the first one first.
    pub own: Vec<ThreadGroup>,
    /// The processes that it started, and those that these started; the PUs are those of all their threads.
    pub children: Vec<ThreadGroup>,
}

/// The threads of a process now, and its children.
pub fn threads(who: Who) -> ProcessThreads {
    under(&FsRoot::default(), &who.folder())
}

fn under(root: &FsRoot, folder: &str) -> ProcessThreads {
    let mut children = Vec::new();
    for pid in descendants(root, folder) {
        let threads = names_and_pus(root, &format!("/proc/{pid}"));
        let name = threads.first().map(|(name, _)| name.clone());
        let pus = threads.into_iter().map(|(_, pus)| pus).reduce(|all, one| all.or(&one));
        children.extend(name.zip(pus));
    }
    ProcessThreads { own: grouped(names_and_pus(root, folder)), children: grouped(children) }
}

/// Name and PUs of each thread; one that ends meanwhile is left out.
fn names_and_pus(root: &FsRoot, folder: &str) -> Vec<(String, IdSet)> {
    let one = |thread: u32| {
        let lines =
            root.lines(&format!("{folder}/task/{thread}/status"), &["Name", "Cpus_allowed_list"]).ok()?;
        let name = printable::name(value_of(&lines, "Name")?);
        Some((without_number(&name).to_owned(), value_of(&lines, "Cpus_allowed_list")?.parse().ok()?))
    };
    // The first is the process's own.
    root.numbers(&format!("{folder}/task")).into_iter().filter_map(one).collect()
}

/// `pt_autograd_` of `pt_autograd_3`: threads of a pool are one group.
fn without_number(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.is_empty() { name } else { stem }
}

fn grouped(all: Vec<(String, IdSet)>) -> Vec<ThreadGroup> {
    let mut groups: Vec<ThreadGroup> = Vec::new();
    let mut places: BTreeMap<(String, IdSet), usize> = BTreeMap::new();
    for (name, pus) in all {
        let at = *places.entry((name.clone(), pus.clone())).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.count += 1,
            None => groups.push(ThreadGroup { name, pus, count: 1 }),
        }
    }
    groups
}

/// The processes that it started, and theirs, by the kernel's `task/TID/children`, which not every kernel
/// has.
fn descendants(root: &FsRoot, folder: &str) -> BTreeSet<u32> {
    let children = |folder: &str| -> Vec<u32> {
        let of_thread =
            |thread: &u32| root.text(&format!("{folder}/task/{thread}/children")).unwrap_or_default();
        let texts: Vec<String> = root.numbers(&format!("{folder}/task")).iter().map(of_thread).collect();
        texts.iter().flat_map(|text| text.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect()
    };
    let mut found = BTreeSet::new();
    let mut next = children(folder);
    while let Some(pid) = next.pop() {
        if found.len() < MOST && found.insert(pid) {
            next.extend(children(&format!("/proc/{pid}")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn threads_of_one_name_and_place_are_a_group_and_children_are_apart() -> Outcome {
        let folder = tempfile::tempdir()?;
        let thread = |pid: u32, thread: u32, name: &str, pus: &str, children: &str| {
            let task = folder.path().join(format!("proc/{pid}/task/{thread}"));
            std::fs::create_dir_all(&task)?;
            std::fs::write(task.join("children"), children)?;
            std::fs::write(task.join("status"), format!("Name:\t{name}\nCpus_allowed_list:\t{pus}\n"))
        };
        thread(90, 90, "python", "0-7", "101 100 ")?;
        thread(90, 91, "python", "1", "")?;
        thread(90, 92, "python", "1", "")?;
        thread(90, 95, "NCCL Progress12", "0-7", "102")?;
        thread(90, 101, "NCCL Progress2", "0-7", "")?;
        thread(100, 100, "pt_data_worker", "0-3", "101")?;
        thread(101, 101, "pt_data_worker", "0-1", "")?;
        thread(101, 103, "x", "2-3", "")?;
        let all = under(&FsRoot::at(folder.path()), "/proc/90");
        let shown = |groups: &[ThreadGroup]| -> Vec<String> {
            groups.iter().map(|group| format!("{} {} {}", group.count, group.name, group.pus)).collect()
        };
        assert_eq!(shown(&all.own), ["1 python 0-7", "2 python 1", "2 NCCL Progress 0-7"]);

        // What two name is one process, and one that has gone (102) is none.
        assert_eq!(shown(&all.children), ["2 pt_data_worker 0-3"]);
        Ok(())
    }

    #[test]
    fn this_process_has_a_thread_and_a_name_of_digits_is_kept() {
        let all = threads(Who::This);
        assert!(all.own.iter().map(|group| group.count).sum::<u32>() >= 1, "{all:?}");
        assert_eq!((without_number("12"), without_number("a1b22")), ("12", "a1b"));
    }
}
