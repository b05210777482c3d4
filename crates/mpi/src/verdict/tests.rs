//! What each witness says, and what two of them come to.

use super::*;
use crate::operation::WrongBytes;
use crate::results::GpuLinkBytes;

const MIB: usize = 1 << 20;

/// Two ranks whose operations ended so.
fn pair(outcomes: &[(DeviceOperation, AttemptOutcome)]) -> PairFound {
    let attempt = |(operation, outcome): &(DeviceOperation, AttemptOutcome)| Attempt {
        operation: *operation,
        bytes: MIB,
        outcome: outcome.clone(),
    };
    PairFound {
        ranks: [0, 1],
        cases: Vec::new(),
        attempts: outcomes.iter().map(attempt).collect(),
        counted: None,
        carried: Vec::new(),
        peer: None,
        placed: [[None, None], [None, None]],
    }
}

/// A case at 64 MiB with this rate in GB/s, in ten blocks that differ by a per mille.
fn case(path: MessagePath, gbs: f64) -> CaseFound {
    let case = MessageCase { path, pattern: MessagePattern::PingPong, bytes: 64 * MIB };
    let ns = case.bytes as f64 / gbs;
    let block_ns = (0..10).map(|at| ns * (1.0 + f64::from(at) * 1e-4)).collect();
    CaseFound {
        case,
        block_ns,
        gpu_bytes_per_s: Vec::new(),
        rounds: 1,
        verified_bytes: 0,
        stop: None,
        trouble: None,
    }
}

fn rates(by_mpi: f64) -> Vec<CaseFound> {
    let paths = [
        (MessagePath::GpuAware, by_mpi),
        (MessagePath::ToHost, 55.0),
        (MessagePath::ToDevice, 54.0),
        (MessagePath::Peer, 390.0),
    ];
    paths.map(|(path, gbs)| case(path, gbs)).to_vec()
}

fn counted(nvlink: f64, pcie: f64, idle: f64) -> CountedBytes {
    let of = |share: f64| [(share * 1e9) as u64; 2];
    let bytes = |nvlink, pcie| GpuLinkBytes { nvlink: Some(of(nvlink)), pcie: Some(of(pcie)) };
    let at_rest = bytes(idle, idle);
    let both = bytes(nvlink, pcie);
    CountedBytes { bytes: 1_000_000_000, source: both, destination: both, idle: [at_rest, at_rest] }
}

fn all_work() -> Vec<(DeviceOperation, AttemptOutcome)> {
    DeviceOperation::ALL.map(|operation| (operation, AttemptOutcome::Works)).to_vec()
}

#[test]
fn what_send_does_not_take_is_not_aware_however_it_fails() {
    let ways = [
        AttemptOutcome::Crash("SIGSEGV".to_owned()),
        AttemptOutcome::Hang(20),
        AttemptOutcome::Garbage(WrongBytes::Zeros),
        AttemptOutcome::Error("MPI_Send failed: errno 14".to_owned()),
    ];
    for way in ways {
        let mut found = pair(&[(DeviceOperation::Send, way.clone())]);
        found.cases = rates(390.0);
        let verdict = verdict(&found);
        assert_eq!(
            (verdict.awareness, verdict.transport),
            (Awareness::NotAware, Transport::Unknown),
            "{way:?}"
        );
    }
}

