//! What all ranks do together: each way is proven from the known field on, then blocks of all ways are
//! interleaved, and at the end every cell is held against what it should be.
//!
//! Ways of one memory go on with one field. After a failure nobody knows how far it got on each rank, so it
//! is filled anew before another way goes on with it; ways whose last blocks could not be checked for that
//! iterate once more for the check. The rank that failed does its neighbours' exchanges all the same, so that
//! they end and none of their messages is left for the next way. The field is also checked and filled anew
//! before rounding may have added so much that a wrong row would not be seen.
//!
//! Rank 0 says what comes next and hears what it gave. Ways that MPI survives in any case are measured first,
//! all of them; then device memory is sent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::{PageCheck, clock};
use experiments::supervised::SessionJournal;
use ranks::{Communicator, Deadline, Exchange, wire};
use stats::block_interval::BlockValue;
use stats::random::SplitMix64;
use stats::stop::{StopReason, StopRule, decide};

use crate::fault::LaplaceFault;
use crate::grid::Solution;
use crate::halos::Halos;
use crate::memory::LaplaceMemory;
use crate::options::LaplaceOptions;
use crate::plane::{self, RankPlane};
use crate::results::{BlockFound, LaplaceResults, LaplaceStep, RankFound, WayFound, WayProof, WayTrouble};
use crate::way::{HaloWay, WayVariant};

mod field;
mod order;

use field::FieldUse;
use order::{LaplaceAnswer, LaplaceOrder};

/// Iterations after which a way's field is held against the known one for the first time.
pub const PROOF_ITERATIONS: u32 = 16;
/// How long a block lasts: long beside what lies between blocks.
const BLOCK_NS: f64 = 3e7;
/// The most iterations of a block.
const MOST_ITERATIONS: f64 = 10_000.0;
/// Iterations before those of a block that do not count: they have all ranks begin together, and their caches
/// as in a block.
const UNCOUNTED_ITERATIONS: u32 = 1;
/// How long ranks wait for each other's answers: whoever watches them has a shorter limit.
const ANSWERS: Duration = Duration::from_secs(24 * 3600);

/// What is measured, and how long.
#[derive(Clone, Debug)]
pub struct LaplaceRun {
    /// What was asked for.
    pub options: LaplaceOptions,
    /// The ways, in the order in which they are shown.
    pub variants: Vec<WayVariant>,
    /// How many blocks each gets.
    pub rule: StopRule,
}

/// One rank: its memory, and what it reaches.
pub struct LaplaceRank<'a> {
    /// Its rows of each plane that is computed.
    pub planes: &'a mut [RankPlane],
    /// Its calls of MPI; a rank alone has none.
    pub mpi: Option<&'a dyn Exchange>,
}

impl LaplaceRun {
    /// Does all of it as one of the ranks; what is found is rank 0's.
    ///
    /// # Errors
    /// The ranks cannot reach each other.
    pub fn run(
        &self,
        here: &mut LaplaceRank,
        comm: &mut Communicator,
        interrupted: &AtomicBool,
        journal: &mut dyn SessionJournal<LaplaceStep, LaplaceResults>,
    ) -> Result<LaplaceResults, LaplaceFault> {
        let solutions = plane::solutions(here.planes);
        let fields = vec![Default::default(); solutions.len()];
        let mut all = All { run: self, solutions, here, comm, journal, fields };
        if all.comm.place().rank == 0 { all.lead(interrupted) } else { all.follow() }
    }
}

/// One rank at work.
struct All<'a, 'w, 'h> {
    run: &'a LaplaceRun,
    /// Of each plane.
    solutions: Vec<Solution>,
    here: &'a mut LaplaceRank<'h>,
    comm: &'a mut Communicator<'w>,
    journal: &'a mut dyn SessionJournal<LaplaceStep, LaplaceResults>,
    /// Of each plane the host's field, and the device's.
    fields: Vec<[FieldUse; 2]>,
}

