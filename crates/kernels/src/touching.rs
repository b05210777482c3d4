//! One block of touches of memory that moves: its pages are where they are touched from, or elsewhere, each
//! word has a value of this block's own, and what was touched is checked by who touched it last, so that the
//! check moves no page.
//!
//! The host's clock times a touch: from the launch of a kernel that reads or writes all words, or the core's
//! first load, to the end. Pages stay where a touch brought them, so a block of first touches or of
//! prefetches is one round: before it the other side writes all words anew (64 bits each, of a progression
//! whose beginning is the block's own), and for untouched memory the memory is given back and allocated
//! again. After it the kernel is asked where every page lies, before anything else touches a page. The GPU
//! checks by a sum in which each word has its own weight, read in the round itself where the round reads; the
//! core checks word by word. Rates of touches are compared with no link's bound.

use std::hint::black_box;

use device::{Computer, DeviceError, RoundStep};
use engine::{BlockDetail, Failure, PageCheck, PagesPerNode, Timing, Trouble, Work, WrongByte};
use pingpong::{measuring, verifying};
use stats::touch::Touch;

use crate::compute::lent;
use crate::moving::{self, Moving, Side};

/// Makes memory that nobody has touched, where the last one was given back.
pub(crate) type Make<'a> = dyn Fn() -> Result<Box<dyn Computer>, Failure> + 'a;

/// One block of them.
pub(crate) struct Touching<'a> {
    /// None while memory that could not be made again is missing.
    computer: &'a mut Option<Box<dyn Computer>>,
    make: Box<Make<'a>>,
    moving: Moving,
    /// What this block's words begin with, and what they begin with now.
    own: u64,
    key: u64,
    /// What the core read last.
    sum: Option<u64>,
    /// The NUMA node that the device's memory is, where it is one.
    own_node: Option<u32>,
}

impl<'a> Touching<'a> {
    pub(crate) fn new(
        computer: &'a mut Option<Box<dyn Computer>>,
        make: Box<Make<'a>>,
        moving: Moving,
        own_node: Option<u32>,
        (case, pass): (usize, u64),
    ) -> Self {
        // What another case left there is no value of this one's.
        let own = stats::random::mix(stats::random::mix(pass + 1) ^ case as u64);
        Self { computer, make, moving, own, key: own, sum: None, own_node }
    }

    fn computer(&mut self) -> Result<&mut Box<dyn Computer>, DeviceError> {
        self.computer.as_mut().ok_or_else(|| DeviceError::Unsupported {
            what: "touching memory",
            reason: "it could not be allocated again".to_owned(),
        })
    }

    fn host_bytes(&mut self) -> Result<&mut [u8], DeviceError> {
        let bytes = self.moving.bytes;
        lent(self.computer()?.host(), bytes)
    }

    /// Has the device do it, waited for.
    fn done(&mut self, step: RoundStep) -> Result<(), DeviceError> {
        self.computer()?.round(&[step])
    }

    /// The words are this side's, with a value of this block's.
    fn written_by(&mut self, side: Side) -> Result<(), DeviceError> {
        self.key = self.own;
        let key = self.key;
        match side {
            Side::Device => self.done(self.moving.write(key)),
            Side::Core => {
                moving::write(self.host_bytes()?, key);
                Ok(())
            }
        }
    }

    fn touch(&mut self) -> Result<(), DeviceError> {
        match (self.moving.touch, self.moving.side) {
            (Touch::Untouched, side) => self.written_by(side),
            (Touch::First | Touch::Again, Side::Device) => self.done(self.moving.read()),
            (Touch::First | Touch::Again, Side::Core) => {
                self.sum = Some(black_box(moving::read(self.host_bytes()?)));
                Ok(())
            }
            (Touch::Prefetch, side) => self
                .done(RoundStep::Prefetch { range: 0..self.moving.bytes, to_device: side == Side::Device }),
            (Touch::InTurns, _) => {
                self.done(self.moving.add())?;
                moving::add(self.host_bytes()?);
                self.key = self.key.wrapping_add(2);
                Ok(())
            }
        }
    }

    /// What the device reads is the sum of what was written.
    fn device_finds(&mut self) -> Result<Result<(), String>, DeviceError> {
        let (moving, key) = (self.moving, self.key);
        if !matches!(moving.touch, Touch::First | Touch::Again) {
            self.done(moving.read())?;
        }
        let told = moving.sums_range();
        self.done(RoundStep::ToHostFrom(told.clone(), 0))?;
        let found = moving::read(&lent(self.computer()?.host(), moving.memory_bytes())?[told]);
        let right = moving.weighted_sum(key);
        Ok(if found == right {
            Ok(())
        } else {
            Err(format!("the GPU's sum of what it read is {found:#018x}, and {right:#018x} is right"))
        })
    }
}

impl Work for Touching<'_> {
    fn timing(&self) -> Timing {
        Timing::Host
    }

    fn bytes_a_round(&self) -> f64 {
        self.moving.touched_bytes() as f64
    }

    /// A second round would find the pages where the first one brought them.
    fn rounds_at_most(&self) -> Option<usize> {
        (!matches!(self.moving.touch, Touch::Again | Touch::InTurns)).then_some(1)
    }

    fn block_detail(&mut self) -> Option<BlockDetail> {
        // A refusal tells nothing, and the other call brings the GPU's pages to the host.
        if !PagesPerNode::are_left_where_they_are() {
            return None;
        }
        let own = self.own_node;
        let pages = PagesPerNode::of(self.host_bytes().ok()?, PageCheck::Again, true);
        let on_own = pages
            .per_node
            .iter()
            .filter(|(node, _)| Some(**node) == own)
            .map(|(_, pages)| pages)
            .sum::<u64>();
        let (away, all) = (pages.unknown + on_own, pages.unknown + pages.per_node.values().sum::<u64>());
        (all > 0).then(|| BlockDetail::Away(away as f64 / all as f64))
    }

    fn arm(&mut self) -> Result<(), Failure> {
        let other = |side| if side == Side::Device { Side::Core } else { Side::Device };
        let side = self.moving.side;
        match self.moving.touch {
            Touch::Untouched => {
                // Given back before as much again is asked for.
                drop(self.computer.take());
                *self.computer = Some((self.make)()?);
                Ok(())
            }
            Touch::First | Touch::Prefetch => self.written_by(other(side)).map_err(verifying),
            Touch::Again => self.written_by(side).map_err(verifying),
            Touch::InTurns => self.written_by(Side::Core).map_err(verifying),
        }
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.touch().map_err(measuring)
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        let moving = self.moving;
        if moving.side == Side::Device && moving.touch != Touch::InTurns {
            self.device_finds().map_err(verifying)?.map_err(Trouble::Wrong)?;
            return Ok(moving.bytes as u64);
        }
        let key = self.key;

        if let Some(found) = self.sum.filter(|found| *found != moving.sum(key)) {
            let right = moving.sum(key);
            return Err(Trouble::Wrong(format!(
                "the core's sum of what it read is {found:#018x}, and {right:#018x} is right"
            )));
        }

        match moving::wrong(self.host_bytes().map_err(verifying)?, key) {
            None => Ok(moving.bytes as u64),
            Some((at, expected, got)) => {
                Err(Trouble::Corrupt(WrongByte { offset: at as u64, expected, got }))
            }
        }
    }
}
