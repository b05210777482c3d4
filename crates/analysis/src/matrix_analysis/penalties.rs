//! What each rank loses with others, where a matrix's rows are more and more at once: its rate in each row against its rate alone. All of a document share the chance of
//! a false difference (Bonferroni).

use report::Document;
use report::case::{Case, CaseStatus, Order};
use report::contention::Penalty;
use report::matrix::{Compares, Matrix};
use report::result::{BlockSample, RankResult};
use stats::compare::compare_among;

use super::Plane;

/// The penalties of the document's matrices that compare loads.
pub fn penalties(document: &Document) -> Vec<Penalty> {
    let loads = document.matrices.iter().filter(|matrix| matrix.compares == Compares::Load);
    let mut found: Vec<(Penalty, [Vec<f64>; 2])> =
        loads.flat_map(|matrix| penalties_with_rates(document, matrix)).collect();
    let tests = found.len();
    for (penalty, [alone, together]) in &mut found {
        penalty.comparison = compare_among(alone, together, tests, document.settings.seed);
    }
    found.into_iter().map(|(penalty, _)| penalty).collect()
}

/// Those of a matrix before they are compared, each with the rates alone and at once.
fn penalties_with_rates(document: &Document, matrix: &Matrix) -> Vec<(Penalty, [Vec<f64>; 2])> {
    let measured = |case: &&Case| {
        case.status == CaseStatus::Measured
            && case.range_bytes.is_none()
            && matrix.rows.iter().any(|row| row.group.is_some() && row.group == case.group)
    };
    let cases = || document.cases.iter().filter(measured);
    let mut penalties = Vec::new();
    for together in cases().filter(|case| case.order == Order::Simultaneous) {
        let Some(alone) = cases().find(|case| case.order == Order::Alone && Plane::of(case) == Plane::of(together))
        else {
            continue;
        };
        for both in &together.ranks {
            // Ranks that are alike are measured alone once: the first stands for them.
            let own = alone.ranks.iter().find(|result| result.rank == both.rank).or(alone.ranks.first());
            let Some((own, solo, shared)) = own.and_then(|own| Some((own, own.summary()?, both.summary()?))) else {
                continue;
            };
            let penalty = Penalty {
                rank: both.rank,
                direction: together.direction,
                bytes: together.bytes,
                memory: together.memory,
                alone_case: alone.id.clone(),
                simultaneous_case: together.id.clone(),
                alone_bytes_per_s: solo.median_bytes_per_s,
                simultaneous_bytes_per_s: shared.median_bytes_per_s,
                comparison: None,
            };
            penalties.push((penalty, [rates(own), rates(both)]));
        }
    }
    penalties
}

fn rates(result: &RankResult) -> Vec<f64> {
    let rate = |block: &BlockSample| block.bytes as f64 / block.elapsed_ns * 1e9;
    result.blocks.iter().map(rate).collect()
}
