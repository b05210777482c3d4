//! `place --measure`: the ways worth measuring, measured in turns, and the one to take.

use device::PlatformKind;
use placement::{ChosenBy, GpuChoice, GpuList, Plan, RankPlan, Target, TargetId};
use report::place::{Measured, MeasuredFinding};
use stats::best::{Finding, Standing};
use stats::compare::Verdict;
use topo::Topology;

use super::candidates::{self, Found, Way};
use super::turns::{self, How, Outcome, Turned};
use crate::args::place::Place;
use crate::backends;
use crate::config;
use crate::document::collect::platform;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::run_setup::budget;
use crate::signals::Signals;

/// Measures, and says which way to take and how the command ends. `keep` is shown what is there after each round of turns: a run that is killed has lost
/// no more than what came since.
pub fn run(args: &Place, topology: &Topology, keep: &mut dyn FnMut(&Found)) -> Result<(Found, Exit), Fault> {
    let named = matches!(&args.gpus, GpuList::Some(placement::Selection::These(_)));
    let found = backends::find(args.backend, named, topology)?;
    let available = targets(topology, backends::targets(&*found.platform));
    let ask = candidates::ask(args, topology, candidates::gpus(args, &available)?);
    if ask.gpus == GpuChoice::None {
        let what =
            "ranks without a GPU copy to none, so there is nothing to measure: leave --measure or --gpus none out";
        return Err(Fault::usage(anyhow::anyhow!(what)));
    }
    let (mut ways, mut notes) = candidates::worth_measuring(topology, &ask)?;
    let plans = ways.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
    let how = how(args, found.platform.facts().kind)?;
    for plan in &plans {
        budget(&how.config(plan.ranks.len()), plan, topology, &found)?;
    }
    if ways.iter().any(|way| way.places.places.iter().any(|place| place.pus.len() > 1)) {
        notes.push("each rank was measured on the first of its PUs".to_owned());
    }
    let signals = Signals::catch()?;
    let progress = Progress::new(0, args.quiet);
    let names: Vec<String> = ways.iter().map(|way| way.name.clone()).collect();
    let most = turns::TURNS_AT_MOST as u64;
    let say = |turns| progress.say(format!("{}: {turns} of at most {most} turns each", names.join(", ")), turns, most);
    let platform = platform(&found, &topo::environment::probe());
    let measured = Measured {
        platform,
        size_bytes: args.size,
        memory: how.memory.name().to_owned(),
        seed: args.seed,
        finding: MeasuredFinding::Undecided,
        leader: None,
        ended_early: Some("it was still measuring when this was written".to_owned()),
    };
    let mut so_far = |turned: &[Turned]| {
        let mut ways = ways.clone();
        take(&mut ways, Outcome { turned: turned.to_vec(), standing: None, ended_early: None });
        keep(&Found::measured(ways, 0, measured.clone(), notes.clone()));
    };
    let outcome = turns::measure(&plans, &how, topology, &found, &signals, say, &mut so_far);
    progress.clear();
    let measured = Measured {
        finding: outcome.standing.as_ref().map_or(MeasuredFinding::Undecided, finding),
        leader: outcome.standing.as_ref().map(|standing| ways[standing.leader].name.clone()),
        ended_early: outcome.ended_early.clone().filter(|_| undecided(&outcome)),
        ..measured
    };
    let exit = signals.exit().unwrap_or_else(|| exit(&outcome));
    let recommended = outcome.standing.as_ref().map_or(0, recommended);
    take(&mut ways, outcome);
    Ok((Found::measured(ways, recommended, measured, notes), exit))
}

/// The platform's devices as the machine numbers its GPUs: what launchers are told.
fn targets(topology: &Topology, seen: Vec<Target>) -> Vec<Target> {
    let numbered = |target: Target| match target.id {
        TargetId::Gpu(pci) => match topology.gpu_at(pci) {
            Some(gpu) => Target { index: gpu.index, ..target },
            None => target,
        },
        TargetId::Node(_) => target,
    };
    seen.into_iter().map(numbered).collect()
}

/// The way's places as a plan of the ping-pong's: each rank on the first of its PUs.
fn plan(way: &Way) -> Result<Plan, Fault> {
    let rank = |place: &placement::Place| -> Option<RankPlan> {
        Some(RankPlan {
            rank: place.rank,
            pu: place.first_pu(),
            chosen_by: ChosenBy::Asked,
            memory_node: place.memory_node?,
            target: place.target.clone()?,
            verdict: place.verdict.clone()?,
        })
    };
    let ranks = way.places.places.iter().map(rank).collect::<Option<Vec<_>>>();
    let ranks = ranks
        .ok_or_else(|| Fault::usage(anyhow::anyhow!("{}: a rank has no memory or no device to copy to", way.name)));
    Ok(Plan { ranks: ranks?, notes: Vec::new() })
}

fn how(args: &Place, kind: PlatformKind) -> Result<How, Fault> {
    let bytes = usize::try_from(args.size).map_err(Fault::usage)?;
    let memory = args.memory.map_or_else(|| config::default_memory(kind), config::memory);
    Ok(How { bytes, memory, seed: args.seed, max_time: args.max_time })
}

