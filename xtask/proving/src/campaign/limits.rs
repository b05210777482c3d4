//! Limits of the size of files, of processes and of memory: every command that writes, and every one that
//! starts threads. A result or a message, never a panic, a hang or a death without a word.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use object::Endianness;
use object::elf::{FileHeader64, PF_W, PT_LOAD, ProgramHeader64};
use object::read::elf::{FileHeader, ProgramHeader};

use super::Field;
use super::tried::{Random, Tally, emptied, leave_only, run};

/// What is run in the folder with `result.json`.
const COMMANDS: &[&str] = &[
    "report result.json -o written.html",
    "export result.json --to csv -o written.csv",
    "compare result.json result.json --json written.json",
    "baseline result.json -o written.json",
    "topo --save written.xml",
    "topo --svg written.svg",
    "man --dir written",
    "place --json written.json",
    "check",
    "exec --gpus none -- true",
    "pingpong --backend host --gpus 0 --size 4KiB --reps 6 --json written.json",
    "matrix --backend host --range 64KiB --reps 2 --json written.json",
    "trial --vary X=1 --max-runs 6 --json written.json -- true",
];

/// A limit, and whether the kernel holds root to it.
const LIMITS: &[(&str, bool)] = &[
    ("--fsize=512", true),
    ("--fsize=4096", true),
    ("--nproc=1", false),
    ("--nproc=0", false),
    ("--data=1048576", true),
    ("--data=8388608", true),
    ("--nofile=8", true),
];

/// A command under a limit takes no longer.
const AT_MOST: Duration = Duration::from_secs(30);

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let folder = field.folder.join("limits");
    emptied(&folder)?;
    fs::set_permissions(&folder, Permissions::from_mode(0o777))?;
    let result = folder.join("result.json");
    let quick = "pingpong --backend host --gpus 0 --size 4KiB..1MiB --reps 20 --quiet --json";
    run(Command::new(field.binary).args(quick.split(' ')).arg(&result), &field.folder)?;
    if run(Command::new("prlimit").arg("--version"), &field.folder).is_err() {
        tally.note("no prlimit here: limits were not tried".to_owned());
        return Ok(());
    }
    let all: Vec<(&str, &(&str, bool))> =
        COMMANDS.iter().flat_map(|command| LIMITS.iter().map(move |limit| (*command, limit))).collect();
    let own = own_data(field.binary)?;
    let mut unheld = 0;
    for (command, (limit, holds_root)) in random.sample(&all, field.extent.single_limit) {
        let as_other = !holds_root && rustix::process::geteuid().is_root();
        if as_other && !may_be_started(field.binary) {
            unheld += 1;
            continue;
        }
        let mut child = Command::new("prlimit");
        // Beyond the program's own data, or a build whose tables have as much would not even be loaded.
        child.arg(match limit.strip_prefix("--data=") {
            Some(bytes) => format!("--data={}", bytes.parse::<u64>()? + own),
            None => (*limit).to_owned(),
        });
        if as_other {
            child.args(["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps", "-all"]);
        }
        let ended =
            run(child.arg(field.binary).args(command.split(' ')).current_dir(&folder), &field.folder)?;
        // A measurement that got so far says in its answer what failed.
        let answered = ended.out.contains("Status: FAILED: ") || ended.out.contains("Status: PARTIAL: ");
        let told = answered || ended.err.contains("error: ") || ended.err.contains("warning: ");
        // Where the allocator has nothing left it says so itself, and ends the process (SIGABRT); the loader
        // may not get so far.
        let of_memory = limit.starts_with("--data")
            && (ended.err.contains("memory") || ended.err.contains("loading shared"));
        let wrong = match ended.code {
            _ if ended.took > AT_MOST => Some(format!("it took {:.0} s", ended.took.as_secs_f64())),
            _ if ended.err.contains("panicked") => Some(ended.err),
            _ if of_memory => None,
            None => Some(format!("ended by signal {:?}: {}", ended.signal, ended.err)),
            Some(0 | 5 | 6) => not_written(&folder, command),
            Some(_) if told => None,
            Some(code) => Some(format!("code {code} without a message: {}{}", ended.out, ended.err)),
        };
        tally.count(&format!("{limit}: {command}"), wrong);
        leave_only(&["result.json"], &folder)?;
    }
    if unheld > 0 {
        tally.note(format!(
            "{unheld} limits do not hold root, and another user may not start the binary here"
        ));
    }
    Ok(())
}

/// Bytes of data that are the program's own: its writable segments.
fn own_data(binary: &Path) -> Result<u64> {
    let bytes = fs::read(binary)?;
    let header = FileHeader64::<Endianness>::parse(&*bytes)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, &*bytes)?;
    let own = |segment: &&ProgramHeader64<Endianness>| {
        segment.p_type(endian) == PT_LOAD && segment.p_flags(endian) & PF_W != 0
    };
    Ok(segments.iter().filter(own).map(|segment| segment.p_memsz(endian)).sum())
}

/// Whether another user reaches it.
fn may_be_started(binary: &Path) -> bool {
    binary
        .ancestors()
        .skip(1)
        .all(|folder| fs::metadata(folder).is_ok_and(|found| found.permissions().mode() & 1 == 1))
}

/// The file or folder that a command names, where it is not there or empty.
fn not_written(folder: &Path, command: &str) -> Option<String> {
    let name = command.split(' ').find(|word| word.starts_with("written"))?;
    let found = fs::metadata(folder.join(name)).is_ok_and(|found| found.is_dir() || found.len() > 0);
    (!found).then(|| format!("it ended well, and there is no {name}"))
}
