//! Ends over an exchange that only counts.

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use engine::{Bound, ObservedPlacement};
use ranks::WorldError;

use super::*;
use crate::calls::WORD;
use crate::case::MessageCase;

/// An MPI whose first messages are slow ones, as after another case.
struct SlowAtFirst {
    sent: Cell<u32>,
    slow: u32,
}

const SLOW: Duration = Duration::from_millis(50);

impl Exchange for SlowAtFirst {
    unsafe fn send(&self, _: usize, _: usize, bytes: usize) -> Result<(), WorldError> {
        if bytes == WORD {
            return Ok(());
        }
        self.sent.set(self.sent.get() + 1);
        if self.sent.get() <= self.slow {
            thread::sleep(SLOW);
        }
        Ok(())
    }

    unsafe fn receive(&self, _: usize, _: usize, _: usize) -> Result<(), WorldError> {
        Ok(())
    }

    unsafe fn start_send(&self, _: usize, _: usize, _: usize) -> Result<(), WorldError> {
        Ok(())
    }

    unsafe fn start_receive(&self, _: usize, _: usize, _: usize) -> Result<(), WorldError> {
        Ok(())
    }

    fn wait_all(&self) -> Result<(), WorldError> {
        Ok(())
    }

    unsafe fn operate(
        &self,
        _: ranks::PairOperation,
        _: usize,
        _: usize,
        _: usize,
        _: usize,
    ) -> Result<(), WorldError> {
        Ok(())
    }

    fn gpu_support(&self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn the_first_rounds_of_a_block_are_sent_and_not_timed() -> Result<(), ExchangeFault> {
    let pu = ObservedPlacement::thread()?.pu;
    let bound = Bound::to(pu)?;
    let mut memory = MessageMemory::new(&bound, None, [pu, 0], true, 4096)?;
    let case = MessageCase { path: MessagePath::Host, pattern: MessagePattern::PingPong, bytes: 4096 };
    for (rounds, uncounted) in [(1, 1), (8, 2), (1000, 4)] {
        let mpi = SlowAtFirst { sent: Cell::new(0), slow: uncounted };
        let took = MessageEnd::new(&mpi, &mut memory, 0, 1).rounds(case, rounds)?;
        assert_eq!(mpi.sent.get(), rounds + uncounted);
        assert!(Duration::from_nanos(took) < SLOW, "{rounds} rounds took {took} ns");
    }
    Ok(())
}
