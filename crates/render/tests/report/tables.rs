//! What a terminal shows. Some 420 lines because each table has its test.

use render::terminal::{Style, table};
use report::Document;
use report::case::{CaseStatus, Order};
use report::contention::Aggregate;
use report::device::ReadWhen;
use report::document::{Level, Message, Status};
use report::rank::Locality;
use report::result::{Mismatch, NodePages, Outcome, RankResult, Verification};
use report::settings::{Direction, MemoryKind};
use report::{Known, json};
use stats::IdSet;
use stats::flag::Flag;
use stats::stage::Stage;

use crate::{golden, samples};

fn style(width: usize) -> Style {
    Style { width, color: false, quiet: false, saved_to: Some("result-4711.json".into()), screen: None }
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Rank 0's outcome in the case with this index.
fn set(document: &mut Document, case: usize, outcome: Outcome) -> &mut RankResult {
    let case = &mut document.cases[case];
    case.ranks[0].outcome = outcome;
    case.status = CaseStatus::of_ranks(&case.ranks);
    &mut case.ranks[0]
}

/// Everything that can go wrong, in one run of four ranks, at once.
pub fn troubled() -> Document {
    let mut document = samples::eight_ranks();
    document.penalties.clear();
    document.devices.truncate(4);
    document.ranks.truncate(4);
    document.cases.retain(|case| case.order == Order::Simultaneous);
    for case in &mut document.cases {
        case.ranks.truncate(4);
    }
    let extra = [Direction::RoundTrip, Direction::Bidirectional];
    for direction in extra {
        let case = samples::case(
            &document,
            direction,
            256 * samples::MIB,
            MemoryKind::Pinned,
            Order::Simultaneous,
            &[26e6, 26e6, 26e6, 26e6],
        );
        document.cases.push(case);
    }
    if let Outcome::Measured { flags, .. } = &mut document.cases[1].ranks[1].outcome {
        *flags = vec![Flag::SlowFirstBlock, Flag::Drift];
    }
    let failed = Outcome::Failed {
        stage: Stage::Measure,
        call: Some("cuMemcpyHtoD_v2".into()),
        code: Some(719),
        message: "cuMemcpyHtoD_v2 failed with code 719 (CUDA_ERROR_LAUNCH_FAILED): unspecified launch \
            failure; later cases on this GPU will fail too"
            .into(),
    };
    set(&mut document, 0, failed);
    set(&mut document, 1, Outcome::Skipped { reason: "the device failed in an earlier case".into() });
    let result = set(
        &mut document,
        2,
        Outcome::Invalid { reason: "asked PU 49, ran on PU 1 after the last block".into() },
    );
    if let Some(seen) = &mut result.seen_after {
        seen.pu = Known::value(1, "getcpu");
        seen.affinity = Known::value((0..64).collect::<IdSet>(), "sched_getaffinity");
        seen.host_pages = Known::value(
            vec![NodePages { node: 0, pages: 120 }, NodePages { node: 3, pages: 130_952 }],
            "move_pages",
        );
    }
    let result = set(
        &mut document,
        3,
        Outcome::Corrupt { reason: "the bytes that came back are not those sent".into() },
    );
    result.verification.mismatch = Some(Mismatch { block: 3, offset_bytes: 4096, expected: 0x1f, got: 0xdc });
    document.cases[3].status = CaseStatus::Invalid;
    document.cases[3].reason =
        Some("the ranks overlapped for 81.0 % of the case only, 95 % is needed".into());
    for result in &mut document.cases[1].ranks[2..3] {
        result.verification = Verification {
            checked: false,
            reason: Some("--no-verify".into()),
            blocks_checked: 0,
            bytes_checked: 0,
            mismatch: None,
        };
        if let Some(seen) = &mut result.seen_after {
            seen.host_pages = Known::unknown("move_pages", "the kernel answered EPERM");
        }
    }
    document.cases[2].ranks.pop();
    document.cases[2].reason = Some("SIGTERM came before rank 3 was done".into());
    for case in &mut document.cases {
        let rates = case.ranks.iter().filter_map(|result| Some((result.rank, result.summary()?.bytes_per_s)));
        case.aggregate = Aggregate::of_rates(&rates.collect::<Vec<_>>());
    }
    document.ranks[1].locality = Locality::Remote;
    document.ranks[1].locality_reason = "PU 57 is on package 0, the device on package 1".into();
    document.ranks[2].locality = Locality::Unknown;
    document.ranks[2].locality_reason =
        "numa_node of the device says -1 and hwloc attaches it to the machine".into();
    document.ranks[3].notes = vec!["shares its PCIe switch with rank 2".into()];
    document.devices[2].numa_node =
        Known::unknown("/sys/bus/pci/devices/0000:c9:00.0/numa_node", "it says -1");
    document.devices[3].numa_node =
        Known::unknown("/sys/bus/pci/devices/0000:c9:00.0/numa_node", "it says -1");
    document.devices[1].link = Known::unknown("sysfs", "this virtual machine does not show the link");
    document.devices[1].bound_bytes_per_s = Known::unknown("sysfs", "the link is unknown");
    if let Some(link) = &mut document.devices[3].link.value {
        (link.generation, link.width, link.read_when) = (Some(1), Some(8), ReadWhen::Idle);
    }
    document.devices[0].latch = Known::unknown("CUDA driver", "this driver has no stream-memory wait");
    document.platform.simulated = Some("a stand-in driver that copies with memcpy".into());
    document.status = Status::DataCorrupt;
    document.status_reason = Some("rank 0 received bytes that were not sent".into());
    document.exit_code = Some(4);
    document.messages = vec![
        Message {
            level: Level::Warning,
            text: "kernel.numa_balancing is on: pages may move while they are measured; switch it off, or \
                trust only placements proven after"
                .into(),
        },
        Message { level: Level::Info, text: "the run was made under Slurm job 4711".into() },
    ];
    document
}

#[test]
fn one_rank_shows_what_the_case_study_prints() {
    let text = table(&samples::one_rank(), &style(100));
    assert!(widest(&text) <= 100, "{text}");
    insta::assert_snapshot!("one_rank", text);
}

#[test]
fn eight_ranks_fit_in_100_columns() {
    let text = table(&samples::eight_ranks(), &style(100));
    assert!(widest(&text) <= 100, "{text}");
    insta::assert_snapshot!("eight_ranks", text);
}

#[test]
fn what_several_ranks_have_in_common_is_said_once_with_their_numbers() {
    let mut document = samples::eight_ranks();
    let reason = "a virtual machine that shows one NUMA node";
    for rank in &mut document.ranks[1..] {
        rank.locality = Locality::Unknown;
        rank.locality_reason = reason.into();
        rank.notes = vec!["2 ranks share this device".into()];
    }
    document.ranks[4].locality = Locality::Remote;
    document.ranks[4].locality_reason = "the PU is on package 1, the device on package 0".into();
    let text = table(&document, &style(120));
    let lines = |part: &str| text.lines().filter(|line| line.contains(part)).collect::<Vec<_>>();
    assert_eq!(lines(reason), [format!("  locality    ranks 1-3,5-7: unknown: {reason}")]);
    assert_eq!(
        lines("on package 1"),
        ["  locality    rank 4: the PU is on package 1, the device on package 0"]
    );
    assert_eq!(lines("share this device"), ["  note        ranks 1-7: 2 ranks share this device"]);
    assert_eq!(lines("PU chosen").len(), 1);
    // A rank's own row has the word.
    assert!(lines("0000:d1:00.0  REMOTE").len() == 1 && lines(":00.0  unknown").len() == 6, "{text}");
}

#[test]
fn data_of_a_rank_that_differed_is_not_among_what_was_verified() {
    let mut document = samples::eight_ranks();
    let mismatch = Mismatch { block: 3, offset_bytes: 4096, expected: 0x1f, got: 0xdc };
    document.cases[1].ranks[5].verification.mismatch = Some(mismatch);
    let text = table(&document, &style(120));
    let data: Vec<&str> = text.lines().filter(|line| line.starts_with("  data")).collect();
    let want = [
        "  data        rank 5: DATA DIFFERED in 1 of 4 results",
        "  data        ranks 0-4,6-7: verified after 280 blocks, 70 GiB compared, no byte differed",
    ];
    assert_eq!(data, want);
}

#[test]
fn a_run_without_a_gpu_says_so_first() {
    let text = table(&samples::host(), &style(100));
    assert!(text.lines().take(7).any(|line| line.contains("GPU:")), "{text}");
    insta::assert_snapshot!("host", text);
}

#[test]
fn a_node_that_stands_in_for_a_device_must_hold_the_devices_pages() {
    let mut document = samples::host();
    let device_pages = |document: &Document| {
        let text = table(document, &style(200));
        text.lines()
            .filter(|line| line.contains("device pages"))
            .map(str::trim)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let as_asked = device_pages(&document);
    let on = |nodes: [(u32, u64); 2]| {
        Known::value(nodes.map(|(node, pages)| NodePages { node, pages }).to_vec(), "move_pages")
    };
    if let Some(seen) = &mut document.cases[1].ranks[0].seen_after {
        seen.device_pages = on([(0, 65_500), (1, 36)]);
    }
    let elsewhere = device_pages(&document);
    // Not seen is said of a node, and not of a GPU, whose memory is on no node of the host.
    if let Some(seen) = &mut document.cases[1].ranks[0].seen_after {
        seen.device_pages = Known::unknown("move_pages", "the kernel answered EPERM");
    }
    let unseen = device_pages(&document);
    assert_eq!(device_pages(&samples::one_rank()), "");
    let proof = analysis::answer::answer(&document).pop().unwrap_or_default();
    insta::assert_snapshot!(
        "device_pages",
        golden::cases(&[
            ("as asked", as_asked),
            ("36 of them on another node", elsewhere),
            ("not to be seen", unseen),
            ("the answer says no more than what was seen", proof),
        ])
    );
}

#[test]
fn a_sweep_has_a_line_a_size() {
    let text = table(&samples::sweep(), &style(120));
    assert!(widest(&text) <= 120, "{text}");
    insta::assert_snapshot!("sweep", text);
}

/// A sweep over six sizes on a machine with neighbours, where the largest did not fit.
fn noisy_sweep() -> Document {
    let mut document = samples::sweep();
    document.settings.memory.truncate(1);
    document.settings.sizes_bytes = (20..=25).map(|power| 1 << power).collect();
    let sizes = document.settings.sizes_bytes.clone();
    document.cases.retain(|case| case.memory == MemoryKind::Pinned && sizes.contains(&case.bytes));
    for case in &mut document.cases {
        if let Outcome::Measured { flags, .. } = &mut case.ranks[0].outcome {
            match case.direction {
                Direction::H2d => flags.push(Flag::Noisy),
                Direction::D2h if case.bytes == sizes[1] => flags.extend([Flag::Drift, Flag::Noisy]),
                _ => {}
            }
        }
    }
    let no_room = || Outcome::Failed {
        stage: Stage::Allocate,
        call: Some("cuMemAlloc_v2".into()),
        code: Some(2),
        message: "there is no room for 32 MiB on the device".into(),
    };
    set(
        &mut document,
        12,
        Outcome::Invalid { reason: "asked PU 49, ran on PU 1 after the last block".into() },
    );
    set(&mut document, 13, Outcome::Skipped { reason: "the time was up".into() });
    set(&mut document, 14, Outcome::Skipped { reason: "the time was up".into() });
    for case in 15..18 {
        set(&mut document, case, no_room());
    }
    document
}

#[test]
fn a_noisy_sweep_is_still_a_line_a_size() {
    let text = table(&noisy_sweep(), &style(120));
    assert!(widest(&text) <= 120, "{text}");
    insta::assert_snapshot!("noisy_sweep", text);
    // Each table names the letters it has, no others.
    let narrow = table(&noisy_sweep(), &style(80));
    let legends: Vec<&str> = narrow.lines().filter(|line| line.starts_with("    flags: ")).collect();
    assert_eq!(legends, ["    flags: d drift, n noisy"], "the table of roundtrip has no flags:\n{narrow}");
}

#[test]
fn copies_timed_several_at_a_time_are_said_to_be_under_their_table() {
    let mut document = samples::one_rank();
    let note = |document: &Document| {
        let text = table(document, &style(100));
        text.lines().map(str::trim).find(|line| line.starts_with("small")).map(str::to_owned)
    };
    assert_eq!(note(&document), None);
    let timed = |document: &mut Document, case: usize, copies: u32| {
        document.cases[case].ranks[0].blocks.iter_mut().for_each(|block| block.copies_per_round = copies);
    };
    (0..3).for_each(|case| timed(&mut document, case, 8));
    assert_eq!(note(&document).as_deref(), Some("small copies are timed 8 at a time; figures are per copy"));
    timed(&mut document, 1, 1);
    assert_eq!(
        note(&document).as_deref(),
        Some("small copies are timed up to 8 at a time; figures are per copy")
    );
    // What shows no figures says nothing of them.
    for case in [0, 2] {
        set(&mut document, case, Outcome::Invalid { reason: "ran on PU 1".into() });
    }
    assert_eq!(note(&document), None);

    let mut sweep = noisy_sweep();
    timed(&mut sweep, 0, 4);
    assert_eq!(
        note(&sweep).as_deref(),
        Some("small copies are timed up to 4 at a time; figures are per copy")
    );
}

#[test]
fn what_went_wrong_stands_where_its_numbers_would() {
    let text = table(&troubled(), &style(120));
    assert!(widest(&text) <= 120, "{text}");
    insta::assert_snapshot!("troubled", text);
}

#[test]
fn narrow_terminals_lose_nothing() {
    let narrow = |document: &Document| table(document, &style(80));
    let sweep = narrow(&samples::sweep());
    assert!(widest(&sweep) <= 80, "{sweep}");
    assert!(sweep.contains("roundtrip µs") && sweep.contains("H2D µs"), "{sweep}");
    assert!(narrow(&samples::one_rank()).contains("GPU-1f0c3a7e-52d1-9c43-8be0-64a1f2c0d5c1"));
}

#[test]
fn nothing_is_coloured_unless_asked_and_colour_changes_no_word() {
    for document in [samples::one_rank(), samples::sweep(), troubled()] {
        let plain = table(&document, &style(100));
        assert!(!plain.contains('\x1b'));
        let coloured = table(&document, &Style { color: true, ..style(100) });
        assert!(coloured.contains("\x1b[1m"));
        let mut stripped = coloured;
        for code in ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[1;31m"] {
            stripped = stripped.replace(code, "");
        }
        assert_eq!(stripped, plain);
    }
}

#[test]
fn quiet_keeps_the_numbers_and_everything_that_is_wrong() {
    let quiet = |document: &Document| table(document, &Style { quiet: true, ..style(100) });
    insta::assert_snapshot!("one_rank_quiet", quiet(&samples::one_rank()));
    let troubled = quiet(&troubled());
    for loud in [
        "SIMULATED",
        "FAILED at measuring",
        "skipped:",
        "INVALID",
        "NOT AS ASKED",
        "NOT VERIFIED",
        "NOT SEEN",
        "REMOTE",
        "DATA DIFFERED",
        "DATA CORRUPT",
        "numa_balancing is on",
        "(exit code 4)",
        "slow-first-block",
    ] {
        assert!(troubled.contains(loud), "{loud} is missing from\n{troubled}");
    }
    assert!(quiet(&samples::host()).contains("NO GPU: "));
}

#[test]
fn an_invalid_result_never_shows_a_number() {
    let text = table(&troubled(), &style(120));
    // Case 3 is invalid as a whole: ranks that were measured show its reason, not a rate.
    let of_case = text.lines().skip_while(|line| !line.starts_with("  bidir, 256 MiB"));
    let rows: Vec<&str> = of_case.skip(1).take_while(|line| line.starts_with("    ")).collect();
    assert!(rows.iter().any(|line| line.contains("1-3   INVALID: the ranks overlapped")), "{text}");
    assert!(rows.iter().all(|line| !line.contains(" %  ") && !line.contains("±")), "{rows:#?}");
    let together: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("bidir  ")).collect();
    assert!(together.len() == 1 && together[0].contains("no result: the ranks overlapped"), "{together:#?}");
}

#[test]
fn a_document_with_nothing_in_it_is_still_a_table() {
    let mut document = samples::empty();
    document.status = Status::Failed;
    document.status_reason = Some("no device could be opened".into());
    document.exit_code = Some(1);
    let text = table(&document, &style(100));
    let said: Vec<&str> =
        text.lines().filter(|line| line.contains("FAILED:") || line.contains("device ")).collect();
    insta::assert_snapshot!("nothing", said.join("\n"));
    assert!(json::json_value(&document).is_ok());
}

#[test]
fn the_answer_stands_in_the_first_lines() {
    for document in [samples::eight_ranks(), samples::one_rank(), troubled()] {
        let (text, said) = (table(&document, &style(100)), analysis::answer::answer(&document));
        let first = text.lines().next().unwrap_or_default();
        assert!(!first.is_empty() && said[0].starts_with(first), "{said:?}\n{text}");
    }
}

#[test]
fn memory_that_nobody_tells_is_unknown_and_not_none() {
    let mut document = samples::host();
    document.devices.iter_mut().for_each(|device| device.total_bytes = 0);
    let shown = table(&document, &style(100));
    assert!(shown.contains("unknown") && !shown.contains(" 0 B"), "{shown}");
}
