//! What MPI does with device memory: whether it takes it at all, and which way it goes. Pure.
//!
//! That an operation works says nothing of the way: a library may copy device memory through the host and say
//! nothing. Two things tell: what the links counted, and a rate that the other way cannot reach. What the
//! library says of itself is shown beside them and decides nothing: it was seen to be wrong both ways.
//!
//! Where two PCIe GPUs have a direct path that is no faster than staging, the rate does not decide. Left out:
//! CUPTI's records of copies (a profiler slows staging), UCX's log of protocols, the time of the first
//! message.

pub use report::awareness::{Awareness, Transport};
use report::awareness::{EvidenceFinding, EvidenceKind, MpiWitness};
use stats::alpha::CONFIDENCE;
use stats::interval::{median, median_interval};

use crate::case::{MessageCase, MessagePath, MessagePattern};
use crate::operation::{Attempt, AttemptOutcome, DeviceOperation};
use crate::results::{CaseFound, CountedBytes, PairFound};

/// What it comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwarenessVerdict {
    /// Whether MPI takes device memory.
    pub awareness: Awareness,
    /// Which way it goes.
    pub transport: Transport,
    /// The operations that do not work.
    pub failing: Vec<DeviceOperation>,
    /// Those that were not tried, because the session ended before.
    pub not_tried: Vec<DeviceOperation>,
    /// The evidence.
    pub witnesses: Vec<MpiWitness>,
}

/// What is known of two ranks' messages of device memory.
pub fn verdict(pair: &PairFound) -> AwarenessVerdict {
    let of_outcome = |wanted: &dyn Fn(&AttemptOutcome) -> bool| -> Vec<DeviceOperation> {
        let has = |operation: &DeviceOperation| {
            pair.attempts.iter().any(|attempt| attempt.operation == *operation && wanted(&attempt.outcome))
        };
        DeviceOperation::ALL.into_iter().filter(has).collect()
    };
    let works = of_outcome(&|outcome| *outcome == AttemptOutcome::Works);
    let failing = of_outcome(&|outcome| !matches!(outcome, AttemptOutcome::Works | AttemptOutcome::NotTried));
    let not_tried: Vec<DeviceOperation> = of_outcome(&|outcome| *outcome == AttemptOutcome::NotTried)
        .into_iter()
        .filter(|o| !failing.contains(o))
        .collect();
    let awareness = match (works.contains(&DeviceOperation::Send), failing.contains(&DeviceOperation::Send)) {
        (false, true) => Awareness::NotAware,
        (true, _) if !failing.is_empty() => Awareness::HalfAware,
        (true, false) if not_tried.is_empty() => Awareness::Aware,
        _ => Awareness::Unknown,
    };
    let mut witnesses: Vec<MpiWitness> = behaviour(&pair.attempts, &works, &failing).into_iter().collect();
    let mut ways = Vec::new();

    if works.contains(&DeviceOperation::Send) && !failing.contains(&DeviceOperation::Send) {
        for (transport, witness) in
            [by_rate(&pair.cases), by_counters(pair.counted.as_ref())].into_iter().flatten()
        {
            ways.push(transport);
            witnesses.push(witness);
        }
    }

    ways.retain(|way| *way != Transport::Unknown);
    let transport = match ways.split_first() {
        Some((first, rest)) if rest.iter().all(|way| way == first) => *first,
        _ => Transport::Unknown,
    };
    AwarenessVerdict { awareness, transport, failing, not_tried, witnesses }
}

