//! Which placement of a node's ranks is the fastest: `place`'s turns on the devices that are here, with a
//! time limit and an ear for signals.

use std::time::{Duration, Instant};

use device::{MemoryKind, PlatformKind};
use engine::EngineConfig;
use place::{Candidates, How, PlaceDecision, PlaceMeasurement, PlaceRequest};
use placement::{GpuList, Selection};
use report::PlaceDocument;
use report::json::json_value;
use report::sink::Sink;
use topo::Topology;

use crate::backends;
use crate::config;
use crate::document::collect::platform;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::journal::is_due;
use crate::options::Backend;
use crate::signals::Signals;
use crate::watchdog::Watchdog;

/// How placements are measured.
#[derive(Clone, Debug)]
pub struct FastestPlacement {
    /// Which devices.
    pub backend: Backend,
    /// The size of one copy, bytes; as for `PingPongOptions::sizes` where none is named.
    pub size: Option<u64>,
    /// The kind of host memory; the platform's own where none is named.
    pub memory: Option<MemoryKind>,
    /// The seed of the order of turns, of the payload and of the intervals; the time after which no further
    /// round of turns begins, and the limit of all.
    pub engine: EngineConfig,
}

/// What a measurement of placements is given beside what it measures.
pub struct TurnDesk<'a> {
    /// Says what a person should know at once.
    pub say: fn(&str),
    /// Told after each round of turns which placements these are, and how many turns each has had.
    pub turns: &'a dyn Fn(&str, u64),
    /// Where the document is kept meanwhile.
    pub sink: Option<&'a Sink>,
    /// The document of what has been found.
    pub build: &'a dyn Fn(&Candidates) -> PlaceDocument,
}

impl FastestPlacement {
    /// Measures the placements that are worth it.
    ///
    /// # Errors
    /// What was asked for cannot be placed or measured here.
    pub fn measure(
        &self,
        asked: &PlaceRequest,
        topology: &Topology,
        desk: TurnDesk<'_>,
    ) -> Result<(Candidates, Exit), Fault> {
        let named = matches!(&asked.gpus, GpuList::Some(Selection::These(_)));
        let opening = Watchdog::opening(self.engine.timeout, desk.say)?;
        let devices = backends::find(self.backend, named, topology)?;
        drop(opening);
        let shown = backends::targets(&*devices.platform);
        let kind = devices.platform.facts().kind;
        let size = config::copy_size(topology, kind, asked.ask.ranks.unwrap_or(shown.len()));
        let how = self.how(kind, size)?;
        let measurement = PlaceMeasurement::planned(asked, topology, devices.platform.clone(), shown, how)?;
        let signals = Signals::catch()?;
        let names = measurement.names().join(", ");
        let facts = platform(&devices, &topo::environment::probe());
        let turns = |turns| (desk.turns)(&names, turns);
        let mut keep = kept_meanwhile(desk.sink, desk.build);
        let (found, ended) = measurement.run(facts, &signals.interrupted, turns, &mut keep);
        let exit = match ended {
            PlaceDecision::Decided => Exit::Ok,
            PlaceDecision::Undecided => Exit::Undecided,
            PlaceDecision::Partial => Exit::Partial,
            PlaceDecision::NoFigure => Exit::NoResult,
        };

        Ok((found, signals.exit().unwrap_or(exit)))
    }

    fn how(&self, kind: PlatformKind, size: u64) -> Result<How, Fault> {
        let bytes = usize::try_from(self.size.unwrap_or(size)).map_err(Fault::usage)?;
        let memory = self.memory.unwrap_or_else(|| config::default_memory(kind));
        let later = || self.engine.max_time.map(|limit| config::given_up_at(None, limit));
        let engine = EngineConfig { timeout: self.engine.timeout.or_else(later), ..self.engine };
        Ok(How { bytes, memory, engine })
    }
}

/// Keeps the document of what has been measured so far, as often as costs little. What cannot be kept now is
/// said at the end, when it is tried again.
fn kept_meanwhile<'a>(
    sink: Option<&'a Sink>,
    build: &'a dyn Fn(&Candidates) -> PlaceDocument,
) -> impl FnMut(&Candidates) + 'a {
    let mut written: Option<(Instant, Duration)> = None;
    move |found| {
        let Some(sink) = sink.filter(|_| written.is_none_or(|(ended, took)| is_due(ended.elapsed(), took)))
        else {
            return;
        };
        let began = Instant::now();
        if let Ok(json) = json_value(&build(found)) {
            drop(sink.write(&json));
        }
        written = Some((Instant::now(), began.elapsed()));
    }
}
