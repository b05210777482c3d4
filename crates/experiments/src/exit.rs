//! Exit codes: one meaning each, the same for every command. The table in `--help` and in the README is
//! [`TABLE`].

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done.
    Ok,
    /// No result.
    NoResult,
    /// The command line cannot be followed.
    Usage,
    /// Some results, not all.
    Partial,
    /// Bytes arrived that were not sent.
    DataCorrupt,
    /// It ran, and what it found is not as asked: misplaced, regressed, different.
    Finding,
    /// It ran, and the data do not decide.
    Undecided,
    /// Hardware that was asked for is not here.
    Absent,
    /// The time limit.
    TimedOut,
    /// A program that was to be started is there and cannot be executed.
    NotExecutable,
    /// A program that was to be started is not found.
    NotFound,
    /// A signal, by number.
    Signal(u8),
    /// The own code of a program that was run, whatever it means there.
    OfProgram(u8),
}

/// The codes for users.
pub const TABLE: &str = "\
Exit codes:
    0  ok
    1  no result
    2  usage: the command line cannot be followed on this machine
    3  partial: some cases failed, were skipped or are invalid
    4  data corrupt: bytes arrived that were not sent
    5  a finding: misplaced, regressed, different
    6  undecided: the data do not decide
   77  hardware that was asked for is not here
  124  timed out
  126  exec, check, trial, witness: the program cannot be executed
  127  exec, check, trial, witness: the program is not found
128+n  ended by signal n (130 Ctrl-C, 143 SIGTERM); finished cases are kept";

impl Exit {
    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::NoResult => 1,
            Self::Usage => 2,
            Self::Partial => 3,
            Self::DataCorrupt => 4,
            Self::Finding => 5,
            Self::Undecided => 6,
            Self::Absent => 77,
            Self::TimedOut => 124,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::Signal(number) => 128 + number,
            Self::OfProgram(code) => code,
        }
    }
}

impl Exit {
    /// What a code means; one that is none of ours says no result.
    pub fn from_code(code: u8) -> Self {
        let ours = [
            Self::Ok,
            Self::NoResult,
            Self::Usage,
            Self::Partial,
            Self::DataCorrupt,
            Self::Finding,
            Self::Undecided,
            Self::Absent,
            Self::TimedOut,
            Self::NotExecutable,
            Self::NotFound,
        ];
        let signal = || code.checked_sub(128).filter(|number| *number > 0).map(Self::Signal);
        ours.into_iter().find(|exit| exit.code() == code).or_else(signal).unwrap_or(Self::NoResult)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_code() {
        let codes = [Exit::Ok, Exit::NoResult, Exit::Usage, Exit::Partial, Exit::DataCorrupt, Exit::Finding];
        let more = [Exit::Undecided, Exit::Absent, Exit::TimedOut, Exit::NotExecutable, Exit::NotFound];
        for exit in codes.into_iter().chain(more) {
            let line = format!("{:>5}  ", exit.code());
            assert!(TABLE.lines().any(|text| text.starts_with(&line)), "{exit:?}");
        }
        assert_eq!((Exit::Signal(2).code(), Exit::Signal(15).code()), (130, 143));
        for exit in codes.into_iter().chain(more).chain([Exit::Signal(15)]) {
            assert_eq!(Exit::from_code(exit.code()), exit);
        }
        assert_eq!(Exit::from_code(99), Exit::NoResult);
    }
}
