//! The session of one rank: bind, open the GPU, start MPI, exchange. MPI may end it at any call; its supervisor has heard everything by then.

use std::error::Error;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, Scope};

use ::launch::{Agreement, Refusal};
use anyhow::anyhow;
use device::{Device, DeviceId, PeerCopier, PeerEnd, PlatformKind};
use engine::Bound;
use exchange::{
    Adapters, Doing, ExchangeFault, Found as Results, GpuThread, GpuThreadAt, Here, Journal, Lead, Memory, Pattern,
    Traffic, follow,
};
use placement::{RankPlan, TargetId};
use ranks::{Communicator, Identity, Launch, Mpi, Size, ThreadLevel};
use stats::PciAddress;
use stats::stop::{Patience, Rule};
use topo::Topology;
use topo::fs_root::FsRoot;

use super::adapters::HostAdapters;
use super::channel::{Met, RankFacts, Told};
use super::gpu_cpus::{ThreadSpot, threads};
use super::matrix::{self, Spot, spots};
use super::place::{Asked as AskedPlaces, apart, on_node, place};
use super::traffic::Counters;
use crate::args::mpi::{Level, Mpi as Args, Pairs, Pattern as Asked};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::signals::Signals;
use crate::terminal;
use crate::watchdog::{NOT_OPEN, Watchdog};
use crate::watched::channel::Teller;
use experiments::backends::{self, Found};
use experiments::ending;
use experiments::launched::{CODES, start};
use experiments::read;

/// The largest message: an MPI count is an `int`.
const MOST_BYTES: u64 = 1 << 30;
/// Messages that operations are tried with: one that goes at once, and one that two ranks agree on first.
const ATTEMPT_BYTES: [usize; 2] = [1024, 8 << 20];
/// Blocks of a case, and the interval to reach: half of what pingpong's are held to, because every size is one of many.
const RULE: Rule = Rule { min_blocks: 10, max_blocks: 40, target_half_width: 0.01, patience: Patience::Long };
/// The same under `--matrix`, where one half of the blocks chooses which places are compared and the other half compares them.
const IN_MATRIX: Rule = Rule { min_blocks: 14, ..RULE };

/// Runs the session of this rank; what it finds goes to the supervisor.
pub fn run(args: &Args, launch: &Launch) -> Result<Exit, Fault> {
    // Before there is another thread, of ours or of a driver: it may change the environment.
    ranks::gtl::bring_in();
    // One that hangs in MPI when a launcher kills its supervisor would stay for ever.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).map_err(no_result)?;
    let has_other_hosts = !matches!((launch.size, launch.local_size), (Size::Known(all), Some(here)) if all == here);
    let (topology, nics) = match args.matrix.is_some() || has_other_hosts {
        false => (read()?, Vec::new()),
        true => topo::survey().map(|survey| (survey.topology, survey.nics)).map_err(no_result)?,
    };
    let not_open = launch.speaks().then_some(NOT_OPEN);
    let opening = Watchdog::set(args.timeout, not_open, terminal::say)?;
    let found = backends::find(args.backend.into(), args.gpus.is_some(), &topology)?;
    drop(opening);
    let (local_rank, size) = on_node(launch)?;
    let in_matrix = args.matrix.map(|by| spots(&topology, &nics, by, size)).transpose()?;
    let asked = AskedPlaces { cpus: args.cpus.as_ref(), gpus: args.gpus.as_ref(), membind: args.membind };
    let plan = place(&asked, launch, &topology, &found, in_matrix.as_ref().map(|(spots, _)| &spots[..]))?;
    let gpu_threads = match (&args.cpus, &args.gpu_cpus) {
        (Some(mpi), Some(gpu)) if matches!(plan.target.id, TargetId::Gpu(_)) => {
            threads(&topology, mpi, gpu, local_rank)?
        }
        (_, Some(_)) => {
            return Err(Fault::new(Exit::Absent, anyhow!("--gpu-cpus: there is no GPU that a thread could copy to")));
        }
        _ => Vec::new(),
    };
    let adapters = has_other_hosts.then(|| HostAdapters::find(FsRoot::default(), &topology, &nics, &plan));
    let in_matrix = in_matrix.map(|(spots, missing)| (spots[local_rank].clone(), missing));
    let signals = Signals::catch()?;
    let interrupted = Arc::clone(&signals.interrupted);
    // A thread that was never elsewhere: it is bound first, then it opens the GPU, then MPI, which it alone calls.
    thread::scope(|scope| {
        let rank = thread::Builder::new().spawn_scoped(scope, || {
            bound(
                scope,
                args,
                launch,
                &topology,
                &found,
                Assigned { plan: &plan, in_matrix, gpu_threads, adapters },
                &interrupted,
            )
        });
        let rank =
            rank.map_err(|error| no_result(anyhow!("the rank's thread cannot be started: {error}; see ulimit -u")))?;
        rank.join().unwrap_or_else(|_| Err(Fault::new(Exit::NoResult, anyhow!("the rank's thread panicked"))))
    })?;
    // As the rank's memory.
    std::mem::forget(found);
    Ok(signals.exit().unwrap_or(Exit::Ok))
}

