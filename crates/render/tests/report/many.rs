//! What a terminal shows of many ranks and several nodes: what they have in common once, what is odd by its
//! name, and never more than 100 columns. Some 410 lines because each shape of a launch is a test of its own.

use std::sync::LazyLock;

use proptest::prelude::*;
use render::terminal::{Style, table};
use report::Document;
use report::case::{CaseStatus, Order};
use report::contention::Penalty;
use report::document::Status;
use report::launch::MissingRank;
use report::node::Difference;
use report::rank::Locality;
use report::result::{Outcome, Verification};
use report::settings::{Direction, MemoryKind};
use stats::flag::Flag;

use crate::golden::cases;
use crate::samples;

fn shown(document: &Document) -> String {
    table(
        document,
        &Style {
            width: 100,
            color: false,
            quiet: false,
            saved_to: Some("result-4711.json".into()),
            screen: None,
        },
    )
}

/// The table in 100 columns, which it must fit.
fn fitting(document: &Document) -> String {
    let text = shown(document);
    let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
    assert!(widest.chars().count() <= 100, "{} columns: {widest}", widest.chars().count());
    text
}

fn lines<'a>(text: &'a str, part: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.contains(part)).collect()
}

/// Everything from the line that starts with `title` to the next empty one.
fn section<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let lines = text.lines().skip_while(|line| !line.starts_with(title));
    lines.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn eight_ranks_show_every_item_of_the_case_studys_listing() {
    let document = samples::case_study();
    let text = fitting(&document);
    let has = |part: &str| assert!(text.contains(part), "{part} is not in\n{text}");
    // GPU list, CPU list, size in floats; SIZE, REPS, WARM and the size in all its units.
    has("--cpus 49,57,17,25,1,9,33,41 --gpus 0,1,2,3,4,5,6,7");
    has("67108864 floats of 4 B = 268435456 B = 262144 KiB = 256 MiB = 0.25 GiB");
    has("100 rounds after 10 rounds of warm-up");
    // Visible devices, their name and PCI address.
    has("NVIDIA H200, 8 used of 8 visible");
    let placement = section(&text, "Placement on nid005123");
    let devices = section(&text, "Devices");
    for (rank, (pu, node, bus)) in samples::PLACES.into_iter().enumerate() {
        assert!(
            devices.iter().any(|line| line.contains(&format!("{rank}    0000:{bus:02x}:00.0"))),
            "{devices:#?}"
        );
        let row: Vec<&str> = placement[2 + rank].split_whitespace().collect();
        let (rank, pu, node) = (rank.to_string(), pu.to_string(), node.to_string());
        let want = [&rank, &pu, &pu, &node, &node, &rank, &format!("0000:{bus:02x}:00.0"), "L3-local"];
        assert_eq!(row, want);
    }
    // Of every rank and direction mean, std, min, max, bandwidth.
    for (case, name) in document.cases.iter().zip(["roundtrip", "H2D", "D2H"]) {
        let caption = format!("  {name}, 256 MiB, pinned memory, device timing, all ranks at once");
        let rows: Vec<&str> = text.lines().skip_while(|line| *line != caption).skip(1).take(8).collect();
        for (result, row) in case.ranks.iter().zip(rows) {
            let summary = result.summary().map_or_else(|| panic!("{name}: not measured"), Clone::clone);
            let cells: Vec<&str> = row.split_whitespace().collect();
            assert_eq!(cells[0], result.rank.to_string());
            let ms = [summary.mean_ns, summary.std_ns.unwrap_or_default(), summary.min_ns, summary.max_ns];
            // To four digits, and no finer than 10 ns.
            let shown: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
            let stands =
                |value: f64| shown.iter().any(|shown| (shown - value).abs() < f64::max(value * 5e-4, 5e-6));
            for value in ms.map(|ns| ns / 1e6).into_iter().chain([summary.median_bytes_per_s / 1e9]) {
                assert!(stands(value), "{value} is missing from {row}");
            }
        }
    }
    // Beyond the listing: the ranks together, and the most bottlenecked one.
    let together = section(&text, "Ranks together").join("\n");
    assert!(together.contains("roundtrip  ") && together.contains("rank 5"), "{together}");
    has("Total program time: 1.64 s");
}

