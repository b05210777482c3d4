//! How figures of several hosts or sides stand against reference figures: a line an answer, and of many the
//! first.

use analysis::reference_answer::ReferenceAnswer;

use super::node_names::names;

/// Lines at most.
const SHOWN: usize = 8;

/// `base, new: Normal for NVIDIA H200: 2 kinds of figure held against figures of others.`
pub(crate) fn reference_lines(answers: &[ReferenceAnswer]) -> Vec<String> {
    let line = |answer: &ReferenceAnswer| {
        let of: Vec<&str> = answer.of.iter().map(|name| &name[..]).collect();
        format!("{}: {}", names(&of), answer.text)
    };
    let more = answers.len().saturating_sub(SHOWN);
    let rest = (more > 0).then(|| format!("and {more} more answers; --json has them"));
    answers.iter().take(SHOWN).map(line).chain(rest).collect()
}