fn no_result(error: impl Into<Box<dyn Error + Send + Sync>>) -> Fault {
    Fault::new(Exit::NoResult, error)
}

fn bound<'scope>(
    scope: &'scope Scope<'scope, '_>,
    args: &Args,
    launch: &Launch,
    topology: &Topology,
    found: &'scope Found,
    assigned: Assigned,
    interrupted: &AtomicBool,
) -> Result<(), Fault> {
    let plan = assigned.plan;
    let bound = Bound::to(plan.pu).map_err(no_result)?;
    let is_gpu = found.platform.facts().kind != PlatformKind::Host;
    let watchdog = Watchdog::set(args.timeout, launch.speaks().then_some(NOT_OPEN), terminal::say)?;
    let device = match plan.target.id {
        TargetId::Gpu(pci) => Some(found.platform.open(DeviceId::Pci(pci)).map_err(no_result)?),
        TargetId::Node(_) => None,
    };
    let bytes = most_bytes(args, is_gpu)?;
    let one_node = topology.allowed.nodes.len() <= 1;
    let memory = Memory::new(&bound, device.as_deref(), [plan.pu, plan.memory_node], one_node, bytes);
    let start_thread = |spot: &ThreadSpot| {
        let TargetId::Gpu(pci) = plan.target.id else { return Err(ExchangeFault::NoDevice) };
        let places = [spot.pu, spot.memory_node];
        GpuThread::start(scope, &*found.platform, DeviceId::Pci(pci), spot.at, places, one_node)
    };
    let own = memory.and_then(|memory| {
        Ok((memory, assigned.gpu_threads.iter().map(start_thread).collect::<Result<_, ExchangeFault>>()?))
    });
    let own = own.map_err(no_result);
    drop(watchdog);

    let starting = &mut |library: &str| Teller.tell(&Told::Starting(library.to_owned()));
    let (mpi, library) = start(launch, args.timeout, Some(level_of(args)), terminal::say, starting)?;
    // The memory that messages lie in stays until MPI is left. It is not given back then either: the process ends soon and the kernel gives everything back, and a driver that does
    // not let go of it must not keep the rank here.
    let (mut kept, device) = (ManuallyDrop::new(None), ManuallyDrop::new(device));
    let mut gpu_threads = None;
    let ended = {
        let mut comm = Communicator::new(&mpi);
        let mut agreement = Agreement::new(&mut comm, args.timeout, CODES);
        let rank = Rank { args, topology, found, assigned, device: device.as_deref(), mpi: &mpi, library: &library };
        rank.meet(own, &mut agreement).and_then(|(met, mut own)| {
            let ended = rank.exchange(&met, &mut own, agreement.comm(), interrupted).map_err(no_result);
            let (memory, threads) = own;
            (*kept, gpu_threads) = (Some(memory), Some(threads));
            ended
        })
    };
    // Said before anybody leaves: a launcher may end the others as soon as one ends with a code.
    let ended = ended.map_err(|fault| {
        terminal::complain(&fault);
        Teller.tell(&Told::Refused(fault.exit.code()));
        Fault::silent(fault.exit)
    });
    // Before it leaves: an MPI that dies or hangs in MPI_Finalize takes nothing with it.
    if ended.is_ok() {
        Teller.tell(&Told::Over);
    }
    let was_late = ended.as_ref().is_err_and(|fault| fault.exit == Exit::TimedOut);
    let has_left = !was_late && launch::leave(mpi, terminal::say);
    match ended {
        Ok(()) if has_left => {
            drop(gpu_threads);
            Ok(())
        }
        // The supervisor learns that it did not leave, and says or awaits in its place what lets the others end.
        Ok(()) => ending::at_once(Exit::NoResult),
        // What MPI or the driver may still use is neither given back nor unmapped, and nobody's exit handler waits for it.
        Err(fault) => ending::at_once(fault.exit),
    }
}

