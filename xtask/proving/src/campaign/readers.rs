//! Readers of what is exported that are not ours: OpenMetrics (its parser refuses two samples of one label
//! set), the line protocol by InfluxDB's makers, RFC 4180, XML and JSON. The tests of the command line use
//! this very file.
//!
//! Each says how many figures it found. InfluxDB and Bencher keep the last of two points of one name without
//! a word, so names that occur twice are wrong here.

use std::collections::BTreeSet;

use serde_json::Value;

/// The forms, as `--to` names them.
pub const FORMS: [&str; 7] = ["csv", "bmf", "gha", "gha-smaller", "openmetrics", "junit", "influx"];

/// How many figures there are in a text of this form.
///
/// # Errors
/// It is not of this form, or has a name twice.
pub fn figures(form: &str, text: &str) -> Result<usize, String> {
    match form {
        "openmetrics" => openmetrics(text),
        "influx" => influx(text),
        "csv" => csv(text),
        "junit" => junit(text),
        "bmf" => bmf(text),
        _ => gha(text),
    }
}

fn openmetrics(text: &str) -> Result<usize, String> {
    let found =
        openmetrics_parser::openmetrics::parse_openmetrics(text).map_err(|error| error.to_string())?;
    Ok(found.families.values().map(|family| family.iter_samples().count()).max().unwrap_or(0))
}

fn influx(text: &str) -> Result<usize, String> {
    let mut series = BTreeSet::new();
    for line in influxdb_line_protocol::parse_lines(text) {
        let line = line.map_err(|error| error.to_string())?;
        if !series.insert((line.series.to_string(), line.timestamp)) {
            return Err(format!("twice: {}", line.series));
        }
    }
    Ok(series.len())
}

fn csv(text: &str) -> Result<usize, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns = reader.headers().map_err(|error| error.to_string())?.clone();
    let figures: Vec<usize> = (0..columns.len())
        .filter(|at| {
            matches!(&columns[*at], "median_ns" | "median" | "bytes_per_s" | "time_ns" | "copied_bytes")
        })
        .collect();
    let mut found = 0;
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let is_number = |at: &usize| record.get(*at).is_some_and(|field| field.parse::<f64>().is_ok());
        found += usize::from(figures.iter().any(is_number));
    }
    Ok(found)
}

fn junit(text: &str) -> Result<usize, String> {
    let xml = roxmltree::Document::parse(text).map_err(|error| error.to_string())?;
    let tests = || xml.descendants().filter(|node| node.has_tag_name("testcase"));
    let mut names = BTreeSet::new();
    for test in tests() {
        let name =
            (test.attribute("classname").unwrap_or_default(), test.attribute("name").unwrap_or_default());
        if !names.insert(name) {
            return Err(format!("twice: {name:?}"));
        }
    }
    let announced = xml.root_element().attribute("tests").unwrap_or_default();
    if announced != names.len().to_string() {
        return Err(format!("{announced} tests are announced, and {} are there", names.len()));
    }
    let is_bad = |name: &str| ["error", "failure", "skipped"].contains(&name);
    Ok(tests().filter(|test| !test.children().any(|child| is_bad(child.tag_name().name()))).count())
}

/// Bencher's: an object of benchmarks, each an object of measures.
fn bmf(text: &str) -> Result<usize, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let benchmarks = value.as_object().ok_or("no object")?;
    let measures = benchmarks.values().filter_map(Value::as_object).flat_map(|measures| measures.values());
    measures
        .map(
            |measure| {
                if measure["value"].is_number() { Ok(1) } else { Err("a measure without a value".to_owned()) }
            },
        )
        .sum()
}

/// GitHub's: a list of named values.
fn gha(text: &str) -> Result<usize, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let all = value.as_array().ok_or("no list")?;
    let names: BTreeSet<&str> = all.iter().filter_map(|one| one["name"].as_str()).collect();
    if names.len() == all.len() {
        Ok(all.len())
    } else {
        Err(format!("{} names of {} values", names.len(), all.len()))
    }
}
