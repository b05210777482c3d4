//! What being at once costs ranks, in a sentence: beside what each has alone, or where nobody measured that.

use std::collections::BTreeSet;

use report::Document;
use report::case::{Case, Order};
use report::contention::Penalty;
use report::device::Device;
use report::document::PlatformKind;
use report::rank::Rank;
use report::result::{BlockSample, Outcome, RankResult};
use report::settings::MemoryKind;
use stats::alpha::ALPHA;
use stats::block_interval::BlockValue;
use stats::interval::median;
use stats::summary::Summary;

use super::{LEAST_FOR_RATES, asked, far_from_gpus, gigabytes};
use crate::family::{CaseComparison, CaseFamily, CaseFinding, FamilyCase};
use crate::matrix_analysis::SHARED;
use crate::passes::Moments;
use crate::{headline, words};

/// What a GPU alone has of its link at least, per cent.
const HEALTHY_PERCENT: f64 = 85.0;

/// What being at once cost each rank: all ranks and directions told are one family of claims.
pub(super) fn cost(document: &Document, cases: &[&Case]) -> Option<String> {
    let asked = asked(document, cases);
    let of = |case: &&Case| -> Vec<Cost> {
        let axes = (case.direction, case.bytes, case.memory);
        let shared = |penalty: &&Penalty| {
            (penalty.direction, penalty.bytes, penalty.memory) == axes && asked.contains(&penalty.rank)
        };
        document.penalties.iter().filter(shared).filter_map(|penalty| Cost::of(document, penalty)).collect()
    };
    let costs: Vec<Vec<Cost>> = cases.iter().map(of).collect();
    let comparisons = comparisons(&costs);
    let keep = comparisons.iter().filter(|found| found.keeps(SHARED, ALPHA)).count();
    let mut findings = comparisons.into_iter().map(|found| found.finding);

    let mut found: Vec<DirectionCost> = Vec::new();
    let mut undecided = 0;
    for (case, costs) in cases.iter().zip(&costs).filter(|(_, costs)| !costs.is_empty()) {
        let findings: Vec<CaseFinding> = findings.by_ref().take(costs.len()).collect();
        undecided += findings.iter().filter(|finding| **finding == CaseFinding::Undecided).count();
        found.push(DirectionCost::of(words::direction_in(document, case.direction), costs, &findings));
    }

    let least = found.iter().map(|one| one.compared).min()?;
    // A rank without a figure is not one that loses nothing, and neither is a direction.
    let mut only: Vec<String> = Vec::new();
    only.extend((least < asked.len()).then(|| format!("{least} of {} ranks compared", asked.len())));
    only.extend(not_compared(document, cases, &costs));
    let only = if only.is_empty() { String::new() } else { format!(" ({})", only.join("; ")) };
    let losing: Vec<&DirectionCost> = found.iter().filter(|one| !one.losers.is_empty()).collect();
    let Some(most) = losing.iter().map(|one| one.losers.len()).max() else {
        let comparisons: usize = found.iter().map(|one| one.compared).sum();
        return Some(match undecided {
            _ if keep == comparisons => {
                let percent = (1.0 - SHARED) * 100.0;
                format!("At once each rank keeps what it has alone, within {percent:.0} %{only}.")
            }
            0 => format!("At once no rank is measurably slower than alone{only}."),
            _ => format!(
                "Undecided whether a rank is slower at once than alone: {undecided} of {} do not tell{only}.",
                words::count(comparisons as u64, "comparison")
            ),
        });
    };

    // The same ranks in each direction are one statement.
    let all_lose = |one: &&DirectionCost| one.losers.len() == one.compared;
    let is_one = losing.iter().all(all_lose)
        || losing.iter().all(|one| one.losers == losing[0].losers && one.compared == losing[0].compared);
    let whole = least >= asked.len();
    let what = match is_one {
        true => {
            let all: Vec<&str> = losing.iter().map(|one| &one.loss[..]).collect();
            format!("{} {}", losing[0].who(whole), all.join(", "))
        }
        false => {
            let each: Vec<String> =
                losing.iter().map(|one| format!("{} {}", one.who(whole), one.loss)).collect();
            each.join(", ")
        }
    };
    let has = if is_one && !losing[0].is_plural(whole) { "it has" } else { "they have" };
    let (alone, shares) = (alone_rates(document, cases, &costs), shared(document, cases, most));
    Some(format!("At once {what} of what {has} alone{alone}{only}{shares}."))
}

