//! The checks every backend's tests run: what the contract says, tried on each device of a platform.
//!
//! They are plain functions, not tests, because they must run where the hardware is: in a backend's tests
//! against a stand-in, and in a program on a GPU node ([`check`] returns what was found, it prints nothing).
//! A check that cannot be made on a device says why in [`CheckOutcome::Skipped`]; it does not pass.
//!
//! Left out: speed (that is what numabench measures), and any time limit of their own. A backend that hangs,
//! hangs its checks, and the caller's limit ends them: a thread stuck in a driver cannot be ended from inside
//! the process.

mod areas;
mod batches;
mod buffers;
mod copies;
mod identity;
mod memory;
pub mod names;
mod patterns;
mod payload;
mod range;
mod reach;
mod reuse;

use crate::{Copier, Device, DeviceError, DeviceId, HostMemory, HostPair, MemoryKind, Platform};

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    /// The device does what the contract says.
    Passed,
    /// It does not: what was expected and what was seen.
    Failed(String),
    /// The check cannot be made here: why.
    Skipped(String),
}

/// One check on one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// What is checked, as a sentence.
    pub check: &'static str,
    /// The device; `None` for a check of the platform.
    pub device: Option<DeviceId>,
    /// What was found.
    pub outcome: CheckOutcome,
}

/// Runs every check on the platform and on each of its devices.
pub fn check(platform: &dyn Platform) -> Vec<CheckResult> {
    check_only(platform, &[])
}

/// The same, of those whose name has one of these words in it; of all where there are none.
pub fn check_only(platform: &dyn Platform, words: &[&str]) -> Vec<CheckResult> {
    check_chosen(platform, |check| words.is_empty() || words.iter().any(|word| check.contains(word)))
}

fn check_chosen(platform: &dyn Platform, chosen: impl Fn(&str) -> bool) -> Vec<CheckResult> {
    let of_platform = identity::PLATFORM_CHECKS.iter().filter(|(check, _)| chosen(check));
    let mut findings: Vec<CheckResult> = of_platform
        .map(|(check, run)| CheckResult { check, device: None, outcome: outcome(run(platform)) })
        .collect();
    let mut known = Vec::new();

    for id in platform.devices().iter().map(|facts| facts.id) {
        // Instances of one partitioned GPU share its address, and `open` takes the first.
        if known.contains(&id) {
            continue;
        }
        known.push(id);
        let finding = |check, outcome| CheckResult { check, device: Some(id), outcome };
        match platform.open(id) {
            Err(error) => findings.push(finding(names::OPENS, CheckOutcome::Failed(error.to_string()))),
            Ok(device) => {
                let subject = Subject { platform, device: &*device };
                let tables = [
                    identity::DEVICE_CHECKS,
                    memory::CHECKS,
                    copies::CHECKS,
                    areas::CHECKS,
                    patterns::CHECKS,
                    reuse::CHECKS,
                    batches::CHECKS,
                    reach::CHECKS,
                    buffers::CHECKS,
                ];
                let checks = tables.into_iter().flatten().filter(|(check, _)| chosen(check));
                findings.extend(checks.map(|(check, run)| finding(check, outcome(run(&subject)))));
            }
        }
    }
    findings
}

/// A check of an opened device: its name and what it does.
type Check = (&'static str, fn(&Subject) -> Result<(), Halt>);

/// Why a check did not come to its end.
enum Halt {
    Failed(String),
    Skipped(String),
}

impl From<DeviceError> for Halt {
    fn from(error: DeviceError) -> Self {
        Self::Failed(error.to_string())
    }
}

fn outcome(result: Result<(), Halt>) -> CheckOutcome {
    match result {
        Ok(()) => CheckOutcome::Passed,
        Err(Halt::Failed(text)) => CheckOutcome::Failed(text),
        Err(Halt::Skipped(reason)) => CheckOutcome::Skipped(reason),
    }
}

/// Ends the check as failed unless `holds`.
fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Halt> {
    if holds { Ok(()) } else { Err(Halt::Failed(otherwise())) }
}

/// Ends the check as failed unless `result` is [`DeviceError::Unsupported`].
fn expect_unsupported<T>(what: &str, result: Result<T, DeviceError>) -> Result<(), Halt> {
    match result {
        Err(DeviceError::Unsupported { .. }) => Ok(()),
        Err(other) => Err(Halt::Failed(format!("{what}: refused, but not as unsupported: {other}"))),
        Ok(_) => Err(Halt::Failed(format!("{what} was accepted"))),
    }
}

/// A device under check, and the platform it came from.
struct Subject<'a> {
    platform: &'a dyn Platform,
    device: &'a dyn Device,
}

const KINDS: [MemoryKind; 3] = [MemoryKind::Pinned, MemoryKind::PinnedDriver, MemoryKind::Pageable];

impl Subject<'_> {
    /// The kinds of memory the capabilities list.
    fn kinds(&self) -> Vec<MemoryKind> {
        KINDS.into_iter().filter(|kind| self.device.capabilities().memory(*kind).is_ok()).collect()
    }

    /// Those of them that a driver can reach by itself; the check is skipped where there is none.
    fn pinned_kinds(&self) -> Result<Vec<MemoryKind>, Halt> {
        let kinds: Vec<_> = self.kinds().into_iter().filter(|kind| *kind != MemoryKind::Pageable).collect();
        match self.device.capabilities().memory(MemoryKind::Pinned) {
            Err(reason) if kinds.is_empty() => Err(Halt::Skipped(format!("no pinned memory: {reason}"))),
            _ => Ok(kinds),
        }
    }

    /// Skips the check where no latch is.
    fn needs_latch(&self) -> Result<(), Halt> {
        match &self.device.capabilities().latch {
            crate::Latch::None { reason } => Err(Halt::Skipped(format!("no latch: {reason}"))),
            _ => Ok(()),
        }
    }

    /// Skips the check where both directions cannot move at once.
    fn needs_bidirectional(&self) -> Result<(), Halt> {
        let can = &self.device.capabilities().bidirectional;
        can.clone().map_err(|reason| Halt::Skipped(format!("not bidirectional: {reason}")))
    }

    fn host(&self, kind: MemoryKind, len: usize) -> Result<Box<dyn HostMemory>, Halt> {
        let memory = if kind == MemoryKind::PinnedDriver {
            self.device.allocate_pinned(len)?
        } else {
            self.device.adopt(kind, payload::heap(len)?)?
        };
        expect(memory.kind() == kind, || format!("{kind} memory says that it is {}", memory.kind()))?;
        Ok(memory)
    }

    fn copier(&self, kind: MemoryKind, len: usize, bidirectional: bool) -> Result<Box<dyn Copier>, Halt> {
        let host = HostPair { source: Some(self.host(kind, len)?), destination: Some(self.host(kind, len)?) };
        Ok(self.device.copier(host, bidirectional)?)
    }
}

#[cfg(test)]
mod tests;
