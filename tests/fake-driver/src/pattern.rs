//! The kernels that fill device memory with a pattern and compare it with one.
//!
//! They run before the launch returns: the default stream, where blocking copies run too, is the only one
//! they are launched on.

use std::ffi::{CStr, c_char, c_void};

use crate::code::{Answer, INVALID_VALUE};
use crate::{faults, memory};

const PAGE_WORDS: usize = 512;

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    Fill,
    Compare,
}

impl Kernel {
    /// The kernel of a name.
    pub unsafe fn named(name: *const c_char) -> Option<Self> {
        match unsafe { CStr::from_ptr(name) }.to_bytes() {
            b"numabench_fill" => Some(Self::Fill),
            b"numabench_compare" => Some(Self::Compare),
            _ => None,
        }
    }

    /// Runs it; its parameters are the memory's address, how many words, the pattern's two keys and what
    /// inverts it, and, of a comparison, the address of the word that becomes the lowest index that differs.
    pub unsafe fn run(self, device: usize, parameters: *mut *mut c_void) -> Answer {
        let parameter = |at: usize| unsafe { *(*parameters.add(at)).cast::<u64>() };
        let (address, words) = (parameter(0) as usize, parameter(1));
        let (key, page_key, invert) = (parameter(2), parameter(3), parameter(4));
        let bytes =
            usize::try_from(words).ok().and_then(|words| words.checked_mul(8)).ok_or(INVALID_VALUE)?;
        let area = |address: usize, bytes: usize| {
            let there =
                address.is_multiple_of(8) && bytes > 0 && memory::device_of(address, bytes) == Some(device);
            if there { Ok(address as *mut u64) } else { Err(INVALID_VALUE) }
        };

        let memory = unsafe { std::slice::from_raw_parts_mut(area(address, bytes)?, words as usize) };
        let pattern = Pattern { key, page_key, invert };

        match self {
            Self::Fill if !faults::kernels().fills_wrong => {
                for (page, words) in memory.chunks_mut(PAGE_WORDS).enumerate() {
                    pattern.words_of(page).zip(words).for_each(|(word, at)| *at = word);
                }
            }
            Self::Fill => {}
            Self::Compare => {
                let lowest = area(parameter(5) as usize, 8)?;
                let found = pattern.first_other(memory).filter(|_| !faults::kernels().compares_blind);
                if let Some(found) = found {
                    unsafe { *lowest = (*lowest).min(found as u64) };
                }
            }
        }
        Ok(())
    }
}

/// What memory is filled with, by page: whole pages are computed and compared without a question for each
/// word, several words at a time.
struct Pattern {
    key: u64,
    /// The key of each page's first word.
    page_key: u64,
    invert: u64,
}

impl Pattern {
    fn words_of(&self, page: usize) -> impl Iterator<Item = u64> {
        let first = (page * PAGE_WORDS) as u64;
        let word = |index: u64, key: u64| {
            mix(key.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15))) ^ self.invert
        };
        std::iter::once(word(first, self.page_key))
            .chain((first + 1..first + PAGE_WORDS as u64).map(move |index| word(index, self.key)))
    }

    /// The index of the first word that is another.
    fn first_other(&self, memory: &[u64]) -> Option<usize> {
        memory.chunks(PAGE_WORDS).enumerate().find_map(|(page, words)| {
            let differing = self.words_of(page).zip(words).fold(0, |all, (word, at)| all | (word ^ at));
            let first = || self.words_of(page).zip(words).position(|(word, at)| word != *at);
            (differing != 0).then(first).flatten().map(|at| page * PAGE_WORDS + at)
        })
    }
}

fn mix(value: u64) -> u64 {
    let value = value ^ (value >> 32);
    let value = value.wrapping_add(value << 21);
    let value = value ^ (value >> 29);
    value.wrapping_add(value << 9)
}