/// What being at once costs in one direction.
struct DirectionCost {
    /// The ranks that lose.
    losers: BTreeSet<u32>,
    /// How many were compared.
    compared: usize,
    /// What those lose: `30–50 % H2D`.
    loss: String,
}

impl DirectionCost {
    fn of(direction: &str, costs: &[Cost], findings: &[CaseFinding]) -> Self {
        let losing = || costs.iter().zip(findings).filter(|(_, finding)| **finding == CaseFinding::Worse);
        let (least, most) = losing()
            .map(|(cost, _)| cost.loss_percent)
            .fold((f64::MAX, 0.0_f64), |(least, most), loss| (least.min(loss), most.max(loss)));
        let range =
            if most - least < 1.0 { format!("{most:.0} %") } else { format!("{least:.0}–{most:.0} %") };
        Self {
            losers: losing().map(|(cost, _)| cost.rank).collect(),
            compared: costs.len(),
            loss: format!("{range} {direction}"),
        }
    }

    /// `1 of 8 ranks loses`; `whole` where all ranks were compared.
    fn who(&self, whole: bool) -> String {
        match (self.losers.len(), self.compared) {
            (1, all) if all > 1 => format!("1 of {all} ranks loses"),
            (some, all) if some < all => format!("{some} of {all} ranks lose"),
            _ if whole => "each rank loses".to_owned(),
            _ => "each of them loses".to_owned(),
        }
    }

    fn is_plural(&self, whole: bool) -> bool {
        self.who(whole).ends_with("lose")
    }
}

/// Directions of which nothing is compared, though both orders were asked for.
fn not_compared(document: &Document, cases: &[&Case], costs: &[Vec<Cost>]) -> Option<String> {
    let first = cases.first()?;
    let compared = |case: &&Case| {
        cases.iter().zip(costs).any(|(one, costs)| one.direction == case.direction && !costs.is_empty())
    };
    let same = |case: &&Case| {
        (case.bytes, case.memory, case.order) == (first.bytes, first.memory, first.order)
            && case.group.is_none()
            && case.range_bytes.is_none()
    };

    let lacking: Vec<&str> = document
        .cases
        .iter()
        .filter(same)
        .filter(|case| !compared(case))
        .map(|case| words::direction_in(document, case.direction))
        .collect();
    (!lacking.is_empty()).then(|| format!("{} not compared", lacking.join(", ")))
}

/// ` (55.3 GB/s H2D, 55.1 D2H)`: the middle of what ranks have alone; empty where copies are too small for
/// rates.
fn alone_rates(document: &Document, cases: &[&Case], costs: &[Vec<Cost>]) -> String {
    let rates =
        cases.iter().zip(costs).filter(|(case, costs)| case.bytes >= LEAST_FOR_RATES && !costs.is_empty());
    let rate = |(case, costs): (&&Case, &Vec<Cost>)| {
        let alone: Vec<f64> = costs.iter().map(|cost| cost.alone_bytes_per_s).collect();
        let middle = median(&alone)?;
        Some((gigabytes(middle), words::direction_in(document, case.direction)))
    };
    let rates: Vec<(String, &str)> = rates.filter_map(rate).collect();

    let Some((first, direction)) = rates.first() else { return String::new() };
    let others: String = rates[1..].iter().map(|(rate, direction)| format!(", {rate} {direction}")).collect();
    format!(" ({first} GB/s {direction}{others})")
}

/// What ranks share where several lose: a PU, on which each waits for the other; else, of GPUs of one node
/// each with one rank, the way to memory: nothing else is common to their copies.
fn shared(document: &Document, cases: &[&Case], losing: usize) -> String {
    let ranks = asked(document, cases);
    let of = |rank: &&Rank| ranks.contains(&rank.rank);
    let devices: BTreeSet<&str> =
        document.ranks.iter().filter(of).map(|rank| &rank.asked.device[..]).collect();
    let mut pus = BTreeSet::new();
    let twice = |rank: &&Rank| !pus.insert((rank.node, rank.asked.pu));
    if let Some(rank) = document.ranks.iter().filter(of).find(twice) {
        return format!(": ranks share PU {}", rank.asked.pu);
    }

    let has_own = devices.len() == ranks.len() && document.platform.kind != PlatformKind::Host;
    let is_large = cases.iter().all(|case| case.bytes >= LEAST_FOR_RATES);
    let is_path = losing > 1 && has_own && is_large && document.nodes.len() <= 1;
    if is_path { ": GPUs share a path to memory".to_owned() } else { String::new() }
}

