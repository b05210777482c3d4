//! The cgroup of a process, of either version: the cpuset and the memory limit that its job was given.
//!
//! `/proc/self/cgroup` (or another process's, whose path is shown as this one would write it) names the
//! group, `/proc/self/mountinfo` where its hierarchy can be seen and which part of it: together they hold in
//! a container too, where the path is the host's and the mount is not, and where version 1 and 2 stand side
//! by side. hwloc takes the path as it is, finds nothing there, and then a cpuset looks like the affinity.
//! Files: cgroup-v2.rst and cgroup-v1/cpusets.rst in the kernel's Documentation/admin-guide. Left out: limits
//! on CPU time, and on huge pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;

use crate::fs_root::{FsRoot, THIS};

const MOUNTS: &str = "/proc/self/mountinfo";

/// Version 2's file, version 1's, and version 1's as older kernels and `-o noprefix` mounts name it.
const CPUS: [&str; 4] = ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus", "cpus"];
const MEMS: [&str; 4] = ["cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems", "mems"];
/// Version 2's two, and version 1's.
const MEMORY: [&str; 3] = ["memory.max", "memory.high", "memory.limit_in_bytes"];

/// From here on version 1's number means no limit (it is the largest that the kernel can hold, in whole
/// pages).
const NO_LIMIT: u64 = 1 << 60;

/// What the cgroup of a process gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cgroup {
    /// PUs of its cpuset; null where no file that can be seen here says it.
    pub pus: Option<IdSet>,
    /// NUMA nodes of its cpuset; null where no file says it.
    pub nodes: Option<IdSet>,
    /// The file that `pus` is from; null where there is none.
    pub source: Option<String>,
    /// Why `pus` is not known; null where it is.
    pub reason: Option<String>,
    /// The least limit on memory of it and of those above it that can be seen, bytes; null without one.
    pub memory_bytes: Option<u64>,
    /// The file that limits memory; null without a limit.
    pub memory_source: Option<String>,
}

/// What the cgroup of the process gives it whose folder in /proc this is.
pub(crate) fn cgroup(root: &FsRoot, folder: &str) -> Cgroup {
    let pus = cpuset(root, folder, &CPUS);
    let memory = group_limits(root, folder).into_iter().min_by_key(|limit| limit.bytes);
    Cgroup {
        nodes: cpuset(root, folder, &MEMS).ok().map(|(set, _)| set),
        source: pus.as_ref().ok().map(|(_, file)| file.clone()),
        reason: pus.as_ref().err().cloned(),
        pus: pus.ok().map(|(set, _)| set),
        memory_bytes: memory.as_ref().map(|limit| limit.bytes),
        memory_source: memory.map(|limit| limit.file),
    }
}

/// The path of the group that holds the cpuset.
pub(crate) fn path(root: &FsRoot) -> Result<String, String> {
    let text = root.text(&file(THIS))?;
    Ok(own(&text, "cpuset").ok_or("this process is in no cpuset")?.1.to_owned())
}

/// The PUs of this process's cpuset, and the file that says so.
pub(crate) fn cpus(root: &FsRoot) -> Result<(IdSet, String), String> {
    cpuset(root, THIS, &CPUS)
}

/// The NUMA nodes of this process's cpuset, and the file that says so.
pub(crate) fn mems(root: &FsRoot) -> Result<(IdSet, String), String> {
    cpuset(root, THIS, &MEMS)
}

/// The set of the nearest group that has one: a group of version 2 without the controller takes that of the
/// one above it.
fn cpuset(root: &FsRoot, folder: &str, files: &[&str]) -> Result<(IdSet, String), String> {
    let groups = groups(root, folder, "cpuset")?;
    let read = |file: String| {
        Some((root.text(&file).ok()?.parse::<IdSet>().ok().filter(|set| !set.is_empty())?, file))
    };
    let all = groups.iter().flat_map(|group| files.iter().map(move |file| format!("{group}/{file}")));
    let none = || {
        format!(
            "no {} in {} and above it: no cpuset controller",
            files[0],
            groups.first().map_or("", |at| at)
        )
    };
    all.into_iter().find_map(read).ok_or_else(none)
}

/// A limit on the memory of a group.
pub(crate) struct GroupLimit {
    pub(crate) bytes: u64,
    pub(crate) group: String,
    /// The file that says so.
    pub(crate) file: String,
}

/// The limits on memory of the group of a process and of those above it, its own first.
pub(crate) fn group_limits(root: &FsRoot, folder: &str) -> Vec<GroupLimit> {
    let limit = |group: &str, name: &str| {
        let file = format!("{group}/{name}");
        let bytes = root.text(&file).ok()?.parse::<u64>().ok().filter(|bytes| *bytes < NO_LIMIT)?;
        Some(GroupLimit { bytes, group: group.to_owned(), file })
    };
    let groups = groups(root, folder, "memory").unwrap_or_default();
    groups.iter().flat_map(|group| MEMORY.iter().filter_map(|name| limit(group, name))).collect()
}

/// The file that names the groups of a process.
fn file(folder: &str) -> String {
    format!("{folder}/cgroup")
}

