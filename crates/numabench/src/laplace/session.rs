//! The session of one rank: bind, open the GPU, start MPI, allocate, iterate. MPI may end it at any call; its supervisor has heard everything by then.

use std::error::Error;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use ::laplace::{Doing, Found as Results, Here, Journal, Memory, Run, Share};
use ::launch::{Agreement, Refusal, Stopped};
use anyhow::anyhow;
use device::{Device, DeviceId};
use engine::{Bound, Helpers};
use experiments::backends::{self, Found};
use experiments::document::part::{Local, Part};
use experiments::ending;
use experiments::launched::{CODES, start};
use experiments::read;
use placement::{Plan, RankPlan, TargetId};
use ranks::{Communicator, Launch, Mpi, Single};
use stats::stop::{Patience, Rule};
use topo::Topology;

use super::meeting::{Met, Room, Standing, Told, fits, ways};
use crate::args::laplace::Laplace;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::mpi::place::{Asked, on_node, place};
use crate::signals::Signals;
use crate::terminal;
use crate::watchdog::{NOT_OPEN, Watchdog};
use crate::watched::channel::Teller;

/// What is said where the fields are not made.
const NOT_LAID_OUT: [&str; 2] = ["the fields of a rank were not laid out", NOT_OPEN[1]];

/// Blocks of a way, and the interval to reach.
pub const RULE: Rule = Rule { min_blocks: 10, max_blocks: 40, target_half_width: 0.01, patience: Patience::Long };

