//! `place --measure`: the ways worth measuring, planned for a platform's devices, measured in turns, and the
//! one to take.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use device::Platform;
use pingpong::{check_budget, check_spread, device_bytes, read_weights};
use placement::{ChosenBy, GpuChoice, Membind, Plan, RankPlan, Target, TargetId, bind_memory};
use report::document::Platform as Shown;
use report::place::{Measured, MeasuredFinding};
use topo::Topology;

use crate::candidate::PlaceCandidate;
use crate::candidates::{self, Candidates};
use crate::decide::{PlaceDecision, TurnResults, Turned, ended, finding, recommended, undecided};
use crate::error::PlaceError;
use crate::how::{How, membind_asked};
use crate::request::PlaceRequest;
use crate::turns;

/// What is to be measured: the ways, each as a plan for the devices of a platform. No device has been
/// touched.
pub struct PlaceMeasurement<'m> {
    asked: &'m PlaceRequest,
    topology: &'m Topology,
    platform: Arc<dyn Platform>,
    how: How,
    ways: Vec<PlaceCandidate>,
    plans: Vec<Plan>,
    notes: Vec<String>,
}

impl<'m> PlaceMeasurement<'m> {
    /// Plans the ways of placing what was asked for on the devices that this platform shows.
    ///
    /// # Errors
    /// [`PlaceError`]: GPUs that it does not show, ranks that do not fit on the machine or have no GPU, or
    /// too little memory.
    pub fn planned(
        asked: &'m PlaceRequest,
        topology: &'m Topology,
        platform: Arc<dyn Platform>,
        shown: Vec<Target>,
        how: How,
    ) -> Result<Self, PlaceError> {
        let available = numbered(topology, shown);
        let ask = candidates::ask(asked, topology, candidates::gpus(asked, &available)?);
        if ask.gpus == GpuChoice::None {
            return Err(PlaceError::NoGpu);
        }
        let (ways, mut notes) = candidates::worth_measuring(topology, &ask, &asked.maps)?;
        let mut plans = ways.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
        for plan in &mut plans {
            bind_memory(topology, plan, &asked.membind)?;
            read_weights(plan)?;
            check_spread(&how.config(plan.ranks.len()), plan)?;
        }

        for plan in &plans {
            let (host, device) = (|node| topology.memory_bytes(node), |gpu| device_bytes(&*platform, gpu));
            let limit = topology.allowed.memory_left();
            check_budget(&how.config(plan.ranks.len()), plan, host, device, limit)?;
        }

        if ways.iter().any(|way| way.places.places.iter().any(|place| place.pus.len() > 1)) {
            notes.push("each rank was measured on the first of its PUs".to_owned());
        }
        if asked.membind != Membind::Local {
            notes.push(format!(
                "measured with --membind {0}: the lines below bind PUs, so start the program by numabench \
                 exec --membind {0} too",
                asked.membind
            ));
        }
        Ok(Self { asked, topology, platform, how, ways, plans, notes })
    }

    /// The ways' names, in order.
    pub fn names(&self) -> Vec<String> {
        self.ways.iter().map(|way| way.name.clone()).collect()
    }

    /// Measures, and says which way to take and how it ended. `platform` is what the document says of it;
    /// `progress` is told after each round how many turns each way has had, and `keep` shown what is there: a
    /// run that is killed has lost no more than what came since. Once `interrupted` is set no turn begins.
    pub fn run(
        self,
        platform: Shown,
        interrupted: &Arc<AtomicBool>,
        progress: impl FnMut(u64),
        keep: &mut dyn FnMut(&Candidates),
    ) -> (Candidates, PlaceDecision) {
        let Self { asked, topology, platform: devices, how, mut ways, plans, notes } = self;
        let measured = Measured {
            platform,
            size_bytes: how.bytes as u64,
            memory: how.memory.name().to_owned(),
            membind: membind_asked(&asked.membind),
            seed: how.engine.seed,
            finding: MeasuredFinding::Undecided,
            leader: None,
            ended_early: Some("it was still measuring when this was written".to_owned()),
        };

        let mut so_far = |turned: &[Turned]| {
            let mut ways = ways.clone();
            take(&mut ways, TurnResults { turned: turned.to_vec(), standing: None, ended_early: None });
            keep(&Candidates::measured(ways, 0, measured.clone(), notes.clone()));
        };
        let outcome = turns::measure(&plans, &how, topology, &devices, interrupted, progress, &mut so_far);
        let measured = Measured {
            finding: outcome.standing.as_ref().map_or(MeasuredFinding::Undecided, finding),
            leader: outcome.standing.as_ref().map(|standing| ways[standing.leader].name.clone()),
            ended_early: outcome.ended_early.clone().filter(|_| undecided(&outcome)),
            ..measured
        };
        let ended = ended(&outcome);
        let recommended = outcome.standing.as_ref().map_or(0, recommended);
        take(&mut ways, outcome);
        (Candidates::measured(ways, recommended, measured, notes), ended)
    }
}

/// The platform's devices as the machine numbers its GPUs: what launchers are told.
fn numbered(topology: &Topology, shown: Vec<Target>) -> Vec<Target> {
    let numbered = |target: Target| match target.id {
        TargetId::Gpu(pci) => match topology.gpu_at(pci) {
            Some(gpu) => Target { index: gpu.index, ..target },
            None => target,
        },
        TargetId::Node(_) => target,
    };
    shown.into_iter().map(numbered).collect()
}

/// The way's places as a plan of the ping-pong's: each rank on the first of its PUs.
fn plan(way: &PlaceCandidate) -> Result<Plan, PlaceError> {
    let rank = |place: &placement::Place| -> Option<RankPlan> {
        Some(RankPlan {
            rank: place.rank,
            pu: place.first,
            chosen_by: ChosenBy::Asked,
            memory_node: place.memory_node?,
            spread: None,
            target: place.target.clone()?,
            verdict: place.verdict.clone()?,
        })
    };
    let ranks = way.places.places.iter().map(rank).collect::<Option<Vec<_>>>();
    let ranks = ranks.ok_or_else(|| PlaceError::Incomplete { way: way.name.clone() })?;
    Ok(Plan { ranks, notes: Vec::new() })
}

/// Gives each way what its turns gave.
fn take(ways: &mut [PlaceCandidate], outcome: TurnResults) {
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
