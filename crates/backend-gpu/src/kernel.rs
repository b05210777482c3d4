//! The kernels that a driver can be asked to launch, each by what it does.
//!
//! Apart from `kernels`, which loads them in a context: a driver knows the words and no context.

/// A kernel, by what it does; with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Fills `words` words with a pattern: `address, words, key, page_key, invert`.
    Fill,
    /// Lowers the word at `lowest` to the index of the first word that is not the pattern's: `address, words, key, page_key, invert, lowest`.
    Compare,
    /// Copies with loads and stores of 16 bytes: `to, from, bytes`.
    Copy,
    /// Follows a chain for `steps` steps from the offset in the word at `state`, and leaves the last one there: `base, steps, state`.
    Chase,
}
