//! Disks without room, and folders that go away under a run.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use report::{Document, PlaceDocument, SavedDocument};

use super::Field;
use super::tried::{Ended, Random, Tally, emptied, run};

const RUN: &str = "pingpong --backend host --gpus 0 --size 64KiB --direction h2d --reps 6";

/// Tries them.
pub fn fight(field: &Field, _: &mut Random, tally: &mut Tally) -> Result<()> {
    let binary = field.binary.display();
    let shell = |script: &str| run(Command::new("sh").args(["-c", script]), &field.folder);
    let refused = |ended: &Ended| {
        let well = ended.code == Some(1)
            && ended.err.contains("cannot be written")
            && !ended.err.contains("panicked");
        (!well).then(|| format!("{:?}: {}{}", ended.code, ended.out, ended.err))
    };
    let room = |kib: u32, run: &str| {
        format!(
            "unshare --mount --map-root-user sh -c 'mount -t tmpfs -o size={kib}k none /mnt && {binary} \
             {run} --json /mnt/r.json'"
        )
    };
    let can = shell("unshare --mount --map-root-user mount -t tmpfs none /mnt")?.code == Some(0);
    if can {
        for run in [RUN, "place", "place --measure --backend host --size 1MiB --max-time 2s"] {
            tally.count(&format!("a disk of 4 KiB: {run}"), refused(&shell(&room(4, run))?));
        }
    } else {
        tally.note("no mount namespace of one's own here: full disks were not tried".to_owned());
    }
    for run in [RUN, "place"] {
        let path = field.folder.join("limited.json");
        let ended = shell(&format!("ulimit -f 4; exec {binary} {run} --json {}", path.display()))?;
        tally.count(&format!("a limit of a file's size: {run}"), refused(&ended));
        goes_elsewhere(field, run, tally)?;
    }
    folder_goes(field, tally)
}

/// The one file in a folder is a document.
fn holds_a_document(folder: &Path) -> Option<String> {
    let files: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let [path] = files.as_slice() else { return Some(format!("the temporary folder has {files:?}")) };
    let bytes = fs::read(path).unwrap_or_default();
    match (Document::from_json(&bytes), PlaceDocument::from_json(&bytes)) {
        (Err(error), Err(_)) => Some(format!("{} cannot be read: {error}", path.display())),
        _ => None,
    }
}

/// Standard output that takes nothing.
fn goes_elsewhere(field: &Field, command: &str, tally: &mut Tally) -> Result<()> {
    let temporary = field.folder.join("temporary");
    emptied(&temporary)?;
    let script = format!(
        "TMPDIR={} exec {} {command} --json - > /dev/full",
        temporary.display(),
        field.binary.display()
    );
    let ended = run(Command::new("sh").args(["-c", &script]), &field.folder)?;
    let wrong = (ended.code != Some(1)).then(|| format!("{:?}: {}", ended.code, ended.err));
    tally
        .count(&format!("a full standard output: {command}"), wrong.or_else(|| holds_a_document(&temporary)));
    Ok(())
}

/// The document's folder is removed while the run goes on.
fn folder_goes(field: &Field, tally: &mut Tally) -> Result<()> {
    let (folder, temporary) = (field.folder.join("goes"), field.folder.join("temporary"));
    emptied(&folder)?;
    emptied(&temporary)?;
    let path = folder.join("result.json");
    let mut command = Command::new(field.binary);
    command.args(RUN.replace("--reps 6", "--reps 3000000").split(' ')).arg("--json").arg(&path);
    command.env("TMPDIR", &temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn()?;
    let began = Instant::now();
    while !path.exists() && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::remove_dir_all(&folder)?;
    // The shell's own: procps is not everywhere.
    run(Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]), &field.folder)?;
    let output = child.wait_with_output()?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let well = output.status.code() == Some(130)
        && out.contains("INTERRUPTED")
        && err.contains("the document is in");
    let wrong = (!well).then(|| format!("{:?}: {out}{err}", output.status));
    tally.count("a folder that goes away", wrong.or_else(|| holds_a_document(&temporary)));
    Ok(())
}
