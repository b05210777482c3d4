//! What a process is bound to, this one or another, as the kernel says: PUs, memory nodes, memory policy.
//!
//! The policy is read from `numa_maps`, not asked with `get_mempolicy`: container runtimes forbid that call
//! by default, and the file says the same. Its first line is the program's own text, which has no policy of
//! its own and so shows the process's (`show_numa_map` in the kernel's fs/proc/task_mmu.c; the words are
//! `mpol_to_str`'s, mm/mempolicy.c). Left out: policies that a program gives to single ranges of its memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;

use crate::cgroup::{Cgroup, cgroup};
use crate::fs_root::{FsRoot, THIS, value_of};
use crate::memory_limits::STATUS_LINES;
use stats::printable;

/// What a process is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Process")]
pub struct ProcessBinding {
    /// PUs of its affinity (`Cpus_allowed_list`), offline ones too; null where the kernel's file cannot be
    /// read.
    pub affinity: Option<IdSet>,
    /// NUMA nodes it may allocate on (`Mems_allowed_list`); null where the kernel's file cannot be read.
    pub memory_nodes: Option<IdSet>,
    /// Where its memory goes.
    pub policy: MemoryPolicy,
    /// What its cgroup gives it.
    pub cgroup: Cgroup,
}

/// The memory policy of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPolicy {
    /// The policy; null where it is not known.
    pub mode: Option<PolicyMode>,
    /// The nodes it names; empty where it names none.
    pub nodes: IdSet,
    /// The kernel's flags, where there are any (`static`, `relative`, `balancing`): what happens to the nodes
    /// when the cpuset changes, and whether pages may move.
    pub flags: Option<String>,
    /// The file that says so.
    pub source: String,
    /// Why the mode is not known; null where it is.
    pub reason: Option<String>,
}

/// Where memory goes by default (set_mempolicy(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyMode {
    /// The node of the PU that touches a page first, others when it is full.
    Default,
    /// The same, by request.
    Local,
    /// One node first, others when it is full.
    Preferred,
    /// Several nodes first, others when they are full.
    PreferredMany,
    /// Only these nodes.
    Bind,
    /// Page by page over these nodes.
    Interleave,
    /// The same, by the nodes' weights.
    WeightedInterleave,
}

/// The kernel's words; one that begins with another comes first.
const MODES: [(&str, PolicyMode); 7] = [
    ("default", PolicyMode::Default),
    ("local", PolicyMode::Local),
    ("prefer (many)", PolicyMode::PreferredMany),
    ("prefer", PolicyMode::Preferred),
    ("bind", PolicyMode::Bind),
    ("interleave", PolicyMode::Interleave),
    ("weighted interleave", PolicyMode::WeightedInterleave),
];

impl PolicyMode {
    /// The word that `numactl -s` and set_mempolicy(2) use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Local => "local",
            Self::Preferred => "preferred",
            Self::PreferredMany => "preferred-many",
            Self::Bind => "bind",
            Self::Interleave => "interleave",
            Self::WeightedInterleave => "weighted-interleave",
        }
    }
}

/// What this process is bound to now.
pub(crate) fn process(root: &FsRoot) -> ProcessBinding {
    in_folder(root, THIS)
}

/// What the process is bound to now whose folder in /proc this is.
pub(crate) fn in_folder(root: &FsRoot, folder: &str) -> ProcessBinding {
    let status = root.lines(&format!("{folder}/status"), &STATUS_LINES).unwrap_or_default();
    let list = |key| value_of(&status, key).and_then(|list| list.parse().ok());
    ProcessBinding {
        affinity: list("Cpus_allowed_list"),
        memory_nodes: list("Mems_allowed_list"),
        policy: policy(root, folder),
        cgroup: cgroup(root, folder),
    }
}

