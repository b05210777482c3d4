//! Every system call that can fail fails once: strace answers the Nth call of a name with an error in the
//! kernel's place, in each thread and process of a command.
//!
//! Which calls a command makes, and how often one of its threads makes each, is seen in a run without a
//! fault; so is what it writes. With a fault it ends by itself within its limit, with a result or a message,
//! and what lies where it writes is the whole of what it should be, or what was there before.
//!
//! Left out are calls that fail only for arguments that are none (`NEVER`), what the loader does before the
//! program begins (some of that it does not survive), and what the programs do that a command starts: strace
//! lets go of a process that becomes another program, whose loader and whose errors are not numabench's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Field;
use super::libraries::devices;
use super::tried::{Ended, Random, Tally, emptied, leave_only, run};

/// What is run in a folder with `result.json` and `saved.xml`, and the file that it writes.
const COMMANDS: &[(&str, Option<&str>)] = &[
    (
        "pingpong --backend host --gpus 0 --size 4KiB --reps 6 --timeout 10s --quiet --json new.json",
        Some("new.json"),
    ),
    (
        "pingpong --backend cuda --gpus all --size 4KiB --reps 6 --timeout 10s --quiet --json new.json",
        Some("new.json"),
    ),
    ("peer --size 64KiB --reps 4 --timeout 10s --quiet --json new.json", Some("new.json")),
    ("matrix --backend host --range 64KiB --reps 2 --timeout 10s --quiet --json new.json", Some("new.json")),
    ("trial --vary X=1 --max-runs 6 --json new.json -- true", Some("new.json")),
    ("topo --save new.xml", Some("new.xml")),
    ("topo --input saved.xml", None),
    ("place --json new.json", Some("new.json")),
    ("check", None),
    ("doctor --json new.json", Some("new.json")),
    ("exec --gpus none -- true", None),
    ("report result.json -o new.html", Some("new.html")),
    ("export result.json --to csv -o new.csv", Some("new.csv")),
    ("compare result.json result.json --json new.json", Some("new.json")),
];

/// Which of a thread's calls of a name fail, where it makes as many; counted from the loader's last.
const WHICH: &[usize] = &[1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144];

/// Calls that are not failed:
/// * those that end or begin;
/// * those that cannot fail for a caller that asks for what there is: of some the manual says so ("these
///   functions are always successful", getuid(2), getpid(2), alarm(2), umask(2));
/// * those whose error the C library itself does not survive (the futex, and the heap's end);
/// * close: Linux has let go of the file before it reports an error (close(2)), and strace answers in its
///   place, so that the file stays open. A pipe whose writer has closed it then never ends, which no kernel
///   does to its reader.
const NEVER: &[&str] = &[
    "alarm",
    "arch_prctl",
    "brk",
    "clock_nanosleep",
    "close",
    "execve",
    "exit",
    "exit_group",
    "futex",
    "getegid",
    "geteuid",
    "getgid",
    "getpid",
    "getppid",
    "gettid",
    "getuid",
    "nanosleep",
    "restart_syscall",
    "rseq",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_yield",
    "set_robust_list",
    "set_tid_address",
    "umask",
    "uname",
];

/// What calls fail with; others with EPERM, as in a sandbox.
const ERRORS: &[(&str, &str)] = &[
    ("EMFILE", "open openat creat pipe pipe2 socket socketpair dup dup2 dup3 eventfd2"),
    ("ENOSPC", "write writev pwrite64 ftruncate fallocate rename renameat2 link linkat mkdir symlink"),
    ("EIO", "read pread64 readlink readlinkat getdents64 fsync fdatasync lseek"),
    ("ENOMEM", "mmap mremap mprotect munmap madvise poll ppoll sigaltstack"),
    ("EAGAIN", "clone clone3 fork vfork"),
    ("ENOLCK", "fcntl flock"),
    ("ECHILD", "wait4 waitid"),
    ("EINTR", "recvfrom"),
];

/// What commands read: the one document, and the saved machine.
const KEPT: [&str; 2] = ["result.json", "saved.xml"];

/// What Rust's runtime begins with: it looks whether the three standard files are open.
const FIRST: &str = "poll";

/// Where the standard library makes each thread's own stack for signal handlers, and panics where it cannot.
const STACKS: &str = "library/std/src/sys/pal/unix/stack_overflow.rs";

/// The longest limit of a command, two seconds, and what a loaded machine takes to start it under strace.
const LATEST: Duration = Duration::from_secs(25);

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    if run(Command::new("strace").args(["-qq", "true"]), &field.folder).map(|ended| ended.code).ok()
        != Some(Some(0))
    {
        tally.note("no strace here, or one that may not trace: no system calls were failed".to_owned());
        return Ok(());
    }
    let folder = field.folder.join("calls");
    emptied(&folder)?;
    let libraries = field.libraries.driver()?;
    let here = Here { field, folder: &folder, libraries: &libraries };
    let quick = "pingpong --backend host --gpus 0 --size 4KiB..64KiB --reps 20 --quiet --json result.json";
    run(Command::new(field.binary).args(quick.split(' ')).current_dir(&folder), &field.folder)?;
    run(
        Command::new(field.binary).args(["topo", "--save", "saved.xml"]).current_dir(&folder),
        &field.folder,
    )?;
    let mut all = Vec::new();
    for (command, target) in random.sample(COMMANDS, field.extent.single_command) {
        let (calls, right) = here.without_a_fault(command, *target)?;
        for (call, Made { by_loader, most }) in calls {
            let which = WHICH.iter().map(|which| by_loader + which).filter(|which| *which <= most);
            all.extend(which.map(|which| Case {
                command,
                target: *target,
                right: right.clone(),
                call: call.clone(),
                which,
            }));
        }
    }
    for case in random.sample(&all, field.extent.single_call) {
        tally.count(&format!("{} number {}: {}", case.call, case.which, case.command), here.tried(case)?);
        leave_only(&KEPT, &folder)?;
    }
    Ok(())
}

