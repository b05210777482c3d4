//! Figures in words, the same in every form.

use analysis::comparison::ComparedCase;
use analysis::judge::{Basis, ChangeVerdict};

use crate::digits::{compared, signed_change, signed_change_of};

/// The base, the new figure, its change whichever is better (`-3.1 %`), the interval of that (`-3.4 % .. -2.8
/// %`, `with_assumed` with what it assumes of runs) and the values behind it (`10+12 blocks`).
pub(super) fn cells(case: &ComparedCase, with_assumed: bool) -> [String; 5] {
    let interval = case.ratio_interval;
    let what = match case.basis {
        Basis::Runs => "runs",
        Basis::Blocks => "blocks",
    };
    let assumed = case
        .assumed_run_deviation
        .filter(|_| with_assumed)
        .map_or(String::new(), |deviation| format!(" if runs differ by {:.1} %", deviation * 100.0));

    [
        compared(case.unit, case.base),
        compared(case.unit, case.new),
        signed_change_of(case),
        interval.map_or("–".to_owned(), |ends| {
            format!("{} .. {}{assumed}", signed_change(ends.low), signed_change(ends.high))
        }),
        format!("{}+{} {what}", case.base_values, case.new_values),
    ]
}

/// The verdict in capitals.
pub(crate) fn verdict(verdict: ChangeVerdict) -> &'static str {
    match verdict {
        ChangeVerdict::Regressed => "REGRESSED",
        ChangeVerdict::Suspect => "SUSPECT",
        ChangeVerdict::Improved => "IMPROVED",
        ChangeVerdict::Same => "SAME",
        ChangeVerdict::Inconclusive => "INCONCLUSIVE",
    }
}
