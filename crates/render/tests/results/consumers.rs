//! What is exported is read by those that it is for: pandas, Prometheus' own parsers, a JUnit reader, a
//! reader of InfluxDB's lines, and Bencher's published schema.
//!
//! The Python ones are used where they are installed (`pip install pandas prometheus_client junitparser
//! line-protocol-parser jsonschema`; another interpreter by `NUMABENCH_TEST_PYTHON`); where one is not, that
//! part is skipped, and says so.

use std::io::Write;
use std::process::{Command, Stdio};

use analysis::any_document::AnyDocument;
use render::export::{self, Form};
use report::result::Outcome;
use report::settings::{CopyEngine, Direction};
use report::{Document, SavedDocument, TrialDocument};

use crate::made::{Done, document, sgemm};

/// A document with a figure, a skipped case, a corrupt one, and text that every form must escape.
fn troubled() -> Result<Document, Box<dyn std::error::Error>> {
    let mut document =
        document(&[24.3e9, 12.3e9], &[Direction::H2d, Direction::D2h, Direction::RoundTrip], 1)?;
    let nasty = "a <b> & \"c\", d|e\\f\ng=1 \u{1} €";
    document.cases[1].ranks[0].outcome = Outcome::Skipped { reason: nasty.to_owned() };
    document.cases[2].ranks[1].outcome = Outcome::Corrupt { reason: nasty.to_owned() };
    document.devices[0].name = nasty.to_owned();
    document.rows = report::rows::rows(&document);
    Ok(document)
}

/// Runs a Python program over the exported bytes, unless a module that it needs is not there. It fails when
/// the program does.
fn python(module: &str, program: &str, form: Form) -> Done {
    read_by(module, program, &export::result(&troubled()?).export(form)?)
}

/// The same over these bytes.
#[allow(clippy::print_stderr, reason = "no test is skipped silently")]
fn read_by(module: &str, program: &str, bytes: &[u8]) -> Done {
    let interpreter = std::env::var("NUMABENCH_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let there = Command::new(&interpreter).args(["-c", &format!("import {module}")]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        eprintln!(
            "SKIPPED a reader of an export: {interpreter} has no module {module}; NUMABENCH_TEST_PYTHON \
             names another interpreter"
        );
        return Ok(());
    }
    let mut child = Command::new(&interpreter)
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    child.stdin.take().ok_or("a pipe")?.write_all(bytes)?;
    let output = child.wait_with_output()?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}\n{}", String::from_utf8_lossy(bytes));
    Ok(())
}