/// Runs the session of this rank; what it finds goes to the supervisor.
pub fn run(args: &Laplace, launch: &Launch) -> Result<Exit, Fault> {
    // Before there is another thread, of ours or of a driver: it may change the environment.
    ranks::gtl::bring_in();
    // One that hangs in MPI when a launcher kills its supervisor would stay for ever.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).map_err(no_result)?;
    let topology = read()?;
    let opening = Watchdog::set(args.timeout, launch.speaks().then_some(NOT_OPEN), terminal::say)?;
    let found = backends::find(args.backend.into(), args.gpus.is_some(), &topology)?;
    drop(opening);
    let (node_rank, _) = on_node(launch)?;
    let asked = Asked { cpus: args.cpus.as_ref(), gpus: args.gpus.as_ref(), membind: args.membind };
    let plan = place(&asked, launch, &topology, &found, None)?;
    let signals = Signals::catch()?;
    let interrupted = Arc::clone(&signals.interrupted);
    // A thread that was never elsewhere: it is bound first, then it opens the GPU, then MPI, which it alone calls.
    let here = Rank { args, launch, topology: &topology, found: &found, plan: &plan, node_rank };
    thread::scope(|scope| {
        let rank = thread::Builder::new().spawn_scoped(scope, || here.bound(&interrupted));
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

/// One rank in its place.
struct Rank<'a> {
    args: &'a Laplace,
    launch: &'a Launch,
    topology: &'a Topology,
    found: &'a Found,
    plan: &'a RankPlan,
    node_rank: usize,
}

impl Rank<'_> {
    fn bound(&self, interrupted: &AtomicBool) -> Result<(), Fault> {
        let args = self.args;
        let bound = Bound::to(self.plan.pu).map_err(no_result)?;
        let watchdog = Watchdog::set(args.timeout, self.launch.speaks().then_some(NOT_OPEN), terminal::say)?;
        let device = match self.plan.target.id {
            TargetId::Gpu(pci) => Some(self.found.platform.open(DeviceId::Pci(pci)).map_err(no_result)?),
            TargetId::Node(_) => None,
        };
        drop(watchdog);
        // The memory that halos lie in stays until MPI is left. It is not given back then either: the process ends soon and the kernel gives everything back, and a driver that
        // does not let go of it must not keep the rank here.
        let mut kept = ManuallyDrop::new(None);
        let device = ManuallyDrop::new(device);
        if self.launch.is_alone() {
            let world = Single::default();
            let comm = &mut Communicator::new(&world);
            return told(self.all(&bound, device.as_deref(), None, comm, &mut kept, interrupted));
        }
        let starting = &mut |library: &str| Teller.tell(&Told::Starting(library.to_owned()));
        let (mpi, library) = start(self.launch, args.timeout, None, terminal::say, starting)?;
        let ended = {
            let mut comm = Communicator::new(&mpi);
            told(self.all(&bound, device.as_deref(), Some((&mpi, &library)), &mut comm, &mut kept, interrupted))
        };
        let was_late = ended.as_ref().is_err_and(|fault| fault.exit == Exit::TimedOut);
        let has_left = !was_late && launch::leave(mpi, terminal::say);
        match ended {
            Ok(()) if has_left => Ok(()),
            // The supervisor learns that it did not leave, and says or awaits in its place what lets the others end.
            Ok(()) => ending::at_once(Exit::NoResult),
            // What MPI or the driver may still use is neither given back nor unmapped, and nobody's exit handler waits for it.
            Err(fault) => ending::at_once(fault.exit),
        }
    }

    /// From the first word to the last.
    fn all(
        &self,
        bound: &Bound,
        device: Option<&dyn Device>,
        mpi: Option<(&Mpi, &str)>,
        comm: &mut Communicator,
        kept: &mut Option<Memory>,
        interrupted: &AtomicBool,
    ) -> Result<(), Fault> {
        let args = self.args;
        let mut agreement = Agreement::new(comm, args.timeout, CODES);
        let place = agreement.place();
        let mut all: Vec<Standing> = Vec::new();
        let standing = Ok(self.standing(place.rank, place.node));
        let (ranks, variants) = agreement.agree(standing, |ranks: Vec<Standing>| -> Result<_, Fault> {
            let found = ways(args, &ranks)?;
            all.clone_from(&ranks);
            Ok(vec![(ranks.clone(), found); ranks.len()])
        })?;
        let share = Share::new(args.grid, args.precision(), place.rank, place.size);
        let own = self.own(bound, device, &ranks, (place.rank, share), &variants);
        let part = own.as_ref().map(|(_, part)| part.clone()).map_err(Refusal::from);
        let mut parts = Vec::new();
        agreement.agree(part, |all: Vec<Part>| {
            parts = all;
            Ok::<_, Stopped>(vec![(); parts.len()])
        })?;
        let memory = kept.insert(own?.0);
        let local_machine = topo::environment::probe();
        let hosts = hosts(&ranks);
        let plan = Plan { ranks: vec![self.plan.clone()], notes: Vec::new() };
        let local = self.local(&local_machine, &plan, place.node, &hosts);
        Teller.tell(&Told::Met(Box::new(Met {
            processes: ranks.iter().map(|rank| rank.process.clone()).collect(),
            nodes: place.nodes,
            library: mpi.map(|(_, library)| library.to_owned()),
            parts,
            platform: local.platform(),
            environment: local.environment(),
        })));
        let run = Run {
            grid: args.grid,
            precision: args.precision(),
            variants,
            rule: RULE,
            max_time: args.max_time,
            seed: args.seed,
        };
        let mut here = Here { memory, mpi: mpi.map(|(mpi, _)| mpi.exchange()) };
        let found = run.run(&mut here, agreement.comm(), interrupted, &mut Telling).map_err(no_result)?;
        if place.rank == 0 {
            Teller.tell(&Told::Found(found));
        }
        Ok(())
    }

    fn standing(&self, rank: usize, node: usize) -> Standing {
        let gpu = match self.plan.target.id {
            TargetId::Gpu(pci) => Some(pci),
            TargetId::Node(_) => None,
        };
        Standing {
            process: Standing::process(rank, self.topology.host()),
            node,
            pu: self.plan.pu,
            memory_node: self.plan.memory_node,
            gpu,
            why_host: self.found.why_host.clone(),
        }
    }

    /// This rank's memory, and its part of the document.
    fn own(
        &self,
        bound: &Bound,
        device: Option<&dyn Device>,
        ranks: &[Standing],
        (rank, share): (usize, Share),
        variants: &[::laplace::Variant],
    ) -> Result<(Memory, Part), Fault> {
        // Until all ranks have met nobody else watches this one.
        let said = self.launch.speaks().then_some(NOT_LAID_OUT);
        let _making = Watchdog::set(self.args.timeout, said, terminal::say)?;
        let device_room = device.map(Device::memory).transpose().map_err(no_result)?;
        let room = Room {
            node: self.topology.memory_bytes(self.plan.memory_node),
            device: device_room.map(|memory| [memory.total_bytes, memory.free_bytes]),
        };
        fits(self.args, ranks, rank, variants, &room)?;
        let place = ([self.plan.pu, self.plan.memory_node], self.topology.machine_has_one_node());
        let helpers = Helpers(self.topology.allowed.pus.clone());
        let memory = Memory::new(bound, device, place, share, variants, &helpers).map_err(no_result)?;
        let machine = topo::environment::probe();
        let (node, hosts) = (ranks[rank].node, hosts(ranks));
        let plan = Plan { ranks: vec![RankPlan { rank, ..self.plan.clone() }], notes: Vec::new() };
        let part = self.local(&machine, &plan, node, &hosts).parts(&[rank]).pop();
        let mut part = part.ok_or_else(|| no_result(anyhow!("the platform has no such device any more")))?;
        part.rank.node_rank = self.node_rank as u32;
        // A process knows its own place alone: who shares its device is seen here.
        let here = &ranks[rank];
        let sharers =
            ranks.iter().filter(|other| other.node == node && other.gpu.is_some() && other.gpu == here.gpu).count();
        if sharers > 1 {
            part.rank.notes.push(format!("{sharers} ranks share this device"));
        }
        if self.node_rank != 0 {
            part.node = None;
        }
        Ok((memory, part))
    }

    fn local<'l>(
        &'l self,
        machine: &'l topo::environment::Environment,
        plan: &'l Plan,
        node: usize,
        hosts: &'l [String],
    ) -> Local<'l> {
        let (topology, found) = (self.topology, self.found);
        Local { topology, found, machine, timer: engine::clock::measure(), plan, node, hosts }
    }
}

/// The nodes' hosts, by number.
fn hosts(ranks: &[Standing]) -> Vec<String> {
    let nodes = ranks.iter().map(|rank| rank.node + 1).max().unwrap_or(0);
    let of = |node| ranks.iter().find(|rank| rank.node == node).map(|rank| rank.process.host.clone());
    (0..nodes).map(|node| of(node).unwrap_or_default()).collect()
}

/// Tells the supervisor how it ended, before anybody leaves: a launcher may end the others as soon as one ends with a code, and an MPI that dies or hangs in MPI_Finalize takes
/// nothing with it.
fn told(ended: Result<(), Fault>) -> Result<(), Fault> {
    match ended {
        Ok(()) => {
            Teller.tell(&Told::Over);
            Ok(())
        }
        Err(fault) => {
            terminal::complain(&fault);
            Teller.tell(&Told::Refused(fault.exit.code()));
            Err(Fault::silent(fault.exit))
        }
    }
}

/// Passes everything on to the supervisor.
struct Telling;

impl Journal for Telling {
    fn doing(&mut self, what: Doing) {
        Teller.tell(&Told::Doing(what));
    }

    fn found(&mut self, found: &Results) {
        Teller.tell(&Told::Found(found.clone()));
    }
}
