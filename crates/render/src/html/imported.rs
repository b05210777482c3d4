//! A report of imported documents: what was imported and that nothing of it is verified, the figures, and
//! what the outputs say of the runs.

use analysis::answer_status::AnswerStatus;
use analysis::imported::run;
use analysis::imported_fits::answer;
use analysis::model_answer::sentences;
use analysis::reference::known_figures;
use analysis::run::Run;
use report::ImportedDocument;
use report::document::{Status, Tool};
use report::imported::{ImportedCase, ImportedStatus, ImportedUnit};

use stats::units::size;

use super::paged::Paged;
use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::rows::{Mark, Row, Rows};
use crate::digits;

/// Bars that a reader looks through.
const BARS: usize = 64;

impl Paged for ImportedDocument {
    const SEVERAL: [&str; 2] = ["numabench", "imported runs"];

    fn title(&self) -> String {
        format!("{}, imported by numabench, {}", self.program, self.started_at)
    }

    fn heading(&self, name: &str) -> String {
        format!("{name}: {}, {}", self.program, self.started_at)
    }

    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn run(&self, name: &str) -> Option<Run> {
        run(name, self).ok()
    }

    fn draw(&self, page: &mut HtmlPage) {
        let tone = if self.status == Status::Complete { AnswerStatus::Well } else { AnswerStatus::Finding };
        page.answer(tone, &self.verdict);
        page.list(&sentences(vec![answer(self, &known_figures())]));
        page.list(&self.notes);
        bars(self, page);
        let header = ["case", "between", "GB/s ", "µs ", "status", "line "];
        let rows = self.cases.iter().map(cells);
        page.folded_first_rows("Figures as the program printed them", &header, rows);

        let known = |value: &Option<String>| value.clone().unwrap_or("not said".to_owned());
        let mut rows = vec![
            vec!["version".to_owned(), known(&self.program_version)],
            vec!["host".to_owned(), known(&self.host)],
            vec!["when, by ".to_owned() + &self.started_at_source, self.started_at.clone()],
        ];
        rows.extend(self.facts.iter().map(|fact| vec![fact.name.clone(), fact.value.clone()]));
        rows.extend(
            self.files
                .iter()
                .map(|file| vec!["file".to_owned(), format!("{}, {} bytes", file.name, file.bytes)]),
        );
        page.folded_table("The run, in the program's own words", &["what", "value"], rows.into_iter());
    }
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

    let mut rows: Vec<Row> = rates.filter_map(row).collect();
    let left_out = rows.len().saturating_sub(BARS);
    rows.truncate(BARS);
    if rows.is_empty() {
        return;
    }

    let rows = Rows { title: "GB/s".to_owned(), rows, from_zero: true, ..Rows::default() };
    page.picture("Rates as the program printed them", &rows.described(8), |wide| rows.drawn(wide));
    if left_out > 0 {
        page.element("p", &format!("{left_out} more rates are in the table."));
    }
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
