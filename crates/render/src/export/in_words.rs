//! Documents whose places are words, MPI runs and imported ones, as points: the same for both. Metrics carry
//! the kind in their names (`numabench_mpi_rate_…`), so that nobody takes an imported figure for a measured
//! one.

use std::collections::BTreeSet;

use analysis::incomplete::Incomplete;
use report::timestamp::unix_ns;

use super::points::{
    Estimate, Gauge, Label, MetricFamily, Number, Point, Points, RATE, TIME, TestCase, TestFault,
    TestOutcome, known,
};

/// The figures of such a document.
pub(super) struct InWords {
    /// What its records are called, and what it is called among test results.
    pub(super) record: &'static str,
    pub(super) title: &'static str,
    /// Its kind, in a word.
    pub(super) kind: &'static str,
    /// The names of each case's labels, in order.
    pub(super) labels: &'static [&'static str],
    /// The program or library that was measured by.
    pub(super) program: String,
    pub(super) started_at: String,
    pub(super) elapsed_s: f64,
    /// The host of the document's first rank.
    pub(super) host: String,
    pub(super) incomplete: Option<Incomplete>,
    pub(super) cases: Vec<Case>,
}

/// A case in one place: its figures, or the reason why there are none.
pub(super) struct Case {
    pub(super) case: String,
    /// The host that it was measured on; of two that of the first.
    pub(super) host: String,
    pub(super) place: String,
    /// More of the case, by name.
    pub(super) labels: Vec<(&'static str, String)>,
    /// Whether it is judged by its time, and not by its rate.
    pub(super) by_time: bool,
    /// The time, ns, and the rate, bytes/s.
    pub(super) time_ns: Option<Value>,
    pub(super) bytes_per_s: Option<Value>,
    /// How many values are behind it.
    pub(super) values: u64,
    /// Why there is no figure.
    pub(super) reason: Option<String>,
    /// Whether that is a fault, and not something left out.
    pub(super) is_fault: bool,
}

/// A figure with the ends of its 95 % interval, where it has one.
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub(super) value: f64,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
}

impl InWords {
    /// The points.
    pub(super) fn points(mut self) -> Points {
        self.number_doubles();
        let began = unix_ns(&self.started_at).map(|ns| ns as f64 / 1e9);
        let complete = Some(f64::from(u8::from(self.incomplete.is_none())));
        let gauge =
            |name, unit, help, value| Gauge { name: format!("{}_{name}", self.record), unit, help, value };
        let at_median = [
            "Rate, at the median where there are several values",
            "Time, the median where there are several values",
        ];
        let own = Label::same_in_all_forms(self.labels);
        let more = ["status", "reason", "time_ns", "time_low_ns", "time_high_ns", "bytes_per_s", "values"];

        Points {
            record: self.record,
            title: self.title,
            is_dated: true,
            elapsed_s: self.elapsed_s,
            columns: [&["started_at", "kind", "program", "host", "case", "place"], self.labels, &more]
                .concat(),
            line_end: "\r\n",
            labels: [&Label::same_in_all_forms(&["case", "place", "program"])[..], &own].concat(),
            tags: [&Label::same_in_all_forms(&["host", "program", "case", "place"])[..], &own].concat(),
            fields: &["time_ns", "bytes_per_s"],
            metrics: MetricFamily::rate_and_time(self.record, at_median, false),
            gauges: vec![
                gauge("started_seconds", "seconds", "When the run began, Unix time", began),
                gauge("complete", "", "1 where every case was measured", complete),
            ],
            suites: vec![self.program.clone()],
            points: self.cases.iter().map(|case| self.point(case)).collect(),
            started_at: self.started_at,
            host: self.host,
            incomplete: self.incomplete,
        }
    }

    /// A case that the document has twice in a place has its number there: readers refuse two samples of one
    /// name, or keep the last one alone.
    fn number_doubles(&mut self) {
        let mut used: BTreeSet<(String, String)> = BTreeSet::new();
        for one in &mut self.cases {
            let numbered = (2..).map(|number| format!("{} ({number})", one.place));
            let mut keys =
                std::iter::once(one.place.clone()).chain(numbered).map(|place| (one.case.clone(), place));
            if let Some(key) = keys.find(|key| !used.contains(key)) {
                one.place.clone_from(&key.1);
                used.insert(key);
            }
        }
    }

    fn point(&self, case: &Case) -> Point {
        // `gpu-aware/ping-pong/8/from PU 0, node 0 to PU 1, node 0`.
        let name = format!("{}/{}", case.case, case.place);
        let status = match (&case.reason, case.is_fault) {
            (None, _) => "measured",
            (Some(_), true) => "failed",
            (Some(_), false) => "skipped",
        };
        let mut words = vec![
            ("started_at", self.started_at.clone()),
            ("kind", self.kind.to_owned()),
            ("program", self.program.clone()),
            ("host", case.host.clone()),
            ("case", case.case.clone()),
            ("place", case.place.clone()),
            ("status", status.to_owned()),
            ("reason", case.reason.clone().unwrap_or_default()),
        ];

        words.extend(case.labels.iter().cloned());
        let figure = |measure, is_main| {
            move |Value { value, low, high }| Estimate { measure, is_main, value, low, high }
        };
        let rate = case.bytes_per_s.map(figure(RATE, !case.by_time));
        let time = case.time_ns.map(figure(TIME, case.by_time));
        let real = |value: Option<f64>| value.map(Number::Real);

        Point {
            benchmark: name.clone(),
            name,
            origin: format!("{} ({}) on {}, {}", self.program, self.kind, case.host, self.started_at),
            words,
            numbers: known([
                ("time_ns", real(case.time_ns.map(|time| time.value))),
                ("time_low_ns", real(case.time_ns.and_then(|time| time.low))),
                ("time_high_ns", real(case.time_ns.and_then(|time| time.high))),
                ("bytes_per_s", real(case.bytes_per_s.map(|rate| rate.value))),
                ("values", Some(Number::Count(case.values))),
            ]),
            figures: rate.into_iter().chain(time).collect(),
            test: Some(TestCase {
                suite: self.program.clone(),
                class: case.case.clone(),
                name: case.place.clone(),
                took_s: 0.0,
                outcome: outcome(case),
            }),
        }
    }
}

fn outcome(case: &Case) -> TestOutcome {
    match case.reason.clone() {
        None => {
            let rate =
                case.bytes_per_s.map(|rate| format!("{:.3} GB/s ", rate.value / 1e9)).unwrap_or_default();
            let time = case.time_ns.map(|time| format!("{:.3} µs", time.value / 1e3)).unwrap_or_default();
            TestOutcome::Measured(rate + &time)
        }
        Some(reason) if case.is_fault => TestOutcome::Failure(TestFault { kind: "failed", reason }),
        Some(reason) => TestOutcome::Skipped(reason),
    }
}
