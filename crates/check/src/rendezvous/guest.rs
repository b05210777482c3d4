//! A rank that has come to the meeting, and its card as far as it has been read: 8 bytes of length, then what
//! it says.

use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;

use serde::de::DeserializeOwned;

/// More than any rank has to say; what is longer is none of ours.
const LONGEST_CARD: usize = 16 << 20;

/// How far a card has come.
pub enum CardProgress<T> {
    /// Not to its end.
    Begun,
    /// The rank, and what it says.
    Whole(usize, T),
    /// It is none.
    Foreign,
}

/// A rank that has not said all yet.
pub struct Guest {
    /// What it is heard by, which does not wait.
    pub stream: UnixStream,
    bytes: Vec<u8>,
}

impl Guest {
    /// One that has just come.
    pub fn new(stream: UnixStream) -> Self {
        Self { stream, bytes: Vec::new() }
    }

    /// Reads what has come.
    pub fn card<T: DeserializeOwned>(&mut self) -> CardProgress<T> {
        let mut part = [0; 1 << 14];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return CardProgress::Foreign,
                Ok(count) => self.bytes.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return CardProgress::Foreign,
            }
            if self.bytes.len() > LONGEST_CARD {
                return CardProgress::Foreign;
            }
        }

        let Some((length, card)) = self.bytes.split_first_chunk::<8>() else { return CardProgress::Begun };
        let length = u64::from_le_bytes(*length);
        if length > LONGEST_CARD as u64 {
            return CardProgress::Foreign;
        }
        if (card.len() as u64) < length {
            return CardProgress::Begun;
        }

        ranks::wire::from_bytes(card)
            .map_or(CardProgress::Foreign, |(rank, says)| CardProgress::Whole(rank, says))
    }
}
