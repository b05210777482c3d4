//! A document whose run did not end well: how it ended, and how much of it has a figure.
//!
//! Such a document's figures are as good as any: each was measured and proven. But half must not be taken for
//! the whole where they go on to, so every export says what is said here. One rule for all kinds of
//! documents: what is not `complete` is incomplete, also where all that it holds was measured, since what a
//! killed run did not come to is not in it.

use std::fmt;

use report::document::Status;
use report::row::RowStatus;
use report::{Document, ImportedDocument, MpiDocument, TrialDocument, WitnessDocument};
use stats::units::counted;

/// How the run of a document ended, where that is not `complete`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// How it stands.
    pub status: Status,
    /// Why, in the document's words.
    pub reason: Option<String>,
    /// How many results have a figure.
    pub figures: usize,
    /// How many results there are.
    pub results: usize,
    /// How many ranks were lost or never came.
    pub missing_ranks: usize,
}

impl Incomplete {
    /// Of a result document; `None` where its run is complete.
    pub fn of_result<B>(document: &Document<B>) -> Option<Self> {
        let measured = document.rows.iter().filter(|row| row.status == RowStatus::Measured).count();
        let found =
            Self::of(document.status, document.status_reason.as_ref(), measured, document.rows.len())?;
        Some(Self { missing_ranks: document.missing.len(), ..found })
    }

    /// The same of a trial, whose results are its variants' metrics.
    pub fn of_trial(document: &TrialDocument) -> Option<Self> {
        let figures = document.rows.iter().filter(|row| row.median.is_some()).count();
        Self::of(document.status, None, figures, document.rows.len())
    }

    /// The same of messages between ranks.
    pub fn of_mpi(document: &MpiDocument) -> Option<Self> {
        let cases = || document.pairs.iter().flat_map(|pair| &pair.cases);
        let figures = cases().filter(|case| case.counted_ns().is_some()).count();
        Self::of(document.status, document.status_reason.as_ref(), figures, cases().count())
    }

    /// The same of another program's figures.
    pub fn of_imported(document: &ImportedDocument) -> Option<Self> {
        let figures = document.cases.iter().filter(|case| case.figure().is_some()).count();
        Self::of(document.status, document.status_reason.as_ref(), figures, document.cases.len())
    }

    /// The same of a program's copies, whose results are the processes that copied.
    pub fn of_witness(document: &WitnessDocument) -> Option<Self> {
        let missing = document.not_counted as usize;
        let left = document.still_running.as_ref().map_or(0, Vec::len);
        let status = if missing == 0 && left == 0 { Status::Complete } else { Status::Partial };
        let reason = match missing {
            0 => format!("{} still ran when the program had ended", counted(left, "process")),
            _ => format!("{} copied and nothing was counted", counted(missing, "process")),
        };
        let figures = document.processes.len();
        Self::of(status, Some(&reason), figures, figures + missing)
    }

    fn of(status: Status, reason: Option<&String>, figures: usize, results: usize) -> Option<Self> {
        let incomplete = Self { status, reason: reason.cloned(), figures, results, missing_ranks: 0 };
        (status != Status::Complete).then_some(incomplete)
    }
}

/// `the run was interrupted: signal 15; 12 of 18 results have a figure`.
impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.status {
            Status::Running => "the run was still under way, or was killed",
            Status::Interrupted => "the run was interrupted",
            Status::TimedOut => "the run timed out",
            Status::Failed => "the run has no result",
            Status::DataCorrupt => "the run found corrupt data",
            Status::Complete | Status::Partial => "the run is partial",
            Status::Newer => "the run's status is known to a newer numabench only",
        })?;

        if let Some(reason) = &self.reason {
            write!(f, ": {reason}")?;
        }

        match (self.figures, self.results) {
            (_, 0) => f.write_str("; there are no results")?,
            (figures, 1) => {
                write!(f, "; its only result has {} figure", if figures == 1 { "a" } else { "no" })?
            }
            (1, results) => write!(f, "; 1 of {results} results has a figure")?,
            (figures, results) => write!(f, "; {figures} of {results} results have a figure")?,
        }

        match self.missing_ranks {
            0 => Ok(()),
            1 => f.write_str("; 1 rank is missing"),
            several => write!(f, "; {} are missing", counted(several, "rank")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_comes_with_how_much_has_a_figure() {
        let said = |status, reason: Option<&str>, figures, results, missing_ranks| {
            let reason = reason.map(str::to_owned);
            Incomplete { status, reason, figures, results, missing_ranks }.to_string()
        };
        assert_eq!(
            said(Status::Interrupted, Some("signal 15"), 12, 18, 0),
            "the run was interrupted: signal 15; 12 of 18 results have a figure"
        );

        assert_eq!(
            said(Status::Running, None, 1, 2, 0),
            "the run was still under way, or was killed; 1 of 2 results has a figure"
        );
        assert_eq!(
            said(Status::Partial, Some("rank 3: gone"), 1, 1, 1),
            "the run is partial: rank 3: gone; its only result has a figure; 1 rank is missing"
        );
        assert_eq!(
            said(Status::Failed, None, 0, 0, 2),
            "the run has no result; there are no results; 2 ranks are missing"
        );
    }

    #[test]
    fn only_a_complete_run_is_complete() {
        let others =
            [Status::Running, Status::Partial, Status::Failed, Status::Interrupted, Status::TimedOut];
        for status in others.into_iter().chain([Status::DataCorrupt, Status::Newer]) {
            assert!(Incomplete::of(status, None, 3, 3).is_some(), "{status:?}");
        }
        assert_eq!(Incomplete::of(Status::Complete, None, 3, 3), None);
    }
}