fn behaviour(
    attempts: &[Attempt],
    works: &[DeviceOperation],
    failing: &[DeviceOperation],
) -> Option<MpiWitness> {
    let bad = attempts
        .iter()
        .find(|attempt| !matches!(attempt.outcome, AttemptOutcome::Works | AttemptOutcome::NotTried));
    let right: Vec<DeviceOperation> =
        works.iter().copied().filter(|operation| !failing.contains(operation)).collect();
    let said = match (bad, right.is_empty()) {
        (None, true) => return None,
        (None, false) => format!("all bytes right in {}", DeviceOperation::names(&right)),
        (Some(bad), right_is_empty) => {
            let how = match &bad.outcome {
                AttemptOutcome::Garbage(wrong) => wrong.description(),
                AttemptOutcome::Error(why) => why.clone(),
                AttemptOutcome::Crash(how) => how.clone(),
                AttemptOutcome::Hang(seconds) => format!("did not return within {seconds} s"),
                AttemptOutcome::Works | AttemptOutcome::NotTried => String::new(),
            };
            let size = stats::units::size(bad.bytes as u64);
            let bad = format!("{} of {size}: {how}", bad.operation.name());
            if right_is_empty {
                bad
            } else {
                format!("{bad}; all bytes right in {}", DeviceOperation::names(&right))
            }
        }
    };

    Some(MpiWitness {
        name: EvidenceKind::Operations,
        says: if failing.is_empty() { EvidenceFinding::Works } else { EvidenceFinding::Fails },
        detail: said,
    })
}

/// A rate, bytes a second, with its interval.
#[derive(Clone, Copy, Debug)]
struct Rate {
    low: f64,
    high: f64,
}

/// The rate of a case, where it has one that counts. With too few blocks for an interval its ends are the
/// extremes.
fn rate(cases: &[CaseFound], case: MessageCase) -> Option<Rate> {
    let found = cases.iter().find(|found| found.case == case && found.trouble.is_none())?;
    median(&found.block_ns)?;
    let of = |ns: f64| case.bytes_a_turn() / ns * 1e9;
    let shortest = found.block_ns.iter().copied().fold(f64::INFINITY, f64::min);
    let longest = found.block_ns.iter().copied().fold(0.0, f64::max);
    let interval = median_interval(&found.block_ns, CONFIDENCE);
    let (short, long) = interval.map_or((shortest, longest), |interval| (interval.low, interval.high));
    Some(Rate { low: of(long), high: of(short) })
}

/// A direct path must be this much faster than what staging can reach to be told by its rate, and a staged
/// one as much slower than the direct path could be.
const CLEARLY: f64 = 1.1;
/// Smaller messages may go another way than larger ones.
const LARGE: usize = 4 << 20;

/// No staged path is faster than the slower of the two copies that it is made of; no direct one faster than a
/// peer copy.
fn by_rate(cases: &[CaseFound]) -> Option<(Transport, MpiWitness)> {
    let sizes =
        cases.iter().filter(|found| found.case.path == MessagePath::GpuAware).map(|found| found.case.bytes);
    let bytes = sizes.filter(|bytes| *bytes >= LARGE).max()?;
    let of = |path, pattern| rate(cases, MessageCase { path, pattern, bytes });
    let bound = of(MessagePath::ToHost, MessagePattern::PingPong)?
        .high
        .min(of(MessagePath::ToDevice, MessagePattern::PingPong)?.high);

    // The bound is that of the way from the lower rank to the higher one. The way back is not bounded, so the
    // mean of both ways reaches twice as much at most.
    let by_mpi = [(MessagePattern::OneWay, bound), (MessagePattern::PingPong, 2.0 * bound)]
        .into_iter()
        .filter_map(|(pattern, most)| Some((of(MessagePath::GpuAware, pattern)?, most)));
    let share = |(rate, most): &(Rate, f64)| rate.low / most;
    let (by_mpi, most) = by_mpi.max_by(|one, other| share(one).total_cmp(&share(other)))?;
    let peer = of(MessagePath::Peer, MessagePattern::PingPong);
    let gbs = |rate: f64| format!("{:.1} GB/s", rate / 1e9);
    let (size, got) = (stats::units::size(bytes as u64), gbs(by_mpi.low));
    let witness = |says, detail| MpiWitness { name: EvidenceKind::Rate, says, detail };

    Some(match peer {
        _ if by_mpi.low > most * CLEARLY => {
            let detail =
                format!("{got} at {size}: more than any copy through host memory ({} at most)", gbs(most));
            (Transport::Direct, witness(EvidenceFinding::Direct, detail))
        }
        Some(peer) if by_mpi.high * CLEARLY * 2.0 < peer.low && by_mpi.high <= bound * CLEARLY => {
            let detail = format!(
                "{got} at {size}: no more than through host memory ({} at most), where a peer copy has {}",
                gbs(bound),
                gbs(peer.low)
            );
            (Transport::Staged, witness(EvidenceFinding::Staged, detail))
        }
        _ => {
            let detail = format!("{got} at {size}: host memory could do as much ({} at most)", gbs(most));
            (Transport::Unknown, witness(EvidenceFinding::DoesNotDecide, detail))
        }
    })
}

