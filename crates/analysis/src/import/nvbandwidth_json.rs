//! What nvbandwidth prints with `-j`. Its matrices hold figures as text with six digits; `sum` has all of
//! them, which is checked and not taken.
//!
//! Copies both ways between GPUs are three matrices; versions to 0.8 put the rows of all three into one and
//! describe the last, whose sum it is.
//!
//! A test whose status is not `Passed` or `Waived` failed: `Running` is that in which the program died, and
//! `error` says how.

use report::imported::ImportedStatus;
use serde::Deserialize;

use super::error::{ImportError, ImportErrorKind, short};
use super::numbers::number;
use super::nvbandwidth_test::{Title, id_of_part, without_figure};
use super::nvbandwidth_text::{cuda_version, device};
use super::{Case, Program, Taken, figure};

#[derive(Deserialize)]
struct Output {
    nvbandwidth: Option<Run>,
}

#[derive(Deserialize)]
struct Run {
    version: Option<String>,
    error: Option<String>,
    #[serde(rename = "Driver Version")]
    driver: Option<String>,
    #[serde(rename = "CUDA Runtime Version")]
    runtime: Option<Version>,
    #[serde(rename = "GPU Device list", default)]
    devices: Vec<String>,
    #[serde(default)]
    testcases: Vec<Test>,
}

/// A number, or since 0.10 the words that the text has.
#[derive(Deserialize)]
#[serde(untagged)]
enum Version {
    Number(u64),
    Words(String),
}

#[derive(Deserialize)]
struct Test {
    name: String,
    status: String,
    error: Option<String>,
    bandwidth_description: Option<String>,
    #[serde(default)]
    bandwidth_matrix: Vec<Option<Vec<String>>>,
    sum: Option<f64>,
}

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let program = Program::Nvbandwidth.name();
    // The program ends its JSON with an empty line; another tool's JSON has no object of this name.
    let output: Output = report::read::any(text.trim().as_bytes())
        .map_err(|fault| ImportError::whole(ImportErrorKind::Json { program, fault }))?;
    let not_this = || {
        ImportError::whole(ImportErrorKind::NotThis {
            program,
            missing: "its JSON has no object \"nvbandwidth\"",
        })
    };
    let run = output.nvbandwidth.ok_or_else(not_this)?;
    let mut taken = Taken { version: run.version.clone(), ..Taken::default() };
    if let Some(driver) = &run.driver {
        taken.fact("driver version", driver, false);
    }

    match &run.runtime {
        Some(Version::Number(number)) => taken.fact("CUDA runtime", number.to_string(), false),
        Some(Version::Words(words)) => taken.fact("CUDA runtime", cuda_version(words), false),
        None => {}
    }

    for named in &run.devices {
        // The JSON has the host behind the device, the text on a line of its own: `0: NVIDIA H200
        // (00000000:00:06): (vm)`.
        let (gpu, host) =
            named.rsplit_once(": (").map_or((&named[..], None), |(gpu, host)| (gpu, Some(host)));
        device(&mut taken, gpu);
        let host = host.map(|host| host.trim_end_matches(')').to_owned());
        taken.host = taken.host.or(host);
    }

    for test in &run.testcases {
        case(test, run.error.as_deref(), &mut taken)?;
    }
    if taken.cases.is_empty() {
        let said = run.error.as_deref().map_or("no test ran".to_owned(), short);
        return Err(ImportError::whole(ImportErrorKind::NoFigures { said }));
    }
    Ok(taken)
}

fn case(test: &Test, error: Option<&str>, taken: &mut Taken) -> Result<(), ImportError> {
    let without = |status, reason: String| without_figure(&test.name, status, reason, 0);
    match &test.status[..] {
        "Passed" => {}
        "Waived" => {
            taken.cases.push(without(ImportedStatus::Waived, "waived".to_owned()));
            return Ok(());
        }
        status => {
            let said = test.error.as_deref().or(error.filter(|_| status == "Running")).unwrap_or_default();
            let reason =
                if said.is_empty() { status.to_owned() } else { format!("{status}: {}", short(said)) };
            taken.cases.push(without(ImportedStatus::Failed, reason));
            return Ok(());
        }
    }

    let description = test.bandwidth_description.as_deref().unwrap_or_default();
    let program = Program::Nvbandwidth.name();
    let strange = |fault: String| {
        ImportError::whole(ImportErrorKind::Json { program, fault: format!("{}: {fault}", test.name) })
    };
    let title = Title::of(description)
        .ok_or_else(|| strange(format!("its description is {:?}", short(description))))?;
    let before = taken.cases.len();
    let mut added = 0.0;

    for (part, rows) in parts(test, &title) {
        added = 0.0;
        for (row, cells) in (0..).zip(rows) {
            for (column, text) in (0..).zip(cells.iter().flatten()).filter(|(_, text)| *text != "N/A") {
                let value =
                    number(text, 0, "a figure").map_err(|fault| strange(fault.refused.to_string()))?;
                added += value;
                let figure = figure(value, title.scale);
                let (id, place) = (id_of_part(&test.name, &part), title.place(row, column));
                taken.cases.push(Case { id, place, bytes: None, unit: title.unit, figure, line: None });
            }
        }
    }

    if taken.cases.len() == before {
        return Err(strange("it passed and has no figures".to_owned()));
    }

    // Six digits each.
    if test.sum.is_some_and(|sum| (added - sum).abs() > 1e-5 * added.max(sum)) {
        let sum = test.sum.map_or(String::new(), |sum| sum.to_string());
        return Err(ImportError::whole(ImportErrorKind::Sum { sum, added: format!("{added:.2}") }));
    }
    Ok(())
}

/// The matrices of a test and what each is called; the sum is the last one's.
fn parts<'a>(test: &'a Test, title: &Title) -> Vec<(String, &'a [Option<Vec<String>>])> {
    let Some(part) = &title.part else { return vec![(String::new(), &test.bandwidth_matrix)] };
    let columns = test.bandwidth_matrix.iter().flatten().map(Vec::len).max().unwrap_or(0);
    if columns == 0 || test.bandwidth_matrix.len() != 3 * columns {
        return vec![(part.clone(), &test.bandwidth_matrix)];
    }
    let kind = if test.name.contains("_write") { "write" } else { "read" };
    [format!("{kind}1"), format!("{kind}2"), part.clone()]
        .into_iter()
        .zip(test.bandwidth_matrix.chunks(columns))
        .collect()
}
