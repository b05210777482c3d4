//! What MPI is given a device's addresses for, one operation at a time: known bytes in, all of what arrives
//! compared. MPI may end the process in any of them, so who runs this is watched from outside.

use device::{BytePattern as Bytes, WrongByte};

use crate::calls::Halves;
use crate::case::MessagePath;
use crate::endpoint::MessageEnd;
use crate::fault::ExchangeFault;
use crate::operation::{DeviceOperation, POISON, WrongBytes};

/// How many values repeat in what is summed.
const VALUES: usize = 1000;

/// The value at an index of what is summed, times the rank's share. All sums are exact.
fn value(index: usize, share: f32) -> [u8; 4] {
    ((index % VALUES) as f32 * share).to_le_bytes()
}

fn floats(bytes: &mut [u8], share: f32) {
    for (index, word) in bytes.chunks_exact_mut(4).enumerate() {
        word.copy_from_slice(&value(index, share));
    }
}

fn first_wrong_float(bytes: &[u8], share: f32) -> Option<WrongByte> {
    bytes.chunks_exact(4).enumerate().find_map(|(index, word)| {
        let expected = value(index, share);
        let at = (0..4).find(|at| word[*at] != expected[*at])?;
        Some(WrongByte { offset: (index * 4 + at) as u64, expected: expected[at], got: word[at] })
    })
}

impl MessageEnd<'_> {
    /// Tries an operation on the device's memory: what was wrong at this rank.
    ///
    /// # Errors
    /// What MPI or the device says.
    pub fn attempt(
        &mut self,
        operation: DeviceOperation,
        bytes: usize,
        key: u64,
    ) -> Result<Option<WrongBytes>, ExchangeFault> {
        let [mine, theirs] = self.keys(key);
        let (sent, expected) = (Bytes::new(mine), Bytes::new(theirs));
        self.prepare(MessagePath::GpuAware, bytes, sent, expected.inverted())?;
        if operation == DeviceOperation::Allreduce {
            self.prepare_sums(bytes)?;
        }
        let halves = Halves::of(self.memory, MessagePath::GpuAware)?;
        self.meet()?;
        let together = |end: &mut Self, operation| end.calls.operate(operation, halves, bytes);
        use ranks::PairOperation as Mpi;

        match operation {
            DeviceOperation::Send => self.there_and_back(bytes, halves)?,
            DeviceOperation::Isend => {
                // The send first: one that is refused leaves no receive behind that a later message would
                // meet.
                self.calls.start_send_at(halves, 0, bytes)?;
                self.calls.start_receive(halves, bytes)?;
                self.calls.wait_all()?;
            }
            DeviceOperation::Sendrecv => together(self, Mpi::Sendrecv)?,
            DeviceOperation::Bcast => together(self, Mpi::Broadcast)?,
            DeviceOperation::Put => together(self, Mpi::Put)?,
            DeviceOperation::Get => together(self, Mpi::Get)?,
            DeviceOperation::Alltoall => together(self, Mpi::Alltoall)?,
            DeviceOperation::Allreduce => together(self, Mpi::Allreduce)?,
            DeviceOperation::Newer => return Err(ExchangeFault::unknown("an operation")),
        }

        self.meet()?;
        let receives = match operation {
            DeviceOperation::Bcast | DeviceOperation::Put => !self.is_lower,
            DeviceOperation::Get => self.is_lower,
            _ => true,
        };
        if !receives {
            return Ok(None);
        }
        let (is_lower, part) = (self.is_lower, bytes / 2);

        self.compare(MessagePath::GpuAware, bytes, |arrived| match operation {
            DeviceOperation::Allreduce => first_wrong_float(arrived, 3.0),
            DeviceOperation::Alltoall => {
                // The lower one gets both first halves, the higher one both second halves; its own is what it
                // sent itself.
                let [lower, higher] = if is_lower { [sent, expected] } else { [expected, sent] };
                let from = if is_lower { 0 } else { part };
                [(lower, 0), (higher, part)].into_iter().find_map(|(pattern, at)| {
                    let mut right = vec![0; bytes];
                    pattern.fill(0, &mut right);
                    let right = &right[from..from + part];
                    let wrong = (0..part).find(|byte| arrived[at + byte] != right[*byte])?;
                    let (got, expected) = (arrived[at + wrong], right[wrong]);
                    Some(WrongByte { offset: (at + wrong) as u64, expected, got })
                })
            }
            _ => expected.compare(0, arrived).err(),
        })
    }

    fn there_and_back(&mut self, bytes: usize, halves: Halves) -> Result<(), ExchangeFault> {
        for sends in [self.is_lower, !self.is_lower] {
            if sends {
                self.calls.send_from(halves, bytes)?;
            } else {
                self.calls.receive_at(halves, 0, bytes)?;
            }
        }
        Ok(())
    }

    fn prepare_sums(&mut self, bytes: usize) -> Result<(), ExchangeFault> {
        let (half, share) = (self.memory.half(), if self.is_lower { 1.0 } else { 2.0 });
        let device = self.memory.device()?;
        floats(&mut device.host()?[..bytes], share);
        device.host()?[half..half + bytes].fill(POISON);
        device.queue_to_device(0..bytes)?;
        device.queue_to_device(half..half + bytes)?;
        Ok(device.settle()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_lacks_one_rank_is_wrong_at_its_first_value_that_is_not_zero() {
        let mut sums = vec![0; 64];
        floats(&mut sums, 3.0);
        assert_eq!(first_wrong_float(&sums, 3.0), None);
        floats(&mut sums, 1.0);
        let wrong = first_wrong_float(&sums, 3.0);
        assert!(wrong.is_some_and(|wrong| (4..8).contains(&wrong.offset)), "{wrong:?}");
    }
}