/// Where the process's group and those above it can be seen, its own first.
fn groups(root: &FsRoot, folder: &str, controller: &str) -> Result<Vec<String>, String> {
    let named_in = file(folder);
    let text = root.text(&named_in)?;
    let (version, path) =
        own(&text, controller).ok_or_else(|| format!("{named_in} names no group of {controller}"))?;
    let mounts = root.lines_holding(MOUNTS, " - cgroup").unwrap_or_else(|_| USUAL_MOUNTS.to_owned());
    let mounts: Vec<Mount<'_>> =
        mounts.lines().filter_map(mount).filter(|mount| mount.has(version, controller)).collect();

    // Later places are those of other roots (a container's, a chroot's), which may be closed to this process.
    // The last mount at a place hides those before it.
    let seen: Vec<(&Mount<'_>, &str)> =
        mounts.iter().filter_map(|mount| Some((mount, mount.below(path)?))).collect();
    let Some((mount, below)) = seen.iter().rfind(|(mount, _)| mount.at == seen[0].0.at) else {
        return Err(format!("the group {path} of {controller} is not under what is mounted here"));
    };
    let mut groups = vec![format!("{}{below}", mount.at)];

    while let Some((above, _)) = groups.last().and_then(|group| group.rsplit_once('/'))
        && above.len() >= mount.at.len()
    {
        groups.push(above.to_owned());
    }

    if root.exists(&groups[0]) {
        Ok(groups)
    } else {
        Err(format!("{}: the group cannot be seen from here", groups[0]))
    }
}

/// Where systemd and its followers mount the two versions, for a machine whose list of mounts cannot be read.
const USUAL_MOUNTS: &str = "0 0 0:0 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
0 0 0:0 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
0 0 0:0 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The group that a controller's limits come from: version 1's hierarchy of the controller, else version 2's.
fn own<'t>(text: &'t str, controller: &str) -> Option<(Version, &'t str)> {
    let of = |wanted: &str| {
        text.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            controllers.split(',').any(|one| one == wanted).then_some(path)
        })
    };
    of(controller).map(|path| (Version::One, path)).or_else(|| of("").map(|path| (Version::Two, path)))
}

/// A place where a hierarchy, or a part of it, can be seen.
#[derive(Debug)]
struct Mount<'t> {
    /// The part: a path within the hierarchy.
    root: &'t str,
    at: &'t str,
    version: Version,
    options: &'t str,
}

/// A line such as `34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime shared:9 - cgroup cgroup rw,cpuset`
/// (proc_pid_mountinfo(5)).
fn mount(line: &str) -> Option<Mount<'_>> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, at) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup" => Version::One,
        "cgroup2" => Version::Two,
        _ => return None,
    };
    Some(Mount { root, at, version, options: kind.nth(1).unwrap_or_default() })
}