#[test]
fn two_witnesses_that_agree_say_which_way_it_goes() {
    for (gbs, counters, way) in [
        (386.0, counted(1.0, 0.0, 0.0), Transport::Direct),
        (40.0, counted(0.0, 1.09, 0.0), Transport::Staged),
    ] {
        let mut found = pair(&all_work());
        found.cases = rates(gbs);
        found.counted = Some(counters);
        let verdict = verdict(&found);
        assert_eq!((verdict.awareness, verdict.transport), (Awareness::Aware, way));
        assert_eq!(
            verdict.witnesses.iter().map(|w| w.name).collect::<Vec<_>>(),
            [EvidenceKind::Operations, EvidenceKind::Rate, EvidenceKind::Counters]
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
    found.cases = vec![
        case(MessagePath::GpuAware, 50.0),
        case(MessagePath::ToHost, 55.0),
        case(MessagePath::ToDevice, 54.0),
    ];
    found.cases.push(case(MessagePath::Peer, 50.0));
    let verdict = verdict(&found);
    assert_eq!(verdict.transport, Transport::Unknown);
    assert_eq!(verdict.witnesses.last().map(|witness| witness.says), Some(EvidenceFinding::DoesNotDecide));
}

/// The way that these rates alone say.
fn by_rates(rates: [(MessagePath, f64); 4]) -> Transport {
    let mut found = pair(&all_work());
    found.cases = rates.map(|(path, gbs)| case(path, gbs)).to_vec();
    for by_mpi in found.cases.iter_mut().filter(|found| found.case.path == MessagePath::GpuAware) {
        by_mpi.case.pattern = MessagePattern::OneWay;
    }
    verdict(&found).transport
}

#[test]
fn the_slower_of_the_two_copies_is_what_staging_can_reach_and_a_little_more_is_no_proof() {
    let with = |by_mpi, to_host, to_device| {
        by_rates([
            (MessagePath::GpuAware, by_mpi),
            (MessagePath::ToHost, to_host),
            (MessagePath::ToDevice, to_device),
            (MessagePath::Peer, 390.0),
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
    assert!(verdict(&found).witnesses.iter().all(|witness| witness.name != EvidenceKind::Rate));
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
    outcomes[7].1 = AttemptOutcome::NotTried;
    assert_eq!(verdict(&pair(&outcomes)).awareness, Awareness::Unknown);
    outcomes.push((outcomes[7].0, AttemptOutcome::Hang(30)));
    let said = verdict(&pair(&outcomes));
    assert_eq!((said.failing, said.not_tried), (vec![DeviceOperation::Allreduce], vec![]));
}

#[test]
fn what_works_in_part_names_what_fails_and_what_was_not_tried() {
    let mut outcomes = all_work();
    outcomes[6].1 = AttemptOutcome::Crash("SIGSEGV".to_owned());
    outcomes[7].1 = AttemptOutcome::NotTried;
    let verdict = verdict(&pair(&outcomes));
    assert_eq!(verdict.awareness, Awareness::HalfAware);
    assert_eq!(
        (verdict.failing, verdict.not_tried),
        (vec![DeviceOperation::Alltoall], vec![DeviceOperation::Allreduce])
    );
}

#[test]
fn one_path_is_faster_from_the_size_on_from_which_it_stays_so() {
    let at = |path, bytes: usize, ns: f64| {
        let case = MessageCase { path, pattern: MessagePattern::PingPong, bytes };
        let block_ns = (0..10).map(|at| ns * (1.0 + f64::from(at) * 1e-4)).collect();
        CaseFound {
            case,
            block_ns,
            gpu_bytes_per_s: Vec::new(),
            rounds: 1,
            verified_bytes: 0,
            stop: None,
            trouble: None,
        }
    };
    let times =
        [(8, 20.0, 15.0), (64, 20.0, 30.0), (512, 40.0, 35.0), (4096, 50.0, 90.0), (65536, 60.0, 400.0)];
    let mut cases = Vec::new();
    for (bytes, direct, staged) in times {
        cases.extend([at(MessagePath::GpuAware, bytes, direct), at(MessagePath::Staged, bytes, staged)]);
    }
    let turn = |slower_up_to, faster_from| Crossover { slower_up_to, faster_from };
    assert_eq!(crossover(&cases, MessagePath::GpuAware, MessagePath::Staged), turn(Some(512), Some(4096)));
    assert_eq!(crossover(&cases, MessagePath::Staged, MessagePath::GpuAware), turn(Some(65536), None));
    // Two that cannot be told apart: neither is faster.
    cases = vec![at(MessagePath::GpuAware, 8, 20.0), at(MessagePath::Staged, 8, 20.005)];
    assert_eq!(crossover(&cases, MessagePath::GpuAware, MessagePath::Staged), turn(None, None));
}

#[test]
fn a_ping_pong_may_be_faster_than_the_slower_way_through_host_memory_and_still_be_staged() {
    let mut found = pair(&all_work());
    // The way back has faster links: 54 GB/s one way and 200 the other are 85 in the mean.
    found.cases = rates(85.0);
    assert_eq!(verdict(&found).transport, Transport::Unknown);
    for case in found.cases.iter_mut().filter(|found| found.case.path == MessagePath::GpuAware) {
        case.case.pattern = MessagePattern::OneWay;
    }
    assert_eq!(verdict(&found).transport, Transport::Direct, "one way it is too fast for that");
}
