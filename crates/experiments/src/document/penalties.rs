//! What each rank loses when all run at once, against itself alone in the same invocation: medians over blocks, as their ratio
//! and its interval are. All of a document share the chance of a false difference (Bonferroni).

use pingpong::{Order, RunState};
use report::case::{Case, CaseStatus};
use report::contention::Penalty;
use stats::compare::compare_among;

use super::PingPongFacts;

pub(super) fn penalties(facts: &PingPongFacts, state: &RunState, cases: &[Case]) -> Vec<Penalty> {
    let (mut penalties, mut values) = (Vec::new(), Vec::new());
    let copies = pingpong::CopyCase::all(facts.config);
    for (together, shared) in copies.iter().zip(cases).filter(|(case, _)| case.order == Order::Simultaneous) {
        let same = |case: &pingpong::CopyCase| {
            case.order == Order::Alone
                && (case.memory, case.direction, case.bytes) == (together.memory, together.direction, together.bytes)
        };
        let Some(alone) = copies.iter().find(|case| same(case)) else { continue };
        if shared.status != CaseStatus::Measured {
            continue;
        }
        for rank in 0..facts.parts.len() {
            let rates = |case: &pingpong::CopyCase| -> Vec<f64> {
                state.results[case.index][rank].samples.iter().map(|sample| sample.block.bytes_per_s()).collect()
            };
            let solo = cases[alone.index].ranks[rank].summary();
            let (Some(solo), Some(both)) = (solo, shared.ranks[rank].summary()) else { continue };
            penalties.push(Penalty {
                rank: rank as u32,
                direction: shared.direction,
                bytes: shared.bytes,
                memory: shared.memory,
                alone_case: cases[alone.index].id.clone(),
                simultaneous_case: shared.id.clone(),
                alone_bytes_per_s: solo.median_bytes_per_s,
                simultaneous_bytes_per_s: both.median_bytes_per_s,
                comparison: None,
            });
            values.push([rates(alone), rates(together)]);
        }
    }
    let tests = penalties.len();
    for (penalty, [alone, together]) in penalties.iter_mut().zip(&values) {
        penalty.comparison = compare_among(alone, together, tests, facts.config.seed);
    }
    penalties
}
