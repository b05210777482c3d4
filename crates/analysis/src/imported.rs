//! Imported documents for the commands that read result documents: as a run to compare.
//!
//! Their figures are single values: a comparison of two has nothing to test by and says so; several documents
//! a side are compared run by run, as any. They are compared with documents of the same program only, for
//! another's case is another thing, even of the same copy.

use report::ImportedDocument;
use report::imported::{ImportedCase, ImportedStatus, ImportedUnit};
use report::settings::CopyEngine;

use crate::conditions::{Condition, NOT_KNOWN};
use crate::figure::{Figure, Key, Unit};
use crate::run::{NoRun, Run};

/// A document as comparisons see it.
///
/// # Errors
/// [`NoRun`]: it has no case.
pub fn run(name: &str, document: &ImportedDocument) -> Result<Run, NoRun> {
    if document.cases.is_empty() {
        return Err(NoRun::Empty);
    }
    let known = |value: &Option<String>| value.clone().unwrap_or(NOT_KNOWN.to_owned());
    let mut conditions = vec![
        Condition::new("kind of document", format!("imported from {}", document.program), true),
        Condition::new("version of the program", known(&document.program_version), false),
        Condition::new("host", known(&document.host), false),
    ];
    conditions
        .extend(document.facts.iter().map(|fact| Condition::new(&fact.name, &fact.value, fact.essential)));

    Ok(Run {
        name: name.to_owned(),
        host: document.host.clone().unwrap_or_default(),
        started_at: document.started_at.clone(),
        asked: None,
        conditions,
        engine: CopyEngine::default(),
        figures: document
            .cases
            .iter()
            .map(|case| (Key::in_words(&case.id, case.place.clone()), figure(case)))
            .collect(),
    })
}

fn figure(case: &ImportedCase) -> Result<Figure, String> {
    let unit = if case.unit == ImportedUnit::Ns { Unit::Ns } else { Unit::BytesPerS };
    let median = case.figure().ok_or_else(|| why(case))?;
    Ok(Figure::measured(unit, median, Vec::new()))
}

/// Why a case has no figure.
pub fn why(case: &ImportedCase) -> String {
    let status = match case.status {
        ImportedStatus::Measured => "it has no positive, finite figure",
        ImportedStatus::Waived => "waived by the program",
        ImportedStatus::Failed => "failed in the program's own words",
        ImportedStatus::Newer => "known to a newer numabench",
    };
    case.reason.as_ref().map_or(status.to_owned(), |reason| format!("{status}: {reason}"))
}