/// A difference below this part is not what placements are chosen for: published ones are 13 % and more.
const SMALL: f64 = 0.05;

/// What the values say at the end: what they could not decide to the per cent is still no difference if it is small for certain.
fn finding(standing: &Standing) -> MeasuredFinding {
    match standing.finding {
        Finding::Undecided if standing.is_within(SMALL) => MeasuredFinding::NoMeasurableDifference,
        finding => finding.into(),
    }
}

/// The way to take: the first that is not slower for certain, which is the one that the topology speaks for.
fn recommended(standing: &Standing) -> usize {
    let may_be_as_fast = |at: &usize| {
        let against = standing.against_leader[*at].as_ref();
        *at == standing.leader || against.is_some_and(|found| found.verdict != Verdict::Lower)
    };
    (0..standing.against_leader.len()).find(may_be_as_fast).unwrap_or(standing.leader)
}

/// Whether the values have not said which way to take.
fn undecided(outcome: &Outcome) -> bool {
    outcome.standing.as_ref().is_none_or(|standing| finding(standing) == MeasuredFinding::Undecided)
}

fn exit(outcome: &Outcome) -> Exit {
    match &outcome.standing {
        None => Exit::NoResult,
        Some(_) if outcome.turned.iter().any(|turned| turned.is_out()) => Exit::Partial,
        Some(_) if undecided(outcome) => Exit::Undecided,
        Some(_) => Exit::Ok,
    }
}

/// Gives each way what its turns gave.
fn take(ways: &mut [Way], outcome: Outcome) {
    let mut against = outcome.standing.map(|standing| standing.against_leader).unwrap_or_default();
    against.resize(ways.len(), None);
    for ((way, turned), against) in ways.iter_mut().zip(outcome.turned).zip(against) {
        let failures = turned.failures;
        way.trouble = turned.trouble.map(|why| match failures {
            1 => format!("1 turn failed: {why}"),
            _ => format!("{failures} turns failed, the last: {why}"),
        });
        (way.turns, way.against_leader) = (turned.turns, against);
    }
}

#[cfg(test)]
mod tests {
    use report::place::Turn;
    use stats::best::best;

    use super::*;

    /// Turns around this rate, in GB/s, a few per mille apart.
    fn around(rate: f64) -> Vec<f64> {
        [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1.5].iter().map(|per_mille| rate * (1.0 + per_mille / 1e3)).collect()
    }

    /// What is found of candidates with these turns, which one is recommended, and how the command ends.
    fn measured(candidates: &[Vec<f64>]) -> (MeasuredFinding, usize, Exit) {
        let standing = best(candidates, 1);
        let turned = candidates.iter().map(|rates| Turned {
            turns: rates
                .iter()
                .map(|rate| Turn { h2d_bytes_per_s: vec![*rate], d2h_bytes_per_s: vec![*rate] })
                .collect(),
            ..Turned::default()
        });
        let outcome = Outcome { turned: turned.collect(), standing: standing.clone(), ended_early: None };
        let found = standing.as_ref().map_or(MeasuredFinding::Undecided, finding);
        (found, standing.as_ref().map_or(0, recommended), exit(&outcome))
    }

    #[test]
    fn spread_ranks_that_are_faster_than_near_ones_are_recommended_as_on_leonardo() {
        // The published figures of a rank: 7.4 GB/s near, 9.0 spread over both NUMA nodes.
        assert_eq!(measured(&[around(7.4), around(9.0)]), (MeasuredFinding::Best, 1, Exit::Ok));
    }

    #[test]
    fn near_ranks_that_are_faster_are_recommended_as_on_lumi() {
        assert_eq!(measured(&[around(17.6), around(11.4), around(7.5)]), (MeasuredFinding::Best, 0, Exit::Ok));
    }

    #[test]
    fn of_ways_that_are_as_fast_the_first_is_recommended_whichever_leads() {
        let found = measured(&[around(10.0), around(10.02), around(5.0)]);
        assert_eq!(found, (MeasuredFinding::NoMeasurableDifference, 0, Exit::Ok));
    }

    #[test]
    fn what_turns_do_not_decide_is_undecided_unless_it_is_small_for_certain() {
        let noisy = |rate: f64, percent: f64| -> Vec<f64> {
            [-1.0, -0.5, 0.0, 0.5, 1.0, -0.75, 0.75, 0.25]
                .iter()
                .map(|at| rate * (1.0 + at * percent / 100.0))
                .collect()
        };
        let small = measured(&[noisy(10.0, 2.0), noisy(10.03, 2.0)]);
        assert_eq!(small, (MeasuredFinding::NoMeasurableDifference, 0, Exit::Ok));
        let large = measured(&[noisy(10.0, 30.0), noisy(10.5, 30.0)]);
        assert_eq!(large, (MeasuredFinding::Undecided, 0, Exit::Undecided), "the topology's word stands until then");
    }

    #[test]
    fn without_any_figure_there_is_no_result() {
        assert_eq!(measured(&[Vec::new(), Vec::new()]), (MeasuredFinding::Undecided, 0, Exit::NoResult));
    }
}
