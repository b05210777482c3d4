//! `numabench sweep --rows`: near and far rows against one GPU, in the guest of four nodes with a simulated
//! GPU whose copies from afar share a slower link.

use serde_json::Value;

use crate::driver::{self, Driver};
use crate::guest::{guest_with, take};
use crate::proof::{self, list, number, text};
use crate::run::{Done, run};

/// A GPU at node 1 as fast as Keeneland's, with a link from other nodes that is slower than both directions.
const SHORT_AND_LONG: &str = "says a machine with a short and a long path; repeats skip; \
    node 0 0-1; node 1 2-3; node 2 4-5; node 3 6-7; link far 5GB/s; \
    device 0000:c9:00.0; host-node 1; h2d 5.7GB/s 8us; d2h 6.3GB/s 8us; over far 1 remote";

#[test]
fn in_a_guest_a_sweep_from_near_and_far_has_the_loss_at_each_size() -> Done {
    let library = format!(
        "{}:/opt/libamdhip64.so.7",
        driver::stand_in(Driver::Hip)?.join("libamdhip64.so.7").display()
    );
    let sweep =
        "env LD_PRELOAD=/opt/libamdhip64.so.7 numabench sweep --backend hip --size 1KiB..4MiB:4 --reps 8";
    let script = format!(
        "export LD_LIBRARY_PATH=/opt FAKE_PUS=seen FAKE_DEVICES='{SHORT_AND_LONG}'\n\
         run document {sweep} --rows near,far --json -\n\
         run table {sweep} --rows near,far --json /tmp/both.json\n\
         run page numabench report /tmp/both.json --output /tmp/both.html\n\
         run html cat /tmp/both.html\n\
         run csv numabench export --to csv /tmp/both.json\n\
         run node {sweep} --rows node --direction d2h --brief\n"
    );
    let Some(mut all) = guest_with("lumig", &[&library], &script)? else { return Ok(()) };

    let ended = take(&mut all, "document")?;
    let document = proof::document(&ended)?;
    assert_eq!(ended.code, Some(0), "{}", document["status_reason"]);
    let nodes: Vec<u64> =
        list(&document, "/ranks").iter().map(|rank| number(rank, "/asked/memory_node")).collect();
    assert_eq!(nodes, [0, 1], "node 1 is near; of those as far away the first");
    let largest = |direction: &str, node: u64| {
        let is_it = |row: &&Value| {
            (number(row, "/bytes"), text(row, "/direction"), number(row, "/memory_node"))
                == (4 << 20, direction, node)
        };
        list(&document, "/rows").iter().find(is_it).and_then(|row| row["median_bytes_per_s"].as_f64())
    };
    for (direction, node, want) in [("h2d", 1, 5.7), ("h2d", 0, 5.0), ("d2h", 1, 6.3), ("d2h", 0, 5.0)] {
        let rate = largest(direction, node).ok_or("no rate")? / 1e9;
        assert!((rate / want - 1.0).abs() < 0.03, "{direction} from node {node}: {rate} GB/s, not {want}");
    }
    let said: Vec<&str> = list(&document, "/verdict").iter().filter_map(Value::as_str).collect();
    assert!(said[0].starts_with("Where host memory lies matters: up to 20 % less at 4 MiB"), "{said:?}");
    assert_eq!(list(&document, "/fits").len(), 4, "a line for each row and direction");
    let losses = list(&document, "/size_losses");
    assert_eq!(losses.len(), 7 * 2, "each size in both directions");
    let worst =
        losses.iter().find(|loss| (text(loss, "/direction"), number(loss, "/bytes")) == ("d2h", 4 << 20));
    let worst = worst.ok_or("no loss of the largest copies to the host")?;
    assert_eq!((text(worst, "/near"), text(worst, "/far")), ("node 1", "node 0"));
    assert_eq!(text(worst, "/comparison/verdict"), "lower", "{worst}");
    let ratio = worst["far_bytes_per_s"].as_f64().zip(worst["near_bytes_per_s"].as_f64());
    assert!(ratio.is_some_and(|(far, near)| (far / near - 0.8).abs() < 0.02), "{worst}");

    let table = take(&mut all, "table")?.well().out;
    let html = take(&mut all, "html")?.well().out;
    for words in ["GPU 0, D2H, pinned memory: GB/s from node 1 and from node 0", "4 MiB"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    insta::assert_snapshot!("sweep_near_and_far", answer_of(&table));
    losses_are_those_planted(&table)?;
    assert!(html.contains("node 0 instead of node 1 at each size"), "{html}");
    assert!(html.contains("Rate over the size of a copy: D2H"), "a picture for each direction: {html}");
    let csv = take(&mut all, "csv")?.well().out;
    assert_eq!(csv.lines().count(), 1 + 7 * 2 * 2, "{csv}");

    let node = take(&mut all, "node")?.well().out;
    for far in ["node 0", "node 2", "node 3"] {
        assert!(node.contains(&format!("% less from {far} than from node 1 at 4 MiB")), "{far}: {node}");
    }
    Ok(())
}

/// The answer.
fn answer_of(text: &str) -> &str {
    text.split("\n\n").find(|part| part.contains("matters")).unwrap_or(text)
}

/// What the far row loses at each size, per cent, of copies to the GPU and to the host.
const LOSSES: [(&str, [f64; 7]); 2] =
    [("H2D", [0.3, 1.1, 3.6, 7.6, 10.6, 11.8, 12.2]), ("D2H", [0.5, 1.9, 6.0, 12.8, 17.9, 19.9, 20.4])];
/// The far row's rates, GB/s, the same in both directions.
const FAR: [f64; 7] = [0.124, 0.4618, 1.446, 3.098, 4.334, 4.815, 4.952];

/// Each size has its row, in order: near, far, the change and its interval. A figure has as many digits as its
/// interval knows, so they are held by what they are.
fn losses_are_those_planted(table: &str) -> Done {
    for (direction, planted) in LOSSES {
        let title = format!("GPU 0, {direction}, pinned memory: GB/s from node 1 and from node 0");
        let part = table.split("\n\n").find(|part| part.contains(&title)).ok_or("no table of losses")?;
        let rows: Vec<(Vec<f64>, f64)> =
            part.lines().skip(2).map(|row| (figures(row), rounding(row))).collect();
        assert_eq!(rows.len(), planted.len(), "{part}");

        for ((row, rounding), (loss, far)) in rows.iter().zip(planted.into_iter().zip(FAR)) {
            let [_, near, seen_far, change, low, high] = row[..] else { return Err(part.into()) };
            assert!((seen_far / far - 1.0).abs() < 0.003, "{far} GB/s: {part}");
            let apart = (seen_far / near - 1.0 + loss / 100.0).abs();
            assert!(apart < 0.002 + rounding / near, "{loss} %: {part}");
            assert!((change + loss).abs() < 0.15 && low <= change && change <= high, "{loss} %: {part}");
        }
    }
    Ok(())
}

/// Half of the last digit that the two rates of a row have.
fn rounding(line: &str) -> f64 {
    let rates = line.split_whitespace().skip(2).take(2);
    let digits = |rate: &str| rate.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    rates.map(|rate| 0.5 * 10_f64.powi(-digits(rate))).sum()
}

/// The numbers of a line.
fn figures(line: &str) -> Vec<f64> {
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn near_and_far_rows_are_refused_where_there_is_no_far_place() {
    let one = ["sweep", "--backend", "host", "--rows", "near,far"];
    if !run(&["topo", "--numa"]).out.contains("node 1") {
        run(&one).refused(2, &["two NUMA nodes", "no near/far comparison", "Leave --rows out"]);
        let rows =
            run(&["sweep", "--backend", "host", "--rows", "node", "--size", "1KiB..64KiB", "--reps", "6"]);
        assert!(rows.well().out.starts_with("One NUMA node: no near/far comparison."));
    }
    run(&["sweep", "--rows", "far"]).refused(2, &["near,far or node, l3 or core"]);
    run(&["sweep", "--rows", "near,far", "--memory", "managed"])
        .refused(2, &["--rows near,far", "--rows node"]);
}
