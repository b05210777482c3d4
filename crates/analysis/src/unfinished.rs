//! What the first lines say of a run that did not end as it should: why there is no figure, or that it ended early.

use report::Document;
use report::case::CaseStatus;
use report::document::Status;

use crate::words;

/// The sentences of a run, with how it ended where that is not well: a run without any figure has this one sentence, one that ended early says so after
/// the answer. Other endings are in the sentences already.
pub fn with_ending(document: &Document, mut said: Vec<String>) -> Vec<String> {
    let status = words::status(document.status);
    let reason = document.status_reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    let valid = document.cases.iter().filter(|case| case.status != CaseStatus::Invalid);
    let has_figure = valid.flat_map(|case| &case.ranks).any(|result| result.summary().is_some());
    if !has_figure {
        return match document.status {
            Status::Complete | Status::Running => said,
            _ => vec![format!("No figure was measured ({status}{reason}).")],
        };
    }
    if matches!(document.status, Status::Interrupted | Status::TimedOut) && !said.is_empty() {
        said.insert(1, format!("The run ended early ({status}{reason}): the figures are those measured until then."));
    }
    said
}
