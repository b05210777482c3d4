//! taskset's options: a hexadecimal mask, or with `-c` a list.
//!
//! taskset(1) asks the kernel, which leaves out what the cpuset has not got, as long as something remains.

use crate::error::LineError;
use crate::grammar::{Grammar, Style};
use crate::parse_mask;
use crate::process::Process;
use crate::unknown::{OWN_PID, is_unknown};
use crate::value::{ids, wrong};

const TASKSET: Grammar = Grammar {
    tool: "taskset",
    style: Style::Getopt,
    letters: "apchV",
    names: "all-tasks pid cpu-list help version",
    is_open: false,
};

/// What taskset makes of the process; the words of its program.
///
/// # Errors
/// [`LineError`]: taskset would refuse its options.
pub(crate) fn apply<'l>(process: &mut Process<'_>, words: &'l [&'l str]) -> Result<&'l [&'l str], LineError> {
    let (given, rest) = TASKSET.read(words)?;
    let is = |letter: &str, name: &str| given.iter().any(|one| one.name == letter || one.name == name);
    if is("p", "pid") {
        let what = "taskset -p moves a process that runs: numabench check --pid PID judges it";
        return Err(LineError::Wrong(what.to_owned()));
    }
    let Some((value, program)) = rest.split_first() else {
        return Err(LineError::Wrong("taskset has no mask: write taskset -c LIST PROGRAM".to_owned()));
    };
    match is_unknown(value) {
        true => process.bind(Err("the PUs of taskset do not follow from the line".to_owned())),
        false => bind(process, value, is("c", "cpu-list"))?,
    }
    Ok(program)
}

/// Binds the process to a list or a mask.
///
/// # Errors
/// [`LineError`]: it is none.
pub(crate) fn bind(process: &mut Process<'_>, value: &str, is_list: bool) -> Result<(), LineError> {
    let asked = if is_list {
        ids("taskset -c", value)?
    } else {
        let mask = parse_mask(&value.replace(',', ""));
        mask.ok_or_else(|| {
            wrong("taskset", value, "write a hexadecimal mask (0xff), or -c and a list (-c 0-7)")
        })?
    };

    let here = process.topology.allowed.cpuset();
    let left = asked.and(&here);

    if left.is_empty() || left == asked {
        process.bind(Ok(asked));
    } else {
        let out = asked.minus(&here);
        process
            .notes
            .push(format!("of taskset's PUs the kernel leaves out {out}: this job may not use them"));
        process.bind(Ok(left));
    }
    Ok(())
}

/// `taskset -pc LIST $$`.
pub(crate) fn moved(process: &mut Process<'_>, words: &[String]) -> Result<(), LineError> {
    let as_list = words.iter().any(|word| word.starts_with('-') && word.contains('c'));
    let list = words.iter().find(|word| !word.starts_with('-') && !word.starts_with(OWN_PID));
    match list {
        Some(list) if is_unknown(list) => {
            process.pus = Err("the PUs of taskset do not follow from the line".to_owned())
        }
        Some(list) => bind(process, list, as_list)?,
        None => {}
    }
    Ok(())
}
