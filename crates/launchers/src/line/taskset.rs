//! taskset's options: a hexadecimal mask, or with `-c` a list.
//!
//! taskset(1) asks the kernel, which leaves out what the cpuset has not got, as long as something remains.

use crate::parse_mask;

use super::grammar::{Grammar, Style};
use super::value::{ids, wrong};
use super::{LineError, Said};

const TASKSET: Grammar = Grammar {
    tool: "taskset",
    style: Style::Getopt,
    letters: "apchV",
    nothing: &["all-tasks", "pid", "cpu-list", "help", "version"],
    value: &[],
    maybe: &[],
    two: &[],
    is_open: false,
};

impl Said<'_> {
    pub(super) fn taskset(&mut self, words: &[&str]) -> Result<(), LineError> {
        let (given, rest) = TASKSET.read(words)?;
        let is = |letter: &str, name: &str| given.iter().any(|one| one.name == letter || one.name == name);
        if is("p", "pid") {
            let what = "taskset -p moves a process that runs: numabench check --pid PID judges it";
            return Err(LineError::Wrong(what.to_owned()));
        }
        let Some((value, program)) = rest.split_first() else {
            return Err(LineError::Wrong("taskset has no mask: write taskset -c LIST PROGRAM".to_owned()));
        };
        let asked = if is("c", "cpu-list") {
            ids("taskset -c", value)?
        } else {
            let mask = parse_mask(&value.replace(',', ""));
            mask.ok_or_else(|| wrong("taskset", value, "write a hexadecimal mask (0xff), or -c and a list (-c 0-7)"))?
        };
        let here = self.cpuset();
        let left = asked.and(&here);
        if left.is_empty() || left == asked {
            self.pus = Some(vec![asked]);
        } else {
            let out = asked.minus(&here);
            self.notes.push(format!("of taskset's PUs the kernel leaves out {out}: this job may not use them"));
            self.pus = Some(vec![left]);
        }
        self.program(program)
    }
}
