//! Result documents as points: a rank and case each.
//!
//! A case in a place is one figure, but several ranks of a case have the same place where copies go between
//! GPUs, each with another GPU at the other end; and a document of several experiments may have measured a
//! case in a place in two of them. Readers refuse two samples of one name (OpenMetrics) or keep the last one
//! alone (InfluxDB, Bencher), so the other end is named, and where all else is the same, the rank.

use std::collections::{BTreeMap, BTreeSet};

use analysis::figure::status_word;
use analysis::incomplete::Incomplete;
use analysis::words::lanes;
use report::Document;
use report::device::name_on_node;
use report::document::Status;
use report::json::word;
use report::matrix::{engine_group, engine_of_group};
use report::other_end::other_ends;
use report::quantity::Quantity;
use report::result::RankResult;
use report::row::{Row, RowStatus};
use report::settings::{CopyEngine, Direction};
use report::timestamp::unix_ns;

use super::points::{Gauge, Label, Number, Point, Points, TestCase, TestFault, TestOutcome, known};
use super::quantity::{figures, in_words, metrics};

/// The columns of its table.
const COLUMNS: [&str; 42] = [
    "started_at",
    "numabench",
    "platform",
    "simulated",
    "driver_version",
    "run_status",
    "case",
    "order",
    "direction",
    "bytes",
    "memory",
    "timing",
    "rank",
    "host",
    "pu",
    "memory_node",
    "device",
    "device_name",
    "locality",
    "status",
    "reason",
    "median_ns",
    "median_low_ns",
    "median_high_ns",
    "median_bytes_per_s",
    "bytes_per_s",
    "percent_of_bound",
    "blocks",
    "link",
    "quantity",
    "unit",
    "value",
    "value_low",
    "value_high",
    "experiment",
    "group",
    "gpu",
    "uuid",
    "other_device",
    "flags",
    "memory_spread",
    "engine",
];
const FIELDS: [&str; 7] = [
    "median_ns",
    "median_low_ns",
    "median_high_ns",
    "median_bytes_per_s",
    "bytes_per_s",
    "percent_of_bound",
    "value",
];
/// A device by what it is on its node, and its model.
const DEVICE: [Label; 3] = [
    Label { name: "device", word: "device_on_node" },
    Label { name: "other_device", word: "other_end" },
    Label { name: "model", word: "device_name" },
];

/// A document as points.
pub fn points<B>(document: &Document<B>) -> Points {
    let several = document.nodes.len() > 1;
    let case = Label::same_in_all_forms(&["order", "memory", "direction", "bytes", "group", "engine"]);
    let mut place = Label::same_in_all_forms(&["pu", "memory_node", "memory_spread"]);
    place.push(Label { name: "rank", word: "double" });
    let platform = Label::same_in_all_forms(&["platform"]);

    // The host is left to the scraper, unless the run was on several nodes.
    let hosts = Label::same_in_all_forms(if several { &["host"] } else { &[] });
    let began = unix_ns(&document.started_at).map(|ns| ns as f64 / 1e9);
    let complete = document.status == Status::Complete;
    let gauge =
        |name: &str, unit, help, value| Gauge { name: format!("numabench_run_{name}"), unit, help, value };

    Points {
        record: "numabench",
        title: "numabench",
        started_at: document.started_at.clone(),
        is_dated: true,
        elapsed_s: document.elapsed_s,
        host: document.environment.hostname.clone(),
        incomplete: Incomplete::of_result(document),
        columns: COLUMNS.to_vec(),
        line_end: "\r\n",
        labels: [&case[..], &DEVICE, &platform, &place, &hosts].concat(),
        tags: [&Label::same_in_all_forms(&["host"])[..], &platform, &case, &DEVICE, &place].concat(),
        fields: &FIELDS,
        metrics: metrics(),
        gauges: vec![
            gauge("started_seconds", "seconds", "When the run began, Unix time", began),
            gauge("elapsed_seconds", "seconds", "How long the run took", Some(document.elapsed_s)),
            gauge(
                "complete",
                "",
                "1 where every case planned was measured",
                Some(f64::from(u8::from(complete))),
            ),
        ],
        suites: document.cases.iter().map(|case| case.id.clone()).collect(),
        points: rows(document, several),
    }
}

