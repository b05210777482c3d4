//! What is said and shown of messages by where their two ranks run.

use std::collections::BTreeMap;

use analysis::mpi_matrix::verdict;
use report::document::{Status, Tool};
use report::message::{MessagePattern, MpiPath, MpiPlaceKind};
use report::mpi::{MpiCase, MpiMatrix, MpiMissingPlace, MpiPlace};
use report::mpi::{MpiLibrary, MpiPair, MpiRank, MpiSettings};
use report::{MpiDocument, SavedDocument};
use stats::interval::median;

use crate::golden::cases;

/// Two hosts of two places, whose ranks are 0 and 1, 2 and 3: how long a message takes from rank to rank, in
/// blocks that scatter by a thousandth.
fn document(ns: [(u32, u32, f64); 4], near: [bool; 4]) -> (MpiDocument, MpiMatrix) {
    let case = |ns: f64| MpiCase {
        path: MpiPath::Host,
        pattern: MessagePattern::PingPong,
        bytes: 8,
        window: 1,
        rounds: 1000,
        gpu_bytes_per_s: None,
        gpu_block_bytes_per_s: Vec::new(),
        block_ns: (0..14).map(|block| ns * (1.0 + 0.001 * f64::from(block % 3))).collect(),
        message_ns: Some(ns),
        message_interval_ns: None,
        bytes_per_s: Some(8.0 / ns * 1e9),
        verified_bytes: 16,
        stop: None,
        reason: None,
    };
    let pair = |(one, other, ns): (u32, u32, f64)| MpiPair {
        ranks: [one, other],
        device_memory: None,
        operations: Vec::new(),
        cases: vec![case(ns)],
        placed: [[None, None], [None, None]],
        carried: Vec::new(),
    };
    let rank = |rank: u32| MpiRank {
        rank,
        host: format!("n{}", rank / 2),
        pu: rank,
        memory_node: rank % 2,
        gpu: None,
        gpu_name: None,
        locality: None,
        gpu_threads: Vec::new(),
        adapters: Vec::new(),
    };
    let place = |rank: u32| MpiPlace {
        rank,
        name: format!("n{} node {}", rank / 2, rank % 2),
        nics: near[rank as usize].then(|| "hsn0".to_owned()).into_iter().collect(),
    };
    let matrix = MpiMatrix {
        places: MpiPlaceKind::Node,
        rows: vec![place(0), place(1)],
        columns: vec![place(2), place(3)],
        missing: Vec::new(),
    };
    let document = MpiDocument {
        schema: MpiDocument::SCHEMA.to_owned(),
        schema_version: MpiDocument::VERSION.number(),
        tool: Tool { name: "numabench".to_owned(), version: "0".to_owned(), git: None },
        argv: Vec::new(),
        started_at: String::new(),
        elapsed_s: 1.0,
        status: Status::Complete,
        status_reason: None,
        exit_code: Some(0),
        simulated: None,
        verdict: Vec::new(),
        mpi: MpiLibrary {
            library: None,
            launcher: "srun".to_owned(),
            says: Vec::new(),
            thread_level: None,
            variables: BTreeMap::new(),
        },
        settings: MpiSettings {
            sizes_bytes: vec![8],
            patterns: vec![MessagePattern::PingPong],
            operations: Vec::new(),
            operation_timeout_s: 30,
            seed: 1,
            others_send: false,
        },
        ranks: (0..4).map(rank).collect(),
        pairs: ns.map(pair).to_vec(),
        pair_sample: None,
        matrix: Some(matrix.clone()),
        rows: Vec::new(),
        notes: Vec::new(),
    };
    (document, matrix)
}

#[test]
fn the_dearest_place_is_named_with_how_many_times_and_whether_adapters_are_near_the_best() {
    let said = |ns: [f64; 4], near, does_not_count: Option<usize>| {
        let [a, b, c, d] = ns;
        let (mut document, matrix) = document([(0, 2, a), (0, 3, b), (1, 2, c), (1, 3, d)], near);
        if let Some(pair) = does_not_count {
            document.pairs[pair].cases[0].reason = Some("misplaced".to_owned());
        }
        verdict(&document, &matrix).join("\n")
    };
    let (apart, alike) = ([1877.0, 2000.0, 2010.0, 2136.0], [1877.0, 1878.0, 1879.0, 1877.5]);
    let (first, second) = ([true, false, true, false], [false, true, false, true]);
    insta::assert_snapshot!(
        "said_of_places",
        cases(&[
            ("adapters near the fastest places", said(apart, first, None)),
            ("adapters elsewhere", said(apart, second, None)),
            ("places alike", said(alike, first, None)),
            ("one place without an adapter is as fast", said([1877.0, 1878.0, 2010.0, 2136.0], first, None)),
            ("a figure that does not count", said([1877.0, 1878.0, 1879.0, 9000.0], [false; 4], Some(3))),
        ])
    );
}

