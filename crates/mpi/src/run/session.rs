//! The session of one rank: bind, open the GPU, start MPI, exchange. MPI may end it at any call; its
//! supervisor has heard everything by then.

use std::mem::ManuallyDrop;
use std::sync::atomic::AtomicBool;
use std::thread;

use device::{Device, DeviceId, PeerCopier, PeerEnd, PlatformKind};
use engine::Bound;
use experiments::backends::FoundPlatform;
use experiments::document::locality;
use experiments::supervised::{RankLocation, RankSession, SessionMessage, apart, place_on_node};
use experiments::watchdog::NOT_OPEN;
use experiments::{Exit, Fault, read};
use launchers::LaunchSize;
use placement::{RankPlan, TargetId};
use ranks::{Communicator, Mpi, ThreadLevel};
use report::message::MpiThreadLevel;
use startup::{Agreement, ProcessRefusal};
use stats::PciAddress;
use stats::stop::{Patience, StopRule};
use topo::Topology;
use topo::fs_root::FsRoot;
use topo::interconnect::Interconnect;

use super::facts::{MessageRanks, RankFacts};
use super::gpu_cpus::{ThreadSpot, threads};
use super::matrix::{self, Spot, spots};
use super::options::{MessageOptions, PairsAsked};
use super::pairs::{pairs, too_few};
use crate::background;
use crate::carried::window;
use crate::case::{GpuThreadAt, MessagePattern};
use crate::fault::ExchangeFault;
use crate::follow::{MessageRank, follow};
use crate::gpu_thread::GpuThread;
use crate::host_adapters::HostAdapters;
use crate::lead::MessageLead;
use crate::link_counters::PairCounters;
use crate::memory::MessageMemory;

/// The largest message: an MPI count is an `int`.
const MOST_BYTES: u64 = 1 << 30;
/// Messages that operations are tried with: one that goes at once, and one that two ranks agree on first.
const ATTEMPT_BYTES: [usize; 2] = [1024, 8 << 20];
/// Blocks of a case, and the interval to reach: half of what pingpong's are held to, because every size is
/// one of many.
const RULE: StopRule =
    StopRule { min_blocks: 10, max_blocks: 40, target_half_width: 0.01, patience: Patience::Long };
/// The same under `--matrix`, where one half of the blocks chooses which places are compared and the other
/// half compares them.
const IN_MATRIX: StopRule = StopRule { min_blocks: 14, ..RULE };

/// Runs the session of this rank; what it finds goes to the supervisor.
pub fn run(session: &RankSession<MessageOptions>) -> Result<Exit, Fault> {
    let (options, launch) = (session.kind, session.launch);
    let has_other_hosts =
        !matches!((launch.size, launch.local_size), (LaunchSize::Known(all), Some(here)) if all == here);
    let is_sample = matches!(options.pairs, Some(PairsAsked::Sample(_)));
    let (topology, nics, interconnect) = if options.matrix.is_some() || has_other_hosts || is_sample {
        let survey = topo::survey().map_err(Fault::no_result)?;
        (survey.topology, survey.nics, Some(survey.interconnect))
    } else {
        (read()?, Vec::new(), None)
    };
    let found = session.find(&topology)?;
    let (local_rank, size) = place_on_node(launch)?;
    let in_matrix = options.matrix.map(|by| spots(&topology, &nics, by, size)).transpose()?;
    let chosen: Option<Vec<(u32, u32)>> =
        in_matrix.as_ref().map(|(spots, _)| spots.iter().map(|spot| (spot.pu, spot.node)).collect());
    let plan = session.place(&topology, &found, chosen.as_deref())?;
    let gpu_threads = match (&options.place.cpus, &options.gpu_cpus) {
        (Some(mpi), Some(gpu)) if matches!(plan.target.id, TargetId::Gpu(_)) => {
            threads(&topology, mpi, gpu, local_rank, options.others_send)?
        }
        (_, Some(gpu)) if options.others_send && local_rank >= gpu.0.len() => Vec::new(),
        (_, Some(_)) => {
            return Err(Fault::new(Exit::Absent, "--gpu-cpus: there is no GPU that a thread could copy to"));
        }
        _ => Vec::new(),
    };

    let adapters = has_other_hosts.then(|| HostAdapters::find(FsRoot::default(), &topology, &nics, &plan));
    let in_matrix = in_matrix.map(|(spots, missing)| (spots[local_rank].clone(), missing));
    let gpu_links = interconnect.filter(|_| is_sample).map_or_else(Vec::new, |all| gpu_links(&all, &plan));
    let rank = MessageSession {
        session,
        topology: &topology,
        found: &found,
        plan: &plan,
        in_matrix,
        gpu_threads,
        gpu_links,
        adapters,
    };

    let exit = session.on_own_thread(move |interrupted| rank.bound(interrupted))?;

    // As the rank's memory.
    std::mem::forget(found);
    Ok(exit)
}