/// The largest message that is sent.
fn most_bytes(args: &Args, is_gpu: bool) -> Result<usize, Fault> {
    let largest = args.sizes().into_iter().max().unwrap_or_default();
    if largest > MOST_BYTES || args.sizes().contains(&0) {
        return Err(Fault::usage(anyhow!("--size: messages have 1 B to {}", stats::units::size(MOST_BYTES))));
    }
    let attempted = if is_gpu { ATTEMPT_BYTES[1] as u64 } else { 0 };
    usize::try_from(largest.max(attempted)).map_err(Fault::usage)
}

/// What a rank has: its memory, and the threads beside the one that calls MPI.
type Own = (Memory, Vec<GpuThread>);

/// A rank's place in a matrix, and those of its host that no rank can have.
type InMatrix = (Spot, Vec<(String, String)>);

/// Where a rank and its threads belong.
struct Assigned<'a> {
    plan: &'a RankPlan,
    in_matrix: Option<InMatrix>,
    gpu_threads: Vec<ThreadSpot>,
    /// `None` where the launch has no other host.
    adapters: Option<HostAdapters>,
}

/// One rank in its place.
struct Rank<'a> {
    args: &'a Args,
    topology: &'a Topology,
    found: &'a Found,
    assigned: Assigned<'a>,
    device: Option<&'a dyn Device>,
    mpi: &'a Mpi,
    library: &'a str,
}

impl Rank<'_> {
    /// All ranks tell each other where they are; nobody goes on without the others.
    fn meet(&self, own: Result<Own, Fault>, agreement: &mut Agreement) -> Result<(Met, Own), Fault> {
        let facts = own.as_ref().map(|_| self.facts(agreement.place().rank)).map_err(Refusal::from);
        let args = self.args;
        let (library, says) = (self.library.to_owned(), self.mpi.exchange().said());
        let thread_level = self.mpi.thread_level().name().to_owned();
        let met: Met = agreement.agree(facts, |ranks: Vec<RankFacts>| -> Result<_, Fault> {
            let mut pairs = pairs(args.pairs.as_ref(), ranks.len())?;
            apart(&ranks)?;
            if args.matrix.is_some() {
                pairs = matrix::pairs(&ranks);
            }
            let met = Met { library, says, thread_level, ranks, pairs };
            Ok(vec![met.clone(); met.ranks.len()])
        })?;
        Ok((met, own?))
    }

    fn facts(&self, rank: usize) -> RankFacts {
        let platform = &self.found.platform;
        let gpu = match self.assigned.plan.target.id {
            TargetId::Gpu(pci) => Some(pci),
            TargetId::Node(_) => None,
        };
        let closeness = self.assigned.plan.verdict.closeness;
        let process = Identity::own();
        RankFacts {
            rank,
            host: self.topology.host(),
            process: (process.pid, process.start, process.namespace),
            pu: self.assigned.plan.pu,
            memory_node: self.assigned.plan.memory_node,
            gpu,
            gpu_name: self.device.map(|device| device.facts().name.clone()),
            locality: gpu.map(|_| closeness.name().to_owned()),
            simulated: platform.facts().simulated.clone(),
            why_host: self.found.why_host.clone(),
            gpu_threads: self.assigned.gpu_threads.clone(),
            place: self.assigned.in_matrix.as_ref().map(|(spot, _)| spot.name.clone()),
            nics: self.assigned.in_matrix.as_ref().map_or_else(Vec::new, |(spot, _)| spot.nics.clone()),
            adapters: self.assigned.adapters.as_ref().map_or_else(Vec::new, |adapters| adapters.of_rank.clone()),
            missing_places: self.assigned.in_matrix.as_ref().map_or_else(Vec::new, |(_, missing)| missing.clone()),
        }
    }

    fn exchange(
        &self,
        met: &Met,
        (memory, gpu_threads): &mut Own,
        comm: &mut Communicator,
        interrupted: &AtomicBool,
    ) -> Result<(), ExchangeFault> {
        let place = comm.place();
        let here = &met.ranks[place.rank];
        let on_this_host = |rank: &RankFacts| (rank.host == here.host).then_some(rank.gpu).flatten();
        let gpus: Vec<Option<PciAddress>> = met.ranks.iter().map(on_this_host).collect();
        let counters = Counters::open(here.gpu, gpus.clone());
        let len = memory.half();
        let reach = |with: usize| self.reach(gpus.get(with).copied().flatten(), len);
        let mut here = Here {
            rank: place.rank,
            mpi: self.mpi.exchange(),
            memory,
            reach: &reach,
            adapters: self.assigned.adapters.as_ref().map(|adapters| -> &dyn Adapters { adapters }),
            traffic: counters.as_ref().map(|counters| -> &dyn Traffic { counters }),
            gpu_threads,
        };
        Teller.tell(&Told::Met(met.clone()));
        if place.rank != 0 {
            return follow(&mut here, comm, &mut Telling);
        }
        let found = self.lead(met).run(&met.pairs, &mut here, comm, interrupted, &mut Telling)?;
        Teller.tell(&Told::Found(found));
        Ok(())
    }

    fn lead(&self, met: &Met) -> Lead {
        let args = self.args;
        let operations = args.operations();
        let devices = met.ranks.iter().all(|rank| rank.gpu.is_some());
        Lead {
            sizes: args.sizes().into_iter().filter_map(|bytes| usize::try_from(bytes).ok()).collect(),
            patterns: args.patterns().iter().map(|pattern| pattern_of(*pattern)).collect(),
            devices,
            gpu_aware: !operations.is_empty(),
            operations,
            attempt_bytes: ATTEMPT_BYTES.to_vec(),
            rule: if args.matrix.is_some() { IN_MATRIX } else { RULE },
            max_time: args.max_time,
            gpu_threads: gpu_threads(&met.ranks),
            together: args.matrix.is_some(),
            hosts: met.ranks.iter().map(|rank| rank.host.clone()).collect(),
            seed: args.seed,
        }
    }

    /// Copies from this rank's GPU to another one of this host, where this process sees it.
    fn reach(&self, other: Option<PciAddress>, len: usize) -> Result<Box<dyn PeerCopier>, String> {
        let own = self.device.ok_or("this rank has no GPU")?;
        let other = other.ok_or("the other GPU is on another node")?;
        if own.facts().id == DeviceId::Pci(other) {
            return Err("both ranks have one GPU".to_owned());
        }
        let opened = self.found.platform.open(DeviceId::Pci(other));
        let opened = opened.map_err(|error| format!("this process does not see the other GPU: {error}"))?;
        own.peer_copier(&*opened, PeerEnd::Source, len).map_err(|error| error.to_string())
    }
}