fn rows<B>(document: &Document<B>, several: bool) -> Vec<Point> {
    let results = document
        .cases
        .iter()
        .flat_map(|case| case.ranks.iter().map(|result| ((&case.id[..], result.rank), result)));
    let results: BTreeMap<(&str, u32), &RankResult<B>> = results.collect();

    // Where the run was on several nodes, names have the node's number.
    let nodes: BTreeMap<u32, u32> =
        document.ranks.iter().filter(|_| several).map(|rank| (rank.rank, rank.node)).collect();
    let links: BTreeMap<&str, String> = document
        .devices
        .iter()
        .filter_map(|device| {
            if let Some(other) = device.other_link() {
                return Some((&device.id[..], other.to_owned()));
            }
            let link = device.link.value.as_ref()?;
            Some((&device.id[..], format!("PCIe {}", lanes(link.generation, link.width))))
        })
        .collect();

    let others = other_ends(document);
    let by = document.settings.engine;
    let without_rank = |row: &Row| name(row, by, nodes.get(&row.rank).copied(), others.get(&row.rank));
    let (mut seen, mut doubles) = (BTreeSet::new(), BTreeSet::new());

    for name in document.rows.iter().map(without_rank) {
        if !seen.insert(name.clone()) {
            doubles.insert(name);
        }
    }

    let point = |row: &Row| {
        let mut name = without_rank(row);
        let double = if doubles.contains(&name) { row.rank.to_string() } else { String::new() };
        if !double.is_empty() {
            name = format!("{name}/rank{double}");
        }
        let mut words = labels(document, row, links.get(&row.device[..]).cloned().unwrap_or_default());
        words.push(("other_end", others.get(&row.rank).cloned().unwrap_or_default()));
        words.push(("double", double));
        // A rate in bytes is there where bytes are what counts.
        let moved =
            |rate: Option<f64>| rate.filter(|_| row.quantity == Quantity::Bandwidth).map(Number::Real);
        let took_s = results
            .get(&(&row.case[..], row.rank))
            .and_then(|result| result.summary())
            .map_or(0.0, |found| found.elapsed_ns / 1e9);
        Point {
            benchmark: name.clone(),
            origin: format!(
                "{} on {}, {}",
                row.device_name.as_deref().unwrap_or("unknown device"),
                row.host,
                document.started_at
            ),
            words,
            numbers: known([
                ("median_ns", row.median_ns.map(Number::Real)),
                ("median_low_ns", row.median_low_ns.map(Number::Real)),
                ("median_high_ns", row.median_high_ns.map(Number::Real)),
                ("median_bytes_per_s", moved(row.median_bytes_per_s)),
                ("bytes_per_s", moved(row.bytes_per_s)),
                ("percent_of_bound", row.percent_of_bound.map(Number::Real)),
                ("blocks", row.blocks.map(Number::Count)),
                ("value", row.value.map(Number::Real)),
                ("value_low", row.value_low.map(Number::Real)),
                ("value_high", row.value_high.map(Number::Real)),
            ]),
            figures: figures(row),
            test: Some(TestCase {
                suite: row.case.clone(),
                class: row.case.clone(),
                name: name.clone(),
                took_s,
                outcome: outcome(row),
            }),
            name,
        }
    };
    document.rows.iter().map(point).collect()
}