/// What lies between the GPU of a plan and each other one.
fn gpu_links(interconnect: &Interconnect, plan: &RankPlan) -> Vec<(PciAddress, String)> {
    let TargetId::Gpu(own) = plan.target.id else { return Vec::new() };
    let others = interconnect.devices.iter().map(|device| device.pci).filter(|pci| *pci != own);
    others.map(|other| (other, interconnect.sign_between(own, other))).collect()
}

/// The largest message that memory is needed for.
fn most_bytes(MessageOptions { sizes, patterns, .. }: &MessageOptions, is_gpu: bool) -> Result<usize, Fault> {
    let largest = sizes.iter().copied().max().unwrap_or_default();
    if largest > MOST_BYTES {
        let most = stats::units::size(MOST_BYTES);
        return Err(Fault::usage(format!("--size: a message has {most} at most")));
    }
    if sizes.contains(&0) && !patterns.contains(&MessagePattern::PingPong) {
        return Err(Fault::usage(
            "--size 0B: messages of no bytes have a latency and no rate; add --pattern ping-pong, or leave \
             0B out"
                .to_owned(),
        ));
    }
    let attempted = if is_gpu { ATTEMPT_BYTES[1] as u64 } else { 1 };
    usize::try_from(largest.max(attempted)).map_err(Fault::usage)
}

/// What a rank has: its memory, and the threads beside the one that calls MPI.
type Own = (MessageMemory, Vec<GpuThread>);

/// A rank's place in a matrix, and those of its host that no rank can have.
type InMatrix = (Spot, Vec<(String, String)>);

/// One rank in its place.
struct MessageSession<'a> {
    session: &'a RankSession<'a, MessageOptions>,
    topology: &'a Topology,
    found: &'a FoundPlatform,
    plan: &'a RankPlan,
    in_matrix: Option<InMatrix>,
    gpu_threads: Vec<ThreadSpot>,
    /// What lies between its GPU and the host's others, where pairs are a sample.
    gpu_links: Vec<(PciAddress, String)>,
    /// `None` where the launch has no other host.
    adapters: Option<HostAdapters>,
}