impl All<'_, '_, '_> {
    fn follow(&mut self) -> Result<LaplaceResults, LaplaceFault> {
        loop {
            let told = self.comm.broadcast(&[], deadline())?;
            let order: LaplaceOrder = wire::from_bytes(&told).map_err(LaplaceFault::Protocol)?;
            let answer = self.perform(order);
            self.comm.gather(&wire::to_bytes(&answer), deadline())?;
            if order == LaplaceOrder::End {
                return Ok(LaplaceResults::default());
            }
        }
    }

    /// Has all ranks do something: their answers, by rank.
    fn all(&mut self, order: LaplaceOrder) -> Result<Vec<LaplaceAnswer>, LaplaceFault> {
        self.comm.broadcast(&wire::to_bytes(&order), deadline())?;
        let own = self.perform(order);
        let all = self.comm.gather(&wire::to_bytes(&own), deadline())?.unwrap_or_default();
        let read = |bytes: Option<Vec<u8>>| match bytes {
            Some(bytes) => wire::from_bytes(&bytes).map_err(LaplaceFault::Protocol),
            None => Ok(LaplaceAnswer::Failed("a rank did not answer".to_owned())),
        };
        all.into_iter().map(read).collect()
    }

    fn perform(&mut self, order: LaplaceOrder) -> LaplaceAnswer {
        self.journal.doing(&order.step());
        let answer = self.performed(order).unwrap_or_else(|fault| LaplaceAnswer::Failed(fault.to_string()));
        self.journal.doing(&LaplaceStep::Else);
        answer
    }

    /// The number of a way's plane.
    fn plane_of(&self, variant: WayVariant) -> Result<usize, LaplaceFault> {
        let found = self.here.planes.iter().position(|plane| plane.ranks == variant.ranks);
        found.ok_or(LaplaceFault::NoMemory(variant.way.name()))
    }

    fn performed(&mut self, order: LaplaceOrder) -> Result<LaplaceAnswer, LaplaceFault> {
        let Some(variant) = order.variant() else {
            let LaplaceOrder::Look { first } = order else { return Ok(LaplaceAnswer::Done) };
            let how = if first { PageCheck::First } else { PageCheck::Again };
            let (seen, mismatch) = plane::look(self.here.planes, how)?;
            return Ok(LaplaceAnswer::Looked(seen, mismatch));
        };
        let at = self.plane_of(variant)?;
        let solution = &self.solutions[at];
        // A rank that has no row of this plane lets the others compute.
        let Some(memory) = &mut self.here.planes[at].memory else { return Ok(LaplaceAnswer::Done) };

        let halos = Halos::new(self.here.mpi, memory.share);
        let answer = performed_with(memory, solution, order, &halos);
        // Once MPI has failed nothing more is sent.
        let failed = answer.as_ref().is_err_and(|fault| !matches!(fault, LaplaceFault::Mpi(_)));
        if let Some((variant, exchanges)) = order.exchanges().filter(|_| failed) {
            memory.serve_neighbours(&halos, variant, exchanges);
        }
        answer
    }

    fn lead(&mut self, interrupted: &AtomicBool) -> Result<LaplaceResults, LaplaceFault> {
        let ranks = self.comm.place().size;
        let mut found = LaplaceResults {
            ways: self.run.variants.iter().map(|variant| WayFound::begun(*variant, ranks)).collect(),
            ranks: vec![RankFound::default(); ranks],
            interrupted: false,
        };
        self.look(&mut found, true)?;

        for risky in [false, true] {
            let is_next =
                |way: &WayFound| (way.variant.way == HaloWay::GpuAware) == risky && way.trouble.is_none();
            let ways: Vec<usize> = (0..found.ways.len()).filter(|at| is_next(&found.ways[*at])).collect();
            self.phase(&mut found, &ways, interrupted)?;
        }

        self.look(&mut found, false)?;
        found.interrupted = interrupted.load(Ordering::Relaxed);
        self.all(LaplaceOrder::End)?;
        self.journal.found(&found);
        Ok(found)
    }

    fn look(&mut self, found: &mut LaplaceResults, first: bool) -> Result<(), LaplaceFault> {
        let answers = self.all(LaplaceOrder::Look { first })?;
        keep_placement(found, first, answers);
        Ok(())
    }

    /// Proves these ways, then has blocks of all of them in an order drawn anew for each pass, until each has
    /// enough, and holds the fields against what they should be.
    fn phase(
        &mut self,
        found: &mut LaplaceResults,
        ways: &[usize],
        interrupted: &AtomicBool,
    ) -> Result<(), LaplaceFault> {
        let goes_on = || !interrupted.load(Ordering::Relaxed);
        let most = MOST_ITERATIONS.min(self.most_iterations() as f64 - f64::from(UNCOUNTED_ITERATIONS));
        let mut iterations = vec![1_u32; found.ways.len()];
        for at in ways.iter().copied() {
            if !goes_on() {
                return Ok(());
            }
            let variant = found.ways[at].variant;
            let answers = self.all(LaplaceOrder::Prove(variant))?;
            let mut residual = 0.0_f64;
            for (rank, answer) in answers.iter().enumerate() {
                if let LaplaceAnswer::Proven { residual: of_rank, bytes } = answer {
                    residual = residual.max(*of_rank);
                    found.ranks[rank].checked_bytes += bytes;
                }
            }
            let way = &mut found.ways[at];
            way.trouble = trouble(&answers);
            let plane = self.plane_of(variant)?;
            let grid = self.here.planes[plane].grid;
            let field = &mut self.fields[plane][usize::from(variant.way.has_gpu())];
            let iterated = u64::from(PROOF_ITERATIONS);
            *field = FieldUse { ways: vec![at], iterations: iterated, is_stale: way.trouble.is_some() };
            if way.trouble.is_none() {
                way.proof = Some(WayProof { iterations: u64::from(PROOF_ITERATIONS), residual });
                // Every way of a plane adds in one order: what differs in a bit is wrong.
                let is_same =
                    |ranks| self.here.planes.iter().any(|plane| plane.ranks == ranks && plane.grid == grid);
                let mut same = found.ways.iter().filter(|way| is_same(way.variant.ranks));
                let first = same.find_map(|way| Some((way.variant, way.proof?.residual)));
                if let Some((other, first)) = first.filter(|(_, first)| *first != residual) {
                    let why = format!(
                        "wrong result: the residual is {residual:e}, and that of {other} is {first:e}"
                    );
                    found.ways[at].trouble = Some(WayTrouble::Wrong(why));
                    field.is_stale = true;
                    continue;
                }
                // Two that do not count say how many a block has.
                let answers = self.iterate(&mut found.ways[at], at, 2)?;
                let longest = blocks(&answers).map(|block| block.iteration_ns()).fold(0.0, f64::max);
                iterations[at] = (BLOCK_NS / longest.max(1.0)).ceil().clamp(1.0, most) as u32;
            }
            self.journal.found(found);
        }

        let mut random = SplitMix64::new(self.run.options.seed);
        let began = Instant::now();

        loop {
            let mut open: Vec<usize> = ways.iter().copied().filter(|at| is_open(&found.ways[*at])).collect();
            if open.is_empty() || !goes_on() {
                break;
            }
            let enough = open.iter().all(|at| found.ways[*at].blocks[0].len() >= self.run.rule.min_blocks);
            if enough && began.elapsed() > self.run.options.max_time {
                open.iter().for_each(|at| found.ways[*at].stop = Some(StopReason::MaxTime));
                break;
            }
            random.shuffle(&mut open);
            for at in open {
                self.block(found, at, iterations[at])?;
            }
            self.journal.found(found);
        }

        for at in ways.iter().copied().filter(|_| goes_on()) {
            let (way, field) = (&found.ways[at], self.field_of(found.ways[at].variant)?);
            let is_left = field.is_stale || !field.ways.contains(&at);
            if is_left && way.trouble.is_none() && way.is_unchecked {
                self.ready(found, at, iterations[at])?;
                if found.ways[at].trouble.is_none() {
                    self.iterate(&mut found.ways[at], at, iterations[at])?;
                }
            }
        }

        for plane in 0..self.fields.len() {
            for has_gpu in [false, true] {
                self.check(found, plane, has_gpu)?;
            }
        }

        self.journal.found(found);
        Ok(())
    }

    fn block(&mut self, found: &mut LaplaceResults, at: usize, iterations: u32) -> Result<(), LaplaceFault> {
        self.ready(found, at, iterations)?;
        let way = &mut found.ways[at];
        let answers = if way.trouble.is_none() { self.iterate(way, at, iterations)? } else { Vec::new() };
        if way.trouble.is_some() {
            way.stop = Some(StopReason::Error);
            return Ok(());
        }
        for (of_rank, block) in way.blocks.iter_mut().zip(blocks(&answers)) {
            of_rank.push(*block);
        }
        let value = |at: usize| {
            let times = way.blocks.iter().filter_map(|blocks| blocks.get(at)).map(BlockFound::iteration_ns);
            BlockValue { value: times.fold(0.0, f64::max), allocation: 0 }
        };
        let values: Vec<BlockValue> = (0..way.blocks[0].len()).map(value).collect();
        way.stop = decide(&values, &self.run.rule);

        Ok(())
    }
}

