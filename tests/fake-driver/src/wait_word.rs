//! Waits of streams for a word of memory: when they are over, and those at which streams of this process are.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A wait for a word of memory.
#[derive(Clone, Copy)]
pub struct WaitWord {
    pub word: usize,
    pub value: u32,
    pub rule: Rule,
    /// After so long it gives up and says so in the next word.
    pub limit: Option<Duration>,
}

/// When a word has come to the value.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// As a signed difference that is not negative (CUDA).
    Difference,
    /// As an unsigned number that is not smaller (HIP).
    Unsigned,
    /// Never.
    Never,
}

impl WaitWord {
    /// Whether the word has come to the value.
    pub fn is_over(&self) -> bool {
        let now = unsafe { AtomicU32::from_ptr(self.word as *mut u32) }.load(Ordering::Acquire);
        match self.rule {
            Rule::Difference => now.wrapping_sub(self.value) as i32 >= 0,
            Rule::Unsigned => now >= self.value,
            Rule::Never => false,
        }
    }
}

/// The waits at which streams of this process are.
static HELD: Mutex<Vec<WaitWord>> = Mutex::new(Vec::new());

/// Does something while a stream is at this wait.
pub fn while_held(wait: &WaitWord, act: impl FnOnce()) {
    let held = || HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held().push(*wait);
    act();
    held().retain(|other| other.word != wait.word || other.value != wait.value);
}

/// Returns once no stream is at a wait.
pub fn none_held() {
    while !HELD.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The words that streams wait for and that have come to their value.
pub fn over() -> Vec<usize> {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held.iter().filter(|wait| wait.is_over()).map(|wait| wait.word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_reached_as_each_vendor_defines_it() {
        let mut word = u32::MAX;
        let mut over = |now: u32, value: u32, rule: Rule| {
            word = now;
            WaitWord { word: (&raw mut word) as usize, value, rule, limit: None }.is_over()
        };
        assert!(over(3, 3, Rule::Difference) && over(4, 3, Rule::Unsigned));
        assert!(!over(2, 3, Rule::Difference) && !over(2, 3, Rule::Unsigned));
        // Past the end of the numbers, only the difference knows that 1 comes after u32::MAX.
        assert!(over(1, u32::MAX, Rule::Difference) && !over(1, u32::MAX, Rule::Unsigned));
        assert!(!over(7, 3, Rule::Never));
    }
}
