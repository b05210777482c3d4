//! A set of numbers as the kernel reads it: a bit a number.

use std::io;

/// A mask of so many bits in which these are set.
///
/// # Errors
/// EINVAL: a number for which there is no bit.
pub(crate) fn bit_mask(ids: impl Iterator<Item = u32>, bits: usize) -> io::Result<Vec<u64>> {
    let mut words = vec![0_u64; bits / 64];
    for id in ids {
        let word = words.get_mut(id as usize / 64).ok_or(io::Error::from_raw_os_error(libc::EINVAL))?;
        *word |= 1 << (id % 64);
    }
    Ok(words)
}
