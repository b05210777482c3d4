//! What follows from records that are planted word by word, and from planted rates.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use analysis::answer_status::{self, AnswerStatus};
use analysis::incomplete::Incomplete;
use report::case::Order;
use report::document::{PlatformKind, Tool};
use report::settings::CopyEngine;
use report::witness::{Distance, NodeBytes, WitnessBuffer, WitnessDirection, WitnessMemory};
use report::{Document, SavedDocument, WitnessDocument};
use stats::IdSet;

use crate::buffers::{NearNodes, buffers};
use crate::document::{RunFacts, document};
use crate::gain::{MatrixRate, MatrixRates, gain};
use crate::layout::{MAGIC, VERSION, WORDS, context, direction, entry, head, memory};
use crate::record::{ProcessRecord, Records};

const GPU: &str = "0000:05:00.0";

/// Address, end, direction, memory, copies, bytes, and the bytes looked at by node.
type Planted<'p> = (u64, u64, u64, u64, u64, u64, &'p [(usize, u64)]);

/// A record with these entries.
fn record(entries: &[Planted<'_>]) -> Option<ProcessRecord> {
    let mut words = vec![0_u64; WORDS];
    let mut set = |at: usize, value: u64| words[at] = value;
    set(head::MAGIC, MAGIC);
    set(head::VERSION, VERSION);
    set(head::PID, 7);
    set(head::ENDED, 1);
    for (at, bytes) in GPU.to_ascii_uppercase().as_bytes().chunks(8).enumerate() {
        let mut word = [0_u8; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        set(context::AT + at, u64::from_ne_bytes(word));
    }
    set(context::AT + context::PLATFORM, context::HIP);
    for (number, (address, end, direction, memory, copies, bytes, nodes)) in entries.iter().enumerate() {
        let at = entry::AT + number * entry::WORDS;
        set(at + entry::STATE, 2);
        set(at + entry::ADDRESS, *address);
        set(at + entry::END, *end);
        set(at + entry::KEY, (direction << 8) | memory);
        set(at + entry::COPIES, *copies);
        set(at + entry::BYTES, *bytes);
        nodes.iter().for_each(|(node, bytes)| set(at + entry::NODES + node, *bytes));
    }
    ProcessRecord::from_words(words)
}

fn near(nodes: &[u32]) -> Vec<NearNodes> {
    let nodes: IdSet = nodes.iter().copied().collect();
    vec![NearNodes { gpu: GPU.to_owned(), index: 0, nodes, reason: "a test".to_owned() }]
}

fn seen(records: Vec<ProcessRecord>, near: &[NearNodes]) -> WitnessDocument {
    of_records(&Records { processes: records, loaded: 1, ..Records::default() }, near)
}

fn of_records(records: &Records, near: &[NearNodes]) -> WitnessDocument {
    document(about(), records, near, None)
}

fn about() -> RunFacts {
    RunFacts {
        tool: Tool { name: "numabench".to_owned(), version: "0".to_owned(), git: None },
        argv: Vec::new(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        elapsed: Duration::from_secs(1),
        host: None,
        rank: None,
        program: vec!["app".to_owned(), "a b".to_owned()],
        status: ExitStatus::from_raw(0),
    }
}

#[test]
fn a_process_that_copied_and_was_not_counted_is_said_first_whatever_others_did() {
    let one = record(&[(0x1000, 0x2000, 1, memory::PINNED, 1, 4096, &[(0, 4096)])]);
    for processes in [Vec::new(), one.into_iter().collect()] {
        let records = Records { processes, loaded: 2, passive: vec![(7, 28)], ..Records::default() };
        let found = of_records(&records, &near(&[0]));
        assert!(found.verdict[0].starts_with("PARTIAL: 1 process copied and nothing was counted"));
        assert_eq!(found.not_counted, 1);
        assert!(found.verdict.iter().all(|said| !said.starts_with("The program made no copy")));
    }
}

#[test]
fn processes_that_outlived_the_program_make_its_count_a_partial_one_wherever_it_is_read() {
    let records = Records { loaded: 2, still_running: [7, 8].into(), ..Records::default() };
    let found = of_records(&records, &near(&[0]));
    assert!(found.verdict[0].starts_with("PARTIAL: 2 processes still ran"), "{:?}", found.verdict);
    assert_eq!(found.still_running, Some(vec![7, 8]));
    let said = Incomplete::of_witness(&found).map(|incomplete| incomplete.to_string()).unwrap_or_default();
    assert!(said.contains("2 processes still ran when the program had ended"), "{said}");
    assert_eq!(answer_status::of_witness(&found), AnswerStatus::Finding);
}

#[test]
fn addresses_next_to_each_other_are_one_buffer_and_its_bytes_follow_the_pages_that_were_looked_at() {
    let h2d = (direction::TO_DEVICE, memory::PAGEABLE);
    let record = record(&[
        (0x1000, 0x2000, h2d.0, h2d.1, 10, 40_960, &[(0, 4096)]),
        (0x2000, 0x3000, h2d.0, h2d.1, 10, 40_960, &[(0, 1024), (1, 3072)]),
        (0x9000, 0xa000, h2d.0, h2d.1, 1, 4096, &[]),
        (0x1000, 0x2000, direction::TO_HOST, h2d.1, 1, 4096, &[(1, 4096)]),
    ]);
    let found = seen(record.into_iter().collect(), &near(&[0]));
    let shown: Vec<_> = found.buffers.iter().map(|of| (of.bytes, of.far_bytes, of.distance)).collect();
    let far = Distance::Far;
    assert_eq!(shown, [(81_920, 30_720, Distance::Mixed), (4096, 4096, far), (4096, 0, Distance::Unknown)]);
    let total = found.total;
    assert_eq!(total.near_bytes + total.far_bytes + total.unknown_bytes, total.bytes);
    assert_eq!((total.far_bytes, total.unknown_bytes), (34_816, 4096));
    assert!(found.buffers.iter().all(|of| of.platform == Some(PlatformKind::Hip)));
    assert_eq!(found.remedy.as_deref(), Some("numabench exec --gpus 0 -- app 'a b'"));
}

/// The remedy of a program with a far buffer of GPU 0 and a near one of GPU 1, which is near to these nodes.
fn remedy_beside(nodes: &[u32]) -> Option<String> {
    let far = record(&[(0x1000, 0x2000, 1, memory::PINNED, 1, 4096, &[(1, 4096)])]);
    let first = seen(far.into_iter().collect(), &near(&[0])).buffers.remove(0);
    let second = WitnessBuffer { gpu: "0000:09:00.0".to_owned(), far_bytes: 0, ..first.clone() };
    let other = NearNodes { gpu: second.gpu.clone(), index: 1, ..near(nodes).remove(0) };
    super::document::remedy(&[first, second], &about(), &[near(&[0]).remove(0), other])
}

#[test]
fn the_remedy_of_a_program_with_two_gpus_is_near_to_both_and_hides_none() {
    let both = "numabench exec --gpus 0 --gpu near -- app 'a b'";
    assert_eq!(remedy_beside(&[0]).as_deref(), Some(both));
    assert_eq!(remedy_beside(&[1]), None, "what is near to one would be far from the other");
}

#[test]
fn without_locality_nothing_is_near_or_far_and_the_reason_is_said() {
    let one = record(&[(0x1000, 0x2000, 1, memory::PINNED, 1, 4096, &[(0, 4096)])]);
    let found = seen(one.into_iter().collect(), &near(&[]));
    assert_eq!((found.total.unknown_bytes, found.remedy.as_deref()), (4096, None));
    assert!(found.verdict[0].contains("GPU 0: locality unknown (a test)"), "{:?}", found.verdict);
    let none = seen(Vec::new(), &near(&[0]));
    let said = "No copy between host memory and a GPU was seen, in 1 process; ";
    assert!(none.verdict[0].starts_with(said), "{:?}", none.verdict);
}

#[test]
fn what_is_no_record_of_this_version_is_none() {
    assert_eq!(ProcessRecord::from_bytes(b"short"), None);
    assert_eq!(ProcessRecord::from_words(vec![0; WORDS]), None);
}

fn buffer(far: u64, blocking: u64) -> WitnessBuffer {
    WitnessBuffer {
        pid: 1,
        address: None,
        extent_bytes: far,
        memory: WitnessMemory::Pinned,
        direction: WitnessDirection::ToDevice,
        gpu: GPU.to_owned(),
        platform: Some(PlatformKind::Cuda),
        gpu_index: Some(0),
        copies: 10,
        bytes: far,
        nodes: vec![NodeBytes { node: 1, bytes: far, distance: Some(Distance::Far) }],
        looked_at_bytes: far,
        nowhere_bytes: 0,
        distance: Distance::Far,
        far_bytes: far,
        blocking_bytes: blocking,
        waited_s: None,
        timed: 0,
        timed_bytes: 0,
        timed_s: 0.0,
    }
}

fn measured(node: u32, middle: f64, half: f64) -> MatrixRate {
    MatrixRate {
        node,
        gpu: GPU.to_owned(),
        direction: WitnessDirection::ToDevice,
        memory: WitnessMemory::Pinned,
        bytes: 1 << 27,
        middle,
        low: middle - half,
        high: middle + half,
    }
}

#[test]
fn the_gain_of_planted_rates_is_their_difference_and_of_copies_that_block_it_is_certain() {
    let rates = [measured(0, 20e9, 0.0), measured(1, 10e9, 0.0)];
    let mut as_measured = buffer(80 << 27, 20 << 27);
    as_measured.copies = 80;
    let found = gain("m", &rates, &[as_measured], &near(&[0]));
    let ends = found.map(|gain| {
        [gain.copies_low_s, gain.copies_high_s, gain.program_low_s, gain.program_high_s]
            .map(|s| (s * 1e6).round())
    });
    assert_eq!(ends, Some([536_871.0, 536_871.0, 134_218.0, 536_871.0]));
    // No rate of this kind, and nothing that is far.
    let mut pageable = buffer(1000, 0);
    pageable.memory = WitnessMemory::Pageable;
    let without =
        gain("m", &rates, &[pageable], &near(&[0])).map(|gain| (gain.far_bytes, gain.without_rates_bytes));
    assert_eq!(without, Some((0, 1000)));
    assert_eq!(gain("m", &rates, &[buffer(0, 0)], &near(&[0])), None);
}

/// A number in 0..1, of a generator with this state (Knuth's MMIX).
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// A normal deviate: twelve uniform ones.
fn normal(state: &mut u64) -> f64 {
    (0..12).map(|_| uniform(state)).sum::<f64>() - 6.0
}

#[test]
fn the_interval_holds_the_planted_loss_of_copies_that_block_and_of_copies_that_are_hidden_in_part() {
    let (mut state, trials) = (1_u64, 2000);
    let (mut of_copies, mut of_program) = (0, 0);
    for _ in 0..trials {
        let (true_near, true_far) = (20e9 + 20e9 * uniform(&mut state), 5e9 + 14e9 * uniform(&mut state));
        let (latency, far_latency) = (1e-6 + 1e-5 * uniform(&mut state), 2e-6 * uniform(&mut state));
        let time = |node: u32, bytes: f64| match node {
            0 => latency + bytes / true_near,
            _ => latency + far_latency + bytes / true_far,
        };
        let noise = 0.002 + 0.02 * uniform(&mut state);
        // 4 KiB to 128 MiB; one size or two are measured, and another one is copied.
        let size = |state: &mut u64| (4096.0 * (15.0 * uniform(state)).exp2()).round();
        let mut rates = Vec::new();
        for _ in 0..1 + u32::from(uniform(&mut state) < 0.5) {
            let bytes = size(&mut state);
            for node in [0, 1] {
                let rate = bytes / time(node, bytes);
                let seen = measured(node, rate * (1.0 + noise * normal(&mut state)), 1.96 * noise * rate);
                rates.push(MatrixRate { bytes: bytes as u64, ..seen });
            }
        }
        let (bytes, copies) = (size(&mut state), 1.0 + (1e4 * uniform(&mut state)).round());
        let (blocking, hidden) = (uniform(&mut state), uniform(&mut state));
        let loss = copies * (time(1, bytes) - time(0, bytes));
        let of_run = loss * (blocking + (1.0 - blocking) * (1.0 - hidden));

        let mut far = buffer((bytes * copies) as u64, (bytes * copies * blocking) as u64);
        far.copies = copies as u64;
        let Some(found) = gain("m", &rates, &[far], &near(&[0])) else { continue };
        of_copies += u32::from((found.copies_low_s..=found.copies_high_s).contains(&loss));
        of_program += u32::from((found.program_low_s..=found.program_high_s).contains(&of_run));
    }
    let least = trials * 93 / 100;
    assert!(of_copies >= least && of_program >= least, "{of_copies} and {of_program} of {trials}");
}

#[test]
fn small_copies_may_lose_a_latency_that_was_not_measured_and_a_second_size_narrows_it() {
    let mut small = buffer(4096 * 1000, 4096 * 1000);
    small.copies = 1000;
    let large = [measured(0, 20e9, 0.0), measured(1, 10e9, 0.0)];
    // 4 KiB take 5.0 us near and 5.5 us far.
    let [near_rate, far_rate] = [(0, 4096.0 / 5e-6), (1, 4096.0 / 5.5e-6)]
        .map(|(node, rate)| MatrixRate { bytes: 4096, ..measured(node, rate, 0.0) });
    let ends = |rates: &[MatrixRate]| {
        let gain = gain("m", rates, std::slice::from_ref(&small), &near(&[0]));
        gain.map(|gain| [gain.copies_low_s, gain.copies_high_s].map(|s| (s * 1e6).round()))
    };
    assert_eq!(ends(&large), Some([205.0, 2205.0]));
    let [a, b] = large;
    assert_eq!(ends(&[a, b, near_rate, far_rate]), Some([500.0, 500.0]));
}

#[test]
fn large_copies_that_share_a_link_may_save_all_their_time_beyond_near_copies() {
    let rates = [measured(0, 20e9, 0.0), measured(1, 10e9, 0.0)];
    let mut shared = buffer(10 << 27, 0);
    (shared.timed, shared.timed_bytes, shared.timed_s) = (1, 1 << 27, f64::from(1 << 27) / 5e9);
    let high = |buffer: &WitnessBuffer| {
        let gain = gain("m", &rates, std::slice::from_ref(buffer), &near(&[0]));
        gain.map(|gain| (gain.copies_high_s * 1e3).round())
    };
    assert_eq!(high(&shared), Some(201.0));
    shared.timed_s /= 4.0;
    assert_eq!(high(&shared), Some(67.0), "faster than the matrix");
}

#[test]
fn of_processes_and_gpus_that_wait_at_the_same_time_the_one_that_loses_most_is_certain() {
    let rates = [measured(0, 20e9, 0.0), measured(1, 10e9, 0.0)];
    let one = buffer(10 << 27, 10 << 27);
    let mut other = buffer(20 << 27, 20 << 27);
    (other.pid, other.copies) = (2, 20);
    let found = gain("m", &rates, &[one, other], &near(&[0]));
    let ends = found.map(|gain| [gain.program_low_s, gain.program_high_s].map(|s| (s * 1e3).round()));
    assert_eq!(ends, Some([134.0, 201.0]));
}

#[test]
fn buffers_of_one_allocation_are_one_though_they_do_not_touch() {
    let mut words = vec![
        (0x1000, 0x1100, 1, memory::PINNED, 1, 256, &[][..]),
        (0x5000, 0x5100, 1, memory::PINNED, 1, 256, &[]),
    ];
    assert_eq!(record(&words).map(|record| buffers(&[record], &near(&[0])).len()), Some(2));
    words[1].0 = 0x1100;
    assert_eq!(record(&words).map(|record| buffers(&[record], &near(&[0])).len()), Some(1));
}

#[test]
fn rates_are_those_of_copies_alone_by_copy_engines() -> Result<(), Box<dyn std::error::Error>> {
    let kept = include_bytes!("../../../docs/gallery/eight-gpus.json");
    let mut contend = Document::from_json(kept)?;
    let alone = contend.rows.iter().filter(|row| row.order == Order::Alone).count();
    let mut rates = MatrixRates::default();
    assert!(rates.add("alone.json", &contend));
    assert_eq!(rates.rates.len(), alone);
    assert!(alone < contend.rows.len(), "the others are of copies at once");

    contend.settings.engine = CopyEngine::Sm;
    assert!(!rates.add("kernels.json", &contend));
    Ok(())
}

#[test]
fn rates_of_simulated_gpus_predict_nothing_of_real_ones_and_another_host_is_named() {
    let rates = MatrixRates {
        files: "m.json".to_owned(),
        rates: vec![measured(0, 20e9, 0.0), measured(1, 10e9, 0.0)],
        simulated: vec![true],
        hosts: vec!["n1".to_owned()],
    };
    let mut about = about();
    about.host = Some("n0".to_owned());
    let records = Records { loaded: 1, ..Records::default() };
    let said = document(about, &records, &near(&[0]), Some(&rates)).not_seen;
    assert!(said.contains(&"The rates of m.json were measured on n1.".to_owned()), "{said:?}");
    assert!(rates.are_as_real_as(true) && !rates.are_as_real_as(false));
}