/// What a rank with rows does.
fn performed_with(
    memory: &mut LaplaceMemory,
    solution: &Solution,
    order: LaplaceOrder,
    halos: &Halos,
) -> Result<LaplaceAnswer, LaplaceFault> {
    let checked = |memory: &mut LaplaceMemory, variant, right: &dyn Fn(u64) -> LaplaceAnswer| {
        memory.check(variant, solution).map(|checked| checked.map_or_else(LaplaceAnswer::Wrong, right))
    };

    match order {
        LaplaceOrder::Prove(variant) => {
            memory.fill(variant, solution)?;
            let residual = memory.iterate(halos, variant, PROOF_ITERATIONS)?.residual;
            checked(memory, variant, &|bytes| LaplaceAnswer::Proven { residual, bytes })
        }
        LaplaceOrder::Fill(variant) => {
            memory.fill(variant, solution)?;
            Ok(LaplaceAnswer::Done)
        }
        LaplaceOrder::Block(variant, iterations) => {
            memory.iterate(halos, variant, UNCOUNTED_ITERATIONS)?;
            let start_ns = clock::now_ns();
            let spent = memory.iterate(halos, variant, iterations)?;
            let end_ns = clock::now_ns();
            Ok(LaplaceAnswer::Block(BlockFound { start_ns, end_ns, iterations, halo_ns: spent.halo_ns }))
        }
        LaplaceOrder::Check(variant) => checked(memory, variant, &LaplaceAnswer::Checked),
        LaplaceOrder::Look { .. } | LaplaceOrder::End => Ok(LaplaceAnswer::Done),
    }
}

