//! Documents of programs' copies as points: one for each NUMA node and GPU, direction and kind of memory.
//!
//! What each is judged by are its bytes, of which fewer are better. The rate stands where events timed copies
//! of buffers that lie on that node alone. A buffer's address is not part of it: it changes from run to run.

use std::borrow::Cow;

use analysis::incomplete::Incomplete;
use analysis::witness::far_share;
use analysis::witness_answer::bytes;
use analysis::witness_launch::{WitnessLink, links};
use report::WitnessDocument;
use report::json::word;
use report::timestamp::unix_ns;

use super::points::{
    Estimate, Gauge, Label, Measure, MetricFamily, Number, Point, Points, RATE, TestCase, TestOutcome, known,
};

/// The columns of its table.
const COLUMNS: [&str; 17] = [
    "started_at",
    "host",
    "rank",
    "program",
    "simulated",
    "direction",
    "memory",
    "memory_node",
    "device",
    "gpu",
    "distance",
    "copied_bytes",
    "share_of_bytes",
    "timed",
    "bytes_per_s",
    "total_bytes",
    "elapsed_s",
];

/// What tells its points apart.
const LABELS: [&str; 6] = ["rank", "direction", "memory", "memory_node", "device", "distance"];

/// What it is called among test results, and its only suite.
const TITLE: &str = "numabench witness";

/// What the metric and the measure of bytes are called.
const BYTES: &str = "bytes";

/// A document as points.
pub fn points(document: &WitnessDocument) -> Points {
    let incomplete = Incomplete::of_witness(document);
    let labels = Label::same_in_all_forms(&LABELS);
    let rate = MetricFamily {
        name: "numabench_witness_rate".to_owned(),
        unit: "bytes_per_second",
        help: "Rate of the copies that the driver's events timed",
        measure: Some(RATE.name),
        scale: 1.0,
        has_ends: false,
    };
    let copied = MetricFamily {
        name: "numabench_witness_copied".to_owned(),
        unit: BYTES,
        help: "Bytes copied between a NUMA node's memory and a GPU",
        measure: Some(Cow::Borrowed(BYTES)),
        ..rate.clone()
    };

    Points {
        record: "numabench_witness",
        title: TITLE,
        started_at: document.started_at.clone(),
        is_dated: true,
        elapsed_s: document.elapsed_s,
        host: document.host.clone().unwrap_or_default(),
        columns: COLUMNS.to_vec(),
        line_end: "\r\n",
        tags: [&Label::same_in_all_forms(&["host"])[..], &labels].concat(),
        labels,
        fields: &["copied_bytes", "share_of_bytes", "bytes_per_s"],
        metrics: vec![copied, rate],
        gauges: gauges(document, incomplete.is_none()),
        incomplete,
        suites: vec![TITLE.to_owned()],
        points: links(std::slice::from_ref(document)).iter().map(|link| point(document, link)).collect(),
    }
}

fn gauges(document: &WitnessDocument, is_complete: bool) -> Vec<Gauge> {
    let total = &document.total;
    let gauge = |name: &str, unit, help, value| Gauge {
        name: format!("numabench_witness_{name}"),
        unit,
        help,
        value,
    };
    let began = unix_ns(&document.started_at).map(|ns| ns as f64 / 1e9);
    let share = far_share(total).map(|(_, share)| share);
    let pageable = (total.bytes > 0).then(|| total.pageable_bytes as f64 / total.bytes as f64);

    vec![
        gauge("started_seconds", "seconds", "When the run began, Unix time", began),
        gauge("elapsed_seconds", "seconds", "How long the program ran", Some(document.elapsed_s)),
        gauge("waited_seconds", "seconds", "Time waited in copies that block", document.waited_s),
        gauge("far_ratio", "ratio", "Part of the bytes from far memory", share),
        gauge("pageable_ratio", "ratio", "Part of the bytes of pageable memory", pageable),
        gauge(
            "looked_at_ratio",
            "ratio",
            "Part of the bytes whose pages were looked at",
            (total.bytes > 0).then(|| total.looked_at_bytes as f64 / total.bytes as f64),
        ),
        gauge(
            "complete",
            "",
            "1 where every process that copied was counted",
            Some(f64::from(u8::from(is_complete))),
        ),
    ]
}

fn point(document: &WitnessDocument, link: &WitnessLink) -> Point {
    let node = link.node.map_or(String::new(), |node| node.to_string());
    let on = if node.is_empty() { "/unknown node".to_owned() } else { format!("/mem{node}") };
    let name = format!("{}/{}/{}{on}", word(&link.memory), word(&link.direction), link.gpu);
    let host = document.host.clone();
    let on_host = host.as_deref().unwrap_or("unknown host");
    let share = link.bytes as f64 / document.total.bytes.max(1) as f64;
    let count = |count| Some(Number::Count(count));

    Point {
        benchmark: name.clone(),
        origin: format!("{} on {on_host}, {}", document.program.join(" "), document.started_at),
        words: words(document, link, node, host.clone().unwrap_or_default()),
        numbers: known([
            ("copied_bytes", count(link.bytes)),
            ("share_of_bytes", Some(Number::Real(share))),
            ("timed", count(link.timed)),
            ("bytes_per_s", link.bytes_per_s.map(Number::Real)),
            ("total_bytes", count(document.total.bytes)),
            ("elapsed_s", Some(Number::Real(document.elapsed_s))),
        ]),
        figures: figures(link),
        test: Some(TestCase {
            suite: TITLE.to_owned(),
            class: format!("{}/{}", word(&link.memory), word(&link.direction)),
            name: format!("{}{on}", link.gpu),
            took_s: 0.0,
            outcome: TestOutcome::Measured(format!("{} {}", bytes(link.bytes), word(&link.distance))),
        }),
        name,
    }
}

fn words(
    document: &WitnessDocument,
    link: &WitnessLink,
    node: String,
    host: String,
) -> Vec<(&'static str, String)> {
    let number = |number: Option<u32>| number.map_or(String::new(), |number| number.to_string());
    vec![
        ("started_at", document.started_at.clone()),
        ("host", host),
        ("rank", number(document.rank)),
        ("program", document.program.join(" ")),
        ("simulated", document.simulated.to_string()),
        ("direction", word(&link.direction)),
        ("memory", word(&link.memory)),
        ("memory_node", node),
        ("device", link.gpu.clone()),
        ("gpu", number(link.gpu_index)),
        ("distance", word(&link.distance)),
    ]
}

fn figures(link: &WitnessLink) -> Vec<Estimate> {
    let figure = |measure, is_main, value| Estimate { measure, is_main, value, low: None, high: None };
    let copied = Measure {
        name: Cow::Borrowed(BYTES),
        unit: Cow::Borrowed("MB"),
        scale: 1e6,
        more_is_better: false,
        is_relative: false,
    };
    let rate = link.bytes_per_s.map(|rate| figure(RATE, false, rate));
    std::iter::once(figure(copied, true, link.bytes as f64)).chain(rate).collect()
}
