//! What MPI does with device memory: whether it takes it at all, and which way it goes. Pure.
//!
//! That an operation works says nothing of the way: a library may copy device memory through the host and say nothing. Two things tell: what the links counted, and a rate
//! that the other way cannot reach. What the library says of itself is shown beside them and decides nothing: it was seen to be wrong both ways.

use stats::interval::{median, median_interval};
use stats::summary::CONFIDENCE;

use crate::case::{Case, Path, Pattern};
use crate::found::{CaseFound, Counted, PairFound};
use crate::operation::{Attempt, Operation, Outcome};

/// Whether MPI takes device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awareness {
    /// Not even in MPI_Send.
    NotAware,
    /// In every operation that was tried.
    Aware,
    /// In some operations.
    HalfAware,
    /// Nothing was tried, or not to its end.
    Unknown,
}

impl Awareness {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotAware => "not-aware",
            Self::Aware => "aware",
            Self::HalfAware => "half-aware",
            Self::Unknown => "unknown",
        }
    }
}

/// Which way device memory goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// From device to device.
    Direct,
    /// Through host memory.
    Staged,
    /// It cannot be told.
    Unknown,
}

impl Transport {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Staged => "staged",
            Self::Unknown => "unknown",
        }
    }
}

/// Something that tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// What: `operations`, `rate`, `counters`.
    pub name: &'static str,
    /// What it says, in a word.
    pub says: &'static str,
    /// On which grounds.
    pub detail: String,
}

/// What it comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether MPI takes device memory.
    pub awareness: Awareness,
    /// Which way it goes.
    pub transport: Transport,
    /// The operations that do not work.
    pub failing: Vec<Operation>,
    /// Those that were not tried, because MPI did not survive another one.
    pub not_tried: Vec<Operation>,
    /// What tells.
    pub witnesses: Vec<Witness>,
}

/// What is known of two ranks' messages of device memory.
pub fn verdict(pair: &PairFound) -> Verdict {
    let of_outcome = |wanted: &dyn Fn(&Outcome) -> bool| -> Vec<Operation> {
        let has = |operation: &Operation| {
            pair.attempts.iter().any(|attempt| attempt.operation == *operation && wanted(&attempt.outcome))
        };
        Operation::ALL.into_iter().filter(has).collect()
    };
    let works = of_outcome(&|outcome| *outcome == Outcome::Works);
    let failing = of_outcome(&|outcome| !matches!(outcome, Outcome::Works | Outcome::NotTried));
    let not_tried: Vec<Operation> =
        of_outcome(&|outcome| *outcome == Outcome::NotTried).into_iter().filter(|o| !failing.contains(o)).collect();
    let awareness = match (works.contains(&Operation::Send), failing.contains(&Operation::Send)) {
        (false, true) => Awareness::NotAware,
        (true, _) if !failing.is_empty() => Awareness::HalfAware,
        (true, false) if not_tried.is_empty() => Awareness::Aware,
        _ => Awareness::Unknown,
    };
    let mut witnesses: Vec<Witness> = behaviour(&pair.attempts, &works, &failing).into_iter().collect();
    let mut ways = Vec::new();
    if works.contains(&Operation::Send) && !failing.contains(&Operation::Send) {
        for (transport, witness) in [by_rate(&pair.cases), by_counters(pair.counted.as_ref())].into_iter().flatten() {
            ways.push(transport);
            witnesses.push(witness);
        }
    }
    ways.retain(|way| *way != Transport::Unknown);
    let transport = match ways.split_first() {
        Some((first, rest)) if rest.iter().all(|way| way == first) => *first,
        _ => Transport::Unknown,
    };
    Verdict { awareness, transport, failing, not_tried, witnesses }
}

fn names(operations: &[Operation]) -> String {
    operations.iter().map(|operation| operation.name()).collect::<Vec<_>>().join(", ")
}

