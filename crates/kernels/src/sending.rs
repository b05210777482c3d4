//! One block of small pieces: what is sent is laid out, what arrives made wrong, all of them sent in one
//! round, and every piece compared.
//!
//! What is sent is a pattern by its place there, so that one and the same serves every size of piece; what
//! changes from block to block is the first word of every page.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use device::{BytePattern, Computer, DeviceError, RoundStep, WrongByte};
use engine::{BlockDetail, Failure, Helpers, Timing, Trouble, Work};
use pingpong::{measuring, verifying};

use crate::compute::{SHARED_GRAIN, lent};
use crate::pieces::{PIECE_GRAIN, Pieces, TransferMethod};

/// One block of them.
pub(crate) struct Sending<'a> {
    computer: &'a mut dyn Computer,
    pieces: Pieces,
    places: Vec<(usize, usize)>,
    steps: Vec<RoundStep>,
    helpers: Helpers,
    /// What lies in the range that is sent, on both sides, where something does.
    laid: &'a mut Option<BytePattern>,
    page_key: u64,
    /// Nanoseconds of the last round in which the host packed or was in calls.
    busy_ns: f64,
}

impl<'a> Sending<'a> {
    pub(crate) fn new(
        computer: &'a mut dyn Computer,
        pieces: Pieces,
        laid: &'a mut Option<BytePattern>,
        (helpers, pass): (&Helpers, u64),
    ) -> Self {
        let places = pieces.places();
        let steps = pieces.queued(&places);
        let page_key = stats::random::mix(pass + 1);
        Self { computer, pieces, places, steps, helpers: helpers.clone(), laid, page_key, busy_ns: 0.0 }
    }

    fn host(&mut self) -> Result<&mut [u8], DeviceError> {
        lent(self.computer.host(), self.pieces.memory_bytes())
    }

    fn is_packed_by_the_host(&self) -> bool {
        self.pieces.way == TransferMethod::Packed && self.pieces.steps()[0] != 1
    }

    /// Puts the pattern in the range that is sent, on the side that sends; what has been there only gets
    /// other first words of pages.
    fn lay_pattern(&mut self) -> Result<BytePattern, DeviceError> {
        let (sent, key) = (self.pieces.sent(), self.page_key);
        let known = self.laid.take();
        let pattern = known.unwrap_or_else(|| BytePattern::new(!key)).with_page_key(key);
        let helpers = self.helpers.clone();
        let to = &mut self.host()?[sent.clone()];
        match known {
            Some(_) => pattern.fill_page_words(to),
            None => helpers.share(to, SHARED_GRAIN, |at, part| pattern.fill(at as u64, part)),
        }
        if known.is_none() || !self.pieces.to_device {
            self.computer.round(&[RoundStep::ToDevice(sent)])?;
        }
        *self.laid = Some(pattern);
        Ok(pattern)
    }

    /// Makes the first word of every page wrong where pieces are to arrive.
    fn spoil(&mut self) -> Result<(), DeviceError> {
        let arrived = self.pieces.arrived();
        wipe(&mut self.host()?[arrived.clone()]);
        if self.pieces.to_device {
            self.computer.round(&[RoundStep::ToDevice(arrived)])?;
        }
        Ok(())
    }

    /// Copies every piece between its place in host memory and the one behind the other.
    fn pack(&mut self, is_sent: bool) -> Result<(), DeviceError> {
        let ([begin, _], bytes, packed) =
            (self.pieces.begins(), self.pieces.bytes, self.pieces.packed().start);
        let host = lent(self.computer.host(), self.pieces.memory_bytes())?;
        let (scattered, behind) = host.split_at_mut(packed);
        for ((at, _), piece) in self.places.iter().zip(behind.chunks_exact_mut(bytes)) {
            let place = &mut scattered[begin + at..begin + at + bytes];
            if is_sent { piece.copy_from_slice(place) } else { place.copy_from_slice(piece) }
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), DeviceError> {
        let (began, packs) = (Instant::now(), self.is_packed_by_the_host());
        if packs && self.pieces.to_device {
            self.pack(true)?;
        }
        self.computer.start(&self.steps)?;
        let mut busy = began.elapsed();
        self.computer.settle()?;
        if packs && !self.pieces.to_device {
            let began = Instant::now();
            self.pack(false)?;
            busy += began.elapsed();
        }
        self.busy_ns = busy.as_nanos() as f64;
        Ok(())
    }

    /// The first byte of a piece that is not the one that was sent.
    fn compare(&mut self) -> Result<Option<WrongByte>, DeviceError> {
        let Pieces { to_device, bytes, count, .. } = self.pieces;
        let (arrived, pattern) = (self.pieces.arrived(), self.laid.unwrap_or_else(|| BytePattern::new(0)));
        if to_device {
            wipe(&mut self.host()?[arrived.clone()]);
            self.computer.round(&[RoundStep::ToHost(arrived.clone())])?;
        }
        let mut sent_at = vec![None; 2 * count];
        for (in_host, in_area) in &self.places {
            let (from, to) = if to_device { (in_host, in_area) } else { (in_area, in_host) };
            sent_at[to / bytes] = Some(*from);
        }

        let (helpers, found) = (self.helpers.clone(), Mutex::new(None));
        let slots = &mut self.host()?[arrived][..2 * count * bytes];
        helpers.share(slots, bytes, |at, part| {
            for (slot, piece) in (at / bytes..).zip(part.chunks(bytes)) {
                if let Some(Err(difference)) = sent_at[slot].map(|sent| pattern.compare(sent as u64, piece)) {
                    let offset = (slot * bytes) as u64 + difference.offset % bytes as u64;
                    let mut first = found.lock().unwrap_or_else(PoisonError::into_inner);
                    *first = Some(WrongByte { offset, ..difference });
                }
            }
        });
        Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Makes the first word of every page one that no pattern has there.
fn wipe(range: &mut [u8]) {
    range.chunks_mut(PIECE_GRAIN).for_each(|page| page[..8].fill(0));
}

impl Work for Sending<'_> {
    fn timing(&self) -> Timing {
        Timing::Host
    }

    fn bytes_a_round(&self) -> f64 {
        self.pieces.bytes as f64
    }

    /// A round of the engine's is a piece: figures are of one.
    fn rounds_a_call(&self) -> u32 {
        self.pieces.count as u32
    }

    fn block_detail(&mut self) -> Option<BlockDetail> {
        Some(BlockDetail::HostNs(self.busy_ns))
    }

    fn arm(&mut self) -> Result<(), Failure> {
        self.lay_pattern().and_then(|_| self.spoil()).map_err(verifying)
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.send().map_err(measuring)
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        match self.compare().map_err(verifying)? {
            None => Ok((self.pieces.count * self.pieces.bytes) as u64),
            Some(mismatch) => Err(Trouble::Corrupt(mismatch)),
        }
    }
}
