//! What all ranks do together: each way is proven from the known field on, then blocks of all ways are interleaved, and at the end every cell is held against what it should be.
//!
//! Rank 0 says what comes next and hears what it gave. Ways that MPI survives in any case are measured first, all of them; then device memory is sent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use device::Device;
use engine::{Bound, Helpers, Look, Pages, Seen, clock};
use experiments::supervised::SessionJournal;
use ranks::{Communicator, Deadline, Exchange, wire};
use serde::{Deserialize, Serialize};
use stats::block_interval::BlockValue;
use stats::random::SplitMix64;
use stats::stop::{Rule, StopReason, decide};

use crate::fault::LaplaceFault;
use crate::found::{BlockFound, Doing, Found, Proof, RankFound, Trouble, WayFound};
use crate::gpu_fields::{GpuFields, bytes_of};
use crate::grid::{Grid, Share, Solution};
use crate::halos::Halos;
use crate::host_fields::{HostFields, Spent};
use crate::way::{Variant, Way};

/// Iterations after which a way's field is held against the known one for the first time.
pub const PROOF_ITERATIONS: u32 = 16;
/// How long a block lasts: long beside what lies between blocks.
const BLOCK_NS: f64 = 3e7;
/// The most iterations of a block.
const MOST_ITERATIONS: f64 = 10_000.0;
/// How long ranks wait for each other's answers: whoever watches them has a shorter limit.
const ANSWERS: Duration = Duration::from_secs(24 * 3600);

/// Host memory that a rank needs, bytes, on its NUMA node, and on its device.
pub fn bytes_needed(share: &Share, variants: &[Variant]) -> [u64; 2] {
    let host = if variants.iter().any(|variant| !variant.way.has_gpu()) { 2 * share.field.bytes() } else { 0 };
    let [device, window] =
        if variants.iter().any(|variant| variant.way.has_gpu()) { bytes_of(share.field) } else { [0, 0] };
    [(host + window) as u64, device as u64]
}

/// A rank's memory.
pub struct Memory {
    host: Option<HostFields>,
    gpu: Option<GpuFields>,
    share: Share,
    place: [u32; 2],
}

impl Memory {
    /// Memory for these variants of a share, for the thread that is bound to the first of `place`, a PU, on the second, a NUMA node.
    ///
    /// # Errors
    /// The kernel or the device refused.
    pub fn new(
        bound: &Bound,
        device: Option<&dyn Device>,
        (place, one_node): ([u32; 2], bool),
        share: Share,
        variants: &[Variant],
        helpers: &Helpers,
    ) -> Result<Self, LaplaceFault> {
        let needs = |gpu: bool| variants.iter().any(|variant| variant.way.has_gpu() == gpu);
        let host = needs(false).then(|| HostFields::new(bound, share, place[1], one_node, helpers)).transpose()?;
        let gpu = device.filter(|_| needs(true)).map(|device| GpuFields::new(bound, device, share, place[1], one_node));
        Ok(Self { host, gpu: gpu.transpose()?, share, place })
    }

    fn look(&mut self, how: Look) -> Result<(Seen, Option<String>), LaplaceFault> {
        let mut seen = Seen::thread()?;
        if let Some(host) = &self.host {
            seen.pages = Pages::of(host.bytes(), how, true);
        }
        if let Some(gpu) = &mut self.gpu {
            seen.pages.merge(Pages::of(gpu.window(), how, false));
        }
        let mismatch = seen.mismatch(self.place[0], self.place[1], None);
        Ok((seen, mismatch))
    }

    fn fill(&mut self, variant: Variant, solution: &Solution) -> Result<(), LaplaceFault> {
        match (variant.way, &mut self.host, &mut self.gpu) {
            (Way::Cpu, Some(host), _) => host.fill(solution),
            (way, _, Some(gpu)) if way.has_gpu() => gpu.fill(solution)?,
            (way, ..) => return Err(LaplaceFault::NoMemory(way.name())),
        }
        Ok(())
    }

