//! The order of the variants in each block: complete blocks, every variant once, drawn by lot.
//!
//! A block's order depends on the seed and its number alone, so a trial that is taken up again goes on as it
//! would have. Drawing by lot is what makes the test of signs exact (Fisher, "The Design of Experiments",
//! 1935): no noise of the machine can know whose turn it is.

use stats::random::{SplitMix64, mix};

/// The variants of block `block`, in the order in which they run.
pub fn order(seed: u64, block: usize, variants: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..variants).collect();
    SplitMix64::new(mix(mix(seed) ^ block as u64)).shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_every_variant_once_and_the_same_seed_the_same_order() {
        for block in 0..50 {
            let mut drawn = order(7, block, 5);
            assert_eq!(drawn, order(7, block, 5));
            drawn.sort_unstable();
            assert_eq!(drawn, [0, 1, 2, 3, 4]);
        }
        assert_ne!(
            (0..20).map(|block| order(7, block, 3)).collect::<Vec<_>>(),
            (0..20).map(|block| order(8, block, 3)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn each_of_two_variants_comes_first_as_often_as_the_other() {
        let first = (0..4000).filter(|block| order(1, *block, 2)[0] == 0).count();
        // 2000 expected, standard deviation 32.
        assert!((1870..2130).contains(&first), "{first}");
    }
}
