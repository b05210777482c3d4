//! One block of copies: what the engine times.

use device::{Copier, Direction, Marks};
use engine::{Failure, Lanes, Timing, Trouble, Work};

use crate::case::CopyCase;
use crate::delivery::{Delivery, Source};
use crate::fault::measuring;

/// The work of one block of one case.
pub(crate) struct CopyWork<'a> {
    pub copier: &'a mut dyn Copier,
    pub case: CopyCase,
    pub timing: Timing,
    pub delivery: Delivery,
    /// What lies in the host memory that it reads.
    pub source: &'a mut Source,
    /// Room for a piece of what is compared on the host.
    pub piece: &'a mut [u8],
}

impl Work for CopyWork<'_> {
    fn timing(&self) -> Timing {
        self.timing
    }

    fn lanes(&self) -> Lanes {
        if self.case.direction == Direction::Bidirectional { Lanes::Two } else { Lanes::One }
    }

    fn bytes_a_round(&self) -> f64 {
        let legs = if self.case.direction == Direction::RoundTrip { 2.0 } else { 1.0 };
        self.case.bytes as f64 * legs
    }

    fn operations_a_round(&self) -> u32 {
        self.case.direction.legs() as u32
    }

    fn calls_before(&self) -> u32 {
        u32::from(!self.delivery.is_laid_out_by_device())
    }

    fn lay_out(&mut self) -> Result<(), Failure> {
        self.delivery.lay_out(self.copier, self.piece, self.source)
    }

    fn arm(&mut self) -> Result<(), Failure> {
        self.delivery.arm(self.copier, self.piece)
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.copier.round(self.case.direction, self.case.bytes).map_err(measuring)
    }

    fn hold(&mut self) -> Result<(), Failure> {
        self.copier.hold().map_err(measuring)
    }

    fn enqueue(&mut self, rounds: u32) -> Result<(), Failure> {
        self.copier.enqueue(self.case.direction, self.case.bytes, rounds).map_err(measuring)
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.copier.release().map_err(measuring)
    }

    fn ended(&mut self) -> Result<usize, Failure> {
        self.copier.rounds_ended().map_err(measuring)
    }

    fn finish(&mut self, [first, second]: &mut [Vec<f64>; 2]) -> Result<(), Failure> {
        // The vectors' room is lent, not copied: finishing allocates nothing.
        let mut marks = Marks { first_ns: std::mem::take(first), second_ns: std::mem::take(second) };
        let finished = self.copier.finish(&mut marks).map_err(measuring);
        (*first, *second) = (marks.first_ns, marks.second_ns);
        finished
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        self.delivery.verify(self.copier, self.piece)
    }
}
