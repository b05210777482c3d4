//! Known bytes: what is sent is a function of seed, rank, direction, block and offset, so that a copy that did not happen, happened
//! twice, or went to the wrong place is seen as what it is.
//!
//! A word is SplitMix64's mixing of its index (Steele, Lea & Flood, OOPSLA 2014): it has no period shorter than the buffer
//! and costs less than the memory traffic. Destinations are poisoned with bytes that no payload of the same block has at the
//! same place.

use device::Direction;

/// Which bytes a block sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    key: u64,
}

/// The first byte that is not as sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Mismatch {
    /// Offset in bytes from the start of the buffer.
    pub offset: u64,
    /// The byte sent.
    pub expected: u8,
    /// The byte found.
    pub got: u8,
}

/// A word of each such page can be spoiled: enough to tell whether it was copied again, and 63 of 64 cache lines stay alone.
const PAGE_BYTES: usize = 4096;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Payload {
    /// The payload of one block. `area` tells apart the two areas a bidirectional block moves at once.
    pub fn new(seed: u64, rank: usize, direction: Direction, block: u64, area: u64) -> Self {
        let parts = [rank as u64, direction as u64, block, area];
        Self { key: parts.iter().fold(mix(seed), |key, part| mix(key.wrapping_add(GOLDEN) ^ part)) }
    }

    fn word(self, index: u64) -> u64 {
        mix(self.key.wrapping_add(index.wrapping_mul(GOLDEN)))
    }

    /// Writes the payload.
    pub fn fill(self, bytes: &mut [u8]) {
        self.write(bytes, |word| word);
    }

    /// Writes bytes that differ from the payload at every place.
    pub fn poison(self, bytes: &mut [u8]) {
        self.write(bytes, |word| !word);
    }

    /// Makes the first word of every page differ from the payload at every byte.
    pub fn spoil(self, bytes: &mut [u8]) {
        self.write_pages(bytes, |word| !word);
    }

    /// Puts right what [`Payload::spoil`] made wrong.
    pub fn refresh(self, bytes: &mut [u8]) {
        self.write_pages(bytes, |word| word);
    }

    fn write_pages(self, bytes: &mut [u8], change: impl Fn(u64) -> u64) {
        for (index, page) in (0..).step_by(PAGE_BYTES / 8).zip(bytes.chunks_mut(PAGE_BYTES)) {
            let len = page.len().min(8);
            page[..len].copy_from_slice(&change(self.word(index)).to_le_bytes()[..len]);
        }
    }

    fn write(self, bytes: &mut [u8], change: impl Fn(u64) -> u64) {
        let (words, rest) = bytes.as_chunks_mut::<8>();
        let count = words.len() as u64;
        for (index, word) in (0..).zip(words) {
            *word = change(self.word(index)).to_le_bytes();
        }
        let last = change(self.word(count)).to_le_bytes();
        rest.copy_from_slice(&last[..rest.len()]);
    }

    /// Compares with the payload.
    ///
    /// # Errors
    /// The first byte that differs.
    pub fn verify(self, bytes: &[u8]) -> Result<(), Mismatch> {
        let (words, rest) = bytes.as_chunks::<8>();
        // Whole pages first, without a branch in the loop: nearly always everything is right.
        const PAGE: usize = 512;
        for (page, words) in words.chunks(PAGE).enumerate() {
            let start = (page * PAGE) as u64;
            let pairs = (start..).zip(words);
            let differs =
                pairs.clone().fold(0, |all, (index, word)| all | (self.word(index) ^ u64::from_le_bytes(*word)));
            if differs != 0 {
                pairs.into_iter().try_for_each(|(index, word)| first_difference(index * 8, self.word(index), word))?;
            }
        }
        let count = words.len() as u64;
        first_difference(count * 8, self.word(count), rest)
    }
}

fn first_difference(offset: u64, word: u64, got: &[u8]) -> Result<(), Mismatch> {
    let pairs = (offset..).zip(word.to_le_bytes().into_iter().zip(got.iter().copied()));
    pairs.into_iter().try_for_each(
        |(offset, (expected, got))| {
            if expected == got { Ok(()) } else { Err(Mismatch { offset, expected, got }) }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(block: u64) -> Payload {
        Payload::new(42, 0, Direction::H2d, block, 0)
    }

    #[test]
    fn what_was_filled_verifies_at_every_length() {
        for len in [1, 4, 7, 8, 9, 4096, 4097, 100_003] {
            let mut bytes = vec![0; len];
            payload(0).fill(&mut bytes);
            assert_eq!(payload(0).verify(&bytes), Ok(()), "{len}");
        }
    }

    #[test]
    fn one_wrong_byte_is_found_where_it_is() {
        for wrong in [0, 5, 4095, 4096, 10_002] {
            let mut bytes = vec![0; 10_003];
            payload(0).fill(&mut bytes);
            let expected = bytes[wrong];
            bytes[wrong] ^= 0x10;
            let mismatch = Mismatch { offset: wrong as u64, expected, got: expected ^ 0x10 };
            assert_eq!(payload(0).verify(&bytes), Err(mismatch));
        }
    }

    #[test]
    fn the_bytes_of_another_block_rank_direction_or_seed_do_not_pass() {
        let mut bytes = vec![0; 64];
        payload(0).fill(&mut bytes);
        let others = [
            payload(1),
            Payload::new(43, 0, Direction::H2d, 0, 0),
            Payload::new(42, 1, Direction::H2d, 0, 0),
            Payload::new(42, 0, Direction::D2h, 0, 0),
            Payload::new(42, 0, Direction::H2d, 0, 1),
        ];
        others.iter().for_each(|other| assert!(other.verify(&bytes).is_err()));
    }

    #[test]
    fn a_spoiled_page_shows_and_a_refreshed_one_does_not() {
        for len in [1, 7, 8, 4096, 4099, 3 * 4096 + 5] {
            let mut bytes = vec![0; len];
            payload(0).fill(&mut bytes);
            let sent = bytes.clone();
            payload(0).spoil(&mut bytes);
            for (page, sent) in bytes.chunks(4096).zip(sent.chunks(4096)) {
                let wrong = page.iter().zip(sent).take_while(|(a, b)| a != b).count();
                assert_eq!((wrong, &page[wrong..]), (page.len().min(8), &sent[wrong..]), "{len}");
            }
            payload(0).refresh(&mut bytes);
            assert_eq!(payload(0).verify(&bytes), Ok(()), "{len}");
        }
    }

    #[test]
    fn poison_differs_from_the_payload_at_every_byte() {
        let (mut sent, mut poisoned) = (vec![0; 1003], vec![0; 1003]);
        payload(0).fill(&mut sent);
        payload(0).poison(&mut poisoned);
        assert!(sent.iter().zip(&poisoned).all(|(a, b)| a != b));
    }
}
