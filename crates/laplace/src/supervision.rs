//! What supervisors know of Jacobi's iteration: what ranks wait for, what the end of a session means, the
//! document, and the exit code of a run.

use std::time::Duration;

use experiments::document::DocumentState;
use experiments::supervised::{
    PlaceAsked, RankProcess, RankSession, SessionEnd, SessionOutcome, Supervised, SupervisedRun,
};
use experiments::{Exit, Fault};
use report::Document;
use report::document::Status;
use stats::stop::StopReason;

use crate::document::document;
use crate::meeting::LaplaceRanks;
use crate::options::LaplaceOptions;
use crate::results::{LaplaceResults, LaplaceStep, WayFound, WayTrouble};
use crate::session;

impl Supervised for LaplaceOptions {
    type Met = LaplaceRanks;
    type Doing = LaplaceStep;
    type Found = LaplaceResults;
    type Document = Document;

    fn place_asked(&self) -> &PlaceAsked {
        &self.place
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }

    fn operation_limit(&self) -> (Duration, &'static str) {
        (self.timeout, "--timeout")
    }

    fn session(&self, session: &RankSession<Self>) -> Result<Exit, Fault> {
        session::run(session)
    }

    fn processes(met: &LaplaceRanks) -> Vec<RankProcess> {
        met.processes.clone()
    }

    fn awaited(doing: &LaplaceStep, all: &[RankProcess]) -> Option<Vec<usize>> {
        // Every rank has neighbours that have neighbours: all wait for one that is gone.
        (*doing != LaplaceStep::Else).then(|| all.iter().map(|one| one.rank).collect())
    }

    fn is_interrupted(found: &LaplaceResults) -> bool {
        found.interrupted
    }

    /// The way that ended the session has no figure, and neither have those that were not begun; what others
    /// have stays.
    fn settle(&self, found: &mut LaplaceResults, ending: &SessionOutcome<LaplaceStep>) {
        // A session that a signal ended was not lost.
        let (Some(why), None) = (&ending.why, ending.signal) else { return };
        let open = |way: &&mut WayFound| way.trouble.is_none() && way.stop.is_none();
        for way in found.ways.iter_mut().filter(open) {
            let ended_it = ending.doing == LaplaceStep::Iterations(way.variant);
            let has_blocks = way.blocks.first().is_some_and(|blocks| !blocks.is_empty());
            if ended_it {
                way.trouble = Some(WayTrouble::Failed(why.clone()));
            } else if !has_blocks {
                way.trouble = Some(WayTrouble::Failed(format!("not measured: {why}")));
            }
            way.stop = Some(StopReason::Error);
        }
    }

    fn ended(
        &self,
        _: &LaplaceRanks,
        found: &LaplaceResults,
        ending: &SessionOutcome<LaplaceStep>,
    ) -> (Status, Exit, Option<String>) {
        let wrong = found.ways.iter().find_map(|way| match &way.trouble {
            Some(WayTrouble::Wrong(why)) => Some(format!("{}: {why}", way.variant)),
            _ => None,
        });
        if wrong.is_some() {
            return (Status::DataCorrupt, Exit::DataCorrupt, wrong);
        }
        if let Some(signal) = ending.signal {
            return (Status::Interrupted, signal, Some("a signal came".to_owned()));
        }
        let why = ending.why.clone();

        // What is known to end a process when MPI is given device memory is a way's trouble; else the run's
        // own time was up.
        if ending.end == SessionEnd::Hung && !ending.doing.is_risky() {
            return (Status::TimedOut, Exit::TimedOut, why);
        }

        if let Some(why) = found.ranks.iter().find_map(|rank| rank.mismatch.clone()) {
            return (Status::Partial, Exit::Finding, Some(why));
        }
        let has_figure =
            |way: &&WayFound| way.trouble.is_none() && way.blocks.iter().all(|blocks| !blocks.is_empty());
        let figures = found.ways.iter().filter(has_figure).count();
        let failed = || {
            found.ways.iter().find_map(|way| match &way.trouble {
                Some(WayTrouble::Failed(why)) => Some(format!("{}: {why}", way.variant)),
                _ => None,
            })
        };

        match figures {
            0 => (Status::Failed, Exit::NoResult, why.or_else(failed)),
            some if some < found.ways.len() => (Status::Partial, Exit::Partial, why.or_else(failed)),
            _ if why.is_some() => (Status::Partial, Exit::Partial, why),
            _ => (Status::Complete, Exit::Ok, None),
        }
    }

    fn document(
        &self,
        run: &SupervisedRun,
        met: &LaplaceRanks,
        found: &LaplaceResults,
        state: DocumentState,
    ) -> Document {
        document(self, run, met, found, state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{BlockFound, WayProof};
    use crate::way::{HaloWay, WayVariant};

    fn way(way: HaloWay, blocks: usize, stop: Option<StopReason>) -> WayFound {
        let block = BlockFound { start_ns: 0, end_ns: 1000, iterations: 1, halo_ns: 0 };
        WayFound {
            variant: WayVariant::by_all(way, false),
            proof: (blocks > 0).then_some(WayProof { iterations: 16, residual: 1e-4 }),
            blocks: vec![vec![block; blocks]; 2],
            trouble: None,
            stop,
            is_unchecked: false,
        }
    }

    #[test]
    fn what_was_measured_before_mpi_died_stays_and_what_it_died_in_has_no_figure() {
        let done = way(HaloWay::Staged, 12, Some(StopReason::Target));
        let mut found = LaplaceResults {
            ways: vec![done.clone(), way(HaloWay::GpuAware, 0, None)],
            ..LaplaceResults::default()
        };
        let doing = LaplaceStep::Iterations(found.ways[1].variant);
        let ending = SessionOutcome {
            end: SessionEnd::Hung,
            doing,
            why: Some("SIGSEGV in it".to_owned()),
            signal: None,
        };
        LaplaceOptions::default().settle(&mut found, &ending);
        assert_eq!(found.ways[0], done);
        assert_eq!(found.ways[1].trouble, Some(WayTrouble::Failed("SIGSEGV in it".to_owned())));
    }
}