impl MessageSession<'_> {
    fn bound(&self, interrupted: &AtomicBool) -> Result<(), Fault> {
        let Self { session, found, plan, .. } = *self;
        let bound = Bound::to(plan.pu).map_err(Fault::no_result)?;
        let is_gpu = found.platform.facts().kind != PlatformKind::Host;
        thread::scope(|scope| {
            let watchdog = session.watchdog(NOT_OPEN)?;
            let device = session.open(found, plan)?;
            let bytes = most_bytes(session.kind, is_gpu)?;
            let one_node = self.topology.allowed.nodes.len() <= 1;
            let memory =
                MessageMemory::new(&bound, device.as_deref(), [plan.pu, plan.memory_node], one_node, bytes);
            let start_thread = |spot: &ThreadSpot| {
                let TargetId::Gpu(pci) = plan.target.id else { return Err(ExchangeFault::NoDevice) };
                let places = [spot.pu, spot.memory_node];
                GpuThread::start(scope, &*found.platform, DeviceId::Pci(pci), spot.at, places, one_node)
            };
            let own = memory.and_then(|memory| {
                Ok((memory, self.gpu_threads.iter().map(start_thread).collect::<Result<_, ExchangeFault>>()?))
            });
            let own = own.map_err(Fault::no_result);
            drop(watchdog);

            // The memory that messages lie in stays until MPI is left. It is not given back then either: the
            // process ends soon and the kernel gives everything back, and a driver that does not let go of it
            // must not keep the rank here.
            let (mut kept, device) = (ManuallyDrop::new(None), ManuallyDrop::new(device));
            let mut gpu_threads = None;
            let ended = session.with_ranks(Some(level(session.kind)), |mpi, mut agreement| {
                let (mpi, library) = mpi.ok_or_else(too_few)?;
                let (met, mut own) = self.meet(own, device.as_deref(), (mpi, library), &mut agreement)?;
                let comm = agreement.comm();
                let ended = self.exchange(&met, &mut own, device.as_deref(), mpi, comm, interrupted);
                let (memory, threads) = own;
                (*kept, gpu_threads) = (Some(memory), Some(threads));
                ended.map_err(Fault::no_result)
            });
            drop(gpu_threads);
            ended
        })
    }

    /// All ranks tell each other where they are; nobody goes on without the others.
    fn meet(
        &self,
        own: Result<Own, Fault>,
        device: Option<&dyn Device>,
        (mpi, library): (&Mpi, &str),
        agreement: &mut Agreement,
    ) -> Result<(MessageRanks, Own), Fault> {
        let place = agreement.place();
        let location = RankLocation::own(place, self.topology, self.found, self.plan);
        let facts = own.as_ref().map(|_| self.facts(location, device)).map_err(ProcessRefusal::from);
        let options = self.session.kind;
        let (library, says) = (library.to_owned(), mpi.exchange().gpu_support());
        let thread_level = thread_level(mpi.thread_level());
        let met = agreement.agree(facts, |ranks: Vec<RankFacts>| -> Result<_, Fault> {
            let (mut pairs, pair_sample) = pairs(options.pairs.as_ref(), options.seed, &ranks)?;
            let locations: Vec<&RankLocation> = ranks.iter().map(|rank| &rank.location).collect();
            apart(&locations, |one, other| one.session.host == other.session.host)?;
            if options.matrix.is_some() {
                pairs = matrix::pairs(&ranks);
            }
            if options.others_send {
                enough_others(&pairs, ranks.len())?;
            }
            if options.gpu_cpus.is_some() && gpu_threads(&ranks, &pairs).is_empty() {
                let text = "--gpu-cpus: not every measured rank has a thread that copies: name a PU for \
                    each of them, the first ranks of a node first";
                return Err(Fault::usage(text));
            }
            let met = MessageRanks { library, says, thread_level, ranks, pairs, pair_sample };
            Ok(vec![met.clone(); met.ranks.len()])
        })?;

        Ok((met, own?))
    }

    fn facts(&self, location: RankLocation, device: Option<&dyn Device>) -> RankFacts {
        let spot = self.in_matrix.as_ref();
        RankFacts {
            gpu_name: device.map(|device| device.facts().name.clone()),
            locality: location.gpu.map(|_| locality(self.plan.verdict.closeness)),
            location,
            simulated: self.found.platform.facts().simulated.clone(),
            gpu_threads: self.gpu_threads.clone(),
            place: spot.map(|(spot, _)| spot.name.clone()),
            nics: spot.map_or_else(Vec::new, |(spot, _)| spot.nics.clone()),
            adapters: self.adapters.as_ref().map_or_else(Vec::new, |adapters| adapters.of_rank.clone()),
            adapter_refresh: self.adapters.as_ref().map(HostAdapters::refresh).unwrap_or_default(),
            gpu_links: self.gpu_links.clone(),
            missing_places: spot.map_or_else(Vec::new, |(_, missing)| missing.clone()),
        }
    }

    fn exchange(
        &self,
        met: &MessageRanks,
        (memory, gpu_threads): &mut Own,
        device: Option<&dyn Device>,
        mpi: &Mpi,
        comm: &mut Communicator,
        interrupted: &AtomicBool,
    ) -> Result<(), ExchangeFault> {
        let mut session = self.session;
        let place = comm.place();
        let here = &met.ranks[place.rank];
        let on_this_host =
            |rank: &RankFacts| (rank.host() == here.host()).then_some(rank.location.gpu).flatten();
        let gpus: Vec<Option<PciAddress>> = met.ranks.iter().map(on_this_host).collect();
        let counters = PairCounters::open(here.location.gpu, gpus.clone());
        let len = memory.half();
        let reach = |with: usize| self.reach(device, gpus.get(with).copied().flatten(), len);
        let mut here = MessageRank {
            rank: place.rank,
            mpi: mpi.exchange(),
            memory,
            reach: &reach,
            adapters: self.adapters.as_ref(),
            links: counters.as_ref(),
            gpu_threads,
            say: self.session.say,
        };

        session.tell(&SessionMessage::Met(met.clone()));
        if place.rank != 0 {
            return follow(&mut here, comm, &mut session);
        }
        let found = self.lead(met).run(&met.pairs, &mut here, comm, interrupted, &mut session)?;
        session.tell(&SessionMessage::Found(found));
        Ok(())
    }

    fn lead(&self, met: &MessageRanks) -> MessageLead {
        let options = self.session.kind;
        let in_matrix = options.matrix.is_some();
        MessageLead {
            sizes: options.sizes.iter().filter_map(|bytes| usize::try_from(*bytes).ok()).collect(),
            patterns: options.patterns.clone(),
            devices: met.ranks.iter().all(|rank| rank.location.gpu.is_some()),
            gpu_aware: !options.operations.is_empty(),
            operations: options.operations.clone(),
            attempt_bytes: ATTEMPT_BYTES.to_vec(),
            rule: if in_matrix { IN_MATRIX } else { RULE },
            max_time: options.max_time,
            gpu_threads: gpu_threads(&met.ranks, &met.pairs),
            others_send: options.others_send,
            together: in_matrix,
            hosts: met.ranks.iter().map(|rank| rank.host().to_owned()).collect(),
            window: window(met.ranks.iter().map(|rank| rank.adapter_refresh).max().unwrap_or_default()),
            seed: options.seed,
        }
    }

    /// Copies from this rank's GPU to another one of this host, where this process sees it.
    fn reach(
        &self,
        own: Option<&dyn Device>,
        other: Option<PciAddress>,
        len: usize,
    ) -> Result<Box<dyn PeerCopier>, String> {
        let own = own.ok_or("this rank has no GPU")?;
        let other = other.ok_or("the other GPU is on another node")?;
        if own.facts().id == DeviceId::Pci(other) {
            return Err("both ranks have one GPU".to_owned());
        }
        let opened = self.found.platform.open(DeviceId::Pci(other));
        let opened = opened.map_err(|error| format!("this process does not see the other GPU: {error}"))?;
        own.peer_copier(&*opened, PeerEnd::Source, len).map_err(|error| error.to_string())
    }
}

