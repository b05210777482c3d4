//! SIGKILL at any time of a run, in turn with the disk that is here and with a slow one.
//!
//! Nothing may lie beside the document, or what does must go with the next run of the same file. Most are
//! killed early, where a run opens its file, writes it for the first time and again a little later; one in
//! ten later than the longest time between two writings.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use report::{Document, SavedDocument};

use super::Field;
use super::tried::{Random, Tally, emptied};

/// What docs/results.md promises, and what starting and ending a process takes on a busy machine.
const LOSS_AT_MOST: f64 = 5.0 + 2.0;
/// The last writing and the one in flight, during which nothing is measured, of the slow disk.
const SLOW_WRITINGS: f64 = 2.0 * 0.5;

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let folder = field.folder.join("kills");
    emptied(&folder)?;
    let path = folder.join("result.json");
    let slow = field.libraries.slow_disk()?;
    let (mut losses, mut between) = ([Vec::new(), Vec::new()], 0_usize);
    for number in 0..field.extent.kills {
        let is_slow = number % 2 == 1;
        drop(fs::remove_file(&path));
        let mut command = Command::new(field.binary);
        command.args([
            "pingpong",
            "--backend",
            "host",
            "--gpus",
            "0",
            "--size",
            "64KiB",
            "--direction",
            "h2d,d2h",
        ]);
        command.args(["--reps", "9000000", "--quiet", "--json"]).arg(&path);
        if is_slow {
            command.env("LD_PRELOAD", &slow);
        }
        let began = Instant::now();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let latest = if random.below(10) == 0 { 12_000 } else { 1500 };
        std::thread::sleep(Duration::from_millis(random.below(latest) as u64));
        let by_itself = child.try_wait()?;
        child.kill()?;
        let ran = began.elapsed().as_secs_f64();
        child.wait()?;
        let mut beside = names(&folder)?;
        if beside.iter().any(|name| name != "result.json") {
            // Between two names of its file. What the next run does not remove stays.
            let before = fs::read(&path).ok();
            let mut next = Command::new(field.binary);
            next.args([
                "pingpong",
                "--backend",
                "host",
                "--size",
                "64KiB",
                "--reps",
                "1",
                "--quiet",
                "--json",
            ]);
            next.arg(&path).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            match before {
                Some(before) => fs::write(&path, before)?,
                None => fs::remove_file(&path)?,
            }
            beside = names(&folder)?;
            between += usize::from(beside.iter().all(|name| name == "result.json"));
        }
        let wrong = match fs::read(&path) {
            _ if by_itself.is_some() => Some(format!("it ended by itself: {by_itself:?}")),
            // Killed before its first pass was over.
            Err(_) if beside.is_empty() => None,
            Err(_) => Some(format!("no document, but {beside:?}")),
            Ok(bytes) => match Document::from_json(&bytes) {
                Err(error) => Some(format!("the document cannot be read: {error}")),
                Ok(document) => {
                    let loss = ran - document.elapsed_s;
                    losses[usize::from(is_slow)].push(loss);
                    let is_lost = loss > LOSS_AT_MOST + if is_slow { SLOW_WRITINGS } else { 0.0 };
                    let left = (beside.len() > 1).then(|| format!("left beside it: {beside:?}"));
                    left.or_else(|| is_lost.then(|| format!("{loss:.2} s are lost")))
                }
            },
        };
        let disk = if is_slow { "slow" } else { "fast" };
        tally.count(&format!("a run that is killed after {ran:.2} s, with a {disk} disk"), wrong);
    }
    let kept = losses.iter().map(Vec::len).sum::<usize>();
    tally.count("documents of killed runs", (kept == 0).then(|| "no run left one".to_owned()));
    if between > 0 {
        tally.note(format!("{between} left a hidden file, which the next run with the same file removed"));
    }
    for (disk, mut losses) in ["fast", "slow"].into_iter().zip(losses) {
        losses.sort_by(f64::total_cmp);
        if let (Some(median), Some(worst)) = (losses.get(losses.len() / 2), losses.last()) {
            let count = losses.len();
            tally.note(format!(
                "lost by {count} killed runs with a document on a {disk} disk: median {median:.3} s, worst \
                 {worst:.3} s"
            ));
        }
    }
    Ok(())
}

/// What lies in a folder.
fn names(folder: &Path) -> Result<Vec<OsString>> {
    Ok(fs::read_dir(folder)?.flatten().map(|entry| entry.file_name()).collect())
}