fn behaviour(attempts: &[Attempt], works: &[Operation], failing: &[Operation]) -> Option<Witness> {
    let bad = attempts.iter().find(|attempt| !matches!(attempt.outcome, Outcome::Works | Outcome::NotTried));
    let right: Vec<Operation> = works.iter().copied().filter(|operation| !failing.contains(operation)).collect();
    let said = match (bad, right.is_empty()) {
        (None, true) => return None,
        (None, false) => format!("all bytes right in {}", names(&right)),
        (Some(bad), right_is_empty) => {
            let how = match &bad.outcome {
                Outcome::Garbage(wrong) => wrong.said(),
                Outcome::Error(why) => why.clone(),
                Outcome::Crash(how) => how.clone(),
                Outcome::Hang(seconds) => format!("did not return within {seconds} s"),
                Outcome::Works | Outcome::NotTried => String::new(),
            };
            let size = stats::units::size(bad.bytes as u64);
            let bad = format!("{} of {size}: {how}", bad.operation.name());
            if right_is_empty { bad } else { format!("{bad}; all bytes right in {}", names(&right)) }
        }
    };
    Some(Witness { name: "operations", says: if failing.is_empty() { "works" } else { "fails" }, detail: said })
}

/// A rate, bytes a second, with its interval.
#[derive(Clone, Copy, Debug)]
struct Rate {
    low: f64,
    high: f64,
}

/// The rate of a case, where it has one that counts. With too few blocks for an interval its ends are the extremes.
fn rate(cases: &[CaseFound], case: Case) -> Option<Rate> {
    let found = cases.iter().find(|found| found.case == case && found.trouble.is_none())?;
    median(&found.block_ns)?;
    let of = |ns: f64| case.bytes_a_turn() / ns * 1e9;
    let shortest = found.block_ns.iter().copied().fold(f64::INFINITY, f64::min);
    let longest = found.block_ns.iter().copied().fold(0.0, f64::max);
    let interval = median_interval(&found.block_ns, CONFIDENCE);
    let (short, long) = interval.map_or((shortest, longest), |interval| (interval.low, interval.high));
    Some(Rate { low: of(long), high: of(short) })
}

/// A direct path must be this much faster than what staging can reach to be told by its rate, and a staged one as much slower than the direct path could be.
const CLEARLY: f64 = 1.1;
/// Smaller messages may go another way than larger ones.
const LARGE: usize = 4 << 20;

/// No staged path is faster than the slower of the two copies that it is made of; no direct one faster than a peer copy.
fn by_rate(cases: &[CaseFound]) -> Option<(Transport, Witness)> {
    let sizes = cases.iter().filter(|found| found.case.path == Path::GpuAware).map(|found| found.case.bytes);
    let bytes = sizes.filter(|bytes| *bytes >= LARGE).max()?;
    let of = |path, pattern| rate(cases, Case { path, pattern, bytes });
    let by_mpi = [Pattern::OneWay, Pattern::PingPong].into_iter().filter_map(|pattern| of(Path::GpuAware, pattern));
    let by_mpi = by_mpi.reduce(|one, other| if one.high >= other.high { one } else { other })?;
    let bound = of(Path::ToHost, Pattern::PingPong)?.high.min(of(Path::ToDevice, Pattern::PingPong)?.high);
    let peer = of(Path::Peer, Pattern::PingPong);
    let gbs = |rate: f64| format!("{:.1} GB/s", rate / 1e9);
    let (size, got) = (stats::units::size(bytes as u64), gbs(by_mpi.low));
    let witness = |says, detail| Witness { name: "rate", says, detail };
    Some(match peer {
        _ if by_mpi.low > bound * CLEARLY => {
            let detail = format!("{got} at {size}: more than any copy through host memory ({} at most)", gbs(bound));
            (Transport::Direct, witness("direct", detail))
        }
        Some(peer) if by_mpi.high * CLEARLY * 2.0 < peer.low && by_mpi.high <= bound * CLEARLY => {
            let detail = format!(
                "{got} at {size}: no more than through host memory ({} at most), where a peer copy has {}",
                gbs(bound),
                gbs(peer.low)
            );
            (Transport::Staged, witness("staged", detail))
        }
        _ => {
            let detail = format!("{got} at {size}: host memory could do as much ({} at most)", gbs(bound));
            (Transport::Unknown, witness("does not decide", detail))
        }
    })
}