#[test]
fn pairs_without_a_figure_and_places_that_no_rank_could_have_are_told_first_and_last() {
    let places = [(0, 2, 1877.0), (0, 3, 1878.0), (1, 2, 1879.0), (1, 3, 1877.5)];
    let (mut document, mut matrix) = document(places, [false; 4]);
    matrix.missing = ["n0", "n1"]
        .map(|host| MpiMissingPlace {
            host: host.to_owned(),
            name: "node 9".to_owned(),
            reason: "it has no CPUs".to_owned(),
        })
        .to_vec();
    document.pairs[3].cases[0].reason = Some("corrupt".to_owned());
    let said = verdict(&document, &matrix);
    assert!(said[0].starts_with("PARTIAL, of 3 of 4 pairs: No measurable difference"), "{said:?}");
    let last = "Not compared: n0 node 9, n1 node 9 (it has no CPUs).";
    assert_eq!(said.last().map(String::as_str), Some(last));

    document.pairs.truncate(1);
    let said = verdict(&document, &matrix);
    assert_eq!(said[0], "PARTIAL, of 1 of 4 pairs: One pair alone has a figure: no comparison.");
}

#[test]
fn of_many_places_alike_none_is_said_to_be_worse() {
    let mut random = stats::random::SplitMix64::new(7);
    let mut false_alarms = 0;
    for _ in 0..60 {
        let (mut document, mut matrix) =
            document([(0, 2, 1.0), (0, 3, 1.0), (1, 2, 1.0), (1, 3, 1.0)], [false; 4]);
        // Eight places on each side whose figures differ by chance alone, by up to a fifth.
        let place = |rank: u32| MpiPlace { rank, name: format!("node {rank}"), nics: Vec::new() };
        (matrix.rows, matrix.columns) = ((0..8).map(place).collect(), (8..16).map(place).collect());
        let pattern = document.pairs[0].clone();
        document.pairs.clear();
        for (row, column) in (0..8).flat_map(|row| (8..16).map(move |column| (row, column))) {
            let mut pair = pattern.clone();
            pair.ranks = [row, column];
            let noise = || 1000.0 * (1.0 + random.below(1000) as f64 * 2e-4);
            pair.cases[0].block_ns = std::iter::repeat_with(noise).take(20).collect();
            pair.cases[0].message_ns = median(&pair.cases[0].block_ns);
            document.pairs.push(pair);
        }
        false_alarms += usize::from(verdict(&document, &matrix)[0].contains("matters"));
    }
    assert!(false_alarms <= 7, "{false_alarms} of 60 at 5 %");
}

#[test]
fn a_terminal_has_a_row_and_a_column_for_each_place_and_shades() {
    let (document, _) =
        document([(0, 2, 1000.0), (0, 3, 1100.0), (1, 2, 1500.0), (1, 3, 4000.0)], [false; 4]);
    let style =
        render::terminal::Style { width: 100, color: false, quiet: false, saved_to: None, screen: None };
    let text = render::terminal::mpi(&document, &style);
    let lines: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("n0")).collect();
    assert_eq!(lines, ["    n0 node 0    1.00 µs █    1.10 µs ▓", "    n0 node 1    1.50 µs ▒    4.00 µs ░"]);
}

#[test]
fn the_node_is_drawn_with_what_messages_take_between_its_places() -> Result<(), String> {
    let (mut document, _) =
        document([(0, 2, 1000.0), (0, 3, 1100.0), (1, 2, 1500.0), (1, 3, 4000.0)], [false; 4]);
    let svg = render::node::svg_of_mpi(&document)?;
    for words in [
        "messages between places",
        ">host memory, 8 B, one message at a time",
        ">1.00 µs<",
        "n0 node 1 to n1 node 1: 4.00 µs",
    ] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    document.matrix = None;
    assert!(render::node::svg_of_mpi(&document).is_err_and(|why| why.contains("--matrix")));
    Ok(())
}

#[test]
fn a_reason_that_several_figures_share_says_how_many_they_are() {
    let (mut document, _) = document([(0, 2, 1.0), (0, 3, 1.0), (1, 2, 1.0), (1, 3, 1.0)], [false; 4]);
    document.matrix = None;
    let cases = &mut document.pairs[0].cases;
    cases[0].reason = Some("MPI crashed".to_owned());
    let others = [16, 32].map(|bytes| MpiCase { bytes, ..cases[0].clone() });
    cases.extend(others);
    let style =
        render::terminal::Style { width: 200, color: false, quiet: false, saved_to: None, screen: None };
    let text = render::terminal::mpi(&document, &style);
    assert!(text.contains("no figure for host ping-pong of 8 B and 2 more: MPI crashed"), "{text}");
}
