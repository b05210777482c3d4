//! The processes of a run that outlive its program: what they copy later is in no record that is read.
//!
//! They are known by the folder of the run's records in their environment, also where they have not copied
//! yet; one that has written over its environment, by its record.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::layout::FOLDER;

/// How long after the program's end others may end by themselves.
const MOMENT: Duration = Duration::from_millis(500);

/// Pause between two looks whether they have.
const PAUSE: Duration = Duration::from_millis(10);

/// The processes of the run with these records that still run a moment after its program ended.
pub fn still_running(records: &Path) -> BTreeSet<u32> {
    let ended = Instant::now();
    loop {
        let left = running_now(records);
        if left.is_empty() || ended.elapsed() >= MOMENT {
            return left;
        }
        thread::sleep(PAUSE);
    }
}

fn running_now(records: &Path) -> BTreeSet<u32> {
    let own = [FOLDER.as_bytes(), b"=", records.as_os_str().as_bytes()].concat();
    let has_folder = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == own)
    };
    let with_folder = numbers_in(Path::new("/proc"), "").into_iter().filter(has_folder);
    let with_record = numbers_in(records, ".record").into_iter().filter(|pid| is_alive(*pid));
    with_folder.chain(with_record).collect()
}

/// The numbers that names in this folder are, before this ending.
fn numbers_in(folder: &Path, ending: &str) -> Vec<u32> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.strip_suffix(ending)?.parse().ok()).collect()
}

/// Whether the process runs: one that has ended and was not waited for does not.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name, in brackets, may hold any character.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_still_runs_until_it_has_ended_whether_it_has_copied_or_not()
    -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let mut unknown = Command::new("sleep").arg("60").spawn()?;
        let mut child = Command::new("sleep").arg("60").env(FOLDER, folder.path()).spawn()?;
        let both: BTreeSet<u32> = [child.id(), unknown.id()].into();

        assert_eq!(still_running(folder.path()), [child.id()].into());
        fs::write(folder.path().join(format!("{}.record", unknown.id())), "")?;
        assert_eq!(still_running(folder.path()), both, "it has a record, whatever its environment says");

        child.kill()?;
        unknown.kill()?;
        assert_eq!(still_running(folder.path()), BTreeSet::new(), "nobody has waited for them yet");
        child.wait()?;
        unknown.wait()?;
        Ok(())
    }
}
