//! One block of a kernel on a GPU, or of the copies that are measured beside it.
//!
//! Before the rounds that count, the result is made wrong on both sides: a round that does nothing is seen. After them the result is fetched, where the rounds left it on the
//! device, and checked. The bytes of a copy are a pattern, sent over the inverted one.

use std::sync::Arc;

use device::{Computer, DeviceError, Difference, Pattern, Step};
use engine::{Failure, Mismatch, Stage, Timing, Trouble, Work};
use pingpong::failure;

use crate::case::What;
use crate::problem::{Part, Problem};
use crate::proven::Proven;

/// The copies that losses are predicted by have this size: large beside what a copy takes to begin.
pub const COPY_BYTES: usize = 64 << 20;
/// What a queue takes without blocking while its latch holds.
const QUEUED_STEPS: usize = 128;
/// What results are made of that were not computed: no number in either precision, and no key in order.
const WRONG: u8 = 0xff;

/// One block.
pub(crate) struct Compute<'a> {
    computer: &'a mut dyn Computer,
    what: What,
    problem: Option<Arc<dyn Problem>>,
    /// Which of its results were found to be right before.
    proven: Arc<Proven>,
    timing: Timing,
    steps: Vec<Step>,
    /// What a copy moves.
    pattern: Pattern,
}

impl<'a> Compute<'a> {
    pub(crate) fn new(
        computer: &'a mut dyn Computer,
        what: What,
        problem: Option<(Arc<dyn Problem>, Arc<Proven>)>,
        (timing, pass): (Timing, u64),
    ) -> Self {
        let (problem, proven) = problem.unzip();
        let proven = proven.unwrap_or_default();
        let steps = steps(what, problem.as_deref());
        // Behind a latch a longer queue may fill the driver's, which then blocks. Rounds so long lose nothing by the host's clock.
        let timing = if count(&steps) > QUEUED_STEPS { Timing::Host } else { timing };
        let pattern = Pattern::new(stats::random::mix(pass + 1));
        Self { computer, what, problem, proven, timing, steps, pattern }
    }

    /// Makes what the rounds will write wrong: the result on both sides, or what a copy moves where it goes.
    fn spoil(&mut self) -> Result<(), DeviceError> {
        let Some(problem) = &self.problem else {
            let sent = self.what == What::ToHost;
            let [first, second] =
                if sent { [self.pattern, self.pattern.inverted()] } else { [self.pattern.inverted(), self.pattern] };
            first.fill(0, lent(self.computer.host(), COPY_BYTES)?);
            self.computer.round(&[Step::ToDevice(0..COPY_BYTES)])?;
            second.fill(0, lent(self.computer.host(), COPY_BYTES)?);
            return Ok(());
        };
        let layout = problem.layout();
        let result = layout.output_at..layout.output_at + layout.output;
        lent(self.computer.host(), layout.host_bytes())?[result.clone()].fill(WRONG);
        self.computer.round(&[Step::ToDevice(result)])
    }
}

/// How many operations are queued for them.
fn count(steps: &[Step]) -> usize {
    steps.iter().map(Step::count).sum()
}

/// What one round does.
fn steps(what: What, problem: Option<&dyn Problem>) -> Vec<Step> {
    match (what, problem) {
        (What::WithTransfers { iterations, .. }, Some(problem)) => with_transfers(problem, iterations),
        (What::Resident { .. }, Some(problem)) => problem.launches(),
        (What::ToHost, _) => vec![Step::ToHost(0..COPY_BYTES)],
        _ => vec![Step::ToDevice(0..COPY_BYTES)],
    }
}

/// The input to the device, so many runs, the result back. Where the problem has parts the first run goes along with the input and the last one with the result.
fn with_transfers(problem: &dyn Problem, iterations: u32) -> Vec<Step> {
    let (layout, parts) = (problem.layout(), problem.parts());
    let again = |runs: u32| (0..runs).flat_map(|_| problem.launches());
    if parts.is_empty() {
        let mut steps = vec![Step::ToDevice(0..layout.input)];
        steps.extend(again(iterations));
        steps.push(Step::ToHost(layout.output_at..layout.output_at + layout.output));
        return steps;
    }
    let [mut first, mut last] = [Vec::new(), Vec::new()];
    for Part { input, launch, output } in parts {
        first.extend(input.into_iter().map(Step::ToDevice));
        if iterations == 1 {
            first.extend([launch, Step::ToHost(output)]);
        } else {
            first.push(launch.clone());
            last.extend([launch, Step::ToHost(output)]);
        }
    }
    let mut steps = vec![Step::Overlapped(first)];
    if iterations > 1 {
        steps.extend(again(iterations - 2));
        steps.push(Step::Overlapped(last));
    }
    steps
}

/// The host range, which a computer lends unless waiting for it failed.
fn lent(range: &mut [u8], bytes: usize) -> Result<&mut [u8], DeviceError> {
    range.get_mut(..bytes).ok_or_else(|| DeviceError::Unsupported {
        what: "using host memory again",
        reason: "waiting for earlier work failed, so the driver may still use it".to_owned(),
    })
}

fn measuring(error: DeviceError) -> Failure {
    failure(Stage::Measure, &error)
}

impl Work for Compute<'_> {
    fn timing(&self) -> Timing {
        self.timing
    }

    fn bytes_a_round(&self) -> f64 {
        let of = |problem: &Arc<dyn Problem>| problem.layout().input + problem.layout().output;
        self.problem.as_ref().map_or(COPY_BYTES, of) as f64
    }

    fn operations_a_round(&self) -> u32 {
        count(&self.steps) as u32
    }

    fn lay_out(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn arm(&mut self) -> Result<(), Failure> {
        self.spoil().map_err(|error| failure(Stage::Verify, &error))
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.computer.round(&self.steps).map_err(measuring)
    }

    fn hold(&mut self) -> Result<(), Failure> {
        self.computer.hold().map_err(measuring)
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
        let fault = |error: DeviceError| Trouble::from(failure(Stage::Verify, &error));
        let Some(problem) = &self.problem else {
            if self.what == What::ToDevice {
                self.pattern.inverted().fill(0, lent(self.computer.host(), COPY_BYTES).map_err(fault)?);
                self.computer.round(&[Step::ToHost(0..COPY_BYTES)]).map_err(fault)?;
            }
            let arrived = lent(self.computer.host(), COPY_BYTES).map_err(fault)?;
            let corrupt = |Difference { offset, expected, got }| Trouble::Corrupt(Mismatch { offset, expected, got });
            return self.pattern.compare(0, arrived).map(|()| COPY_BYTES as u64).map_err(corrupt);
        };
        let layout = problem.layout();
        if matches!(self.what, What::Resident { .. }) {
            let result = layout.output_at..layout.output_at + layout.output;
            self.computer.round(&[Step::ToHost(result)]).map_err(fault)?;
        }
        let (input, output) =
            lent(self.computer.host(), layout.host_bytes()).map_err(fault)?.split_at(layout.output_at);
        let checked = self.proven.check(&**problem, &input[..layout.input], &output[..layout.output]);
        checked.map(|()| layout.output as u64).map_err(|wrong| Trouble::Wrong(wrong.to_string()))
    }
}
