//! Lines of others between a program's lines: a launcher's, a library's, a prompt's. They are named with
//! their numbers and do not cost the figures.

use super::Taken;
use super::error::short;

/// Lines that are none of the program's.
#[derive(Debug, Default)]
pub(super) struct StrayLines {
    first: Vec<(u64, String)>,
    count: usize,
}

/// So many are shown; of more, the count is.
const SHOWN: usize = 5;

impl StrayLines {
    /// One more.
    pub(super) fn push(&mut self, line: u64, words: &str) {
        self.count += 1;
        if self.first.len() < SHOWN {
            self.first.push((line, short(words)));
        }
    }

    /// Says in the notes what was passed over.
    pub(super) fn note(self, taken: &mut Taken, program: &str) {
        for (line, words) in &self.first {
            taken.notes.push(format!("line {line} is no line of {program} and was passed over: {words:?}"));
        }
        match self.count - self.first.len() {
            0 => {}
            1 => taken.notes.push(format!("1 more line is no line of {program}")),
            more => taken.notes.push(format!("{more} more lines are no lines of {program}")),
        }
    }
}
