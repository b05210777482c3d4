//! What each rank loses with others: its rate with them against its rate alone, pass by pass. All of a
//! document are one family of claims (`family`).

use report::case::{Case, CaseStatus, Order};
use report::contention::Penalty;
use report::matrix::Compares;
use report::result::{BlockSample, RankResult};
use report::{Document, Figures};
use stats::block_interval::BlockValue;

use super::Plane;
use crate::family::{CaseFamily, FamilyCase};
use crate::passes::Moments;

/// The penalties of ranks that were measured both ways: all of them, or those of matrices that compare loads.
pub fn penalties(document: &Document) -> Vec<Penalty> {
    let is_of_load = |case: &Case| {
        let loads = document.matrices.iter().filter(|matrix| matrix.compares == Compares::Load);
        loads.flat_map(|matrix| &matrix.rows).any(|row| row.group.is_some() && row.group == case.group)
    };

    compared(
        document,
        match document.figures() {
            Figures::Ranks => uncompared(document, |case| case.group.is_none()),
            Figures::Matrices(_) => uncompared(document, is_of_load),
            _ => Vec::new(),
        },
    )
}

/// The penalties with what they come to; of ranks that are alike one is measured alone, and stands for all.
fn compared(document: &Document, mut penalties: Vec<Penalty>) -> Vec<Penalty> {
    let rates = |penalty: &Penalty, id: &str| {
        let case = document.cases.iter().find(|case| case.id == id)?;
        let own = case.ranks.iter().find(|result| result.rank == penalty.rank);
        own.or(case.ranks.first()).map(Rates::of)
    };
    let both = |penalty: &Penalty| {
        Some([rates(penalty, &penalty.alone_case)?, rates(penalty, &penalty.simultaneous_case)?])
    };
    let (mut compared, mut blocks): (Vec<&mut Penalty>, Vec<Rates>) = (Vec::new(), Vec::new());
    for penalty in &mut penalties {
        let Some(both) = both(penalty) else { continue };
        compared.push(penalty);
        blocks.extend(both);
    }

    let node = |penalty: &Penalty| {
        document.ranks.iter().find(|rank| rank.rank == penalty.rank).map_or(0, |rank| rank.node)
    };
    let mut planes = Vec::new();
    let mut members = Vec::new();
    for (penalty, both) in compared.iter().zip(blocks.chunks_exact(2)) {
        let plane = (penalty.direction, penalty.bytes, penalty.memory);
        let kind = planes.iter().position(|known| *known == plane).unwrap_or_else(|| {
            planes.push(plane);
            planes.len() - 1
        });
        let node = node(penalty);
        members.extend(both.iter().map(|rates| FamilyCase {
            kind,
            is_time: false,
            blocks: &rates.blocks,
            began: Moments { node, ns: &rates.began_ns },
        }));
    }
    let found = CaseFamily::of(members).values_in_twos();
    compared.into_iter().zip(found).for_each(|(penalty, found)| penalty.comparison = found);
    penalties
}

/// The rates of a rank in a case, and when its blocks began.
struct Rates {
    blocks: Vec<BlockValue>,
    began_ns: Vec<u64>,
}

impl Rates {
    fn of(result: &RankResult) -> Self {
        let rate = |block: &BlockSample| BlockValue {
            value: block.bytes as f64 / block.elapsed_ns * 1e9,
            allocation: block.allocation,
        };
        let began_ns = result.blocks.iter().map(|block| block.start_ns).collect();
        Self { blocks: result.blocks.iter().map(rate).collect(), began_ns }
    }
}

/// Those of these cases before they are compared.
fn uncompared(document: &Document, is_asked: impl Fn(&Case) -> bool) -> Vec<Penalty> {
    let cases =
        || document.cases.iter().filter(|case| case.range_bytes.is_none()).filter(|case| is_asked(case));
    let mut penalties = Vec::new();

    let is_shared = |case: &&Case| case.order == Order::Simultaneous && case.status == CaseStatus::Measured;
    for together in cases().filter(is_shared) {
        let Some(alone) =
            cases().find(|case| case.order == Order::Alone && Plane::of(case) == Plane::of(together))
        else {
            continue;
        };
        for both in &together.ranks {
            // Ranks that are alike are measured alone once: the first stands for them.
            let own = alone.ranks.iter().find(|result| result.rank == both.rank).or(alone.ranks.first());
            let Some((solo, shared)) = own.and_then(|own| Some((own.summary()?, both.summary()?))) else {
                continue;
            };
            penalties.push(Penalty {
                rank: both.rank,
                direction: together.direction,
                bytes: together.bytes,
                memory: together.memory,
                alone_case: alone.id.clone(),
                simultaneous_case: together.id.clone(),
                alone_bytes_per_s: solo.median_bytes_per_s,
                simultaneous_bytes_per_s: shared.median_bytes_per_s,
                comparison: None,
            });
        }
    }
    penalties
}
