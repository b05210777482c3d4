//! Whether a document's answer is good, a finding, or none yet: what a reader sees by the colour of its first
//! sentence.

use report::document::Status;
use report::place::{MeasuredFinding, PlaceDocument};
use report::rank::Locality;
use report::result::Outcome;
use report::trial::{TrialOutcome, TrialVerdict};
use report::{Document, MpiDocument, TrialDocument, WitnessDocument};
use stats::compare::TwoSampleVerdict;
use stats::flag::Flag;

use crate::comparison::Counts;
use crate::{answer, conclusion, groups, headline};

/// Exit codes of a run that found something, and of one whose figures do not decide.
const FINDING: u8 = 5;
const UNDECIDED: u8 = 6;

/// How an answer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerStatus {
    /// The question is answered, and nothing is wrong.
    Well,
    /// Something is not as it should be, or the run did not end well.
    Finding,
    /// The figures do not decide.
    Undecided,
}

/// How a result document's answer stands.
pub fn of_result(document: &Document) -> AnswerStatus {
    let is_finding = document.status != Status::Complete
        || document.exit_code == Some(FINDING)
        || !document.slower_twins.is_empty();
    let said = conclusion::said(document);
    let is_far = answer::far_from_gpus(document).is_some_and(|far| said.contains(&far));
    if is_finding || is_far {
        return AnswerStatus::Finding;
    }

    let results = || document.cases.iter().flat_map(|case| &case.ranks);
    let is_few = |outcome: &Outcome| match outcome {
        Outcome::Measured { flags, .. } => flags.contains(&Flag::FewBlocks),
        _ => false,
    };
    let has_no_interval = results().next().is_some() && results().all(|result| is_few(&result.outcome));
    let mut verdicts =
        document.penalties.iter().filter_map(|penalty| Some(penalty.comparison.as_ref()?.verdict)).peekable();
    let costs_undecided =
        verdicts.peek().is_some() && verdicts.all(|verdict| verdict == TwoSampleVerdict::Undecided);
    let is_open = has_no_interval || costs_undecided || headline::is_noisy(&said);
    match document.exit_code == Some(UNDECIDED) || groups::is_undecided(document) || is_open {
        true => AnswerStatus::Undecided,
        false => AnswerStatus::Well,
    }
}

/// How a trial's answer stands: undecided while no comparison by the first metric is decided.
pub fn of_trial(document: &TrialDocument) -> AnswerStatus {
    let first = document.settings.metrics.first().map(|metric| &metric.name);
    let mut verdicts = document.comparisons.iter().filter(|found| Some(&found.metric) == first).peekable();
    let is_undecided =
        verdicts.peek().is_none() || verdicts.any(|found| found.verdict == TrialVerdict::Undecided);
    let is_misplaced = document.runs.iter().any(|run| run.outcome == TrialOutcome::Misplaced);
    match (document.status == Status::Complete && !is_misplaced, is_undecided) {
        (false, _) => AnswerStatus::Finding,
        (true, true) => AnswerStatus::Undecided,
        (true, false) => AnswerStatus::Well,
    }
}

/// How an MPI run's answer stands.
pub fn of_mpi(document: &MpiDocument) -> AnswerStatus {
    match document.status == Status::Complete && document.exit_code.is_none_or(|code| code == 0) {
        true => AnswerStatus::Well,
        false => AnswerStatus::Finding,
    }
}

/// How the answer about a program's copies stands: far bytes are a finding.
pub fn of_witness(document: &WitnessDocument) -> AnswerStatus {
    let total = &document.total;
    let is_partial =
        document.not_counted > 0 || document.still_running.as_ref().is_some_and(|left| !left.is_empty());
    match (total.far_bytes > 0 || is_partial, total.unknown_bytes > total.near_bytes) {
        (true, _) => AnswerStatus::Finding,
        (false, true) => AnswerStatus::Undecided,
        (false, false) => AnswerStatus::Well,
    }
}

/// How the answer about a placement stands: of a plan, ranks far from their GPUs are a finding, and ranks
/// whose GPUs' locality is not known leave it open.
pub fn of_place(document: &PlaceDocument) -> AnswerStatus {
    if let Some(measured) = &document.measured {
        return match measured.finding {
            _ if measured.leader.is_none() => AnswerStatus::Finding,
            MeasuredFinding::Best | MeasuredFinding::NoMeasurableDifference => AnswerStatus::Well,
            MeasuredFinding::Undecided | MeasuredFinding::Newer => AnswerStatus::Undecided,
        };
    }

    let Some(candidate) = document.candidates.first() else { return AnswerStatus::Finding };
    let localities =
        || candidate.places.iter().filter(|place| place.gpu.is_some()).map(|place| place.locality);
    let is_near = |locality| matches!(locality, Some(Locality::L3Local | Locality::NumaLocal));
    let is_far = |locality| matches!(locality, Some(Locality::SamePackage | Locality::Remote));
    match (localities().any(is_far), localities().all(is_near)) {
        (true, _) => AnswerStatus::Finding,
        (false, false) => AnswerStatus::Undecided,
        (false, true) => AnswerStatus::Well,
    }
}

/// How a comparison's answer stands.
pub fn of_counts(counts: &Counts) -> AnswerStatus {
    match counts {
        counts if counts.regressed + counts.missing > 0 => AnswerStatus::Finding,
        counts if counts.suspect + counts.inconclusive > 0 => AnswerStatus::Undecided,
        _ => AnswerStatus::Well,
    }
}

#[cfg(test)]
mod tests {
    use report::read::SavedDocument;

    use super::*;

    #[test]
    fn what_the_data_do_not_decide_is_neither_good_nor_bad() {
        let counts = |regressed, inconclusive| Counts { regressed, inconclusive, ..Counts::default() };
        assert_eq!(of_counts(&counts(0, 3)), AnswerStatus::Undecided);
        assert_eq!(of_counts(&counts(1, 3)), AnswerStatus::Finding);
        assert_eq!(of_counts(&counts(0, 0)), AnswerStatus::Well);
    }

    #[test]
    fn a_planned_place_whose_locality_nobody_knows_is_neither_near_nor_a_finding()
    -> Result<(), Box<dyn std::error::Error>> {
        let mut planned: PlaceDocument =
            SavedDocument::from_json(include_bytes!("../../../docs/gallery/place.json"))?;
        planned.measured = None;
        let mut status = |locality| {
            for place in &mut planned.candidates[0].places {
                place.locality = locality;
            }
            of_place(&planned)
        };
        assert_eq!(status(Some(Locality::NumaLocal)), AnswerStatus::Well);
        assert_eq!(status(Some(Locality::Remote)), AnswerStatus::Finding);
        assert_eq!(status(Some(Locality::Unknown)), AnswerStatus::Undecided);
        Ok(())
    }
}