fn level_of(args: &Args) -> ThreadLevel {
    match args.thread_level {
        // Threads that call no MPI are threads all the same.
        Level::Single if args.gpu_cpus.is_some() => ThreadLevel::Funneled,
        Level::Single => ThreadLevel::Single,
        Level::Funneled => ThreadLevel::Funneled,
        Level::Serialized => ThreadLevel::Serialized,
        Level::Multiple => ThreadLevel::Multiple,
    }
}

/// A pattern as exchanges name it.
pub fn pattern_of(asked: Asked) -> Pattern {
    match asked {
        Asked::PingPong => Pattern::PingPong,
        Asked::OneWay => Pattern::OneWay,
        Asked::BothWays => Pattern::BothWays,
    }
}

fn pairs(asked: Option<&Pairs>, ranks: usize) -> Result<Vec<[usize; 2]>, Fault> {
    if ranks < 2 {
        return Err(Fault::usage(anyhow!("messages go between two ranks: start it with `mpirun -n 2` or `srun -n 2`")));
    }
    match asked {
        None => Ok(vec![[0, 1]]),
        Some(Pairs::All) => Ok((0..ranks).flat_map(|one| (one + 1..ranks).map(move |other| [one, other])).collect()),
        Some(Pairs::These(pairs)) => match pairs.iter().flatten().find(|rank| **rank >= ranks) {
            Some(rank) => Err(Fault::usage(anyhow!("--pairs names rank {rank}; this launch has 0 to {}", ranks - 1))),
            None => Ok(pairs.clone()),
        },
    }
}

/// The threads that every rank has.
fn gpu_threads(ranks: &[RankFacts]) -> Vec<GpuThreadAt> {
    let has = |rank: &RankFacts, at| rank.gpu_threads.iter().any(|thread| thread.at == at);
    let all = |at: &GpuThreadAt| ranks.iter().all(|rank| has(rank, *at));
    [GpuThreadAt::Near, GpuThreadAt::Apart].into_iter().filter(all).collect()
}

/// Passes everything on to the supervisor.
struct Telling;

impl Journal for Telling {
    fn doing(&mut self, what: &Doing) {
        Teller.tell(&Told::Doing(what.clone()));
    }

    fn found(&mut self, found: &Results) {
        Teller.tell(&Told::Found(found.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_is_not_there_is_named() {
        let these = Pairs::These(vec![[0, 1], [1, 7]]);
        assert!(
            pairs(Some(&these), 4).is_err_and(|fault| fault.to_string().contains("rank 7; this launch has 0 to 3"))
        );
        assert_eq!(pairs(Some(&Pairs::All), 3).ok(), Some(vec![[0, 1], [0, 2], [1, 2]]));
        assert!(pairs(None, 1).is_err());
    }
}
