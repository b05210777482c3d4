//! The list of copies to measure, as the engine takes it: which cases share memory, which come first, who
//! takes part.

use std::collections::BTreeMap;
use std::sync::Arc;

use device::{Direction, MemoryKind, Platform};
use engine::{PlacingRules, Worker};
use placement::{RankPlan, TargetId};

use crate::case::CopyCase;
use crate::cells::{Cells, CopyEnds};
use crate::config::RunConfig;

/// What the cases of one setup need, on each rank that takes part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Setup {
    /// Cases of a later phase wait for those of earlier ones.
    pub phase: u8,
    /// The kind of host memory.
    pub kind: MemoryKind,
    /// Who takes part, and where.
    pub cells: Cells,
}

/// The host ranges and areas of a setup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// The largest copy, bytes.
    pub len: usize,
    /// Whether a copy reads host memory.
    pub source: bool,
    /// Whether a copy writes host memory.
    pub destination: bool,
    /// Whether copies move both ways at once.
    pub bidirectional: bool,
}

/// Copies as a suite.
pub struct CopySuite {
    pub(crate) config: RunConfig,
    pub(crate) platform: Arc<dyn Platform>,
    /// The ranks that live in this process's node, by number.
    plans: BTreeMap<usize, RankPlan>,
    pub(crate) rules: PlacingRules,
    pub(crate) cases: Vec<CopyCase>,
    pub(crate) setups: Vec<Setup>,
    pub(crate) needs: Vec<Need>,
    /// The setup of each case.
    pub(crate) setup_of: Vec<usize>,
    /// Memory is made anew in every pass.
    fresh_each_pass: bool,
    /// Whether copies for which there is no memory are skipped, and the others measured.
    skips_large: bool,
    /// The largest copy for which there is memory by what is known beforehand, and why larger ones do not
    /// fit.
    room: Option<(usize, String)>,
}

/// The engine's ranks for a plan's.
pub fn workers(plans: &[RankPlan]) -> Vec<Worker> {
    plans.iter().map(|plan| Worker { rank: plan.rank, pu: plan.pu }).collect()
}

impl CopySuite {
    /// Every case of `config`, by each of these ranks in its own place.
    pub fn new(
        config: &RunConfig,
        plans: &[RankPlan],
        platform: &Arc<dyn Platform>,
        rules: PlacingRules,
    ) -> Self {
        Self::over(config, plans, &[Cells::Own], platform, rules)
    }

    /// Every case of `config` for each of `cells`: the cases of the first, then those of the second, ….
    pub fn over(
        config: &RunConfig,
        plans: &[RankPlan],
        cells: &[Cells],
        platform: &Arc<dyn Platform>,
        rules: PlacingRules,
    ) -> Self {
        let copies = cells
            .iter()
            .flat_map(|cells| CopyCase::all(config).into_iter().map(move |case| (case, cells.clone())));
        Self::of(config, plans, &copies.collect::<Vec<_>>(), platform, rules)
    }

    /// These copies, each by those who take part in it. Of `config` only what no copy says counts: the clock,
    /// verifying, the seed.
    pub fn of(
        config: &RunConfig,
        plans: &[RankPlan],
        copies: &[(CopyCase, Cells)],
        platform: &Arc<dyn Platform>,
        rules: PlacingRules,
    ) -> Self {
        let mut suite = Self {
            config: config.clone(),
            platform: Arc::clone(platform),
            plans: plans.iter().map(|plan| (plan.rank, plan.clone())).collect(),
            rules,
            cases: Vec::new(),
            setups: Vec::new(),
            needs: Vec::new(),
            setup_of: Vec::new(),
            fresh_each_pass: false,
            skips_large: false,
            room: None,
        };

        for (case, cells) in copies {
            suite.add(*case, cells);
        }
        suite
    }

    /// The same with memory made anew for every block.
    #[must_use]
    pub fn with_fresh_memory_each_pass(self) -> Self {
        Self { fresh_each_pass: true, ..self }
    }

    /// The same that skips copies for which there is no memory: those larger than `room`, for its reason, and
    /// those larger than what is free of a GPU when it is opened.
    #[must_use]
    pub fn with_room(mut self, room: Option<(usize, String)>) -> Self {
        let most = room.as_ref().map_or(usize::MAX, |(bytes, _)| *bytes);
        for (at, need) in self.needs.iter_mut().enumerate() {
            need.len = largest_of(&self.cases, &self.setup_of, at, most);
        }
        Self { skips_large: true, room, ..self }
    }

    /// Whether copies for which there is no memory are skipped.
    pub(crate) fn skips_large(&self) -> bool {
        self.skips_large
    }

    /// Why larger copies than those that fit are not measured, by what was known beforehand.
    pub(crate) fn why_no_room(&self) -> Option<&str> {
        self.room.as_ref().map(|(_, why)| &why[..])
    }

    /// The largest copy of a setup that has no more than `most` bytes; 0 where each has more.
    pub(crate) fn largest_in(&self, setup: usize, most: usize) -> usize {
        largest_of(&self.cases, &self.setup_of, setup, most)
    }

    fn add(&mut self, case: CopyCase, cells: &Cells) {
        let phase = u8::from(!case.needs_quiet_driver(self.config.timing));
        let setup = Setup { phase, kind: case.memory, cells: cells.clone() };
        let at = self.setups.iter().position(|other| *other == setup).unwrap_or_else(|| {
            self.setups.push(setup);
            self.needs.push(Need::default());
            self.setups.len() - 1
        });
        let need = &mut self.needs[at];
        need.len = need.len.max(case.bytes);
        need.source |= case.direction != Direction::D2h;
        need.destination |= case.direction != Direction::H2d;
        need.bidirectional |=
            case.direction == Direction::Bidirectional && case.memory != MemoryKind::Pageable;
        self.cases.push(CopyCase { index: self.cases.len(), ..case });
        self.setup_of.push(at);
    }

    /// Whether memory is made anew in every pass, and freed by ranks that take no part.
    pub(crate) fn fresh_each_pass(&self) -> bool {
        self.fresh_each_pass
    }

    /// The copies, in the order of the engine's cases.
    pub fn copies(&self) -> &[CopyCase] {
        &self.cases
    }

    /// The plan of a rank of this node.
    pub(crate) fn plan(&self, rank: usize) -> Option<&RankPlan> {
        self.plans.get(&rank)
    }

    /// Where a rank's copies run in a setup.
    pub(crate) fn cell(&self, rank: usize, setup: usize) -> Option<CopyEnds> {
        match &self.setups[setup].cells {
            Cells::One { rank: only, cell } => (*only == rank).then_some(*cell),
            Cells::Own | Cells::Members(_) => self.plan(rank).map(CopyEnds::of),
        }
    }

    /// Whether another rank that takes part in the same setup uses the same device.
    pub(crate) fn shares_device(&self, rank: usize, setup: usize, target: TargetId) -> bool {
        let members = self.setups[setup].cells.members();
        let takes_part = |other: &usize| members.as_ref().is_none_or(|members| members.contains(other));
        let others = self.plans.keys().filter(|other| **other != rank && takes_part(other));
        others.filter_map(|other| self.cell(*other, setup)).any(|cell| cell.target == target)
    }
}

/// The largest of the copies of a setup that have no more than `most` bytes.
fn largest_of(cases: &[CopyCase], setup_of: &[usize], setup: usize, most: usize) -> usize {
    let of_setup = cases.iter().zip(setup_of).filter(|(_, of)| **of == setup);
    of_setup.map(|(case, _)| case.bytes).filter(|bytes| *bytes <= most).max().unwrap_or(0)
}
