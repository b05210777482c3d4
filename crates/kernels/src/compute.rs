//! One block of a kernel on a GPU, or of the copies that are measured beside it.
//!
//! Before the rounds that count, a line of every page of the result is made wrong on both sides: a round that
//! does nothing is seen. After them the result is fetched, where the rounds left it on the device, and
//! checked. The bytes of a copy are a pattern, sent over one with another first word in each page.
//!
//! A round is the input to the GPU, one or more runs there, and the result back, on one queue. The device
//! times it behind the latch, the host where it has more than 128 steps; a host's time that stands beside the
//! device's is of the round before each block, started with nothing queued and waited for. Where a problem
//! has parts, up to 16 of 2 MiB and more are copied, computed and copied back on streams of their own, as
//! SHOC's triad does; of several iterations the first goes along with the input and the last with the result.

use std::sync::{Arc, Mutex, PoisonError};

use device::{BytePattern, Computer, DeviceError, RoundStep, WrongByte};
use engine::{Failure, Helpers, Timing, Trouble, Work};
use pingpong::{measuring, verifying};

use crate::case::GpuRound;
use crate::made::Made;
use crate::problem::{Problem, ProblemPart};

/// The copies that losses are predicted by have this size: large beside what a copy takes to begin.
pub const COPY_BYTES: usize = 64 << 20;
/// What a queue takes without blocking while its latch holds.
const QUEUED_STEPS: usize = 128;
/// Parts that helpers write or look at begin at multiples of this: whole pages of a pattern.
pub(crate) const SHARED_GRAIN: usize = 1 << 20;
/// Of each page of a result one line is made wrong: a round that computes nothing of a page leaves it so, and
/// writing all of them took longer than the rounds.
const PAGE: usize = 4096;
const LINE: usize = 64;
/// What results are made of that were not computed: no number in either precision, and no key in order.
const WRONG: u8 = 0xff;

/// One block.
pub(crate) struct Compute<'a> {
    computer: &'a mut dyn Computer,
    what: GpuRound,
    made: Option<Arc<Made>>,
    /// Who helps to write and to look at results.
    helpers: Helpers,
    timing: Timing,
    steps: Vec<RoundStep>,
    /// What a copy moves.
    pattern: BytePattern,
}

impl<'a> Compute<'a> {
    pub(crate) fn new(
        computer: &'a mut dyn Computer,
        what: GpuRound,
        (made, helpers): (Option<Arc<Made>>, &Helpers),
        (timing, pass): (Timing, u64),
    ) -> Self {
        let steps = steps(what, made.as_deref().map(|made| &*made.problem));
        // Behind a latch a longer queue may fill the driver's, which then blocks. Rounds so long lose nothing
        // by the host's clock.
        let timing = if count(&steps) > QUEUED_STEPS { Timing::Host } else { timing };
        let pattern = BytePattern::new(stats::random::mix(pass + 1));
        Self { computer, what, made, helpers: helpers.clone(), timing, steps, pattern }
    }

    /// Makes what the rounds will write wrong: the result on both sides, or what a copy moves where it goes.
    fn spoil(&mut self) -> Result<(), DeviceError> {
        let Some(made) = &self.made else {
            // Both sides have the bytes of another pattern at the beginning of each page, where they are to
            // arrive; whole patterns take longer to write than to copy.
            let sent = self.what == GpuRound::ToHost;
            let [on_device, on_host] =
                if sent { [self.pattern, self.other()] } else { [self.other(), self.pattern] };
            self.write_pattern(on_device)?;
            self.computer.round(&[RoundStep::ToDevice(0..COPY_BYTES)])?;
            on_host.fill_page_words(lent(self.computer.host(), COPY_BYTES)?);
            return Ok(());
        };

        let layout = made.problem.layout();
        let result = layout.result();
        let host = lent(self.computer.host(), layout.host_bytes())?;
        for page in host[result.clone()].chunks_mut(PAGE) {
            let line = page.len().min(LINE);
            page[..line].fill(WRONG);
        }
        self.computer.round(&[RoundStep::ToDevice(result)])
    }
}

