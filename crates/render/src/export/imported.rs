//! Imported documents as points.

use analysis::imported::why;
use analysis::incomplete::Incomplete;
use report::ImportedDocument;
use report::imported::{ImportedCase, ImportedStatus, ImportedUnit};

use super::in_words::{Case, InWords, Value};
use super::points::Points;

/// A document as points.
pub fn points(document: &ImportedDocument) -> Points {
    let version = document.program_version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    let host = document.host.clone().unwrap_or_default();

    InWords {
        record: "numabench_imported",
        title: "numabench imported",
        kind: "imported",
        labels: &["bytes"],
        program: format!("{}{version}", document.program),
        started_at: document.started_at.clone(),
        elapsed_s: 0.0,
        cases: document.cases.iter().map(|case| export_case(case, &host)).collect(),
        host,
        incomplete: Incomplete::of_imported(document),
    }
    .points()
}

fn export_case(case: &ImportedCase, host: &str) -> Case {
    let value = case.figure().map(|value| Value { value, low: None, high: None });
    let is_time = case.unit == ImportedUnit::Ns;
    Case {
        case: case.id.clone(),
        host: host.to_owned(),
        place: case.place.clone(),
        labels: vec![("bytes", case.bytes.map_or(String::new(), |bytes| bytes.to_string()))],
        by_time: is_time,
        time_ns: value.filter(|_| is_time),
        bytes_per_s: value.filter(|_| !is_time),
        values: u64::from(value.is_some()),
        reason: value.is_none().then(|| why(case)),
        is_fault: case.status == ImportedStatus::Failed,
    }
}