#[test]
fn a_kernels_rate_is_in_its_own_unit_and_a_load_has_a_time_and_no_rate() -> Done {
    let mut document = document(&[24.3e9, 12.3e9], &[Direction::H2d, Direction::Kernel, Direction::Load], 1)?;
    document.cases[1].group = Some("sgemm".to_owned());
    document.kernels = vec![sgemm(2)];
    document.rows = report::rows::rows(&document);
    let points = export::result(&document);
    let of = |direction: &str| {
        points.points.iter().find(|point| point.word("direction") == direction).ok_or("no point")
    };

    let sgemm = of("kernel")?;
    let [rate, time] = &sgemm.figures[..] else { return Err("a kernel has a rate and a time".into()) };
    assert_eq!((&rate.measure.unit[..], sgemm.word("unit")), ("GFLOP/s", "FLOP/s"));
    assert!((rate.value * time.value / 2e18 - 1.0).abs() < 1e-12, "{rate:?}");
    assert_eq!(sgemm.number("median_bytes_per_s"), None);
    let load = of("load")?;
    assert_eq!(load.figures.iter().map(|figure| &figure.measure.unit[..]).collect::<Vec<_>>(), ["µs"]);
    assert_eq!((load.word("quantity"), load.word("unit")), ("latency", "ns"));

    // Of two ranks each.
    let text = |form| {
        export::result(&document).export(form).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let metrics = text(Form::OpenMetrics)?;
    let samples =
        |family: &str| metrics.lines().filter(|line| line.starts_with(&format!("{family}{{"))).count();
    assert_eq!(samples("numabench_copy_rate_bytes_per_second"), 2, "{metrics}");
    assert_eq!(samples("numabench_kernel_rate_flops_per_second"), 2, "{metrics}");
    assert_eq!(samples("numabench_copy_time_seconds"), 6, "{metrics}");
    assert_eq!(text(Form::GhaBigger)?.matches("GFLOP/s").count(), 2);
    Ok(())
}

#[test]
fn pandas_reads_the_csv_with_numbers_as_numbers() -> Done {
    let program = "
import pandas, sys
d = pandas.read_csv(sys.stdin)
assert d.shape == (6, 42), d.shape
assert set(d['unit']) == {'B/s'} and abs(d['value'][1] / 12.3e9 - 1) < 0.01, d['value']
assert d['median_bytes_per_s'].dtype == float and d['bytes'].dtype == int and d['pu'].dtype == int, d.dtypes
assert list(d['status']) == ['measured', 'measured', 'skipped', 'measured', 'measured', 'corrupt'], d['status']
assert abs(d['median_bytes_per_s'][1] / 12.3e9 - 1) < 0.01
assert d['device_name'][0].startswith('a <b> & \"c\", d|e\\\\f g=1'), repr(d['device_name'][0])
";
    python("pandas", program, Form::Csv)
}

#[test]
fn what_simulated_devices_and_other_engines_gave_says_so_in_every_form_and_has_names_of_its_own() -> Done {
    let real = troubled()?;
    let mut other = real.clone();
    other.settings.engine = CopyEngine::Tma;
    let text = |document: &Document, form| {
        let points = export::any(&AnyDocument::Result(Box::new(document.clone())));
        points.export(form).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    for (form, name, _) in Form::ALL {
        assert!(!text(&real, form)?.contains("tma"), "{name}");
        assert!(text(&other, form)?.contains("tma"), "{name}");
    }

    // A load is no copy, whatever makes the copies of its run.
    let mut loads = other.clone();
    loads.rows.iter_mut().for_each(|row| row.direction = Direction::Load);
    assert!(!text(&loads, Form::Csv)?.contains("tma") && !text(&loads, Form::Bmf)?.contains("tma"));

    other.platform.simulated = Some("a stand-in".to_owned());
    for (form, name, _) in Form::ALL {
        let (real, other) = (text(&real, form)?, text(&other, form)?);
        let says = ["simulated/", "simulated=true", "simulated=\"true\"", ",true,"];
        assert!(says.iter().any(|word| other.contains(word)), "{name}: {other}");
        assert!(!says.iter().any(|word| real.contains(word)), "{name}: {real}");
    }
    Ok(())
}

#[test]
fn the_prometheus_clients_parsers_read_the_metrics() -> Done {
    // The strict OpenMetrics parser, and that of the older text format, which node_exporter's textfile
    // collector takes.
    let program = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as strict
from prometheus_client.parser import text_string_to_metric_families as text
source = sys.stdin.read()
for parse in (strict, text):
    families = {f.name: f for f in parse(source)}
    rates = families['numabench_copy_rate_bytes_per_second'].samples
    assert len(rates) == 4, rates
    labels = [s.labels for s in rates]
    assert len({tuple(sorted(l.items())) for l in labels}) == 4
    assert 'host' not in labels[0] and all(s.timestamp is None for s in rates)
    assert any(l['model'].startswith('a <b>') for l in labels)
    assert families['numabench_run_complete'].samples[0].value == 1
    assert abs(families['numabench_run_started_seconds'].samples[0].value - 1795208645) < 1
";
    python("prometheus_client", program, Form::OpenMetrics)
}

#[test]
fn a_junit_reader_finds_every_place_with_its_result() -> Done {
    let program = "
import sys
from junitparser import JUnitXml
xml = JUnitXml.fromstring(sys.stdin.buffer.read())
assert (xml.tests, xml.failures, xml.errors) == (6, 1, 0), (xml.tests, xml.failures, xml.errors)
suites = list(xml)
assert [s.tests for s in suites] == [2, 2, 2] and suites[1].skipped == 1
cases = [c for s in suites for c in s]
assert sum(c.is_passed for c in cases) == 4 and sum(c.is_skipped for c in cases) == 1 and sum(c.is_failure for c in cases) == 1
";
    python("junitparser", program, Form::Junit)
}

#[test]
fn a_reader_of_influx_lines_reads_every_point() -> Done {
    let program = "
import sys
from line_protocol_parser import parse_line
points = [parse_line(l) for l in sys.stdin.read().splitlines()]
assert len(points) == 4, points
assert points[0]['measurement'] == 'numabench' and points[0]['time'] == 1795208645000000000, points[0]
assert points[0]['tags']['direction'] == 'h2d' and abs(points[1]['fields']['median_bytes_per_s'] / 12.3e9 - 1) < 0.01
";
    python("line_protocol_parser", program, Form::Influx)
}

#[test]
fn benchers_schema_holds_the_metrics_and_names_have_no_host_and_no_date() -> Done {
    // bencher.dev/bmf.json, as published.
    let program = r#"
import json, sys
from jsonschema import validate
number = {"type": "number"}
metric = {"type": "object", "properties": {"value": number, "lower_value": number, "upper_value": number}, "required": ["value"]}
schema = {"type": "object", "patternProperties": {".+": {"type": "object", "patternProperties": {".+": metric}}}}
document = json.load(sys.stdin)
validate(document, schema)
name = "alone/pinned/h2d/134217728/0000:c1:00.0/pu49/mem3"
assert name in document, list(document)
m = document[name]["bandwidth"]
assert m["lower_value"] < m["value"] < m["upper_value"] and len(document) == 4, document
assert not any("nid005123" in n or "2026" in n for n in document)
"#;
    python("jsonschema", program, Form::Bmf)
}

#[test]
fn the_github_action_gets_a_list_of_named_values() -> Done {
    // What its README asks of customBiggerIsBetter and customSmallerIsBetter: an array of {name, unit, value,
    // range?, extra?}.
    let program = "
import json, sys
benches = json.load(sys.stdin)
assert len(benches) == 4 and len({b['name'] for b in benches}) == 4
for b in benches:
    assert isinstance(b['value'], (int, float)) and set(b) <= {'name', 'unit', 'value', 'range', 'extra'} and b['unit'] in ('GB/s', 'µs'), b
";
    python("json", program, Form::GhaBigger)?;
    python("json", program, Form::GhaSmaller)
}

/// A variant is named by the user, with whatever a command line holds.
#[test]
fn the_readers_find_a_trials_variants_by_their_names_however_they_are_spelled() -> Done {
    let mut document = TrialDocument::from_json(include_bytes!("documents/trial-1.0.json"))?;
    document.rows[1].variant = "a <b>, \"c\"\\\ng=1 \u{1}".to_owned();
    let junit = r#"
import sys
from junitparser import JUnitXml
names = [c.name for suite in JUnitXml.fromstring(sys.stdin.buffer.read()) for c in suite]
assert names == ['baseline', 'a <b>, "c"\\ g=1  '], names
"#;
    read_by("junitparser", junit, &export::trial(&document).export(Form::Junit)?)?;
    let influx = r#"
import sys
from line_protocol_parser import parse_line
names = [parse_line(l)['tags']['variant'] for l in sys.stdin.read().splitlines()]
assert names == ['baseline', 'a <b>, "c"/ g=1  '], names
"#;
    read_by("line_protocol_parser", influx, &export::trial(&document).export(Form::Influx)?)?;
    let metrics = r#"
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as strict
names = [s.labels['variant'] for f in strict(sys.stdin.read()) for s in f.samples]
assert names == ['baseline', 'a <b>, "c"\\\ng=1 \ufffd'], names
"#;
    read_by("prometheus_client", metrics, &export::trial(&document).export(Form::OpenMetrics)?)?;
    let table = r#"
import csv, sys
names = [row['variant'] for row in csv.DictReader(sys.stdin)]
assert names == ['baseline', 'a <b>, "c"\\ g=1 \ufffd'], names
"#;
    read_by("csv", table, &export::trial(&document).export(Form::Csv)?)
}
