//! Cases put together that a reader compares line by line: those that differ in direction only, or, in a
//! sweep, in size too.

use report::Document;
use report::case::Case;
use stats::alike::grouped;
use stats::units;

use super::words;

/// More sizes than this make a sweep: one line a size, columns by direction.
const MOST_SIZES_WITHOUT_A_SWEEP: usize = 3;

/// Cases under one caption, in the order of the document.
pub(super) struct Group<'a> {
    pub(super) caption: String,
    pub(super) cases: Vec<&'a Case>,
}

/// Whether the document is shown as a sweep over sizes.
pub(super) fn is_sweep(document: &Document) -> bool {
    document.settings.sizes_bytes.len() > MOST_SIZES_WITHOUT_A_SWEEP
}

/// The document's cases by order, memory and clock; by size too if it is not a sweep.
pub(super) fn groups(document: &Document) -> Vec<Group<'_>> {
    let sweep = is_sweep(document);
    let several_ranks = document.ranks.len() > 1;
    let caption = |case: &Case| {
        let by = words::by(document.settings.engine);
        let mut axes =
            vec![format!("{} memory{by}", words::memory(case.memory)), words::timing(case.timing).to_owned()];
        if !sweep {
            axes.insert(0, units::size(case.bytes));
        }
        if several_ranks {
            axes.push(words::order(case.order).to_owned());
        }
        axes.join(", ")
    };
    let groups = grouped(document.cases.iter().map(|case| (caption(case), case)));

    groups.into_iter().map(|(caption, cases)| Group { caption, cases }).collect()
}
