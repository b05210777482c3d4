//! Figures in words, the same in every form.

use analysis::comparison::ComparedCase;
use analysis::judge::{Basis, ChangeVerdict};

use crate::digits::signed_change;

/// `-3.1 %`: of the figure, whichever is better.
pub(super) fn change(case: &ComparedCase) -> String {
    signed_change(case.ratio.unwrap_or(case.new / case.base))
}

/// `-3.4 % .. -2.8 %`; a dash without an interval.
pub(super) fn interval(case: &ComparedCase) -> String {
    case.ratio_interval
        .map_or("–".to_owned(), |ends| format!("{} .. {}", signed_change(ends.low), signed_change(ends.high)))
}

/// `10+12 blocks`, `6+6 runs`.
pub(super) fn values(case: &ComparedCase) -> String {
    let what = match case.basis {
        Basis::Runs => "runs",
        Basis::Blocks => "blocks",
    };
    format!("{}+{} {what}", case.base_values, case.new_values)
}

/// The verdict in capitals.
pub(crate) fn verdict(verdict: ChangeVerdict) -> &'static str {
    match verdict {
        ChangeVerdict::Regressed => "REGRESSED",
        ChangeVerdict::Improved => "IMPROVED",
        ChangeVerdict::Same => "SAME",
        ChangeVerdict::Inconclusive => "INCONCLUSIVE",
    }
}
