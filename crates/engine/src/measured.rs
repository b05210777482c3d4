//! What a rank itself keeps of the blocks it measured: every round, so that it can say what they amount to.
//!
//! Rounds stay with the rank that measured them. What leaves it after each pass are the figures of the new
//! blocks and what all blocks of a case so far say ([`Outcome`]): that keeps what one rank gathers from a
//! thousand others small.

use stats::figures::BlockFigures;
use stats::flag::{self, TimerFacts};
use stats::sample::Block;
use stats::summary::summarize;

use crate::observed_placement::ObservedPlacement;
use crate::sample::{Outcome, Sample, SoFar, Trouble};
use crate::timing::Timing;

/// Events resolve about 0.5 µs (CUDA driver API, cuEventElapsedTime; HIP says the same of
/// hipEventElapsedTime).
const EVENTS: TimerFacts = TimerFacts { resolution_ns: 500.0, cost_ns: 0.0 };

/// One block just measured.
pub(crate) struct Measured {
    /// Its rounds.
    pub block: Block,
    /// Its figures and how it was measured.
    pub sample: Sample,
}

impl Measured {
    /// A block with its figures.
    ///
    /// # Errors
    /// The clock gave a round no time.
    pub(crate) fn new(block: Block, sample: impl FnOnce(BlockFigures) -> Sample) -> Result<Self, Trouble> {
        let Some(figures) = BlockFigures::of(&block) else {
            let why = "the clock that timed the block gave some of its rounds no time, or none that is a \
                number (`--timing host`, where a command has it, takes the host's clock)";
            return Err(Trouble::Invalid(why.to_owned()));
        };
        Ok(Self { sample: sample(figures), block })
    }
}

/// What one pass gave on one case, on the rank itself.
pub(crate) struct PassBlock {
    /// The case's index.
    pub case: usize,
    /// The block, or why there is none.
    pub measured: Result<Measured, Trouble>,
    /// The placement seen before the blocks of this pass, and after them.
    pub seen: [Option<ObservedPlacement>; 2],
}

/// Every block a rank has measured, by case.
pub(crate) struct History {
    blocks: Vec<Vec<Block>>,
    /// The node's clock.
    timer: TimerFacts,
}

impl History {
    pub(crate) fn new(cases: usize, timer: TimerFacts) -> Self {
        Self { blocks: vec![Vec::new(); cases], timer }
    }

    /// Keeps the rounds of a pass's block and gives what leaves the rank.
    pub(crate) fn keep(&mut self, PassBlock { case, measured, seen }: PassBlock) -> Outcome {
        let blocks = &mut self.blocks[case];
        let sample = measured.map(|Measured { block, sample }| {
            blocks.push(block);
            sample
        });
        let so_far = sample.as_ref().ok().and_then(|sample| {
            let timer = if sample.timing == Timing::Device { EVENTS } else { self.timer };
            Some(SoFar { summary: summarize(blocks)?, flags: flag::flags(blocks, &timer) })
        });
        Outcome { case, sample, seen, so_far }
    }
}
