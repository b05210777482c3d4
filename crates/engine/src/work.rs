//! What a kind of measurement implements. The engine calls it in this order, for each rank on that rank's own
//! bound thread:
//!
//! ```text
//! Suite::site                          once a rank: open what is opened once
//!   Site::set_up, Site::look           for each allocation of a setup: allocate, place; then where it lies
//!     Site::work                       for each block: the work of one case
//!       Work::hold, enqueue, finish    device timing: once a case, to warm its queue; others wait for it
//!       Work::round ...                warm up (on fresh memory)
//!       Work::lay_out, round, arm      what the block will need; one round that does not count
//!       Work::hold, enqueue ...        device timing: queue behind the latch; then release, ended, finish
//!       Work::round ...                host timing: one after the other
//!       Work::verify                   outside the timed region
//! ```
//!
//! Every method but those of the timed region may allocate. A work that cannot queue is timed by the host.

use stats::latch::Latch;
use std::sync::Arc;

use stats::stage::Stage;
use stats::time_spent::TimeSpent;
use topo::gpu_condition::GpuConditions;

use crate::bound::Bound;
use crate::case::Case;
use crate::failure::Failure;
use crate::observed_placement::{ObservedPlacement, PageCheck};
use crate::sample::{BlockDetail, Trouble};
use crate::timing::{Lanes, Timing};
use crate::worker::Worker;

/// A list of cases, and what it takes to do their work.
pub trait Suite: Send + Sync {
    /// The cases, in the order a reader expects them. The same on every rank.
    fn cases(&self) -> Vec<Case>;

    /// Opens what a rank opens once. Called on the rank's thread, which is bound for good.
    ///
    /// # Errors
    /// What failed; all the rank's cases fail with it.
    fn site(self: Arc<Self>, worker: &Worker, bound: &Bound) -> Result<Box<dyn Site>, Failure>;

    /// The number of the allocation that a pass uses: memory is made anew where it changes.
    fn allocation(&self, pass: u64) -> u32 {
        crate::schedule::allocation(pass)
    }
}

/// One rank's end of its cases: its device, its memory.
pub trait Site {
    /// The latch of its device, where it has one to speak of.
    fn latch(&self) -> Option<Latch> {
        None
    }

    /// Reads the links of the GPUs of the setup at hand, which are still awake from its blocks.
    fn read_links(&mut self) {}

    /// What was seen of the GPUs that take part since they were opened; counters are read again.
    fn conditions(&mut self) -> Vec<GpuConditions> {
        Vec::new()
    }

    /// Makes what the cases of `setup` need, unless it is there from this very `allocation`. Whether anything
    /// is new, and so must be warmed up and looked at in full. Nobody measures meanwhile.
    ///
    /// # Errors
    /// Why these cases cannot be measured.
    fn set_up(
        &mut self,
        bound: &Bound,
        setup: usize,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<bool, Trouble>;

    /// Whether the memory at hand is the very one that [`Site::set_up`] would give these cases, and stays
    /// where the site is set aside: then one look before and one after all of them will do.
    fn serves(&self, _setup: usize, _allocation: u32) -> bool {
        false
    }

    /// Other ranks are about to be set up for cases that this rank takes no part in: frees what would be in
    /// their way.
    fn set_aside(&mut self) {}

    /// Looks where thread and memory are.
    ///
    /// # Errors
    /// The kernel does not say.
    fn look(&mut self, how: PageCheck) -> Result<ObservedPlacement, Failure>;

    /// What of a placement is not as asked, in words.
    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String>;

    /// The work of one block of a case, on what was set up.
    ///
    /// # Errors
    /// [`Trouble::Skipped`] for what cannot be done here.
    fn work(&mut self, case: usize, pass: u64) -> Result<Box<dyn Work + '_>, Trouble>;
}

/// What is timed in one block.
pub trait Work {
    /// The clock.
    fn timing(&self) -> Timing;

    /// How many timelines.
    fn lanes(&self) -> Lanes {
        Lanes::One
    }

    /// What one round amounts to on one lane: bytes moved.
    fn bytes_a_round(&self) -> f64;

    /// How many rounds one call of [`Work::round`] does: more than one where a round is too short for the
    /// clock. Figures are of one round.
    fn rounds_a_call(&self) -> u32 {
        1
    }

    /// How many calls of [`Work::round`] do not count before a block: as many as it takes until nothing is
    /// left of laying out that a round would pay for. 0 where laying out leaves nothing: there is one then
    /// where a round is no block by itself.
    fn calls_before(&self) -> u32 {
        1
    }

    /// The most calls of [`Work::round`] that a block can have, where a round undoes what [`Work::arm`] made
    /// ready.
    fn rounds_at_most(&self) -> Option<usize> {
        None
    }

    /// How many operations a driver queues for one round.
    fn operations_a_round(&self) -> u32 {
        1
    }

    /// Whether the time by the host's clock of the round before each block is kept, where a device times the
    /// block: what a program waits that starts a round and needs its result.
    fn tells_host_time(&self) -> bool {
        false
    }

    /// What the work itself tells of the block beside its time, before anything is verified.
    fn block_detail(&mut self) -> Option<BlockDetail> {
        None
    }

    /// Puts in place what the block will use, and makes it wrong where it will end. Nothing for a work that
    /// leaves all of that to [`Work::arm`], or that finds everything in place.
    ///
    /// # Errors
    /// What failed.
    fn lay_out(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Called after the one round that does not count and before those that do.
    ///
    /// # Errors
    /// What failed.
    fn arm(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// One round, blocking.
    ///
    /// # Errors
    /// What failed.
    fn round(&mut self) -> Result<(), Failure>;

    /// Closes the latch: rounds queued from here on wait for [`Work::release`]. Only called with
    /// [`Timing::Device`], like those that follow.
    ///
    /// # Errors
    /// What failed.
    fn hold(&mut self) -> Result<(), Failure> {
        Err(not_queued())
    }

    /// Queues `rounds` rounds and a mark at their end, on each lane.
    ///
    /// # Errors
    /// What failed.
    fn enqueue(&mut self, _rounds: u32) -> Result<(), Failure> {
        Err(not_queued())
    }

    /// Opens the latch.
    ///
    /// # Errors
    /// What failed.
    fn release(&mut self) -> Result<(), Failure> {
        Err(not_queued())
    }

    /// How many marks have been reached on every lane. Does not block.
    ///
    /// # Errors
    /// What failed.
    fn ended(&mut self) -> Result<usize, Failure> {
        Err(not_queued())
    }

    /// Waits for everything queued and writes when each mark was reached, nanoseconds after the release, into
    /// vectors with room for them.
    ///
    /// # Errors
    /// What failed.
    fn finish(&mut self, _marks: &mut [Vec<f64>; 2]) -> Result<(), Failure> {
        Err(not_queued())
    }

    /// Whether what was done is what was to be done; how many bytes were compared.
    ///
    /// # Errors
    /// [`Trouble::Corrupt`], [`Trouble::Wrong`], or what failed.
    fn verify(&mut self) -> Result<u64, Trouble>;
}

/// The failure of a work that the host times and that was asked to queue: the engine asks only what
/// [`Work::timing`] allows.
fn not_queued() -> Failure {
    Failure::new(Stage::Measure, "this work is timed by the host: it queues nothing")
}
