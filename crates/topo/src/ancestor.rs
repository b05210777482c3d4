//! The affinity of a process above this one: what a launcher has to share out, before it binds each of those
//! it starts.
//!
//! Launchers bind their processes one by one and stay unbound themselves (mpirun's and PRRTE's daemons,
//! Hydra's proxy, PALS' daemon, Flux's shell), so the launcher's own affinity is what its processes may have
//! together. `/proc/PID/stat` and `status` of the user's own processes can be read everywhere but under
//! another PID namespace, where the walk ends and says so.

use stats::IdSet;

use crate::fs_root::{FsRoot, value_of};

/// More generations than any launcher puts between itself and a program, and few enough to be read in no
/// time.
const GENERATIONS: usize = 32;

/// A process above this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// Its name, as the kernel has it.
    pub name: String,
    /// Its number.
    pub pid: u32,
    /// The PUs of its affinity.
    pub affinity: IdSet,
}

/// The nearest ancestor whose name is one of these, whatever follows a point in it (`mpirun.openmpi`).
///
/// # Errors
/// Why there is none, in words.
pub fn nearest(names: &[&str]) -> Result<Ancestor, String> {
    in_root(&FsRoot::default(), names)
}

fn in_root(root: &FsRoot, names: &[&str]) -> Result<Ancestor, String> {
    let (_, mut pid) = stat(root, "self")?;
    for _ in 0..GENERATIONS {
        if pid == 0 {
            break;
        }
        let (name, parent) = stat(root, &pid.to_string())?;
        if names.contains(&name.split('.').next().unwrap_or_default()) {
            let file = format!("/proc/{pid}/status");
            let status = root.lines(&file, &["Cpus_allowed_list"])?;
            let affinity = value_of(&status, "Cpus_allowed_list").and_then(|list| list.parse().ok());
            let affinity = affinity.ok_or_else(|| format!("{file} has no Cpus_allowed_list"))?;
            return Ok(Ancestor { name, pid, affinity });
        }
        pid = parent;
    }

    Err(format!("no process above this one is called {}", names.join(", ")))
}

/// The name and the parent of a process: `PID (NAME) STATE PPID …`, where the name may hold anything.
fn stat(root: &FsRoot, process: &str) -> Result<(String, u32), String> {
    let file = format!("/proc/{process}/stat");
    let line = root.first_line(&file)?;
    let parsed = || {
        let (head, tail) = line.rsplit_once(") ")?;
        Some((head.split_once('(')?.1.to_owned(), tail.split(' ').nth(1)?.parse().ok()?))
    };
    parsed().ok_or_else(|| format!("{file} is not as proc(5) describes it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `/proc` with these processes: name, number, parent, affinity; the last one is this one.
    fn root_with(processes: &[(&str, u32, u32, &str)]) -> std::io::Result<tempfile::TempDir> {
        let root = tempfile::tempdir()?;
        let own = processes.last().map(|own| ("self".to_owned(), own));
        for (folder, (name, pid, parent, affinity)) in
            processes.iter().map(|process| (process.1.to_string(), process)).chain(own)
        {
            let folder = root.path().join("proc").join(folder);
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join("stat"), format!("{pid} ({name}) S {parent} 1 1 0\n"))?;
            std::fs::write(
                folder.join("status"),
                format!("Name:\t{name}\nCpus_allowed_list:\t{affinity}\n"),
            )?;
        }
        Ok(root)
    }

    #[test]
    fn the_nearest_launcher_is_found_past_shells_and_odd_names() -> Result<(), Box<dyn std::error::Error>> {
        let root = root_with(&[
            ("mpirun", 10, 1, "0-63"),
            ("orted", 20, 10, "0-31"),
            ("sh) x (y", 30, 20, "4"),
            ("numabench", 40, 30, "4"),
        ])?;
        let root = FsRoot::at(root.path());
        let found = in_root(&root, &["mpirun", "orted"])?;
        assert_eq!(found, Ancestor { name: "orted".to_owned(), pid: 20, affinity: "0-31".parse()? });
        assert_eq!(in_root(&root, &["mpirun"])?.affinity, "0-63".parse()?);
        Ok(())
    }

    #[test]
    fn a_name_with_an_ending_counts_and_this_process_itself_does_not()
    -> Result<(), Box<dyn std::error::Error>> {
        let root = root_with(&[("mpirun.openmpi", 10, 0, "0-3"), ("mpirun", 11, 10, "1")])?;
        assert_eq!(in_root(&FsRoot::at(root.path()), &["mpirun"])?.pid, 10);
        Ok(())
    }

    #[test]
    fn where_there_is_none_or_the_walk_ends_the_reason_is_said() -> std::io::Result<()> {
        let root = root_with(&[("init", 1, 0, "0-3"), ("numabench", 2, 1, "0")])?;
        let why = in_root(&FsRoot::at(root.path()), &["mpirun", "orted"]);
        assert_eq!(why, Err("no process above this one is called mpirun, orted".to_owned()));
        let root = root_with(&[("numabench", 2, 1, "0")])?;
        let why = in_root(&FsRoot::at(root.path()), &["mpirun"]).err().unwrap_or_default();
        assert!(why.starts_with("/proc/1/stat: "), "{why}");
        Ok(())
    }

    #[test]
    fn this_test_has_an_ancestor_with_an_affinity() -> Result<(), Box<dyn std::error::Error>> {
        let parent = stat(&FsRoot::default(), "self")?.1;
        let name = stat(&FsRoot::default(), &parent.to_string())?.0;
        let found = nearest(&[name.split('.').next().unwrap_or_default()])?;
        assert!(found.pid == parent && !found.affinity.is_empty(), "{found:?}");
        Ok(())
    }
}
