//! What goes wrong, as `FAKE_FAULTS` says; numbers count from 1, `N` is that one, `N+` that one and all after
//! it, `*` all.
//!
//! ```text
//! fail CALL N CODE       the call answers the code and does nothing; CALL as the manual spells it, without _v2
//! stall CALL N           the call never returns
//! exit waits             the library's exit handler waits for the calls that never return
//! corrupt N BYTE         a copy changes the byte at this offset
//! hang N                 a copy never ends
//! lose N CODE            at that copy the device is lost: the copy moves nothing, and every later call on the device answers the code
//! times N WHAT           the time between two events is `negative`, `zero`, `nan`, `infinite`, or `huge`
//! wait holds-nothing     the stream's wait for a value is accepted and does not wait
//! wait never-ends        the stream's wait for a value never ends
//! patterns fill-wrong    the kernel that fills memory leaves it as it is
//! patterns compare-blind the kernel that compares memory finds nothing wrong
//! kernels copy-short     the kernel that copies leaves out the last byte
//! kernels chase-stops    the kernel that follows a chain stops a step early
//! kernels answers-stop   the kernel that answers gives up after 100 answers
//! kernels wrong NAME     a kernel that computes leaves a wrong word in the middle of its result
//! kernels hang NAME      a kernel that computes never ends
//! ```
//!
//! Copies are counted over all streams, in the order in which they begin, those included that warm up and
//! verify, and those by which the kernels for patterns are tried when a device is opened. A driver that lacks
//! a symbol is another library, because the loader must say so: `stand_in.rs` makes it.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::told;

const VARIABLE: &str = "FAKE_FAULTS";

/// Everything that goes wrong.
#[derive(Default)]
struct Faults {
    fail: Vec<(String, When, c_int)>,
    stall: Vec<(String, When)>,
    exit_waits: bool,
    corrupt: Vec<(When, usize)>,
    hang: Vec<When>,
    lose: Vec<(When, c_int)>,
    times: Vec<(When, f32)>,
    wait: Wait,
    kernels: Kernels,
    wrong: Vec<String>,
    endless: Vec<String>,
}

/// What is wrong with the kernels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernels {
    pub fills_wrong: bool,
    pub compares_blind: bool,
    pub copies_short: bool,
    pub stops_early: bool,
    pub answers_stop: bool,
}

/// Which of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
struct When {
    first: u64,
    last: u64,
}

/// What the stream's wait for a value does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Wait {
    /// It waits.
    #[default]
    Works,
    /// It is accepted and forgotten.
    HoldsNothing,
    /// It waits for ever.
    NeverEnds,
}

/// What happens to one copy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fate {
    pub corrupt: Option<usize>,
    pub hangs: bool,
    pub lost: Option<c_int>,
}

fn all() -> &'static Faults {
    static ALL: OnceLock<Faults> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut faults = Faults::default();
        for line in told::lines(VARIABLE).unwrap_or_default() {
            faults.add(&line).unwrap_or_else(|why| told::wrong(VARIABLE, &line, &why));
        }
        if faults.exit_waits {
            handle_exit();
        }
        faults
    })
}

/// The code that this call of `name` must answer instead of being done.
pub fn call(name: &'static str) -> Option<c_int> {
    static CALLS: Counted = Mutex::new(BTreeMap::new());
    let fail = &all().fail;
    if !fail.iter().any(|(call, ..)| call == name) {
        return None;
    }
    let number = next(&CALLS, name);
    fail.iter().find(|(call, when, _)| call == name && when.has(number)).map(|(.., code)| *code)
}

/// Never returns from the call that is to stall. Outside of the simulation, so that time goes on for the
/// others.
pub fn stall(name: &'static str) {
    static CALLS: Counted = Mutex::new(BTreeMap::new());
    let stall = &all().stall;
    if !stall.iter().any(|(call, _)| call == name) {
        return;
    }
    let number = next(&CALLS, name);
    if stall.iter().any(|(call, when)| call == name && when.has(number)) {
        STALLED.fetch_add(1, Ordering::AcqRel);
        rest();
    }
}

/// How often calls were made.
type Counted = Mutex<BTreeMap<&'static str, u64>>;

/// Which call of this name it is.
fn next(calls: &Counted, name: &'static str) -> u64 {
    let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
    let count = calls.entry(name).or_insert(0);
    *count += 1;
    *count
}

/// Threads that never return.
static STALLED: AtomicU64 = AtomicU64::new(0);

/// For ever.
fn rest() -> ! {
    loop {
        std::thread::park();
    }
}

/// As a driver that waits at the process's end for its own threads, or for a lock that one of them holds.
extern "C" fn wait_for_stalled() {
    if STALLED.load(Ordering::Acquire) > 0 {
        rest();
    }
}

/// Has the exit handler called at the process's end.
fn handle_exit() {
    unsafe extern "C" {
        fn atexit(act: extern "C" fn()) -> c_int;
    }
    unsafe { atexit(wait_for_stalled) };
}

