//! A cycle of lines to load from: each begins with the offset of the next, so that no load can begin before
//! the one before it has ended. The order is the caller's, who proves by it where a chase must be after so
//! many loads.

use crate::Stage;
use crate::failure::Failure;

/// The most lines of a cycle: their numbers have 32 bits, because two of them a line are kept beside the
/// range.
pub const MOST_LINES: u32 = u32::MAX;

const WORD: usize = 8;

/// How many lines a range has.
///
/// # Errors
/// More than [`MOST_LINES`].
pub fn line_count(range_bytes: usize, line_bytes: usize) -> Result<u32, Failure> {
    let most = u64::from(MOST_LINES) * line_bytes as u64;
    u32::try_from(range_bytes / line_bytes).map_err(|_| {
        Failure::new(
            Stage::Allocate,
            format!("a range of loads has at most {most} bytes; ask for a smaller --range"),
        )
    })
}

/// Writes the cycle that has the lines in this order; the place of each line in it.
pub fn write_cycle(range: &mut [u8], line_bytes: usize, order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    let after = order.iter().cycle().skip(1);
    for (place, (line, next)) in order.iter().zip(after).enumerate() {
        places[*line as usize] = place as u32;
        let (from, next) = (*line as usize * line_bytes, *next as usize * line_bytes);
        range[from..from + WORD].copy_from_slice(&next.to_ne_bytes());
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_lines_than_can_be_numbered_are_refused_and_not_cut_off() {
        let of_lines = |gib: usize, line_bytes: usize| line_count(gib << 30, line_bytes);
        assert_eq!(of_lines(255, 64).ok(), Some(255 << 24));
        assert_eq!(of_lines(511, 128).ok(), Some(511 << 23));
        for (gib, line_bytes) in [(256, 64), (300, 64), (512, 64), (512, 128), (600, 128)] {
            let refused = of_lines(gib, line_bytes);
            assert!(refused.is_err_and(|failure| failure.message.contains("--range")), "{gib} GiB");
        }
    }

    #[test]
    fn each_line_leads_to_the_next_of_the_order_and_the_last_one_to_the_first() {
        let mut range = [0; 4 * 64];
        assert_eq!(write_cycle(&mut range, 64, &[2, 0, 3, 1]), [1, 3, 0, 2]);
        let next =
            |line: usize| range[line * 64..].first_chunk().map(|word| usize::from_ne_bytes(*word) / 64);
        assert_eq!([0, 1, 2, 3].map(next), [3, 2, 0, 1].map(Some));
    }
}
