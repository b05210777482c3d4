//! What the reader of a comparison should know of how much it can tell, in sentences.

use stats::moderated::LEAST_A_SIDE;
use stats::units::counted;

use crate::comparison::{ComparedCase, Counts};
use crate::figure::Unit;
use crate::judge::{Basis, ChangeVerdict};

/// The notes on what was measured.
pub(crate) fn notes(
    cases: &[ComparedCase],
    counts: &Counts,
    runs: [usize; 2],
    in_turns: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    let [base, new] = runs;
    let is_single = cases.iter().any(|case| case.basis == Basis::Blocks);
    let change =
        if cases.iter().any(|case| case.unit.is_share()) { "a rate's or time's change" } else { "a change" };
    if is_single {
        notes.push(format!(
            "{} in the base and {new} in the new: nothing shows how runs differ, so {change} is suspected \
             and never found, and each interval holds if runs differ by no more than stands beside it. Give \
             three runs a side or more (folders work)",
            counted(base, "run")
        ));
    } else if counts.suspect > 0 {
        let cases = if counts.suspect == 1 { "1 case is" } else { &format!("{} cases are", counts.suspect) };
        let why = if base.min(new) < LEAST_A_SIDE {
            "one or two runs of a side do not show what befell that side alone"
        } else {
            "runs that each fall into one of two modes would be sorted by side as often as that by chance"
        };
        notes.push(format!(
            "{cases} suspected and not found: {why}. Give more runs a side: three, or four or five where \
             runs of other cases fall into two modes"
        ));
    }

    let is_found = |case: &ComparedCase| {
        let changed = matches!(case.verdict, ChangeVerdict::Regressed | ChangeVerdict::Improved);
        changed && !case.unit.is_share()
    };
    if !in_turns && cases.iter().any(is_found) {
        notes.push(
            "The runs of the two sides did not take turns: what changed with time counts as a change. Run \
             both states alternately to tell them apart"
                .to_owned(),
        );
    }

    let few = cases.iter().filter(|case| case.ratio.is_none() && !case.unit.is_share()).count();
    // What `witness` sees of a program has one value a run.
    let needs = if cases.iter().any(|case| case.unit.is_share()) {
        "a side needs several runs"
    } else {
        "a run needs 6 blocks, or a side several runs"
    };

    if few > 0 {
        notes.push(format!(
            "{few} of {} {} too few values to be judged: {needs}",
            counted(cases.len(), "case"),
            if few == 1 { "has" } else { "have" }
        ));
    }
    notes
}

/// What the reader should know of shares, and of figures of work that only the base or only the new side did.
pub(crate) fn share_notes(cases: &[ComparedCase], only: [Vec<String>; 2]) -> Vec<String> {
    let mut notes = Vec::new();
    let count = |unit: Unit| cases.iter().filter(|case| case.unit == unit).count();
    if count(Unit::Share) > 0 {
        notes.push("Shares of bytes are counted: a difference between two runs is a fact".to_owned());
    }
    let estimated = count(Unit::EstimatedShare);
    if estimated > 0 {
        notes.push(format!(
            "{} estimated: not all pages were looked at (`witness --pages all` does), or not all copies were \
             counted",
            if estimated == 1 { "1 share is".to_owned() } else { format!("{estimated} shares are") }
        ));
    }

    for (name, figures) in ["base", "new side"].into_iter().zip(only) {
        if !figures.is_empty() {
            notes.push(format!("Only the {name} made such copies: {}", figures.join("; ")));
        }
    }
    notes
}
