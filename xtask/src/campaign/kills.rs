//! SIGKILL at any time of a run.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use report::Document;

use super::Field;
use super::tried::{Random, Tally};

/// What README promises, and what starting and ending a process takes on a busy machine.
const LOSS_AT_MOST: f64 = 5.0 + 2.0;

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let folder = field.folder.join("kills");
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder)?;
    let path = folder.join("result.json");
    let mut losses = Vec::new();
    for _ in 0..field.extent.kills {
        drop(fs::remove_file(&path));
        let mut command = Command::new(field.binary);
        command.args(["pingpong", "--backend", "host", "--gpus", "0", "--size", "64KiB", "--direction", "h2d,d2h"]);
        command.args(["--reps", "3000000", "--quiet", "--json"]).arg(&path);
        let began = Instant::now();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        std::thread::sleep(Duration::from_millis(random.below(1500) as u64));
        child.kill()?;
        let ran = began.elapsed().as_secs_f64();
        child.wait()?;
        let beside: Vec<_> = fs::read_dir(&folder)?.flatten().map(|entry| entry.file_name()).collect();
        let wrong = match fs::read(&path) {
            // Killed before its first pass was over.
            Err(_) if beside.is_empty() => None,
            Err(_) => Some(format!("no document, but {beside:?}")),
            Ok(bytes) => match Document::from_json(&bytes) {
                Err(error) => Some(format!("the document cannot be read: {error}")),
                Ok(document) => {
                    let loss = ran - document.elapsed_s;
                    losses.push(loss);
                    let is_lost = loss > LOSS_AT_MOST;
                    let left = (beside.len() > 1).then(|| format!("left beside it: {beside:?}"));
                    left.or_else(|| is_lost.then(|| format!("{loss:.2} s are lost")))
                }
            },
        };
        tally.count("a run that is killed", wrong);
    }
    losses.sort_by(f64::total_cmp);
    if let (Some(median), Some(worst)) = (losses.get(losses.len() / 2), losses.last()) {
        tally.note(format!(
            "lost by {} killed runs with a document: median {median:.3} s, worst {worst:.3} s",
            losses.len()
        ));
    }
    Ok(())
}