fn deadline() -> Deadline<'static> {
    Deadline::until(Instant::now() + ANSWERS)
}

fn is_open(way: &WayFound) -> bool {
    way.proof.is_some() && way.trouble.is_none() && way.stop.is_none()
}

fn blocks(answers: &[LaplaceAnswer]) -> impl Iterator<Item = &BlockFound> {
    answers.iter().filter_map(|answer| match answer {
        LaplaceAnswer::Block(block) => Some(block),
        _ => None,
    })
}

/// Keeps where each rank was seen. A rank that could not be looked at leaves every way without a figure:
/// nobody knows where it computed.
fn keep_placement(found: &mut LaplaceResults, first: bool, answers: Vec<LaplaceAnswer>) {
    let when = if first { "before" } else { "after" };

    for (at, answer) in answers.into_iter().enumerate() {
        let rank = &mut found.ranks[at];
        match answer {
            LaplaceAnswer::Looked(seen, mismatch) => {
                rank.seen[usize::from(!first)] = Some(seen);
                rank.mismatch = rank.mismatch.take().or(mismatch);
            }
            LaplaceAnswer::Failed(why) => {
                let why =
                    format!("rank {at}: its placement could not be checked {when} the iterations: {why}");
                for way in found.ways.iter_mut().filter(|way| way.trouble.is_none()) {
                    way.trouble = Some(WayTrouble::Failed(why.clone()));
                }
            }
            _ => {}
        }
    }
}

/// What went wrong at a rank. A failure comes before a wrong result: neighbours of a rank that failed go on
/// with rows that mean nothing.
fn trouble(answers: &[LaplaceAnswer]) -> Option<WayTrouble> {
    let wrong = || {
        answers.iter().enumerate().find_map(|(rank, answer)| match answer {
            LaplaceAnswer::Wrong(why) => Some(WayTrouble::Wrong(format!("rank {rank}: {why}"))),
            _ => None,
        })
    };
    let failed = answers.iter().enumerate().find_map(|(rank, answer)| match answer {
        LaplaceAnswer::Failed(why) => Some(WayTrouble::Failed(format!("rank {rank}: {why}"))),
        _ => None,
    });
    failed.or_else(wrong)
}

#[cfg(test)]
mod tests;