#[test]
fn four_nodes_show_every_rank_and_what_their_nodes_have_in_common_once() {
    insta::assert_snapshot!("four_nodes", fitting(&samples::several_nodes(4, 4)));
}

#[test]
fn sixty_four_nodes_show_the_outliers_and_the_slowest() {
    insta::assert_snapshot!("sixty_four_nodes", fitting(&samples::several_nodes(64, 8)));
}

/// Six nodes of four ranks; node 2 lost its last two, and the last node never came.
fn with_missing_ranks() -> Document {
    let mut document = samples::several_nodes(6, 4);
    let why = "its process was killed by signal 9 (SIGKILL)";
    let missing = |rank: u32, host: Option<&str>, why: &str| MissingRank {
        rank,
        host: host.map(String::from),
        why: why.into(),
    };
    document.missing = vec![
        missing(10, Some("nid001003"), why),
        missing(11, Some("nid001003"), why),
        missing(20, None, "it did not answer within --timeout"),
    ];
    for case in &mut document.cases {
        for rank in [10, 11, 20] {
            case.ranks[rank].outcome = Outcome::Skipped { reason: "the rank is missing".into() };
            (case.ranks[rank].seen_before, case.ranks[rank].seen_after) = (None, None);
            let why = Some("no block was measured".into());
            case.ranks[rank].verification = Verification {
                checked: false,
                reason: why,
                blocks_checked: 0,
                bytes_checked: 0,
                mismatch: None,
            };
            case.ranks[rank].blocks.clear();
        }
        case.status = CaseStatus::of_ranks(&case.ranks);
        case.nodes[2].aggregate = None;
        case.nodes[2].reason = Some("2 of its 4 ranks were measured".into());
        case.nodes[5].aggregate = None;
        case.nodes[5].reason = Some("3 of its 4 ranks were measured".into());
    }
    document.status = Status::Partial;
    document.status_reason = Some("3 of 24 ranks are missing".into());
    document.exit_code = Some(3);
    document
}

#[test]
fn missing_ranks_are_said_at_the_top_and_with_their_reasons_at_the_end() {
    let text = fitting(&with_missing_ranks());
    let at = |part: &str| text.lines().position(|line| line.contains(part)).unwrap_or(usize::MAX);
    assert!(at("PARTIAL") == 0 && at("MISSING") < 9, "{text}");
    let last: Vec<&str> = text.lines().rev().take(6).filter(|line| line.starts_with("missing:")).collect();
    assert_eq!(last.len(), 2, "{text}");
    let lines_of_node_2 =
        text.lines().filter(|line| line.contains("result:") && line.contains(" 2 of")).count();
    assert_eq!(lines_of_node_2, 3, "a line a case:\n{text}");
    insta::assert_snapshot!("missing_ranks", text);
}

#[test]
fn quiet_keeps_what_is_missing_odd_or_different() {
    let style = Style { width: 100, color: false, quiet: true, saved_to: None, screen: None };
    let text = table(&with_missing_ranks(), &style);
    for loud in [
        "RANKS ARE MISSING",
        "missing: ranks 10-11",
        "Nodes differ",
        "driver.nvidia",
        "no result:",
        "PARTIAL",
    ] {
        assert!(text.contains(loud), "{loud} is not in\n{text}");
    }
    assert!(!text.contains("Settings") && !text.contains("each: as asked, seen"), "{text}");
}

#[test]
fn a_node_whose_ranks_sit_otherwise_has_its_own_list() {
    let mut document = samples::several_nodes(6, 2);
    for rank in document.ranks.iter_mut().filter(|rank| rank.node == 4) {
        rank.asked.pu += 1;
        rank.locality = Locality::Remote;
        rank.locality_reason = "the PU is on package 1, the device on package 0".into();
    }
    insta::assert_snapshot!("placement_of_an_odd_node", section(&fitting(&document), "Placement").join("\n"));
}

#[test]
fn nodes_that_are_each_otherwise_are_not_all_listed() {
    let mut document = samples::several_nodes(40, 2);
    for rank in &mut document.ranks {
        rank.asked.pu = 1 + rank.node;
    }
    let text = fitting(&document);
    // A line a rank would be a line for each of 80.
    assert!(lines(&text, "NOT AS ASKED, ").len() <= 12, "{text}");
    insta::assert_snapshot!("forty_odd_nodes", lines(&text, "more").join("\n"));
}

