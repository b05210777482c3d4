//! Figures in words, the same in every form.

use analysis::comparison::Compared;
use analysis::judge::{Basis, Verdict};

/// `-3.1 %`: of the figure, whichever is better.
pub(super) fn change(case: &Compared) -> String {
    percent(case.ratio.unwrap_or(case.new / case.base))
}

/// `-3.4 % .. -2.8 %`; a dash without an interval.
pub(super) fn interval(case: &Compared) -> String {
    case.ratio_interval.map_or("–".to_owned(), |ends| format!("{} .. {}", percent(ends.low), percent(ends.high)))
}

fn percent(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// `10+12 blocks`, `6+6 runs`.
pub(super) fn values(case: &Compared) -> String {
    let what = match case.basis {
        Basis::Runs => "runs",
        Basis::Blocks => "blocks",
    };
    format!("{}+{} {what}", case.base_values, case.new_values)
}

/// The verdict in capitals.
pub(crate) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regressed => "REGRESSED",
        Verdict::Improved => "IMPROVED",
        Verdict::Same => "SAME",
        Verdict::Inconclusive => "INCONCLUSIVE",
    }
}
