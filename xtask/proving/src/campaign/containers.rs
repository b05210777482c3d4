//! Two processes of one number in two containers of one host: namespaces of their own, one folder, results
//! whose names begin alike, and a disk on which a name takes its time.
//!
//! A rename that is slow is what lets the two meet; it is in `tests/slow-disk`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use report::{Document, SavedDocument};

use super::Field;
use super::tried::{Random, Tally, emptied, run};

const RUN: &str = "pingpong --backend host --gpus 0 --size 64KiB --direction h2d --reps 6 --quiet";

/// Tries them.
pub fn fight(field: &Field, _: &mut Random, tally: &mut Tally) -> Result<()> {
    let own = "unshare --map-root-user --pid --fork --mount-proc";
    if run(Command::new("sh").args(["-c", &format!("{own} true")]), &field.folder)?.code != Some(0) {
        tally.note("no process namespace of one's own here: containers were not tried".to_owned());
        return Ok(());
    }
    let disk = field.libraries.slow_disk()?;
    let folder = field.folder.join("containers");
    for pair in 0..field.extent.containers {
        emptied(&folder)?;
        let target = |name: char| folder.join(format!("nightly-results-of-partition-{name}.json"));
        let one = |name: char, seed: usize| {
            let (binary, disk, target) = (field.binary.display(), disk.display(), target(name));
            format!(
                "{own} env SLOW_RENAME=1 LD_PRELOAD={disk} {binary} {RUN} --seed {seed} --json {} >&2",
                target.display()
            )
        };
        let (first, second) = (2 * pair + 1, 2 * pair + 2);
        let script = format!(
            "{} & first=$!; {}; second=$?; wait $first && exit $second",
            one('a', first),
            one('b', second)
        );
        let ended = run(Command::new("sh").args(["-c", &script]), &field.folder)?;
        let wrong = match ended.code {
            Some(0) => seed_of(&target('a'), first)
                .or_else(|| seed_of(&target('b'), second))
                .or_else(|| left(&folder)),
            _ => Some(format!("{:?}: {}", ended.code, ended.err)),
        };
        tally.count(&format!("pair {pair}"), wrong);
    }
    Ok(())
}

/// What is wrong with a document that must be the run's with this seed.
fn seed_of(path: &Path, seed: usize) -> Option<String> {
    let document = fs::read(path).map_err(|error| error.to_string());
    match document.and_then(|bytes| Document::from_json(&bytes).map_err(|error| error.to_string())) {
        Ok(document) if document.argv.iter().any(|word| *word == seed.to_string()) => None,
        Ok(document) => Some(format!("{} holds the document of {:?}", path.display(), document.argv)),
        Err(error) => Some(format!("{}: {error}", path.display())),
    }
}

/// What lies beside the two.
fn left(folder: &Path) -> Option<String> {
    let names: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    (names.len() != 2).then(|| format!("there lie {names:?}"))
}