impl Mount<'_> {
    fn has(&self, version: Version, controller: &str) -> bool {
        let controls = version == Version::Two || self.options.split(',').any(|option| option == controller);
        self.version == version && controls
    }

    /// Where below this mount the group at `path` is; `None` where it is outside of the part that is mounted.
    fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        let inside = path.strip_prefix(self.root.trim_end_matches('/'))?;
        let inside = inside.trim_end_matches('/');
        let known = !path.split('/').any(|part| part == "..");
        (known && (inside.is_empty() || inside.starts_with('/'))).then_some(inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// A machine's files below a temporary root.
    fn machine(files: &[(&str, &str)]) -> std::io::Result<tempfile::TempDir> {
        let root = tempfile::tempdir()?;
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(root.path()))?;
            std::fs::write(path, text)?;
        }
        Ok(root)
    }

    fn cgroup_from(files: &[(&str, &str)]) -> std::io::Result<Cgroup> {
        let root = machine(files)?;
        let live = FsRoot::at(root.path());
        let found = cgroup(&live, THIS);
        assert_eq!(cgroup(&FsRoot::saved(live.seen()), THIS), found, "a saved file says the same");
        Ok(found)
    }

    fn sets(found: &Cgroup) -> (String, String) {
        let text = |set: &Option<IdSet>| set.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string);
        (text(&found.pus), text(&found.nodes))
    }

    fn owned(pus: &str, nodes: &str) -> (String, String) {
        (pus.to_owned(), nodes.to_owned())
    }

    const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn version_2s_set_is_that_of_the_nearest_group_with_the_controller_and_the_least_limit_counts() -> Outcome
    {
        let found = cgroup_from(&[
            ("proc/self/cgroup", "0::/slurm/job_7/step_0/task_0\n"),
            ("proc/self/mountinfo", &format!("23 1 8:1 / / rw - ext4 /dev/sda rw\n{UNIFIED}")),
            ("sys/fs/cgroup/cpuset.cpus.effective", "0-127\n"),
            ("sys/fs/cgroup/slurm/job_7/cpuset.cpus.effective", "1-7,9-15\n"),
            ("sys/fs/cgroup/slurm/job_7/cpuset.mems.effective", "0\n"),
            ("sys/fs/cgroup/slurm/job_7/memory.max", "68719476736\n"),
            ("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n"),
            ("sys/fs/cgroup/slurm/job_7/step_0/task_0/memory.max", "137438953472\n"),
        ])?;
        assert_eq!(sets(&found), owned("1-7,9-15", "0"));
        assert_eq!(found.source.as_deref(), Some("/sys/fs/cgroup/slurm/job_7/cpuset.cpus.effective"));
        assert_eq!(found.memory_bytes, Some(64 << 30));
        assert_eq!(found.memory_source.as_deref(), Some("/sys/fs/cgroup/slurm/job_7/memory.max"));
        Ok(())
    }

    #[test]
    fn version_1s_hierarchies_are_found_where_they_are_mounted_also_beside_version_2() -> Outcome {
        let mounts = "34 31 0:31 / /cgroups/set rw - cgroup cgroup rw,cpuset,cpu\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      36 31 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let found = cgroup_from(&[
            (
                "proc/self/cgroup",
                "5:cpuset,cpu:/pbs/1.server\n4:memory:/pbs/1.server\n1:name=systemd:/\n0::/init.scope\n",
            ),
            ("proc/self/mountinfo", mounts),
            ("cgroups/set/pbs/1.server/cpuset.effective_cpus", "4-7\n"),
            ("cgroups/set/pbs/1.server/cpuset.mems", "1\n"), // a kernel before 3.17 has no effective_mems
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/pbs/1.server/memory.limit_in_bytes", "1073741824\n"),
            ("sys/fs/cgroup/unified/init.scope/cgroup.procs", ""),
        ])?;

        assert_eq!(sets(&found), owned("4-7", "1"));
        assert_eq!(found.memory_bytes, Some(1 << 30));
        Ok(())
    }

    #[test]
    fn in_a_container_the_hosts_path_is_taken_from_the_part_that_is_mounted() -> Outcome {
        // The container's own mount hides the one that it was started with.
        let mounts = "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                      63 34 0:31 /docker/ab12 /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n";
        let found = cgroup_from(&[
            ("proc/self/cgroup", "3:cpuset:/docker/ab12\n"),
            ("proc/self/mountinfo", mounts),
            ("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "2-3\n"),
            ("sys/fs/cgroup/cpuset/docker/ab12/cpuset.effective_cpus", "0-63\n"),
        ])?;
        assert_eq!(sets(&found), owned("2-3", "?"));
        Ok(())
    }

    #[test]
    fn another_roots_mount_of_the_hierarchy_is_not_taken_for_the_own_one() -> Outcome {
        let other = UNIFIED.replace(" /sys", " /srv/images/9/sys");
        let found = cgroup_from(&[
            ("proc/self/cgroup", "0::/job\n"),
            ("proc/self/mountinfo", &format!("{UNIFIED}{other}")),
            ("sys/fs/cgroup/job/cpuset.cpus.effective", "0-3\n"),
        ])?;
        assert_eq!(found.source.as_deref(), Some("/sys/fs/cgroup/job/cpuset.cpus.effective"), "{found:?}");
        Ok(())
    }

    #[test]
    fn a_group_that_cannot_be_seen_is_not_guessed_and_the_reason_names_it() -> Outcome {
        let whole = ("sys/fs/cgroup/cpuset.cpus.effective", "0-63\n");
        let mut reasons = Vec::new();
        for (group, mounts) in [
            // A group's namespace began below what is mounted.
            ("0::/\n", UNIFIED.replace(" / /sys", " /.. /sys")),
            ("0::/../other\n", UNIFIED.to_owned()),
            ("0::/docker/ab12\n", UNIFIED.to_owned()),
            ("0::/docker/ab12\n", UNIFIED.replace(" / /sys", " /docker/ab1 /sys")),
            ("0::/\n", String::new()),
            ("1:name=systemd:/\n", UNIFIED.to_owned()),
        ] {
            let found = cgroup_from(&[("proc/self/cgroup", group), ("proc/self/mountinfo", &mounts), whole])?;
            assert!(found.pus.is_none(), "{group}{mounts}{found:?}");
            reasons.push(found.reason.ok_or("a reason")?);
        }

        let found = cgroup_from(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", UNIFIED),
            ("sys/fs/cgroup/cgroup.procs", ""),
        ])?;
        reasons.push(found.reason.ok_or("a reason")?);
        let nothing = cgroup(&FsRoot::at(machine(&[])?.path()), "/proc/7");
        reasons.push(nothing.reason.ok_or("a reason")?);
        insta::assert_snapshot!("groups_that_cannot_be_seen", reasons.join("\n"));
        Ok(())
    }

    #[test]
    fn without_a_list_of_mounts_the_usual_places_are_looked_at() -> Outcome {
        let found = cgroup_from(&[
            ("proc/self/cgroup", "3:cpuset:/job\n2:memory:/job\n"),
            ("sys/fs/cgroup/cpuset/job/cpuset.cpus", "0-1\n"),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4096\n"),
        ])?;
        assert_eq!((sets(&found), found.memory_bytes), (owned("0-1", "?"), Some(4096)));
        Ok(())
    }
}