fn policy(root: &FsRoot, folder: &str) -> MemoryPolicy {
    let file = format!("{folder}/numa_maps");
    let unknown = |reason: String| MemoryPolicy {
        source: file.clone(),
        reason: Some(reason),
        ..MemoryPolicy::default()
    };
    match root.first_line(&file) {
        Err(reason) => unknown(format!("{reason} (a kernel without NUMA has no such file)")),
        Ok(line) => written(&line, &file).unwrap_or_else(|| {
            unknown(format!(
                "the kernel writes \"{}\", which names no policy known here",
                line.chars().take(60).collect::<String>()
            ))
        }),
    }
}

/// The policy in a line such as `00400000 bind=static:0-1 file=/bin/cat mapped=2 …`.
fn written(line: &str, file: &str) -> Option<MemoryPolicy> {
    let (_address, rest) = line.split_once(' ')?;
    let (mode, rest) = MODES.iter().find_map(|(word, mode)| Some((*mode, rest.strip_prefix(word)?)))?;
    let rest = rest.split(' ').next()?;
    let (flags, nodes) = match rest.split_once(':') {
        Some((flags, nodes)) => (flags, nodes.parse().ok()?),
        None => (rest, IdSet::default()),
    };
    let flags = match flags.strip_prefix('=') {
        Some(flags) => Some(printable::name(flags)),
        None if flags.is_empty() => None,
        None => return None,
    };
    Some(MemoryPolicy { mode: Some(mode), nodes, flags, source: file.to_owned(), reason: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_that_the_kernel_writes_is_read() {
        for (line, mode, nodes, flags) in [
            ("00400000 default file=/bin/cat mapped=2 N0=2", PolicyMode::Default, "", None),
            ("00400000 interleave:0-1 file=/bin/cat", PolicyMode::Interleave, "0-1", None),
            ("00400000 bind:1", PolicyMode::Bind, "1", None),
            ("00400000 bind=static:0,2 file=/bin/cat", PolicyMode::Bind, "0,2", Some("static")),
            ("00400000 prefer:1 anon=1", PolicyMode::Preferred, "1", None),
            ("00400000 prefer (many):0-1 anon=1", PolicyMode::PreferredMany, "0-1", None),
            ("00400000 weighted interleave:0-3", PolicyMode::WeightedInterleave, "0-3", None),
            ("00400000 local file=/bin/cat", PolicyMode::Local, "", None),
        ] {
            let policy = written(line, "numa_maps");
            let read =
                policy.as_ref().map(|policy| (policy.mode, policy.nodes.clone(), policy.flags.as_deref()));
            assert_eq!(read, Some((Some(mode), nodes.parse().unwrap_or_default(), flags)), "{line}");
        }
    }

    #[test]
    fn a_word_that_is_not_known_is_quoted_and_not_guessed() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        std::fs::create_dir_all(root.path().join("proc/self"))?;
        for (text, said) in [
            ("00400000 spread:0-1 file=x\n", "\"00400000 spread:0-1"),
            ("", "writes \"\""),
            ("00400000 binds:1", "binds"),
        ] {
            std::fs::write(root.path().join("proc/self/numa_maps"), text)?;
            let policy = policy(&FsRoot::at(root.path()), THIS);
            assert_eq!(policy.mode, None);
            assert!(policy.reason.as_ref().is_some_and(|reason| reason.contains(said)), "{policy:?}");
        }
        Ok(())
    }

    #[test]
    fn without_the_kernels_files_nothing_is_known_and_the_file_is_named() -> std::io::Result<()> {
        let process = process(&FsRoot::at(tempfile::tempdir()?.path()));
        assert_eq!((process.affinity, process.memory_nodes), (None, None));
        assert!(process.policy.reason.is_some_and(|reason| reason.contains("/proc/self/numa_maps")));
        Ok(())
    }

    #[test]
    fn this_process_has_an_affinity() {
        assert!(process(&FsRoot::default()).affinity.is_some_and(|pus| !pus.is_empty()));
    }
}