#[test]
fn nodes_without_a_majority_differ_from_each_other() {
    let mut document = samples::several_nodes(4, 1);
    for node in &mut document.nodes {
        let this = if node.index < 2 { "5.14.21" } else { "6.4.0" };
        node.differs = vec![Difference { fact: "kernel.release".into(), this: this.into(), most: None }];
    }
    let text = fitting(&document);
    let differ = section(&text, "Nodes differ");
    let want = [
        "Nodes differ",
        "  kernel.release  5.14.21 on nodes 0-1 (nid[001001-001002]); 6.4.0 on nodes 2-3 \
         (nid[001003-001004])",
    ];
    assert_eq!(differ, want);
    assert!(
        section(&text, "Node by node").iter().all(|line| !line.contains("differs")),
        "it is no mark of any one node"
    );
}

#[test]
fn a_sweep_over_nodes_shows_the_slowest_ranks_and_the_largest_size_of_each_node() {
    let mut document = samples::several_nodes(8, 4);
    document.cases.clear();
    document.settings.sizes_bytes = (20..=26).map(|power| 1 << power).collect();
    for bytes in document.settings.sizes_bytes.clone() {
        for direction in [Direction::H2d, Direction::D2h] {
            let slow = |rank: &report::rank::Rank| if rank.rank == 13 { 2.0 } else { 1.0 };
            let times: Vec<f64> =
                document.ranks.iter().map(|rank| (1e4 + bytes as f64 / 50.0) * slow(rank)).collect();
            let case =
                samples::case(&document, direction, bytes, MemoryKind::Pinned, Order::Simultaneous, &times);
            document.cases.push(case);
        }
    }
    let text = fitting(&document);
    let ranks = lines(&text, "Rank ");
    assert_eq!(ranks.len(), 4, "{text}");
    let nodes = section(&text, "Node by node");
    assert_eq!(
        nodes.len(),
        2 + 2 * (1 + 8 + 1),
        "a row a node and its mark, for two directions:\n{}",
        nodes.join("\n")
    );
    let more = lines(&text, "more ranks");
    insta::assert_snapshot!(
        "headings_of_a_sweep_over_nodes",
        [&ranks[..], &more, &nodes[..3]].concat().join("\n")
    );
}

#[test]
fn ranks_that_ran_alone_have_no_sum_of_their_node() {
    let mut document = samples::several_nodes(5, 2);
    document.cases.clear();
    let times = vec![9.9e6; 10];
    let case = samples::case(
        &document,
        Direction::H2d,
        256 * samples::MIB,
        MemoryKind::Pinned,
        Order::Alone,
        &times,
    );
    document.cases.push(case);
    let text = fitting(&document);
    assert!(section(&text, "Ranks together").is_empty(), "{text}");
    insta::assert_snapshot!("nodes_of_ranks_alone", section(&text, "Node by node").join("\n"));
}

#[test]
fn nodes_memory_as_devices_and_long_host_names_fit_too() {
    let mut document = samples::several_nodes(64, 8);
    for node in &mut document.nodes {
        node.host = format!("gpu-node-h200-{:04}.cluster.example.org", node.index);
    }
    for rank in &mut document.ranks {
        rank.host.clone_from(&document.nodes[rank.node as usize].host);
        rank.asked.device = format!("{}/node {}", rank.host, rank.node_rank / 2);
    }
    for device in &mut document.devices {
        device.id = format!("{}/node {}", document.nodes[device.node as usize].host, device.index / 2);
        (device.kind, device.pci_address) = (report::device::DeviceKind::HostMemory, None);
        device.name = "host memory".into();
    }
    let text = fitting(&document);
    assert!(text.contains("gpu-node-h200-[0000-0063]") && !text.contains("cluster.example.org  "), "{text}");
    let placement = section(&text, "Placement");
    let first =
        placement.iter().map(|line| line.split_whitespace().collect::<Vec<_>>()).find(|row| row[0] == "0");
    assert_eq!(first.unwrap_or_default().join(" "), "0 49 49 3 3 node 0 L3-local", "{text}");
}