impl Compute<'_> {
    /// The pattern that differs from this block's in the first word of each page.
    fn other(&self) -> BytePattern {
        self.pattern.with_page_key(!self.pattern.page_key)
    }

    fn write_pattern(&mut self, pattern: BytePattern) -> Result<(), DeviceError> {
        let to = lent(self.computer.host(), COPY_BYTES)?;
        self.helpers.share(to, SHARED_GRAIN, |at, part| pattern.fill(at as u64, part));
        Ok(())
    }

    /// The first byte that is not the pattern's, of those that one of the helpers looked at.
    fn compare_pattern(&mut self) -> Result<Result<(), WrongByte>, DeviceError> {
        let (pattern, found) = (self.pattern, Mutex::new(Ok(())));
        let arrived = lent(self.computer.host(), COPY_BYTES)?;
        self.helpers.share(arrived, SHARED_GRAIN, |at, part| {
            if let Err(difference) = pattern.compare(at as u64, part) {
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Err(difference);
            }
        });
        Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How many operations are queued for them.
fn count(steps: &[RoundStep]) -> usize {
    steps.iter().map(RoundStep::count).sum()
}

/// What one round does.
fn steps(what: GpuRound, problem: Option<&dyn Problem>) -> Vec<RoundStep> {
    match (what, problem) {
        (GpuRound::WithTransfers { iterations, .. }, Some(problem)) => with_transfers(problem, iterations),
        (GpuRound::Resident { .. }, Some(problem)) => problem.launches(),
        (GpuRound::ToHost, _) => vec![RoundStep::ToHost(0..COPY_BYTES)],
        _ => vec![RoundStep::ToDevice(0..COPY_BYTES)],
    }
}

/// The input to the device, so many runs, the result back. Where the problem has parts the first run goes
/// along with the input and the last one with the result.
fn with_transfers(problem: &dyn Problem, iterations: u32) -> Vec<RoundStep> {
    let (layout, parts) = (problem.layout(), problem.parts());
    let again = |runs: u32| (0..runs).flat_map(|_| problem.launches());
    if parts.is_empty() {
        let mut steps = vec![RoundStep::ToDevice(0..layout.input)];
        steps.extend(again(iterations));
        steps.push(RoundStep::ToHost(layout.result()));
        return steps;
    }

    let [mut first, mut last] = [Vec::new(), Vec::new()];

    for ProblemPart { input, launch, output } in parts {
        first.extend(input.into_iter().map(RoundStep::ToDevice));
        if iterations == 1 {
            first.extend([launch, RoundStep::ToHost(output)]);
        } else {
            first.push(launch.clone());
            last.extend([launch, RoundStep::ToHost(output)]);
        }
    }

    let mut steps = vec![RoundStep::Overlapped(first)];
    if iterations > 1 {
        steps.extend(again(iterations - 2));
        steps.push(RoundStep::Overlapped(last));
    }
    steps
}

/// The host range, which a computer lends unless waiting for it failed.
pub(crate) fn lent(range: &mut [u8], bytes: usize) -> Result<&mut [u8], DeviceError> {
    range.get_mut(..bytes).ok_or_else(|| DeviceError::Unsupported {
        what: "using host memory again",
        reason: "waiting for earlier work failed, so the driver may still use it".to_owned(),
    })
}

impl Work for Compute<'_> {
    fn timing(&self) -> Timing {
        self.timing
    }

    fn bytes_a_round(&self) -> f64 {
        let of = |made: &Arc<Made>| made.problem.layout().input + made.problem.layout().output;
        self.made.as_ref().map_or(COPY_BYTES, of) as f64
    }

    fn operations_a_round(&self) -> u32 {
        count(&self.steps) as u32
    }

    fn tells_host_time(&self) -> bool {
        self.made.is_some()
    }

    fn arm(&mut self) -> Result<(), Failure> {
        self.spoil().map_err(verifying)
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.computer.round(&self.steps).map_err(measuring)
    }

    fn hold(&mut self) -> Result<(), Failure> {
        self.computer.hold(&self.steps).map_err(measuring)
    }

    fn enqueue(&mut self, rounds: u32) -> Result<(), Failure> {
        self.computer.enqueue(&self.steps, rounds).map_err(measuring)
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.computer.release().map_err(measuring)
    }

    fn ended(&mut self) -> Result<usize, Failure> {
        self.computer.rounds_ended().map_err(measuring)
    }

    fn finish(&mut self, marks: &mut [Vec<f64>; 2]) -> Result<(), Failure> {
        self.computer.finish(&mut marks[0]).map_err(measuring)
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        let fault = |error: DeviceError| Trouble::from(verifying(error));
        let Some(made) = self.made.clone() else {
            if self.what == GpuRound::ToDevice {
                self.other().fill_page_words(lent(self.computer.host(), COPY_BYTES).map_err(fault)?);
                self.computer.round(&[RoundStep::ToHost(0..COPY_BYTES)]).map_err(fault)?;
            }
            return self
                .compare_pattern()
                .map_err(fault)?
                .map(|()| COPY_BYTES as u64)
                .map_err(Trouble::Corrupt);
        };

        let layout = made.problem.layout();
        if matches!(self.what, GpuRound::Resident { .. }) {
            self.computer.round(&[RoundStep::ToHost(layout.result())]).map_err(fault)?;
        }
        let (input, output) =
            lent(self.computer.host(), layout.host_bytes()).map_err(fault)?.split_at_mut(layout.output_at);
        let checked = made.check(&input[..layout.input], &mut output[..layout.output], &self.helpers);
        checked.map(|()| layout.output as u64).map_err(|wrong| Trouble::Wrong(wrong.to_string()))
    }
}
