//! What each rank loses when all run at once, against itself alone in the same invocation. How sure that is
//! says `analysis`.

use pingpong::Order;
use report::case::{Case, CaseStatus};
use report::contention::Penalty;

use super::PingPongFacts;

pub(super) fn penalties(facts: &PingPongFacts, cases: &[Case]) -> Vec<Penalty> {
    let mut penalties = Vec::new();
    let copies = pingpong::CopyCase::all(facts.config);
    for (together, shared) in copies.iter().zip(cases).filter(|(case, _)| case.order == Order::Simultaneous) {
        let same = |case: &pingpong::CopyCase| {
            case.order == Order::Alone
                && (case.memory, case.direction, case.bytes)
                    == (together.memory, together.direction, together.bytes)
        };
        let Some(alone) = copies.iter().find(|case| same(case)) else { continue };
        if shared.status != CaseStatus::Measured {
            continue;
        }
        for rank in 0..facts.parts.len() {
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
        }
    }

    penalties
}
