//! hwloc's bitmaps as id sets.
//!
//! A bitmap may be infinite (hwloc's "everything"): its infinite tail names no id in particular and is left
//! out.

use std::ops::Deref;

use hwlocality::bitmap::Bitmap;
use stats::IdSet;

/// The ids in `set`, without an infinite tail.
pub(crate) fn ids<B: AsRef<Bitmap>>(set: impl Deref<Target = B>) -> IdSet {
    let bitmap = set.as_ref();
    let finite_end = match bitmap.weight() {
        Some(_) => usize::MAX,
        None => bitmap.last_unset().map_or(0, usize::from),
    };
    bitmap
        .iter_set()
        .map(usize::from)
        .take_while(|id| *id < finite_end)
        .filter_map(|id| u32::try_from(id).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use hwlocality::cpu::cpuset::CpuSet;

    use super::*;

    #[test]
    fn an_infinite_tail_is_left_out() {
        assert_eq!(ids(&CpuSet::full()), IdSet::default());
        let mut all_but_five = CpuSet::full();
        all_but_five.unset(5_usize);
        assert_eq!(ids(&all_but_five).to_string(), "0-4");
    }

    #[test]
    fn a_finite_bitmap_keeps_every_id() {
        let bitmap = CpuSet::from_range(60_usize..=65);
        assert_eq!(ids(&bitmap).to_string(), "60-65");
    }
}