#[test]
fn that_there_are_too_few_blocks_is_said_once_under_the_contention_table() {
    let contention = |document: &Document| -> Vec<String> {
        section(&fitting(document), "Contention").into_iter().map(str::to_owned).collect()
    };
    let few = |document: &Document| lines(&contention(document).join("\n"), "few").join("\n");
    assert_eq!(few(&samples::eight_ranks()), "");
    let mut none = samples::eight_ranks();
    none.penalties.iter_mut().for_each(|penalty| penalty.comparison = None);
    let all = contention(&none);
    assert_eq!(all.len(), 1 + 1 + 16 + 1, "no row has a line more:\n{}", all.join("\n"));
    assert_eq!(all.last(), Some(&few(&none)));
    // Where some have a comparison the others say that they have none.
    let mut some = samples::eight_ranks();
    some.penalties[2].comparison = None;
    let many = contention(&of_64_ranks());
    let ranks: Vec<&str> = many.iter().filter_map(|row| row.split_whitespace().next()).collect();
    assert!(ranks.contains(&"63") && !ranks.contains(&"47"), "{many:#?}");
    insta::assert_snapshot!(
        "contention",
        cases(&[
            ("no change is told from chance", &few(&none)),
            ("all but that of rank 2, H2D", &few(&some)),
            ("of 64 ranks those that lost most", &lines(&many.join("\n"), "more").join("\n")),
        ])
    );
}

/// 64 ranks, of which each loses more than the one before.
fn of_64_ranks() -> Document {
    let mut document = samples::several_nodes(8, 8);
    for rank in 0..64_u32 {
        let mut penalty = PENALTY.clone();
        penalty.rank = rank;
        penalty.comparison = None;
        penalty.alone_bytes_per_s = 50e9;
        penalty.simultaneous_bytes_per_s = 49e9 - 1e8 * f64::from(rank);
        document.penalties.push(penalty);
    }
    document
}

#[test]
fn each_rank_sees_its_own_devices_under_a_launcher() {
    let mut document = samples::several_nodes(2, 2);
    let devices = |document: &Document| lines(&shown(document), "Devices:").join("\n");
    document.ranks.iter_mut().for_each(|rank| rank.visible_devices = Some(1));
    let each = devices(&document);
    document.ranks[3].visible_devices = Some(2);
    let unlike = devices(&document);
    insta::assert_snapshot!(
        "visible_devices",
        cases(&[("one each", each), ("two for the last rank", unlike)])
    );
}

static PENALTY: LazyLock<Penalty> = LazyLock::new(|| samples::eight_ranks().penalties.swap_remove(0));

proptest! {
    // A document takes a while to make.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_line_is_wider_than_100_columns(
        nodes in prop::sample::select(vec![1_u32, 2, 5, 17, 70]),
        per_node in 1_u32..=8,
        (least_ns, rate) in (300.0..30_000.0_f64, 0.3..900.0_f64),
        sizes in prop::sample::subsequence(vec![4_u64, 65_536, 1 << 20, 256 << 20, 32 << 30], 1..=4),
        spread in 1.0..3.0_f64,
        flagged in any::<bool>(),
        failed in any::<bool>(),
        compared in any::<bool>(),
    ) {
        let mut document = samples::several_nodes(nodes, per_node);
        document.cases.clear();
        document.settings.sizes_bytes.clone_from(&sizes);
        for bytes in sizes {
            let round_ns = least_ns + bytes as f64 / rate;
            let times: Vec<f64> = (0..nodes * per_node).map(|rank| round_ns * spread.powi(rank as i32 % 5)).collect();
            for direction in [Direction::H2d, Direction::RoundTrip] {
                for order in [Order::Alone, Order::Simultaneous] {
                    let memory = MemoryKind::PinnedDriver;
                    let mut case = samples::case(&document, direction, bytes, memory, order, &times);
                    if let Outcome::Measured { flags, .. } = &mut case.ranks[0].outcome && flagged {
                        flags.extend([Flag::Drift, Flag::Noisy, Flag::Bimodal, Flag::FewBlocks]);
                    }
                    if failed {
                        let reason = "the device failed in an earlier case, and it says so in a rather long \
                            sentence".into();
                        case.ranks.iter_mut().step_by(3).for_each(|r| r.outcome = Outcome::Skipped { reason: String::clone(&reason) });
                    }
                    document.cases.push(case);
                }
                let mut penalty = PENALTY.clone();
                (penalty.direction, penalty.bytes) = (direction, bytes);
                if !compared {
                    penalty.comparison = None;
                }
                document.penalties.push(penalty);
            }
        }
        fitting(&document);
    }
}