/// `simultaneous/pinned/h2d/134217728/0000:c1:00.0/pu49/mem3`; on several nodes the node's number stands
/// before the device, and behind it the other end of a copy between devices. A run that does not copy by the
/// copy engines says so behind the case, as a case beside theirs does.
fn name(row: &Row, by: CopyEngine, node: Option<u32>, other: Option<&String>) -> String {
    let other = other.map_or(String::new(), |other| format!("/with {other}"));
    let node = node.map_or(String::new(), |node| format!("/node{node}"));
    let of_one = row.memory_node.map(|node| node.to_string());
    let memory = of_one.as_ref().or(row.memory_spread.as_ref());
    let memory = memory.map_or(String::new(), |memory| format!("/mem{memory}"));
    let by = engine(row, by).filter(|_| group_engine(row).is_none());
    let by = by.map_or(String::new(), |by| format!("/{by}"));
    format!("{}{by}{node}/{}{other}/pu{}{memory}", row.case, name_on_node(&row.device), row.pu)
}

/// What moved the bytes, where the case's group says so.
fn group_engine(row: &Row) -> Option<CopyEngine> {
    row.group.as_deref().and_then(engine_of_group)
}

/// What copied where it was not the copy engines; none of what is no copy by a GPU.
fn engine(row: &Row, by: CopyEngine) -> Option<&'static str> {
    let is_copy = matches!(
        row.direction,
        Direction::H2d | Direction::D2h | Direction::RoundTrip | Direction::Bidirectional | Direction::Peer
    );
    engine_group(group_engine(row).unwrap_or(by)).filter(|_| is_copy)
}

fn labels<B>(document: &Document<B>, row: &Row, link: String) -> Vec<(&'static str, String)> {
    vec![
        ("started_at", document.started_at.clone()),
        ("numabench", document.tool.version.clone()),
        ("platform", word(&document.platform.kind)),
        ("simulated", document.platform.simulated.is_some().to_string()),
        ("driver_version", document.platform.driver_version.clone().unwrap_or_default()),
        ("run_status", word(&document.status)),
        ("case", row.case.clone()),
        ("order", word(&row.order)),
        ("direction", word(&row.direction)),
        ("bytes", row.bytes.to_string()),
        ("memory", word(&row.memory)),
        ("timing", word(&row.timing)),
        ("rank", row.rank.to_string()),
        ("host", row.host.clone()),
        ("pu", row.pu.to_string()),
        ("memory_node", row.memory_node.map_or(String::new(), |node| node.to_string())),
        ("device", row.device.clone()),
        ("device_on_node", name_on_node(&row.device).to_owned()),
        ("device_name", row.device_name.clone().unwrap_or_default()),
        ("locality", word(&row.locality)),
        ("status", word(&row.status)),
        ("reason", row.reason.clone().unwrap_or_default()),
        ("link", link),
        ("quantity", word(&row.quantity)),
        ("unit", word(&row.unit)),
        ("experiment", row.experiment.clone()),
        ("group", row.group.clone().unwrap_or_default()),
        ("gpu", row.gpu.map_or(String::new(), |gpu| gpu.to_string())),
        ("uuid", row.uuid.clone().unwrap_or_default()),
        ("other_device", row.other_device.clone().unwrap_or_default()),
        ("flags", row.flags.iter().map(word).collect::<Vec<_>>().join(" ")),
        ("memory_spread", row.memory_spread.clone().unwrap_or_default()),
        ("engine", engine(row, document.settings.engine).unwrap_or_default().to_owned()),
    ]
}

fn outcome(row: &Row) -> TestOutcome {
    let reason = row.reason.clone().unwrap_or_default();
    let why = |reason| TestFault { kind: status_word(row.status), reason };
    match row.status {
        RowStatus::Measured => TestOutcome::Measured(in_words(row)),
        RowStatus::Skipped => TestOutcome::Skipped(reason),
        RowStatus::Failed | RowStatus::Newer => TestOutcome::Error(why(reason)),
        RowStatus::Invalid | RowStatus::Corrupt => TestOutcome::Failure(why(reason)),
    }
}