/// Of the bytes sent, this share at least went over a link that is said to have carried them, and less than the rest over one that did not.
const MOST: f64 = 0.9;

fn by_counters(counted: Option<&Counted>) -> Option<(Transport, Witness)> {
    let counted = counted?;
    let share = |bytes: u64| bytes as f64 / counted.bytes.max(1) as f64;
    let out = |link: Option<[u64; 2]>| link.map(|[out, _]| share(out));
    let into = |link: Option<[u64; 2]>| link.map(|[_, into]| share(into));
    // A path counts where both its ends say so: other traffic is seldom at both.
    let both = |one: Option<f64>, other: Option<f64>| one.zip(other).map(|(one, other)| one.min(other));
    let nvlink = both(out(counted.source.nvlink), into(counted.destination.nvlink));
    let pcie = both(out(counted.source.pcie), into(counted.destination.pcie));
    let idle = |link: fn(&crate::LinkBytes) -> Option<[u64; 2]>| {
        counted.idle.iter().filter_map(link).flatten().map(share).fold(0.0, f64::max)
    };
    let (idle_nvlink, idle_pcie) = (idle(|bytes| bytes.nvlink), idle(|bytes| bytes.pcie));
    let said = |name: &str, share: Option<f64>, idle: f64| {
        share.map(|share| format!("{name} {share:.3} of the bytes sent ({idle:.3} in as long a time at rest)"))
    };
    let parts = [said("NVLink", nvlink, idle_nvlink), said("PCIe", pcie, idle_pcie)];
    let detail = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let witness = |says| Witness { name: "counters", says, detail: detail.clone() };
    let rests = |idle: f64| idle < 1.0 - MOST;
    Some(match (nvlink, pcie) {
        (Some(nvlink), _) if nvlink >= MOST && rests(idle_nvlink) => (Transport::Direct, witness("direct")),
        (Some(nvlink), Some(pcie)) if nvlink < 1.0 - MOST && pcie >= MOST && rests(idle_pcie) => {
            (Transport::Staged, witness("staged"))
        }
        _ => (Transport::Unknown, witness("does not decide")),
    })
}