/// How often a call of a name is made.
#[derive(Default)]
struct Made {
    /// Before the program begins.
    by_loader: usize,
    /// The most of one thread.
    most: usize,
}

/// One call that fails.
struct Case {
    command: &'static str,
    target: Option<&'static str>,
    right: Vec<u8>,
    call: String,
    which: usize,
}

struct Here<'h> {
    field: &'h Field<'h>,
    folder: &'h Path,
    libraries: &'h Path,
}

impl Here<'_> {
    fn traced(&self, options: &[&str], command: &str) -> Result<Ended> {
        let mut strace = Command::new("strace");
        strace
            .args(["-f", "--detach-on=execve", "-qq", "-o", "../trace"])
            .args(options)
            .arg(self.field.binary)
            .args(command.split(' '));
        strace.current_dir(self.folder).env("LD_LIBRARY_PATH", self.libraries).env("TMPDIR", self.folder);
        strace.env("FAKE_DEVICES", devices(2));
        run(&mut strace, &self.field.folder)
    }

    /// The calls of a command, and what it writes.
    fn without_a_fault(
        &self,
        command: &str,
        target: Option<&str>,
    ) -> Result<(BTreeMap<String, Made>, Vec<u8>)> {
        let ended = self.traced(&[], command)?;
        let written = target.map_or_else(|| Ok(Vec::new()), |target| fs::read(self.folder.join(target)));
        let right = written
            .with_context(|| format!("{command}, without a fault: {:?}: {}", ended.code, ended.err))?;
        let text = fs::read_to_string(self.field.folder.join("trace"))?;
        let mut by_thread: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut all: BTreeMap<String, Made> = BTreeMap::new();
        let mut loads = true;
        for line in text.lines() {
            let Some((thread, rest)) = line.split_once(' ') else { continue };
            let Some((name, _)) = rest.trim_start().split_once('(') else { continue };
            loads = loads && name != FIRST;
            if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') || NEVER.contains(&name)
            {
                continue;
            }
            let count = by_thread.entry((thread, name)).or_default();
            *count += 1;
            let made = all.entry(name.to_owned()).or_default();
            made.most = made.most.max(*count);
            made.by_loader += usize::from(loads);
        }
        leave_only(&KEPT, self.folder)?;
        Ok((all, right))
    }

    fn tried(&self, case: &Case) -> Result<Option<String>> {
        let is_of = |calls: &str| calls.split(' ').any(|call| call == case.call);
        let error = ERRORS.iter().find(|(_, calls)| is_of(calls)).map_or("EPERM", |(error, _)| error);
        let fault = format!("inject={}:error={error}:when={}", case.call, case.which);
        let ended = self.traced(&["-e", &format!("trace={}", case.call), "-e", &fault], case.command)?;
        let told = [&ended.err, &ended.out];
        let told = ["error: ", "warning: ", "Status: "]
            .iter()
            .any(|word| told.iter().any(|text| text.contains(word)));
        // In each thread and process one call fails: it may be the message's own.
        let lost = |line: &str| line.contains(" write(2,") && line.ends_with("(INJECTED)");
        let told = told || fs::read_to_string(self.field.folder.join("trace"))?.lines().any(lost);
        // The loader, the allocator and the standard library's start of a thread say so themselves.
        let of_others =
            ["error while loading shared libraries", "memory allocation of", "fatal runtime error: ", STACKS];
        let of_others = ended.code != Some(0) && of_others.iter().any(|words| ended.err.contains(words));
        Ok(match ended.code {
            _ if ended.took > LATEST => Some(format!("it took {:.0} s", ended.took.as_secs_f64())),
            _ if of_others => None,
            _ if ended.err.contains("panicked") => Some(ended.err),
            None => Some(format!("ended by signal {:?}: {}", ended.signal, ended.err)),
            Some(code) if !matches!(code, 0 | 5 | 6) && !told => {
                Some(format!("code {code} without a message: {}{}", ended.out, ended.err))
            }
            // What was found is whole; what could not be printed makes the code.
            Some(1) if ended.err.contains("standard output") => self.written(case, None),
            Some(code) => self.written(case, Some(code)),
        })
    }

    /// What is wrong with what was written.
    fn written(&self, case: &Case, code: Option<i32>) -> Option<String> {
        let target = case.target?;
        let bytes = match fs::read(self.folder.join(target)) {
            Ok(bytes) => bytes,
            Err(error) => return (code == Some(0)).then(|| format!("code 0, and {target}: {error}")),
        };
        if !target.ends_with(".json") {
            let (are, right) = (bytes.len(), case.right.len());
            // Times stand in what is written, so it is the end that says whether it is whole.
            let tail = |bytes: &[u8]| bytes.iter().rev().take(8).copied().collect::<Vec<_>>();
            return (tail(&bytes) != tail(&case.right))
                .then(|| format!("{target} has {are} bytes of {right}"));
        }
        match serde_json::from_slice::<Value>(&bytes) {
            Err(error) => Some(format!("{target}: {error}")),
            Ok(document) => match document["exit_code"].as_i64() {
                Some(said) if code.is_some_and(|code| said != i64::from(code)) => {
                    Some(format!("code {code:?}, and the document says {said}"))
                }
                _ => None,
            },
        }
    }
}
