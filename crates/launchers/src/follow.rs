//! One rank's process taken through the words behind the launcher: variables, env, shells and their scripts,
//! numactl, taskset.
//!
//! Each of these changes what the next one inherits, as the kernel has it: the last binding of PUs counts,
//! and so does the last memory policy. What a word does that is not known makes what it may have changed
//! unknown, with the reason.

use std::path::Path;

use crate::error::LineError;
use crate::exec_call::ExecCall;
use crate::launcher::{Launcher, srun, torchrun};
use crate::process::{Process, text_of};
use crate::unknown::{UNKNOWN, is_unknown, shown};
use crate::unread_command::why_unread;
use crate::{hwloc_location, numactl, prefix, sh, taskset};

/// Programs in one another: a script may start itself.
const MOST_DEPTH: usize = 30;

/// Follows these words; the programs that the process may become, most often one.
///
/// # Errors
/// [`LineError`]: a word of them is wrong in itself, or starts what cannot be followed.
pub(crate) fn follow<'t>(mut process: Process<'t>, words: &[&str]) -> Result<Vec<Process<'t>>, LineError> {
    process.depth += 1;
    if process.depth > MOST_DEPTH {
        process.lose("programs start one another without an end");
        return Ok(vec![process]);
    }
    let words = process.assignments(words);
    let Some((program, rest)) = words.split_first() else { return Ok(vec![process]) };
    let path = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = path.unwrap_or_default();
    let owned: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let behind = match name.as_str() {
        // What shows a binding is the program there: `srun numactl --show`.
        "taskset" | "numactl" if process.launch.is_none() && sh::is_neutral(&name, &owned) => {
            return Ok(vec![process]);
        }
        "taskset" => taskset::apply(&mut process, rest)?,
        "numactl" => numactl::apply(&mut process, rest)?,
        "env" => prefix::env(&mut process, rest)?,
        "sh" | "bash" | "dash" | "ksh" | "zsh" => return prefix::shell(process, &name, rest, follow),
        "numabench" if rest.first() == Some(&"exec") => {
            let (call, program) = ExecCall::read(&rest[1..])?;
            process.exec = Some(Box::new((call, process.pus.clone(), process.policy.clone())));
            program
        }
        "torchrun" => {
            torchrun::apply(&mut process, rest)?;
            return Ok(vec![process]);
        }
        "python" | "python3" if torchrun::is_module(rest) => {
            torchrun::apply(&mut process, &rest[2..])?;
            return Ok(vec![process]);
        }
        launcher if Launcher::of_command(launcher).is_some() => {
            if is_outermost(&process) {
                process.launch = Some(words.iter().map(|word| (*word).to_owned()).collect());
                return Ok(vec![process]);
            }
            return Err(LineError::NotSaid(format!(
                "{launcher} stands behind another launcher: write the line that starts the ranks of one node"
            )));
        }
        _ if prefix::starts_workers(&name, rest) => {
            return Err(LineError::NotSaid(format!(
                "{name} starts its workers itself, and where it puts them is not followed: numabench check \
                 --all shows the workers once they run"
            )));
        }
        _ if prefix::is_container(&name) => {
            process.lose(&format!(
                "{name} starts the program with the PUs and GPUs of a container (--cpuset-cpus, --gpus): run \
                 numabench check inside of the container"
            ));
            return Ok(vec![process]);
        }
        "hwloc-bind" => hwloc_location::bind(&mut process, rest)?,
        "salloc" if is_outermost(&process) => return allocated(process, rest),
        _ => match prefix::behind(&name, rest) {
            Some(program) => program,
            None if prefix::is_tool(&name) => return Ok(vec![process]),
            None if is_outermost(&process)
                && let Some(why) = why_unread(program, rest) =>
            {
                process.lose(&why);
                return Ok(vec![process]);
            }
            None => return file(process, program, &name, rest),
        },
    };

    follow(process, behind)
}

/// Whether no launcher stands before it.
fn is_outermost(process: &Process<'_>) -> bool {
    process.launch.as_ref().is_some_and(Vec::is_empty)
}

/// The launch behind `salloc`, which runs any other command where it is typed.
fn allocated<'t>(mut process: Process<'t>, words: &[&str]) -> Result<Vec<Process<'t>>, LineError> {
    let command = srun::salloc::apply(&mut process, words)?;
    let mut started = follow(process, command)?;
    if started.iter().all(is_outermost) {
        let why = "salloc runs its command where it is typed, and on no node of the job: write the line that \
            starts the ranks, e.g. 'srun -n8 … ./app'";
        started.iter_mut().for_each(|process| process.lose(why));
    }
    Ok(started)
}

/// A script that can be read here; a program that cannot is no wrapper, unless it is called like one.
fn file<'t>(
    mut process: Process<'t>,
    path: &str,
    name: &str,
    arguments: &[&str],
) -> Result<Vec<Process<'t>>, LineError> {
    if name.starts_with(UNKNOWN) {
        process.lose(
            "which program is started does not follow from the line, and it may bind: put numabench check \
             into the launch",
        );
        return Ok(vec![process]);
    }
    let text = if is_unknown(path) { None } else { text_of(path) };
    match text {
        Some(text) if is_shell(&text) => {
            let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
            return sh::run(&text, path, arguments, process, follow);
        }
        None if !Path::new(path).is_file() && prefix::is_called_like_a_wrapper(name, arguments) => {
            let path = shown(path);
            process.lose(&format!(
                "{path} may bind or choose GPUs and cannot be read here: run the check where the file is, or \
                 put numabench check into the launch"
            ));
        }
        _ => {}
    }

    Ok(vec![process])
}

fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("#!")
        && first.split(['/', ' ']).any(|word| matches!(word, "sh" | "bash" | "dash" | "ksh" | "zsh"))
}