/// The size from which one path is faster than another, by the time of a message, and stays so: `None` where it is nowhere, or not surely. Both ends of the intervals must
/// agree.
pub fn crossover(cases: &[CaseFound], faster: Path, than: Path) -> Option<usize> {
    let mut sizes: Vec<usize> = cases.iter().filter(|found| found.case.path == faster).map(|f| f.case.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut from = None;
    for bytes in sizes {
        let of = |path| rate(cases, Case { path, pattern: Pattern::PingPong, bytes });
        let (Some(one), Some(other)) = (of(faster), of(than)) else { continue };
        if one.low > other.high {
            from.get_or_insert(bytes);
        } else if other.low > one.high {
            from = None;
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::LinkBytes;
    use crate::operation::Wrong;

    const MIB: usize = 1 << 20;

    /// Two ranks whose operations ended so.
    fn pair(outcomes: &[(Operation, Outcome)]) -> PairFound {
        let attempt = |(operation, outcome): &(Operation, Outcome)| Attempt {
            operation: *operation,
            bytes: MIB,
            outcome: outcome.clone(),
        };
        PairFound {
            ranks: [0, 1],
            cases: Vec::new(),
            attempts: outcomes.iter().map(attempt).collect(),
            counted: None,
            peer: None,
            placed: [[None, None], [None, None]],
        }
    }

    /// A case at 64 MiB with this rate in GB/s, in ten blocks that differ by a per mille.
    fn case(path: Path, gbs: f64) -> CaseFound {
        let case = Case { path, pattern: Pattern::PingPong, bytes: 64 * MIB };
        let ns = case.bytes as f64 / gbs;
        let block_ns = (0..10).map(|at| ns * (1.0 + f64::from(at) * 1e-4)).collect();
        CaseFound { case, block_ns, rounds: 1, verified_bytes: 0, stop: None, trouble: None }
    }

    fn rates(by_mpi: f64) -> Vec<CaseFound> {
        let paths = [(Path::GpuAware, by_mpi), (Path::ToHost, 55.0), (Path::ToDevice, 54.0), (Path::Peer, 390.0)];
        paths.map(|(path, gbs)| case(path, gbs)).to_vec()
    }

    fn counted(nvlink: f64, pcie: f64, idle: f64) -> Counted {
        let of = |share: f64| [(share * 1e9) as u64; 2];
        let bytes = |nvlink, pcie| LinkBytes { nvlink: Some(of(nvlink)), pcie: Some(of(pcie)) };
        let at_rest = bytes(idle, idle);
        let both = bytes(nvlink, pcie);
        Counted { bytes: 1_000_000_000, source: both, destination: both, idle: [at_rest, at_rest] }
    }

    fn all_work() -> Vec<(Operation, Outcome)> {
        Operation::ALL.map(|operation| (operation, Outcome::Works)).to_vec()
    }

    #[test]
    fn what_send_does_not_take_is_not_aware_however_it_fails() {
        let ways = [
            Outcome::Crash("SIGSEGV".to_owned()),
            Outcome::Hang(20),
            Outcome::Garbage(Wrong::Zeros),
            Outcome::Error("MPI_Send failed: errno 14".to_owned()),
        ];
        for way in ways {
            let mut found = pair(&[(Operation::Send, way.clone())]);
            found.cases = rates(390.0);
            let verdict = verdict(&found);
            assert_eq!((verdict.awareness, verdict.transport), (Awareness::NotAware, Transport::Unknown), "{way:?}");
        }
    }

    #[test]
    fn two_witnesses_that_agree_say_which_way_it_goes() {
        for (gbs, counters, way) in
            [(386.0, counted(1.0, 0.0, 0.0), Transport::Direct), (40.0, counted(0.0, 1.09, 0.0), Transport::Staged)]
        {
            let mut found = pair(&all_work());
            found.cases = rates(gbs);
            found.counted = Some(counters);
            let verdict = verdict(&found);
            assert_eq!((verdict.awareness, verdict.transport), (Awareness::Aware, way));
            assert_eq!(
                verdict.witnesses.iter().map(|w| w.name).collect::<Vec<_>>(),
                ["operations", "rate", "counters"]
            );
        }
    }

    #[test]
    fn witnesses_that_disagree_and_traffic_of_others_leave_it_open() {
        let mut found = pair(&all_work());
        found.cases = rates(386.0);
        found.counted = Some(counted(0.0, 1.09, 0.0));
        assert_eq!(verdict(&found).transport, Transport::Unknown);
        found.cases = Vec::new();
        found.counted = Some(counted(1.0, 0.0, 0.5));
        assert_eq!(verdict(&found).transport, Transport::Unknown, "half as much went through at rest");
    }

    #[test]
    fn a_rate_that_host_memory_could_reach_does_not_say_direct() {
        let mut found = pair(&all_work());
        found.cases = vec![case(Path::GpuAware, 50.0), case(Path::ToHost, 55.0), case(Path::ToDevice, 54.0)];
        found.cases.push(case(Path::Peer, 50.0));
        let verdict = verdict(&found);
        assert_eq!(verdict.transport, Transport::Unknown);
        assert_eq!(verdict.witnesses.last().map(|witness| witness.says), Some("does not decide"));
    }

    /// The way that these rates alone say.
    fn by_rates(rates: [(Path, f64); 4]) -> Transport {
        let mut found = pair(&all_work());
        found.cases = rates.map(|(path, gbs)| case(path, gbs)).to_vec();
        verdict(&found).transport
    }

    #[test]
    fn the_slower_of_the_two_copies_is_what_staging_can_reach_and_a_little_more_is_no_proof() {
        let with = |by_mpi, to_host, to_device| {
            by_rates([
                (Path::GpuAware, by_mpi),
                (Path::ToHost, to_host),
                (Path::ToDevice, to_device),
                (Path::Peer, 390.0),
            ])
        };
        assert_eq!(with(40.0, 100.0, 30.0), Transport::Direct);
        assert_eq!(with(40.0, 30.0, 100.0), Transport::Direct);
        assert_eq!(with(57.0, 54.0, 55.0), Transport::Staged, "5 % above the bound, a seventh of a peer copy");
    }

    #[test]
    fn a_rate_that_is_not_known_well_or_of_small_messages_says_nothing() {
        let mut found = pair(&all_work());
        found.cases = rates(40.0);
        // Half of its blocks are slower than any staged copy, half are faster.
        for (at, ns) in found.cases[0].block_ns.iter_mut().enumerate() {
            *ns *= if at % 2 == 0 { 0.3 } else { 3.0 };
        }
        assert_eq!(verdict(&found).transport, Transport::Unknown);
        found.cases = rates(386.0);
        found.cases.iter_mut().for_each(|found| found.case.bytes = LARGE / 2);
        assert!(verdict(&found).witnesses.iter().all(|witness| witness.name != "rate"));
    }

    #[test]
    fn counters_say_a_way_only_where_both_ends_carried_the_bytes_and_the_other_link_did_not() {
        let by_counters = |counted| {
            let mut found = pair(&all_work());
            found.counted = Some(counted);
            verdict(&found).transport
        };
        assert_eq!(by_counters(counted(1.0, 0.0, 0.0)), Transport::Direct);
        assert_eq!(by_counters(counted(0.0, 1.09, 0.0)), Transport::Staged);
        assert_eq!(by_counters(counted(0.0, 1.09, 0.5)), Transport::Unknown, "others use the bus");
        assert_eq!(by_counters(counted(0.5, 1.0, 0.0)), Transport::Unknown, "half went over NVLink");
        let mut one_end = counted(1.0, 0.0, 0.0);
        one_end.destination.nvlink = Some([0, 0]);
        assert_eq!(by_counters(one_end), Transport::Unknown, "the receiver's link carried nothing");
    }

    #[test]
    fn what_was_not_tried_leaves_it_open_and_what_failed_once_was_tried() {
        let mut outcomes = all_work();
        outcomes[7].1 = Outcome::NotTried;
        assert_eq!(verdict(&pair(&outcomes)).awareness, Awareness::Unknown);
        outcomes.push((outcomes[7].0, Outcome::Hang(30)));
        let said = verdict(&pair(&outcomes));
        assert_eq!((said.failing, said.not_tried), (vec![Operation::Allreduce], vec![]));
    }

    #[test]
    fn what_works_in_part_names_what_fails_and_what_was_not_tried() {
        let mut outcomes = all_work();
        outcomes[6].1 = Outcome::Crash("SIGSEGV".to_owned());
        outcomes[7].1 = Outcome::NotTried;
        let verdict = verdict(&pair(&outcomes));
        assert_eq!(verdict.awareness, Awareness::HalfAware);
        assert_eq!((verdict.failing, verdict.not_tried), (vec![Operation::Alltoall], vec![Operation::Allreduce]));
    }

    #[test]
    fn one_path_is_faster_from_the_size_on_from_which_it_stays_so() {
        let at = |path, bytes: usize, ns: f64| {
            let case = Case { path, pattern: Pattern::PingPong, bytes };
            let block_ns = (0..10).map(|at| ns * (1.0 + f64::from(at) * 1e-4)).collect();
            CaseFound { case, block_ns, rounds: 1, verified_bytes: 0, stop: None, trouble: None }
        };
        let times = [(8, 20.0, 15.0), (64, 20.0, 30.0), (512, 40.0, 35.0), (4096, 50.0, 90.0), (65536, 60.0, 400.0)];
        let mut cases = Vec::new();
        for (bytes, direct, staged) in times {
            cases.extend([at(Path::GpuAware, bytes, direct), at(Path::Staged, bytes, staged)]);
        }
        assert_eq!(crossover(&cases, Path::GpuAware, Path::Staged), Some(4096));
        assert_eq!(crossover(&cases, Path::Staged, Path::GpuAware), None);
        // Two that cannot be told apart: neither is faster.
        cases = vec![at(Path::GpuAware, 8, 20.0), at(Path::Staged, 8, 20.005)];
        assert_eq!(crossover(&cases, Path::GpuAware, Path::Staged), None);
    }
}
