//! A report of imported documents: what was imported and that nothing of it is verified, the figures, and what the outputs say of the runs.

use analysis::imported::run;
use report::ImportedDocument;
use report::document::Status;
use report::imported::{ImportedCase, ImportedStatus, ImportedUnit};

use super::several;
use super::write::Page;
use super::{begin, end};
use crate::xml::escaped;

/// Rows of a table at most; the rest is in the document.
const ROWS: usize = 400;

/// The report of these documents, in the order given; `names` are their files.
pub fn imported(documents: &[(String, ImportedDocument)]) -> String {
    let title = match documents {
        [(_, only)] => format!("{}, imported by numabench, {}", only.program, only.started_at),
        several => format!("numabench: {} imported runs", several.len()),
    };
    let mut page = begin(&title);
    if let [(_, first), _, ..] = documents {
        let runs: Vec<_> = documents.iter().filter_map(|(name, document)| run(name, document).ok()).collect();
        several::draw(&runs, &first.tool, &mut page);
    }
    for (name, document) in documents {
        page.level = if documents.len() > 1 { 3 } else { 2 };
        if documents.len() > 1 {
            page.element("h2", &format!("{name}: {}, {}", document.program, document.started_at));
        }
        one(document, &mut page);
    }
    end(page)
}

fn one(document: &ImportedDocument, page: &mut Page) {
    let class = if document.status == Status::Complete { "verdict" } else { "verdict finding" };
    for (at, line) in document.verdict.iter().enumerate() {
        let class = if at == 0 { format!(" class=\"{class}\"") } else { String::new() };
        page.raw(&format!("<p{class}>{}</p>\n", escaped(line)));
    }
    page.heading(0, "Figures");
    let header = ["case", "between", "GB/s ", "µs ", "status", "line "];
    page.table("Figures as the program printed them", &header, document.cases.iter().take(ROWS).map(cells));
    if document.cases.len() > ROWS {
        page.element("p", &format!("{} more figures are in the document.", document.cases.len() - ROWS));
    }
    page.heading(0, "What the output says of the run");
    let known = |value: &Option<String>| value.clone().unwrap_or("not said".to_owned());
    let mut rows = vec![
        vec!["version".to_owned(), known(&document.program_version)],
        vec!["host".to_owned(), known(&document.host)],
        vec!["when, by ".to_owned() + &document.started_at_source, document.started_at.clone()],
    ];
    rows.extend(document.facts.iter().map(|fact| vec![fact.name.clone(), fact.value.clone()]));
    rows.extend(
        document.files.iter().map(|file| vec!["file".to_owned(), format!("{}, {} bytes", file.name, file.bytes)]),
    );
    page.table("The run, in the program's own words", &["what", "value"], rows.into_iter());
    if !document.notes.is_empty() {
        let items: String = document.notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note))).collect();
        page.raw(&format!("<ul>\n{items}</ul>\n"));
    }
}

fn cells(case: &ImportedCase) -> Vec<String> {
    let figure = |unit: ImportedUnit, scale: f64| {
        let value = case.figure().filter(|_| case.unit == unit);
        value.map_or("–".to_owned(), |value| format!("{:.3}", value / scale))
    };
    let status = match case.status {
        ImportedStatus::Measured => "measured, not verified",
        ImportedStatus::Waived => "waived by the program",
        ImportedStatus::Failed => "failed",
        ImportedStatus::Newer => "known to a newer numabench",
    };
    let reason = case.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    vec![
        case.id.clone(),
        case.place.clone(),
        figure(ImportedUnit::BytesPerS, 1e9),
        figure(ImportedUnit::Ns, 1e3),
        format!("{status}{reason}"),
        case.line.map_or("–".to_owned(), |line| line.to_string()),
    ]
}
