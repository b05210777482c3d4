//! What MPI is given device memory for, and how that ended.

use device::WrongByte;
pub use report::awareness::DeviceOperation;
use serde::{Deserialize, Serialize};

/// What arrived in place of what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WrongBytes {
    /// What was there before: nothing arrived.
    Nothing,
    /// Zeros.
    Zeros,
    /// Other bytes, from this one on.
    Bytes {
        /// Offset in bytes.
        offset: u64,
    },
}

/// The byte that received memory is filled with before an operation that sends no known pattern.
pub(crate) const POISON: u8 = 0xa5;

impl WrongBytes {
    /// What is wrong with these bytes, of which this one is the first.
    pub(crate) fn of(arrived: &[u8], first: WrongByte) -> Self {
        if arrived.iter().all(|byte| *byte == 0) {
            return Self::Zeros;
        }
        // A pattern is poisoned with its inverse.
        let is_poison = first.got == !first.expected || arrived.iter().all(|byte| *byte == POISON);
        if first.offset == 0 && is_poison { Self::Nothing } else { Self::Bytes { offset: first.offset } }
    }

    /// In words.
    pub fn description(self) -> String {
        match self {
            Self::Nothing => "nothing arrived".to_owned(),
            Self::Zeros => "zeros arrived".to_owned(),
            Self::Bytes { offset } => format!("wrong bytes arrived, the first at {offset}"),
        }
    }
}

/// How an operation ended, with what documents have in its `detail`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptOutcome {
    /// All bytes are right.
    Works,
    /// It returned, and the bytes are wrong.
    Garbage(WrongBytes),
    /// It returned an error: MPI's words.
    Error(String),
    /// The process ended in it: how.
    Crash(String),
    /// It did not return within the time limit, in seconds.
    Hang(u64),
    /// It was not called, because the session ended before.
    NotTried,
}

/// An operation at a size, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The operation.
    pub operation: DeviceOperation,
    /// Bytes of a message.
    pub bytes: usize,
    /// How it ended.
    pub outcome: AttemptOutcome,
}

#[cfg(test)]
mod tests {
    use device::BytePattern as Bytes;

    use super::*;

    #[test]
    fn what_arrived_instead_is_told_apart() {
        let pattern = Bytes::new(7);
        let mut sent = vec![0; 64];
        pattern.fill(0, &mut sent);
        let wrong =
            |arrived: &[u8]| pattern.compare(0, arrived).err().map(|first| WrongBytes::of(arrived, first));
        let mut poison = vec![0; 64];
        pattern.inverted().fill(0, &mut poison);
        let mut late = sent.clone();
        late[40] ^= 1;
        assert_eq!(wrong(&sent), None);
        assert_eq!(wrong(&poison), Some(WrongBytes::Nothing));
        assert_eq!(wrong(&[0; 64]), Some(WrongBytes::Zeros));
        assert_eq!(wrong(&late), Some(WrongBytes::Bytes { offset: 40 }));
    }
}
