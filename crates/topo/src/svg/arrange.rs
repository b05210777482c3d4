//! How many columns the grids of a picture have, so that the whole is as wide as a page or a screen and
//! wastes little of it.
//!
//! Grids of one kind have the same number of columns all over the picture: what is alike looks alike. The
//! numbers of two kinds are tried at a time, with the best of the others so far, until nothing gets better:
//! some hundreds of measurings of a tree of boxes, about a millisecond. No optimum is claimed.

use super::block::{Block, Size};
use super::columns::{Columns, Count, LEVELS};

/// The width that a picture may have at no cost: what a screen shows without scrolling sideways, px.
const WIDE_ENOUGH: f64 = 1400.0;
/// The shape of a picture that suits a screen and a page: width by height.
const SHAPE: f64 = 1.4;
/// The height of the title, the legend and the notes, about, px.
const WORDS: f64 = 180.0;
/// What a kind whose grids all have a gap costs, as a share of the picture.
const GAP_COST: f64 = 0.15;

/// The columns that suit a block best.
pub(super) fn arranged(block: &mut Block) -> Columns {
    let mut cost_of = |columns: &Columns| {
        let size = block.measure(columns);
        let mut count = Count::default();
        block.count(&mut count);
        (cost(size, &count), count)
    };
    let mut best = Columns::default();
    let (mut least, count) = cost_of(&best);

    loop {
        let before = best;
        for (one, other) in pairs() {
            for number in count.tried(one) {
                for other_number in count.tried(other) {
                    let mut columns = best;
                    (columns.0[one], columns.0[other]) = (number, other_number);
                    let (cost, _) = cost_of(&columns);
                    if cost < least {
                        (best, least) = (columns, cost);
                    }
                }
            }
        }
        if best == before {
            return best;
        }
    }
}

/// Each two kinds: columns of one alone often only pay together with another's.
fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..LEVELS).flat_map(|one| (one + 1..LEVELS).map(move |other| (one, other)))
}

/// Area, and more for what is wider than a screen, far from a page's shape, or has gaps.
fn cost(size: Size, count: &Count) -> f64 {
    let (width, height) = (f64::from(size.width.max(1)), f64::from(size.height.max(1)) + WORDS);
    let too_wide = 4.0 * (width / WIDE_ENOUGH - 1.0).max(0.0);
    let off_shape = (width / height / SHAPE).ln().powi(2);
    width * height * (1.0 + too_wide) * (1.0 + off_shape) * (1.0 + GAP_COST * count.gaps())
}

#[cfg(test)]
mod tests {
    use super::super::columns::Level;
    use super::*;

    #[test]
    fn wide_pictures_and_gaps_cost_more_than_a_page_of_the_same_area() {
        let none = Count::default();
        let cost_of = |width, height| cost(Size { width, height }, &none);
        assert!(cost_of(1200, 800) < cost_of(2400, 400));
        assert!(cost_of(1200, 800) < cost_of(400, 2400));
        assert!(cost_of(1400, 1000) < cost_of(1700, 824));
        let mut gaps = Count::default();
        gaps.add(Level::Cores, 8, 3);
        assert!(cost_of(1200, 800) < cost(Size { width: 1200, height: 800 }, &gaps));
    }
}
