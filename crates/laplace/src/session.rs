//! The session of one rank: bind, open the GPU, start MPI, allocate, iterate. MPI may end it at any call; its
//! supervisor has heard everything by then.

use std::mem::ManuallyDrop;
use std::sync::atomic::AtomicBool;

use device::Device;
use engine::{Bound, PlacingRules};
use experiments::backends::FoundPlatform;
use experiments::document::rank_part::{Local, RankPart};
use experiments::supervised::{RankLocation, RankSession, SessionMessage, place_on_node};
use experiments::watchdog::NOT_OPEN;
use experiments::{Exit, Fault, read};
use placement::{Plan, RankPlan};
use ranks::Mpi;
use startup::{Agreement, ProcessRefusal, Stopped};
use topo::Topology;

use crate::grid::RowShare;
use crate::meeting::{LaplaceRanks, MemoryRoom, fits, ways};
use crate::memory::LaplaceMemory;
use crate::options::{LaplaceOptions, RULE};
use crate::plane::RankPlane;
use crate::run::{LaplaceRank, LaplaceRun};
use crate::way::WayVariant;

/// What is said where the fields are not made.
const NOT_LAID_OUT: [&str; 2] = ["the fields of a rank were not laid out", NOT_OPEN[1]];

/// Runs the session of this rank; what it finds goes to the supervisor.
pub fn run(session: &RankSession<LaplaceOptions>) -> Result<Exit, Fault> {
    let topology = read()?;
    let found = session.find(&topology)?;
    let (node_rank, _) = place_on_node(session.launch)?;
    let plan = session.place(&topology, &found, None)?;
    let rank = LaplaceSession { session, topology: &topology, found: &found, plan: &plan, node_rank };
    let exit = session.on_own_thread(move |interrupted| rank.bound(interrupted))?;
    // As the rank's memory.
    std::mem::forget(found);
    Ok(exit)
}

/// One rank in its place.
struct LaplaceSession<'a> {
    session: &'a RankSession<'a, LaplaceOptions>,
    topology: &'a Topology,
    found: &'a FoundPlatform,
    plan: &'a RankPlan,
    node_rank: usize,
}