/// Of the bytes sent, this share at least went over a link that is said to have carried them, and less than
/// the rest over one that did not.
const MOST: f64 = 0.9;

fn by_counters(counted: Option<&CountedBytes>) -> Option<(Transport, MpiWitness)> {
    let counted = counted?;
    let share = |bytes: u64| bytes as f64 / counted.bytes.max(1) as f64;
    let out = |link: Option<[u64; 2]>| link.map(|[out, _]| share(out));
    let into = |link: Option<[u64; 2]>| link.map(|[_, into]| share(into));

    // A path counts where both its ends say so: other traffic is seldom at both.
    let both = |one: Option<f64>, other: Option<f64>| one.zip(other).map(|(one, other)| one.min(other));
    let nvlink = both(out(counted.source.nvlink), into(counted.destination.nvlink));
    let pcie = both(out(counted.source.pcie), into(counted.destination.pcie));
    let idle = |link: fn(&crate::GpuLinkBytes) -> Option<[u64; 2]>| {
        counted.idle.iter().filter_map(link).flatten().map(share).fold(0.0, f64::max)
    };
    let (idle_nvlink, idle_pcie) = (idle(|bytes| bytes.nvlink), idle(|bytes| bytes.pcie));
    let said = |name: &str, share: Option<f64>, idle: f64| {
        share
            .map(|share| format!("{name} {share:.3} of the bytes sent ({idle:.3} in as long a time at rest)"))
    };
    let parts = [said("NVLink", nvlink, idle_nvlink), said("PCIe", pcie, idle_pcie)];
    let detail = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let witness = |says| MpiWitness { name: EvidenceKind::Counters, says, detail: detail.clone() };
    let rests = |idle: f64| idle < 1.0 - MOST;

    Some(match (nvlink, pcie) {
        (Some(nvlink), _) if nvlink >= MOST && rests(idle_nvlink) => {
            (Transport::Direct, witness(EvidenceFinding::Direct))
        }
        (Some(nvlink), Some(pcie)) if nvlink < 1.0 - MOST && pcie >= MOST && rests(idle_pcie) => {
            (Transport::Staged, witness(EvidenceFinding::Staged))
        }
        _ => (Transport::Unknown, witness(EvidenceFinding::DoesNotDecide)),
    })
}

/// Where one path becomes faster than another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossover {
    /// The largest size at which the other one is significantly faster; `None` where no size is.
    pub slower_up_to: Option<usize>,
    /// The size from which this one is significantly faster, and never significantly slower again; `None`
    /// where no size is. The crossover lies between both.
    pub faster_from: Option<usize>,
}

/// Where one path becomes faster than another, by the time of a message. Sure is what both ends of the
/// intervals agree on.
pub fn crossover(cases: &[CaseFound], faster: MessagePath, than: MessagePath) -> Crossover {
    let mut sizes: Vec<usize> =
        cases.iter().filter(|found| found.case.path == faster).map(|f| f.case.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut turn = Crossover::default();
    for bytes in sizes {
        let of = |path| rate(cases, MessageCase { path, pattern: MessagePattern::PingPong, bytes });
        let (Some(one), Some(other)) = (of(faster), of(than)) else { continue };
        if one.low > other.high {
            turn.faster_from.get_or_insert(bytes);
        } else if other.low > one.high {
            turn = Crossover { slower_up_to: Some(bytes), faster_from: None };
        }
    }
    turn
}

#[cfg(test)]
mod tests;
