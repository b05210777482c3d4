//! What the document keeps of a run that has ended.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use report::trial::{TrialLook, TrialOutcome, TrialRun};

use crate::metric::{EndedRun, Metric};
use crate::proof::{PlacementProof, proof};
use crate::rank_observer::SeenLook;
use crate::run::{EndedBy, Ran};
use topo::Topology;

/// What the document keeps of a run: how it ended, its figures, and whether it counts.
pub fn record(
    ran: &Ran,
    block: u32,
    variant: &str,
    began_s: f64,
    topology: &Topology,
    metrics: &[Metric],
    output: &[u8],
) -> TrialRun {
    let ranks = |look: &SeenLook| look.ranks.iter().map(|seen| seen.rank.clone()).collect();
    let looks = ran.seen.iter().map(|look| TrialLook { after_s: look.after_s, ranks: ranks(look) }).collect();
    let ended = EndedRun { wall_s: ran.wall.as_secs_f64(), began: ran.began, output };
    let mut made = TrialRun {
        block,
        variant: variant.to_owned(),
        began_s,
        wall_s: ended.wall_s,
        outcome: TrialOutcome::Counted,
        reason: None,
        exit_code: ran.status.code(),
        signal: ran.status.signal(),
        metrics: BTreeMap::new(),
        used: ran.used,
        output_file: None,
        looks,
        left_running: ran.left_running,
    };

    let (outcome, reason) = match ran.ended_by {
        EndedBy::User => (TrialOutcome::Interrupted, Some("it was interrupted".to_owned())),
        EndedBy::Timeout => (
            TrialOutcome::TimedOut,
            Some(format!("it was ended after {:.1} s (--run-timeout)", ended.wall_s)),
        ),
        EndedBy::Itself if !ran.status.success() => (TrialOutcome::Failed, Some(ended_how(ran.status))),
        EndedBy::Itself => {
            let mut missing = None;
            for metric in metrics {
                match metric.source.figure(&ended) {
                    Ok(figure) => drop(made.metrics.insert(metric.described.name.clone(), figure)),
                    Err(why) => missing = missing.or(Some(why)),
                }
            }
            match (missing, proof(topology, &ran.seen)) {
                (Some(why), _) => (TrialOutcome::NoMetric, Some(why)),
                (None, PlacementProof::Misplaced(why)) => (TrialOutcome::Misplaced, Some(why)),
                (None, _) => (TrialOutcome::Counted, None),
            }
        }
    };
    (made.outcome, made.reason) = (outcome, reason);
    made
}

fn ended_how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with code {code}"),
        (None, Some(signal)) => format!("signal {signal} ended it"),
        (None, None) => "it did not end".to_owned(),
    }
}