/// Of several GPUs that were only measured at once, and have less than a healthy GPU has alone: nothing here
/// tells whether that is theirs or the path's.
pub(super) fn unknown_cost(document: &Document, cases: &[&Case]) -> Option<String> {
    let ranks = asked(document, cases);
    let of = |rank: &&Rank| ranks.contains(&rank.rank);
    let devices: BTreeSet<&str> =
        document.ranks.iter().filter(of).map(|rank| &rank.asked.device[..]).collect();
    let only_at_once = document.cases.iter().all(|case| case.order == Order::Simultaneous);
    let has_reason = !document.slower_twins.is_empty() || far_from_gpus(document).is_some();
    // What is one rank's of several on a GPU says nothing of that GPU's link.
    let ranks_here = document.ranks.iter().filter(of).count();
    if devices.len() < 2 || devices.len() < ranks_here || !only_at_once || has_reason {
        return None;
    }

    let is_known = |summary: &Summary| headline::is_known(headline::of_summary(summary));
    let percent = |result: &RankResult| match &result.outcome {
        Outcome::Measured { percent_of_bound, .. } if result.summary().is_some_and(is_known) => {
            *percent_of_bound
        }
        _ => None,
    };
    // Small copies, copies of pageable memory and other links reach less of it alone, too.
    let is_otherwise_linked =
        |device: &&Device| devices.contains(&device.id[..]) && device.other_link().is_some();
    let is_large = |case: &&&Case| {
        case.bytes >= LEAST_FOR_RATES && matches!(case.memory, MemoryKind::Pinned | MemoryKind::PinnedDriver)
    };
    if document.devices.iter().any(|device| is_otherwise_linked(&device)) {
        return None;
    }
    let results = cases.iter().filter(is_large).flat_map(|case| &case.ranks);
    let least = results.filter_map(percent).reduce(f64::min).filter(|least| *least < HEALTHY_PERCENT)?;
    Some(format!(
        "At once the slowest reaches {least:.0} % of its PCIe link's rate, where a GPU alone reaches \
         {HEALTHY_PERCENT:.0} % or more: `--order both` measures them alone too."
    ))
}

/// The blocks of one rank alone and at once, rates, with the moments at which they began.
struct Cost {
    rank: u32,
    blocks: [(Vec<BlockValue>, Vec<u64>); 2],
    node: u32,
    alone_bytes_per_s: f64,
    loss_percent: f64,
}

impl Cost {
    /// `None` where one of the two has no figure.
    fn of(document: &Document, penalty: &Penalty) -> Option<Self> {
        let blocks = |id: &str| {
            let case = document.cases.iter().find(|case| case.id == id)?;
            let result = case.ranks.iter().find(|result| result.rank == penalty.rank)?;
            result.summary()?;
            let rate = |block: &BlockSample| block.bytes as f64 / block.elapsed_ns * 1e9;
            let value = |block: &BlockSample| BlockValue { value: rate(block), allocation: block.allocation };
            let began = result.blocks.iter().map(|block| block.start_ns).collect();
            Some((result.blocks.iter().map(value).collect(), began))
        };

        let [alone, at_once] = [blocks(&penalty.alone_case)?, blocks(&penalty.simultaneous_case)?];
        let node = document.ranks.iter().find(|rank| rank.rank == penalty.rank).map_or(0, |rank| rank.node);
        // As tables have it.
        let ratio = penalty.comparison.as_ref().map_or_else(
            || penalty.simultaneous_bytes_per_s / penalty.alone_bytes_per_s,
            |compared| compared.ratio,
        );
        let loss_percent = (1.0 - ratio) * 100.0;
        let alone_bytes_per_s = penalty.alone_bytes_per_s;
        Some(Self { rank: penalty.rank, blocks: [alone, at_once], node, alone_bytes_per_s, loss_percent })
    }
}

/// What each rank at once is against itself alone, direction by direction.
fn comparisons<'a>(costs: &'a [Vec<Cost>]) -> Vec<CaseComparison> {
    let member = |kind: usize, node: u32| {
        move |(blocks, began): &'a (Vec<BlockValue>, Vec<u64>)| FamilyCase {
            kind,
            is_time: false,
            blocks,
            began: Moments { node, ns: began },
        }
    };
    let of_kind = |(kind, costs): (usize, &'a Vec<Cost>)| {
        costs.iter().flat_map(move |cost| cost.blocks.iter().map(member(kind, cost.node)))
    };
    CaseFamily::of(costs.iter().enumerate().flat_map(of_kind).collect()).in_twos()
}
