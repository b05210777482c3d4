//! What stands before a program and places nothing itself: variables, env, a shell, and tools that start the
//! program they are given.

use crate::error::LineError;
use crate::grammar::{Grammar, Style, is_among};
use crate::launcher::Launcher;
use crate::process::{Process, text_of};
use crate::sh::{self, Follow};
use crate::unread_command::is_unread;

const ENV: Grammar = Grammar {
    tool: "env",
    style: Style::Getopt,
    letters: "iu:C:S:v0a:",
    names: "ignore-environment null debug list-signal-handling help version \
        unset: chdir: split-string: argv0: \
        default-signal:: ignore-signal:: block-signal::",
    is_open: false,
};

/// sh, dash and bash: `-c` takes nothing, and the first word that is no option is its script.
const SHELL: Grammar = Grammar {
    tool: "the shell",
    style: Style::Getopt,
    letters: "abcefhiklmnprstuvxBCDEHPTo:O:",
    names: "login norc noprofile noediting posix restricted verbose help version \
        rcfile: init-file:",
    is_open: false,
};

/// Tools that run the program behind their own options: what binds is found there.
const TOOLS: &str = "nohup time nice ionice stdbuf timeout setsid nsys nvprof nv-nsight-cu-cli \
    rocprof-sys-run rocprof-sys-instrument omnitrace-run omnitrace-instrument iprof unitrace aps gdb-oneapi \
    ncu rocprof rocprofv2 rocprofv3 omniperf perf strace ltrace valgrind compute-sanitizer cuda-gdb gdb \
    hpcrun map ddt singularity apptainer shifter udocker sarus ch-run enroot exec command xvfb-run \
    catchsegv likwid-perfctr psrecord run vtune advixe-cl";

/// Whether the program runs another one and places nothing itself.
pub(crate) fn is_tool(name: &str) -> bool {
    is_among(TOOLS, name)
}

/// Whether it starts the program in a container with PUs, GPUs and variables of the container's own. Docker's
/// daemon starts it, and so nothing is inherited from the line.
pub(crate) fn is_container(name: &str) -> bool {
    matches!(name, "docker" | "podman" | "podman-hpc" | "nerdctl")
}

/// Whether these words start workers that are bound in a way of their own.
pub(crate) fn starts_workers(name: &str, words: &[&str]) -> bool {
    match name {
        "deepspeed" | "horovodrun" => true,
        "accelerate" => words.contains(&"launch"),
        "python" | "python3" => {
            matches!(words, ["-m", "accelerate.commands.launch" | "deepspeed.launcher.runner", ..])
        }
        _ => false,
    }
}

/// What a tool starts, where something in it may bind: the words from numactl, taskset, a shell, torchrun or
/// a launcher on.
pub(crate) fn behind<'l, 'w>(tool: &str, words: &'l [&'w str]) -> Option<&'l [&'w str]> {
    if !is_tool(tool) {
        return None;
    }
    let binds = |word: &&str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        matches!(
            name,
            "numactl" | "taskset" | "hwloc-bind" | "sh" | "bash" | "env" | "torchrun" | "numabench"
        ) || name.ends_with(".sh")
            || Launcher::of_command(name).is_some()
            || is_unread(name)
    };
    let at = words.iter().position(binds)?;
    words.get(at..)
}

/// What is in the name of files that bind or choose a GPU, as people call them.
const WRAPPERS: &str = "wrap select_gpu assign_gpu bind_gpu bind-gpu gpubind select-gpu gpu_bind gpu-bind \
    cpu_bind set_affinity set_gpu gpu_tile binding acc_bind pick_gpu map_gpu local_rank interleave";

/// Whether a file that cannot be read here is called as wrappers are.
pub(crate) fn is_called_like_a_wrapper(name: &str, arguments: &[&str]) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_script = [".sh", ".bash", ".csh", ".ksh", ".zsh"].iter().any(|end| lower.ends_with(end));
    // `./first ./second` is a program with another to start.
    let is_program = |word: &&str| {
        word.strip_prefix("./").is_some_and(|name| name == "a.out" || !name.contains(['.', '/']))
    };
    let starts_another = arguments.first().is_some_and(is_program);
    is_script || WRAPPERS.split_ascii_whitespace().any(|part| lower.contains(part)) || starts_another
}

/// `env A=1 PROGRAM`.
///
/// # Errors
/// [`LineError`]: env would refuse its options, or they hide the command.
pub(crate) fn env<'l>(process: &mut Process<'_>, words: &'l [&'l str]) -> Result<&'l [&'l str], LineError> {
    let (given, rest) = ENV.read(words)?;
    for one in &given {
        match one.name {
            "S" | "split-string" => {
                return Err(LineError::NotSaid(
                    "env -S hides the command in one word: write its words apart".to_owned(),
                ));
            }
            "u" | "unset" => process.unset(one.value()),
            "i" | "ignore-environment" => process.variables.clear(),
            _ => {}
        }
    }
    Ok(rest)
}

/// A shell with its words: `-c SCRIPT NAME ARGUMENTS`, or a file.
///
/// # Errors
/// [`LineError`]: the shell would refuse its options, or the script has a line that is wrong in itself.
pub(crate) fn shell<'t>(
    process: Process<'t>,
    name: &str,
    words: &[&str],
    follow: Follow,
) -> Result<Vec<Process<'t>>, LineError> {
    let (given, rest) = SHELL.read(words)?;
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let has_script = given.iter().all(|one| one.name != "s") && !rest.is_empty();
    if process.has_input && !has_script {
        let mut process = process;
        process.lose(&format!("the commands that {name} reads from its input are not followed"));
        return Ok(vec![process]);
    }

    match (rest.split_first(), given.iter().any(|one| one.name == "c")) {
        (Some((script, arguments)), true) => {
            // The first word behind it is $0.
            sh::run(script, name, owned(arguments.get(1..).unwrap_or_default()), process, follow)
        }
        (Some((file, arguments)), false) => match text_of(file) {
            Some(text) => sh::run(&text, file, owned(arguments), process, follow),
            None => {
                let mut process = process;
                process.lose(&format!("the script {file} cannot be read here: run the check where it is"));
                Ok(vec![process])
            }
        },
        (None, _) => Ok(vec![process]),
    }
}
