//! Files that are damaged, and files that are none.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::Field;
use super::tried::{Random, Tally, run};

/// The saved machines that are damaged.
const MACHINES: [&str; 3] = ["interleaved.xml", "lumi-g-low-noise.xml", "lumi-g.xml"];

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let fixtures = field.root.join("crates/topo/tests/fixtures");
    let machines: Vec<Vec<u8>> =
        MACHINES.iter().filter_map(|name| fs::read(fixtures.join(name)).ok()).collect();
    let document = field.folder.join("place.json");
    let placed =
        run(Command::new(field.binary).args(["place", "--quiet", "--json"]).arg(&document), &field.folder)?;
    let document = fs::read(&document).with_context(|| format!("no placement document: {}", placed.err))?;
    for _ in 0..field.extent.inputs {
        let machine = damaged(&machines[random.below(machines.len())], random);
        try_input(field, &machine, "machine.xml", &["topo", "--input"], &[0, 2], tally)?;
        let document = damaged(&document, random);
        try_input(field, &document, "damaged.json", &["place", "--quiet", "--from"], &[0, 2], tally)?;
    }
    let fifo = field.folder.join("fifo");
    drop(fs::remove_file(&fifo));
    run(Command::new("mkfifo").arg(&fifo), &field.folder)?;
    for command in [
        &["topo", "--input"][..],
        &["place", "--input"],
        &["place", "--from"],
        &["exec", "--print", "--from"],
        &["check", "--input"],
        &["check", "--bandwidth", "--against"],
        &["export", "--to", "csv"],
        &["history"],
        &["trial", "--resume"],
    ] {
        for path in [&fifo, Path::new("/dev/zero"), Path::new("/dev/tty"), Path::new("/")] {
            tried(field, path, command, &[2], tally)?;
        }
    }
    fs::remove_file(fifo)?;
    Ok(())
}

/// Bytes changed, taken out, doubled, or all behind a place cut off.
pub(super) fn damaged(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..1 + random.below(6) {
        let (at, kind) = (random.below(bytes.len().max(1)), random.below(5));
        let end = (at + 1 + random.below(40)).min(bytes.len());
        match kind {
            0 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            1 => drop(bytes.drain(at.min(end)..end)),
            2 => drop(bytes.splice(at..at, whole[at.min(whole.len())..end.min(whole.len())].to_vec())),
            3 => bytes.truncate(at),
            // Another number in the place of one: what reads well and means nothing.
            _ => {
                let digits =
                    bytes.iter().skip(at).position(u8::is_ascii_digit).map_or(at, |digit| at + digit);
                if let Some(byte) = bytes.get_mut(digits) {
                    *byte = b'0' + random.below(10) as u8;
                }
            }
        }
    }
    bytes
}

fn try_input(
    field: &Field,
    bytes: &[u8],
    name: &str,
    command: &[&str],
    codes: &[i32],
    tally: &mut Tally,
) -> Result<()> {
    let path = field.folder.join(name);
    fs::write(&path, bytes)?;
    let before = tally.wrong();
    tried(field, &path, command, codes, tally)?;
    if tally.wrong() > before {
        fs::rename(&path, field.folder.join(format!("wrong-{before}-{name}")))?;
    }
    Ok(())
}

fn tried(field: &Field, path: &Path, command: &[&str], codes: &[i32], tally: &mut Tally) -> Result<()> {
    let ended = run(Command::new(field.binary).args(command).arg(path), &field.folder)?;
    let wrong = match ended.code {
        None => Some(format!("ended by signal {:?} after {:.1} s", ended.signal, ended.took.as_secs_f64())),
        Some(code) if !codes.contains(&code) => Some(format!("code {code}: {}", ended.err)),
        _ if ended.err.contains("panicked") => Some(ended.err),
        _ => None,
    };
    tally.count(&format!("{command:?} {}", path.display()), wrong);
    Ok(())
}
