//! Variables whose bytes are no text, or too long, or steer a terminal, or say of a launch what cannot be: a
//! command does its work or refuses with a message, and nothing that a terminal obeys comes back.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use anyhow::Result;

use super::Field;
use super::tried::{Random, Tally, run};

/// What is run, and the codes that may be promised for it.
const COMMANDS: &[(&str, &[i32])] = &[
    ("topo", &[0]),
    ("place", &[0, 2]),
    ("exec --print", &[0, 2, 6]),
    ("exec --gpus none -- true", &[0, 2]),
    ("check", &[0, 2, 5, 6]),
    ("check -- true", &[0]),
    ("trial --placements close --max-runs 6 --dry-run -- true", &[0, 2]),
    ("pingpong --backend host --gpus 0 --size 4KiB --reps 6 --quiet", &[0, 2, 77]),
    ("matrix --backend host --dry-run", &[0, 2, 77]),
    ("mpi --help", &[0]),
];

/// Variables that something reads, and some that nothing does.
const NAMES: &[&str] = &[
    "X",
    "PATH",
    "HOME",
    "TMPDIR",
    "TERM",
    "COLUMNS",
    "NO_COLOR",
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_CPU_BIND",
    "PMI_RANK",
    "PMI_SIZE",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "UCX_NET_DEVICES",
    "HWLOC_XMLFILE",
];

const VALUES: &[&[u8]] = &[
    b"\xff",
    b"a\xffb",
    b"",
    b"\x1b[31mred",
    b"\xe2\x80\xaegnp.exe",
    b"-1",
    b"5",
    b"18446744073709551615",
    b"99999999999999999999999999",
    b"0,0,0",
    b"%s%n",
];

/// Longer than any value that is meant.
const LONG: usize = 20_000;

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    for _ in 0..field.extent.environments {
        let (command, codes) = random.pick(COMMANDS);
        let mut set: Vec<(&str, OsString)> = Vec::new();
        for _ in 0..1 + random.below(3) {
            let value = match random.below(VALUES.len() + 1) {
                at if at < VALUES.len() => OsStr::from_bytes(VALUES[at]).to_owned(),
                _ => "a".repeat(LONG).into(),
            };
            set.push((*random.pick(NAMES), value));
        }
        let mut child = Command::new(field.binary);
        let ended = run(
            child.args(command.split(' ')).envs(set.iter().map(|(name, value)| (name, value))),
            &field.folder,
        )?;
        let said = format!("{}{}", ended.out, ended.err);
        let steers = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || c == '\u{202e}';
        let wrong = match ended.code {
            None => Some(format!("ended by signal {:?}: {}", ended.signal, ended.err)),
            _ if said.contains("panicked") => Some(ended.err),
            // What a variable breaks may refuse any command.
            Some(code)
                if !(codes.contains(&code)
                    || matches!(code, 1 | 2 | 127) && ended.err.contains("error: ")) =>
            {
                Some(format!("code {code}: {}", ended.err))
            }
            Some(code) if !matches!(code, 0 | 5 | 6) && ended.err.trim().is_empty() => {
                Some(format!("code {code} without a word"))
            }
            Some(0) if said.trim().is_empty() && !command.ends_with("-- true") => {
                Some("it ended well and printed nothing".to_owned())
            }
            _ if said.chars().any(steers) => Some(format!("a terminal would obey it: {said:?}")),
            _ if ended.err.len() > LONG => Some(format!("a message of {} bytes", ended.err.len())),
            _ => None,
        };
        tally.count(&format!("{command} with {set:?}").chars().take(300).collect::<String>(), wrong);
    }
    Ok(())
}
