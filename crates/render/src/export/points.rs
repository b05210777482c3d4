//! Documents whose figures have a place in words, MPI runs and imported ones, in all forms: a table of points, the same for each kind, written as result
//! documents are. Metrics carry the kind in their names (`numabench_mpi_rate_…`), so that nobody takes an imported figure for a measured one.

use std::collections::BTreeMap;

use analysis::incomplete::Incomplete;
use report::timestamp::unix_ns;

use super::bmf::Metric;
use super::gha::Benchmark;
use super::openmetrics::label;
use super::{Form, csv, influx, junit};
use report::json::{JsonError, json_value};

/// The figures of a document.
#[derive(Clone, Debug)]
pub struct Points {
    /// What metrics are called after: `mpi`, `imported`.
    pub kind: &'static str,
    /// The names of each point's labels, in order.
    pub labels: &'static [&'static str],
    /// The program or library that was measured by.
    pub program: String,
    /// When the run began, RFC 3339 in UTC.
    pub started_at: String,
    /// The host; empty where it is not known.
    pub host: String,
    /// How the run ended, where that is not complete.
    pub incomplete: Option<Incomplete>,
    /// The figures.
    pub points: Vec<Point>,
}

/// A figure, or the reason why there is none.
#[derive(Clone, Debug)]
pub struct Point {
    /// What was measured.
    pub case: String,
    /// Where.
    pub place: String,
    /// More of the case, by name.
    pub labels: Vec<(&'static str, String)>,
    /// Whether it is judged by its time, and not by its rate.
    pub by_time: bool,
    /// The time, ns.
    pub time_ns: Option<Value>,
    /// The rate, bytes/s.
    pub bytes_per_s: Option<Value>,
    /// How many values are behind it.
    pub values: u64,
    /// Why there is no figure.
    pub reason: Option<String>,
    /// Whether that is a fault, and not something left out.
    pub is_fault: bool,
}

/// A figure with the ends of its 95 % interval, where it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The figure.
    pub value: f64,
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

impl Point {
    /// `gpu-aware/ping-pong/8/from PU 0, node 0 to PU 1, node 0`.
    fn name(&self) -> String {
        format!("{}/{}", self.case, self.place)
    }
}

impl Points {
    /// The points in this form.
    ///
    /// # Errors
    /// [`JsonError`]: a figure is not finite, which no document that was read has.
    pub fn export(&self, form: Form) -> Result<Vec<u8>, JsonError> {
        Ok(match form {
            Form::Csv => self.csv().into_bytes(),
            Form::Bmf => json_value(&self.bmf())?,
            Form::GhaBigger => json_value(&self.gha("GB/s", 1e9, |point| point.bytes_per_s))?,
            Form::GhaSmaller => json_value(&self.gha("µs", 1e3, |point| point.time_ns))?,
            Form::OpenMetrics => self.openmetrics().into_bytes(),
            Form::Junit => self.junit().into_bytes(),
            Form::Influx => self.influx().into_bytes(),
        })
    }

    fn csv(&self) -> String {
        let columns = ["started_at", "kind", "program", "host", "case", "place"].iter().chain(self.labels);
        let more = ["status", "reason", "time_ns", "time_low_ns", "time_high_ns", "bytes_per_s", "values"];
        let mut text = format!("{}\r\n", columns.chain(&more).copied().collect::<Vec<_>>().join(","));
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        for point in &self.points {
            let status = if point.reason.is_none() {
                "measured"
            } else if point.is_fault {
                "failed"
            } else {
                "skipped"
            };
            let head = [&self.started_at[..], self.kind, &self.program, &self.host, &point.case, &point.place];
            let fields =
                head.into_iter().map(str::to_owned).chain(point.labels.iter().map(|(_, value)| value.clone())).chain([
                    status.to_owned(),
                    point.reason.clone().unwrap_or_default(),
                    number(point.time_ns.map(|time| time.value)),
                    number(point.time_ns.and_then(|time| time.low)),
                    number(point.time_ns.and_then(|time| time.high)),
                    number(point.bytes_per_s.map(|rate| rate.value)),
                    point.values.to_string(),
                ]);
            text += &format!("{}\r\n", fields.map(|field| csv::quoted(&field)).collect::<Vec<_>>().join(","));
        }
        text
    }

    fn bmf(&self) -> BTreeMap<String, BTreeMap<&'static str, Metric>> {
        let mut benchmarks: BTreeMap<String, BTreeMap<&str, Metric>> = BTreeMap::new();
        for point in &self.points {
            let (measure, value) =
                if point.by_time { ("latency", point.time_ns) } else { ("bandwidth", point.bytes_per_s) };
            let Some(Value { value, low, high }) = value else { continue };
            let metric = Metric { value, lower_value: low, upper_value: high };
            benchmarks.entry(point.name()).or_default().insert(measure, metric);
        }
        benchmarks
    }