    fn iterate(&mut self, halos: &Halos, variant: Variant, iterations: u32) -> Result<Spent, LaplaceFault> {
        match (variant.way, &mut self.host, &mut self.gpu) {
            (Way::Cpu, Some(host), _) => host.iterate(halos, variant.overlap, iterations),
            (way, _, Some(gpu)) if way.has_gpu() => gpu.iterate(halos, (way, variant.overlap), iterations),
            (way, ..) => Err(LaplaceFault::NoMemory(way.name())),
        }
    }

    fn check(&mut self, variant: Variant, solution: &Solution) -> Result<Result<u64, String>, LaplaceFault> {
        match (variant.way, &self.host, &mut self.gpu) {
            (Way::Cpu, Some(host), _) => Ok(host.check(solution)),
            (way, _, Some(gpu)) if way.has_gpu() => gpu.check(solution),
            (way, ..) => Err(LaplaceFault::NoMemory(way.name())),
        }
    }
}

/// What is measured, and how long.
#[derive(Clone, Debug)]
pub struct Run {
    /// The plane.
    pub grid: Grid,
    /// The ways, in the order in which they are shown.
    pub variants: Vec<Variant>,
    /// How many blocks each gets.
    pub rule: Rule,
    /// No further pass begins after this time in a phase.
    pub max_time: Duration,
    /// Of the order within passes.
    pub seed: u64,
}

/// One rank: its memory, and what it reaches.
pub struct Here<'a> {
    /// Its memory.
    pub memory: &'a mut Memory,
    /// Its calls of MPI; a rank alone has none.
    pub mpi: Option<&'a dyn Exchange>,
}

/// What rank 0 tells all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Order {
    /// Say where thread and memory are.
    Look { first: bool },
    /// From the known field on, and held against it.
    Prove(Variant),
    /// So many iterations, timed.
    Block(Variant, u32),
    /// Hold the field of this way against what it should be.
    Check(Variant),
    /// It is over.
    End,
}

/// What a rank answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Answer {
    Looked(Seen, Option<String>),
    Proven { residual: f64, bytes: u64 },
    Block(BlockFound),
    Checked(u64),
    Wrong(String),
    Failed(String),
    Done,
}

impl Run {
    /// Does all of it as one of the ranks; what is found is rank 0's.
    ///
    /// # Errors
    /// The ranks cannot reach each other.
    pub fn run(
        &self,
        here: &mut Here,
        comm: &mut Communicator,
        interrupted: &AtomicBool,
        journal: &mut dyn SessionJournal<Doing, Found>,
    ) -> Result<Found, LaplaceFault> {
        let solution = Solution::new(self.grid);
        let mut all = All { run: self, solution, here, comm, journal };
        if all.comm.place().rank == 0 { all.lead(interrupted) } else { all.follow() }
    }
}

/// One rank at work.
struct All<'a, 'w, 'h> {
    run: &'a Run,
    solution: Solution,
    here: &'a mut Here<'h>,
    comm: &'a mut Communicator<'w>,
    journal: &'a mut dyn SessionJournal<Doing, Found>,
}

