//! A report of imported documents: what was imported and that nothing of it is verified, the figures, and what the outputs say of the runs.

use analysis::answer_status::AnswerStatus;
use analysis::imported::run;
use report::ImportedDocument;
use report::document::Status;
use report::imported::{ImportedCase, ImportedStatus, ImportedUnit};

use analysis::figure::Key;
use stats::units::size;

use super::write::HtmlPage;
use super::{begin, end, several};
use crate::charts::colours::series;
use crate::charts::rows::{Mark, Row, Rows};
use crate::digits;

/// Rows of a table at most; the rest is in the document.
const ROWS: usize = 400;
/// Bars that a reader looks through.
const BARS: usize = 64;

/// The report of these documents, in the order given; `names` are their files.
pub fn imported(documents: &[(String, ImportedDocument)]) -> String {
    let title = match documents {
        [(_, only)] => format!("{}, imported by numabench, {}", only.program, only.started_at),
        several => format!("numabench: {} imported runs", several.len()),
    };
    let mut page = begin(&title);
    if let [(_, first), _, ..] = documents {
        let runs: Vec<_> = documents.iter().filter_map(|(name, document)| run(name, document).ok()).collect();
        several::draw(&runs, &first.tool, &in_words, &mut page);
    }
    for (name, document) in documents {
        page.level = if documents.len() > 1 { 3 } else { 2 };
        if documents.len() > 1 {
            page.element("h2", &format!("{name}: {}, {}", document.program, document.started_at));
        }
        add_document(document, &mut page);
    }
    end(page)
}

fn add_document(document: &ImportedDocument, page: &mut HtmlPage) {
    let tone = if document.status == Status::Complete { AnswerStatus::Well } else { AnswerStatus::Finding };
    page.answer(tone, &document.verdict);
    page.list(&document.notes);
    bars(document, page);
    let header = ["case", "between", "GB/s ", "µs ", "status", "line "];
    page.folded_table("Figures as the program printed them", &header, document.cases.iter().take(ROWS).map(cells));
    if document.cases.len() > ROWS {
        page.element("p", &format!("{} more figures are in the document.", document.cases.len() - ROWS));
    }
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
    page.folded_table("The run, in the program's own words", &["what", "value"], rows.into_iter());
}

/// What a person calls an imported case: the program's own words.
fn in_words(key: &Key) -> String {
    format!("{}, {}", key.case, key.place())
}

/// Rates as bars on one scale; of more than a reader looks through the table tells.
fn bars(document: &ImportedDocument, page: &mut HtmlPage) {
    let rates = document.cases.iter().filter(|case| case.unit == ImportedUnit::BytesPerS);
    let row = |case: &ImportedCase| {
        let rate = case.figure()?;
        let bytes = case.bytes.map_or(String::new(), |bytes| format!(", {}", size(bytes)));
        let name = format!("{} {}{bytes}", case.id, case.place);
        let said = digits::rate(rate, None);
        let marks = vec![(Mark::Bar(rate / 1e9), format!("{name}: {said}"))];
        Some(Row { name, said, colour: series(0), marks })
    };
    let rows: Vec<Row> = rates.filter_map(row).take(BARS).collect();
    if rows.is_empty() {
        return;
    }
    let described: Vec<String> = rows.iter().take(8).map(|row| format!("{} {}", row.name, row.said)).collect();
    let rows = Rows { title: "GB/s".to_owned(), rows, from_zero: true, ..Rows::default() };
    page.picture("Rates as the program printed them", &described.join("; "), |wide| rows.drawn(wide));
}

fn cells(case: &ImportedCase) -> Vec<String> {
    let figure = |unit: ImportedUnit, scale: f64| {
        let value = case.figure().filter(|_| case.unit == unit);
        value.map_or("–".to_owned(), |value| digits::shown(value / scale, None))
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