    fn gha(&self, unit: &'static str, scale: f64, of: fn(&Point) -> Option<Value>) -> Vec<Benchmark<'static>> {
        let benchmark = |point: &Point| {
            let Value { value, low, high } = of(point)?;
            let range = low.zip(high).map(|(low, high)| format!("± {:.2} %", (high - low) / 2.0 / value * 100.0));
            let extra = format!("{} ({}) on {}, {}", self.program, self.kind, self.host, self.started_at);
            Some(Benchmark { name: point.name(), unit, value: value / scale, range, extra })
        };
        self.points.iter().filter_map(benchmark).collect()
    }

    fn openmetrics(&self) -> String {
        let mut text = String::new();
        let kind = self.kind;
        let mut family = |what: &str, unit: &str, help: &str, scale: f64, of: fn(&Point) -> Option<Value>| {
            let name = format!("numabench_{kind}_{what}_{unit}");
            text += &format!("# TYPE {name} gauge\n# UNIT {name} {unit}\n# HELP {name} {help}.\n");
            for point in &self.points {
                let Some(value) = of(point) else { continue };
                let case =
                    [("case", point.case.clone()), ("place", point.place.clone()), ("program", self.program.clone())];
                let labels = case.iter().chain(&point.labels);
                let labels: Vec<String> = labels.map(|(name, value)| format!("{name}=\"{}\"", label(value))).collect();
                text += &format!("{name}{{{}}} {:?}\n", labels.join(","), value.value / scale);
            }
        };
        family("rate", "bytes_per_second", "Rate, at the median where there are several values", 1.0, |point| {
            point.bytes_per_s
        });
        family("time", "seconds", "Time, the median where there are several values", 1e9, |point| point.time_ns);
        let mut single = |name: &str, unit: &str, help: &str, value: Option<f64>| {
            let unit = if unit.is_empty() { String::new() } else { format!("# UNIT {name} {unit}\n") };
            text += &format!("# TYPE {name} gauge\n{unit}# HELP {name} {help}.\n");
            if let Some(value) = value {
                text += &format!("{name} {value:?}\n");
            }
        };
        let began = unix_ns(&self.started_at).map(|ns| ns as f64 / 1e9);
        single(&format!("numabench_{kind}_started_seconds"), "seconds", "When the run began, Unix time", began);
        let complete = Some(f64::from(u8::from(self.incomplete.is_none())));
        single(&format!("numabench_{kind}_complete"), "", "1 where every case was measured", complete);
        text + "# EOF\n"
    }

    fn influx(&self) -> String {
        let at = unix_ns(&self.started_at).map_or(String::new(), |at| format!(" {at}"));
        let line = |point: &Point| {
            let fields = [
                ("time_ns", point.time_ns.map(|time| time.value)),
                ("bytes_per_s", point.bytes_per_s.map(|rate| rate.value)),
            ];
            let fields: Vec<String> =
                fields.iter().filter_map(|(name, value)| Some(format!("{name}={:?}", (*value)?))).collect();
            let head =
                [("host", &self.host), ("program", &self.program), ("case", &point.case), ("place", &point.place)];
            let labels = point.labels.iter().map(|(name, value)| (*name, value));
            // An empty tag value is not allowed.
            let tags = head.into_iter().chain(labels).filter(|(_, value)| !value.is_empty());
            let tags: Vec<String> = tags.map(|(name, value)| format!("{name}={}", influx::escaped(value))).collect();
            (!fields.is_empty())
                .then(|| format!("numabench_{},{} {}{at}\n", self.kind, tags.join(","), fields.join(",")))
        };
        self.points.iter().filter_map(line).collect()
    }

    fn junit(&self) -> String {
        let escaped = junit::escaped;
        let count = |wanted: fn(&&Point) -> bool| self.points.iter().filter(wanted).count();
        let failures = count(|point| point.reason.is_some() && point.is_fault);
        let skipped = count(|point| point.reason.is_some() && !point.is_fault);
        let run = self.incomplete.as_ref().map(|incomplete| junit::run(incomplete, 0.0));
        let (tests, errors) = (self.points.len() + run.iter().len(), run.iter().len());
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"numabench {kind}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">\n  \
             <testsuite name=\"{}\" hostname=\"{}\" timestamp=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">\n",
            escaped(&self.program),
            escaped(&self.host),
            escaped(self.started_at.split(['.', 'Z']).next().unwrap_or_default()),
            kind = self.kind,
        );
        text += &run.unwrap_or_default();
        for point in &self.points {
            let reason = point.reason.as_deref().map(escaped);
            let body = match reason {
                None => {
                    let rate =
                        point.bytes_per_s.map(|rate| format!("{:.3} GB/s ", rate.value / 1e9)).unwrap_or_default();
                    let time = point.time_ns.map(|time| format!("{:.3} µs", time.value / 1e3)).unwrap_or_default();
                    format!("<system-out>{rate}{time}</system-out>")
                }
                Some(reason) if point.is_fault => format!("<failure message=\"{reason}\" type=\"failed\"/>"),
                Some(reason) => format!("<skipped message=\"{reason}\"/>"),
            };
            let (case, place) = (escaped(&point.case), escaped(&point.place));
            text += &format!("    <testcase classname=\"{case}\" name=\"{place}\" time=\"0\">{body}</testcase>\n");
        }
        text + "  </testsuite>\n</testsuites>\n"
    }
}