/// What happens to the copy that begins now.
pub fn copy() -> Fate {
    static COPIES: AtomicU64 = AtomicU64::new(0);
    all().fate(COPIES.fetch_add(1, Ordering::AcqRel) + 1)
}

/// The milliseconds that the events' time must be instead of what they are.
pub fn time() -> Option<f32> {
    static TIMES: AtomicU64 = AtomicU64::new(0);
    let number = TIMES.fetch_add(1, Ordering::AcqRel) + 1;
    all().times.iter().find(|(when, _)| when.has(number)).map(|(_, time)| *time)
}

/// What waiting for a value does.
pub fn wait() -> Wait {
    all().wait
}

/// What is wrong with the kernels.
pub fn kernels() -> Kernels {
    all().kernels
}

/// Whether a kernel that computes does so wrong, and whether it never ends.
pub fn computing(name: &str) -> (bool, bool) {
    let named = |list: &[String]| list.iter().any(|named| named == name);
    (named(&all().wrong), named(&all().endless))
}

impl When {
    fn has(self, number: u64) -> bool {
        (self.first..=self.last).contains(&number)
    }

    fn parse(word: &str) -> Result<Self, String> {
        let (number, on) = word.strip_suffix('+').map_or((word, false), |number| (number, true));
        match number.parse() {
            Ok(first @ 1..) => Ok(Self { first, last: if on { u64::MAX } else { first } }),
            _ if word == "*" => Ok(Self { first: 1, last: u64::MAX }),
            _ => Err(format!("{word} is neither a number from 1, nor such a number with +, nor *")),
        }
    }
}

impl Faults {
    fn fate(&self, number: u64) -> Fate {
        Fate {
            corrupt: self.corrupt.iter().find(|(when, _)| when.has(number)).map(|(_, byte)| *byte),
            hangs: self.hang.iter().any(|when| when.has(number)),
            lost: self.lose.iter().find(|(when, _)| when.has(number)).map(|(_, code)| *code),
        }
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        let code = |word: &str| word.parse::<c_int>().map_err(|_| format!("{word} is no code"));
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["fail", call, when, number] => {
                self.fail.push((call.to_owned(), When::parse(when)?, code(number)?))
            }
            ["stall", call, when] => self.stall.push((call.to_owned(), When::parse(when)?)),
            ["exit", "waits"] => self.exit_waits = true,
            ["corrupt", when, byte] => {
                let byte = byte.parse().map_err(|_| format!("{byte} is no offset"))?;
                self.corrupt.push((When::parse(when)?, byte));
            }
            ["hang", when] => self.hang.push(When::parse(when)?),
            ["lose", when, number] => self.lose.push((When::parse(when)?, code(number)?)),
            ["times", when, what] => {
                let time = match what {
                    "negative" => -1.0,
                    "zero" => 0.0,
                    "nan" => f32::NAN,
                    "infinite" => f32::INFINITY,
                    "huge" => f32::MAX,
                    _ => return Err(format!("{what} is no time")),
                };
                self.times.push((When::parse(when)?, time));
            }
            ["wait", "holds-nothing"] => self.wait = Wait::HoldsNothing,
            ["wait", "never-ends"] => self.wait = Wait::NeverEnds,
            ["patterns", "fill-wrong"] => self.kernels.fills_wrong = true,
            ["patterns", "compare-blind"] => self.kernels.compares_blind = true,
            ["kernels", "copy-short"] => self.kernels.copies_short = true,
            ["kernels", "chase-stops"] => self.kernels.stops_early = true,
            ["kernels", "answers-stop"] => self.kernels.answers_stop = true,
            ["kernels", "wrong", name] => self.wrong.push(name.to_owned()),
            ["kernels", "hang", name] => self.endless.push(name.to_owned()),
            _ => return Err("no such fault".to_owned()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_comes_when_it_was_told_to() -> Result<(), String> {
        let mut faults = Faults::default();
        for line in ["hang 3", "corrupt 5+ 70001", "lose 7 719", "fail cuMemAlloc * 917"] {
            faults.add(line)?;
        }
        assert_eq!(faults.fate(2), Fate::default());
        assert!(faults.fate(3).hangs && !faults.fate(4).hangs);
        assert_eq!(faults.fate(8).corrupt, Some(70001));
        assert_eq!((faults.fate(6).lost, faults.fate(7).lost), (None, Some(719)));
        assert_eq!(faults.fail, [("cuMemAlloc".to_owned(), When { first: 1, last: u64::MAX }, 917)]);
        Ok(())
    }

    #[test]
    fn what_cannot_be_understood_is_said() {
        for wrong in [
            "hang",
            "hang 0",
            "hang -1",
            "corrupt 1",
            "times 1 soon",
            "fail cuInit 1",
            "wait long",
            "explode",
        ] {
            assert!(Faults::default().add(wrong).is_err(), "{wrong}");
        }
    }
}