impl All<'_, '_, '_> {
    fn follow(&mut self) -> Result<Found, LaplaceFault> {
        loop {
            let told = self.comm.broadcast(&[], deadline())?;
            let order: Order = wire::from_bytes(&told).map_err(LaplaceFault::Protocol)?;
            let answer = self.perform(order);
            self.comm.gather(&wire::to_bytes(&answer), deadline())?;
            if order == Order::End {
                return Ok(Found::default());
            }
        }
    }

    /// Has all ranks do something: their answers, by rank.
    fn all(&mut self, order: Order) -> Result<Vec<Answer>, LaplaceFault> {
        self.comm.broadcast(&wire::to_bytes(&order), deadline())?;
        let own = self.perform(order);
        let all = self.comm.gather(&wire::to_bytes(&own), deadline())?.unwrap_or_default();
        let read = |bytes: Option<Vec<u8>>| match bytes {
            Some(bytes) => wire::from_bytes(&bytes).map_err(LaplaceFault::Protocol),
            None => Ok(Answer::Failed("a rank did not answer".to_owned())),
        };
        all.into_iter().map(read).collect()
    }

    fn perform(&mut self, order: Order) -> Answer {
        let doing = match order {
            Order::Prove(variant) | Order::Block(variant, _) => Doing::Iterations(variant),
            _ => Doing::Else,
        };
        self.journal.doing(&doing);
        let answer = self.performed(order).unwrap_or_else(|fault| Answer::Failed(fault.to_string()));
        self.journal.doing(&Doing::Else);
        answer
    }

    fn performed(&mut self, order: Order) -> Result<Answer, LaplaceFault> {
        let Here { memory, mpi } = &mut *self.here;
        let halos = Halos::new(*mpi, memory.share);
        let checked = |memory: &mut Memory, variant, right: &dyn Fn(u64) -> Answer, solution: &Solution| {
            memory.check(variant, solution).map(|checked| checked.map_or_else(Answer::Wrong, right))
        };
        match order {
            Order::Look { first } => {
                let (seen, mismatch) = memory.look(if first { Look::First } else { Look::Again })?;
                Ok(Answer::Looked(seen, mismatch))
            }
            Order::Prove(variant) => {
                memory.fill(variant, &self.solution)?;
                let residual = memory.iterate(&halos, variant, PROOF_ITERATIONS)?.residual;
                checked(memory, variant, &|bytes| Answer::Proven { residual, bytes }, &self.solution)
            }
            Order::Block(variant, iterations) => {
                // One that does not count: it has all ranks begin together, and their caches as in a block.
                memory.iterate(&halos, variant, 1)?;
                let start_ns = clock::now_ns();
                let spent = memory.iterate(&halos, variant, iterations)?;
                let end_ns = clock::now_ns();
                Ok(Answer::Block(BlockFound { start_ns, end_ns, iterations, halo_ns: spent.halo_ns }))
            }
            Order::Check(variant) => checked(memory, variant, &Answer::Checked, &self.solution),
            Order::End => Ok(Answer::Done),
        }
    }

    fn lead(&mut self, interrupted: &AtomicBool) -> Result<Found, LaplaceFault> {
        let ranks = self.comm.place().size;
        let mut found = Found {
            ways: self.run.variants.iter().map(|variant| WayFound::begun(*variant, ranks)).collect(),
            ranks: vec![RankFound::default(); ranks],
            interrupted: false,
        };
        self.look(&mut found, true)?;
        for risky in [false, true] {
            let ways: Vec<usize> =
                (0..found.ways.len()).filter(|at| (found.ways[*at].variant.way == Way::GpuAware) == risky).collect();
            self.phase(&mut found, &ways, interrupted)?;
        }
        self.look(&mut found, false)?;
        found.interrupted = interrupted.load(Ordering::Relaxed);
        self.all(Order::End)?;
        self.journal.found(&found);
        Ok(found)
    }

    fn look(&mut self, found: &mut Found, first: bool) -> Result<(), LaplaceFault> {
        let answers = self.all(Order::Look { first })?;
        for (rank, answer) in found.ranks.iter_mut().zip(answers) {
            if let Answer::Looked(seen, mismatch) = answer {
                rank.seen[usize::from(!first)] = Some(seen);
                rank.mismatch = rank.mismatch.take().or(mismatch);
            }
        }
        Ok(())
    }

    /// Proves these ways, then has blocks of all of them in an order drawn anew for each pass, until each has enough, and holds the fields against what they should be.
    fn phase(&mut self, found: &mut Found, ways: &[usize], interrupted: &AtomicBool) -> Result<(), LaplaceFault> {
        let goes_on = || !interrupted.load(Ordering::Relaxed);
        let mut iterations = vec![1_u32; found.ways.len()];
        for at in ways.iter().copied() {
            if !goes_on() {
                return Ok(());
            }
            let variant = found.ways[at].variant;
            let answers = self.all(Order::Prove(variant))?;
            let mut residual = 0.0_f64;
            for (rank, answer) in answers.iter().enumerate() {
                if let Answer::Proven { residual: of_rank, bytes } = answer {
                    residual = residual.max(*of_rank);
                    found.ranks[rank].checked_bytes += bytes;
                }
            }
            let way = &mut found.ways[at];
            way.trouble = trouble(&answers);
            if way.trouble.is_none() {
                way.proof = Some(Proof { iterations: u64::from(PROOF_ITERATIONS), residual });
                // Every way adds in one order: what differs in a bit is wrong.
                let first = found.ways.iter().find_map(|way| Some((way.variant, way.proof?.residual)));
                if let Some((other, first)) = first.filter(|(_, first)| *first != residual) {
                    let why = format!("wrong result: the residual is {residual:e}, and that of {other} is {first:e}");
                    found.ways[at].trouble = Some(Trouble::Wrong(why));
                    continue;
                }
                // Two that do not count say how many a block has.
                let answers = self.all(Order::Block(variant, 2))?;
                found.ways[at].trouble = trouble(&answers);
                let longest = blocks(&answers).map(|block| block.iteration_ns()).fold(0.0, f64::max);
                iterations[at] = (BLOCK_NS / longest.max(1.0)).clamp(1.0, MOST_ITERATIONS).ceil() as u32;
            }
            self.journal.found(found);
        }
        let mut random = SplitMix64::new(self.run.seed);
        let began = Instant::now();
        loop {
            let mut open: Vec<usize> = ways.iter().copied().filter(|at| is_open(&found.ways[*at])).collect();
            if open.is_empty() || !goes_on() {
                break;
            }
            let enough = open.iter().all(|at| found.ways[*at].blocks[0].len() >= self.run.rule.min_blocks);
            if enough && began.elapsed() > self.run.max_time {
                open.iter().for_each(|at| found.ways[*at].stop = Some(StopReason::MaxTime));
                break;
            }
            random.shuffle(&mut open);
            for at in open {
                self.block(&mut found.ways[at], iterations[at])?;
            }
            self.journal.found(found);
        }
        for at in ways.iter().copied() {
            if found.ways[at].proof.is_none() || found.ways[at].trouble.is_some() {
                continue;
            }
            let answers = self.all(Order::Check(found.ways[at].variant))?;
            found.ways[at].trouble = trouble(&answers);
            for (rank, answer) in answers.iter().enumerate() {
                if let Answer::Checked(bytes) = answer {
                    found.ranks[rank].checked_bytes += bytes;
                }
            }
        }
        self.journal.found(found);
        Ok(())
    }

    fn block(&mut self, way: &mut WayFound, iterations: u32) -> Result<(), LaplaceFault> {
        let answers = self.all(Order::Block(way.variant, iterations))?;
        way.trouble = trouble(&answers);
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

fn deadline() -> Deadline<'static> {
    Deadline::until(Instant::now() + ANSWERS)
}

fn is_open(way: &WayFound) -> bool {
    way.proof.is_some() && way.trouble.is_none() && way.stop.is_none()
}

fn blocks(answers: &[Answer]) -> impl Iterator<Item = &BlockFound> {
    answers.iter().filter_map(|answer| match answer {
        Answer::Block(block) => Some(block),
        _ => None,
    })
}

/// What went wrong at a rank; a wrong result before a failure.
fn trouble(answers: &[Answer]) -> Option<Trouble> {
    let wrong = answers.iter().enumerate().find_map(|(rank, answer)| match answer {
        Answer::Wrong(why) => Some(Trouble::Wrong(format!("rank {rank}: {why}"))),
        _ => None,
    });
    let failed = || {
        answers.iter().enumerate().find_map(|(rank, answer)| match answer {
            Answer::Failed(why) => Some(Trouble::Failed(format!("rank {rank}: {why}"))),
            _ => None,
        })
    };
    wrong.or_else(failed)
}
