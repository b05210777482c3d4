//! What a comparison of two figures of a matrix comes to, and which of many are worse for certain.

use stats::compare::{Comparison, Verdict, compare};
use stats::holm::holm;
use stats::mann_whitney::mann_whitney_p;
use stats::summary::CONFIDENCE;
use stats::t_ratio::t_ratio;

use super::{Cell, Plane};

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Finding {
    Same,
    Worse,
    Undecided,
}

/// The chance that places alike are said to differ, over all that a matrix says.
pub(super) const ALPHA: f64 = 0.05;

/// What a comparison of the better with another comes to.
pub(super) fn worse(plane: &Plane, found: &Comparison) -> Finding {
    match (found.verdict, plane.is_time()) {
        (Verdict::Lower, false) | (Verdict::Higher, true) => Finding::Worse,
        (Verdict::Undecided, _) => Finding::Undecided,
        _ => Finding::Same,
    }
}

/// Whether two figures of different memory differ by their allocations too, as far as these can tell (Welch's t of their medians): blocks on the same
/// memory are alike, and three lucky pages of one place look like thirty better blocks.
pub(super) fn allocations_differ(a: &Cell, b: &Cell) -> bool {
    t_ratio(&a.allocations, &b.allocations, CONFIDENCE).is_none_or(|found| found.p_value < ALPHA)
}

/// A figure that may be worse than another of its plane.
pub(super) struct Rival {
    /// The plane.
    pub plane: Plane,
    /// What it is compared with.
    pub with: Cell,
    /// The figure.
    pub cell: Cell,
}

/// Which of these are worse for certain: by both methods, and with the chance of one wrong among all of them no larger than that of one comparison
/// (Holm). Most are not, so the interval is worked out only where the ranks differ.
pub(super) fn surely_worse(rivals: &[Rival], seed: u64) -> Vec<bool> {
    let p = |rival: &Rival| mann_whitney_p(&rival.with.blocks, &rival.cell.blocks).unwrap_or(1.0);
    let p_values = holm(&rivals.iter().map(p).collect::<Vec<_>>());
    let surely = |(rival, p): (&Rival, f64)| {
        p < ALPHA
            && compare(&rival.with.blocks, &rival.cell.blocks, seed)
                .is_some_and(|found| worse(&rival.plane, &found) == Finding::Worse)
    };
    rivals.iter().zip(p_values).map(surely).collect()
}