fn level(options: &MessageOptions) -> ThreadLevel {
    match options.thread_level {
        // Threads that call no MPI are threads all the same.
        ThreadLevel::Single if options.gpu_cpus.is_some() => ThreadLevel::Funneled,
        asked => asked,
    }
}

/// The thread level as documents have it.
fn thread_level(level: ThreadLevel) -> MpiThreadLevel {
    match level {
        ThreadLevel::Single => MpiThreadLevel::Single,
        ThreadLevel::Funneled => MpiThreadLevel::Funneled,
        ThreadLevel::Serialized => MpiThreadLevel::Serialized,
        ThreadLevel::Multiple => MpiThreadLevel::Multiple,
    }
}

/// Whether each pair has two other ranks that can send beside it.
fn enough_others(pairs: &[[usize; 2]], ranks: usize) -> Result<(), Fault> {
    match pairs.iter().find(|pair| background::pairs(ranks, 0, **pair).is_empty()) {
        None => Ok(()),
        Some([one, other]) => Err(Fault::usage(format!(
            "--others-send: beside ranks {one} and {other} no two of {ranks} ranks are left that could send \
             (rank 0 leads); start more, e.g. one on each core"
        ))),
    }
}

/// The threads that every measured rank has.
fn gpu_threads(ranks: &[RankFacts], pairs: &[[usize; 2]]) -> Vec<GpuThreadAt> {
    let measured: Vec<&RankFacts> = pairs.iter().flatten().filter_map(|rank| ranks.get(*rank)).collect();
    let has = |rank: &RankFacts, at| rank.gpu_threads.iter().any(|thread| thread.at == at);
    let all = |at: &GpuThreadAt| measured.iter().all(|rank| has(rank, *at));
    [GpuThreadAt::Near, GpuThreadAt::Apart].into_iter().filter(all).collect()
}