impl LaplaceSession<'_> {
    fn bound(&self, interrupted: &AtomicBool) -> Result<(), Fault> {
        let session = self.session;
        let bound = Bound::to(self.plan.pu).map_err(Fault::no_result)?;
        let watchdog = session.watchdog(NOT_OPEN)?;
        let device = session.open(self.found, self.plan)?;
        drop(watchdog);
        // The memory that halos lie in stays until MPI is left. It is not given back then either: the process
        // ends soon and the kernel gives everything back, and a driver that does not let go of it must not
        // keep the rank here.
        let (mut kept, device) = (ManuallyDrop::new(Vec::new()), ManuallyDrop::new(device));
        session.with_ranks(None, |mpi, agreement| {
            self.all(&bound, device.as_deref(), mpi, agreement, &mut kept, interrupted)
        })
    }

    /// From the first word to the last.
    fn all(
        &self,
        bound: &Bound,
        device: Option<&dyn Device>,
        mpi: Option<(&Mpi, &str)>,
        mut agreement: Agreement,
        kept: &mut Vec<RankPlane>,
        interrupted: &AtomicBool,
    ) -> Result<(), Fault> {
        let (mut session, options) = (self.session, self.session.kind);
        let place = agreement.place();
        let location = RankLocation::own(place, self.topology, self.found, self.plan);
        let (ranks, variants) =
            agreement.agree(Ok(location), |ranks: Vec<RankLocation>| -> Result<_, Fault> {
                let found = ways(options, &ranks)?;
                Ok(vec![(ranks.clone(), found); ranks.len()])
            })?;
        let own = self.own(bound, device, &ranks, place.rank, &variants);
        let part = own.as_ref().map(|(_, part)| part.clone()).map_err(ProcessRefusal::from);
        let mut parts = Vec::new();
        agreement.agree(part, |all: Vec<RankPart>| {
            parts = all;
            Ok::<_, Stopped>(vec![(); parts.len()])
        })?;
        *kept = own?.0;
        let local_machine = topo::environment::probe();
        let hosts = hosts(&ranks);
        let plan = Plan { ranks: vec![self.plan.clone()], notes: Vec::new() };
        let local = self.local(&local_machine, &plan, place.node, &hosts);
        session.tell(&SessionMessage::Met(LaplaceRanks {
            processes: ranks.iter().map(|rank| rank.session.clone()).collect(),
            nodes: place.nodes,
            library: mpi.map(|(_, library)| library.to_owned()),
            parts,
            platform: local.platform(),
            environment: local.environment(),
        }));

        let run = LaplaceRun { options: options.clone(), variants, rule: RULE };
        let mut here = LaplaceRank { planes: kept, mpi: mpi.map(|(mpi, _)| mpi.exchange()) };
        let found =
            run.run(&mut here, agreement.comm(), interrupted, &mut session).map_err(Fault::no_result)?;
        if place.rank == 0 {
            session.tell(&SessionMessage::Found(found));
        }
        Ok(())
    }

    /// This rank's rows of each plane, and its part of the document.
    fn own(
        &self,
        bound: &Bound,
        device: Option<&dyn Device>,
        ranks: &[RankLocation],
        rank: usize,
        variants: &[WayVariant],
    ) -> Result<(Vec<RankPlane>, RankPart), Fault> {
        let _making = self.session.watchdog(NOT_LAID_OUT)?;
        let device_room = device.map(Device::memory).transpose().map_err(Fault::no_result)?;
        let room = MemoryRoom {
            node: self.topology.memory_bytes(self.plan.memory_node),
            limit: self.topology.allowed.memory_left().cloned(),
            device: device_room.map(|memory| [memory.total_bytes, memory.free_bytes]),
        };
        fits(self.session.kind, ranks, rank, variants, &room)?;
        let (place, rules) = ([self.plan.pu, self.plan.memory_node], PlacingRules::on(self.topology, true));
        let plane = |of: Option<usize>| -> Result<RankPlane, Fault> {
            let count = of.unwrap_or(ranks.len());
            let grid = self.session.kind.grid_of(count);
            let variants: Vec<WayVariant> = variants.iter().filter(|way| way.ranks == of).copied().collect();
            let share = || RowShare::new(grid, self.session.kind.precision, rank, count);
            let memory = (rank < count)
                .then(|| LaplaceMemory::new(bound, device, place, share(), &variants, &rules))
                .transpose();
            Ok(RankPlane { ranks: of, grid, memory: memory.map_err(Fault::no_result)? })
        };

        let planes: Vec<RankPlane> =
            self.session.kind.planes(ranks.len()).into_iter().map(plane).collect::<Result<_, _>>()?;
        let machine = topo::environment::probe();
        let (node, hosts) = (ranks[rank].node, hosts(ranks));
        let plan = Plan { ranks: vec![RankPlan { rank, ..self.plan.clone() }], notes: Vec::new() };
        let part = self.local(&machine, &plan, node, &hosts).parts(&[rank]).pop();
        let mut part = part.ok_or_else(|| Fault::no_result("the platform has no such device any more"))?;
        part.rank.node_rank = self.node_rank as u32;

        // A process knows its own place alone: who shares its device is seen here.
        let here = &ranks[rank];
        let sharers = ranks
            .iter()
            .filter(|other| other.node == node && other.gpu.is_some() && other.gpu == here.gpu)
            .count();
        if sharers > 1 {
            part.rank.notes.push(format!("{sharers} ranks share this device"));
        }
        if self.node_rank != 0 {
            part.node = None;
        }
        Ok((planes, part))
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
fn hosts(ranks: &[RankLocation]) -> Vec<String> {
    let nodes = ranks.iter().map(|rank| rank.node + 1).max().unwrap_or(0);
    let of = |node| ranks.iter().find(|rank| rank.node == node).map(|rank| rank.session.host.clone());
    (0..nodes).map(|node| of(node).unwrap_or_default()).collect()
}
