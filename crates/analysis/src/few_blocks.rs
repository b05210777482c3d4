//! Figures of fewer blocks than an interval needs: a run can be complete and know its figures badly, which
//! its last line says.

use report::Document;
use report::case::CaseStatus;
use report::result::Outcome;
use stats::flag::Flag;
use stats::units::counted;

/// `12 of 40 figures have fewer than 6 blocks, and so no interval`; none where all have one.
pub fn clause<B>(document: &Document<B>) -> Option<String> {
    let flags = |outcome: &Outcome| match outcome {
        Outcome::Measured { flags, .. } => Some(flags.contains(&Flag::FewBlocks)),
        _ => None,
    };
    let valid = document.cases.iter().filter(|case| case.status != CaseStatus::Invalid);
    let all: Vec<bool> = valid.flat_map(|case| &case.ranks).filter_map(|one| flags(&one.outcome)).collect();
    let few = all.iter().filter(|is_few| **is_few).count();
    let verb = if few == 1 { "has" } else { "have" };
    (few > 0).then(|| {
        format!("{few} of {} {verb} fewer than 6 blocks, and so no interval", counted(all.len(), "figure"))
    })
}
