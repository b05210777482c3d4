//! The processes of an MPI launch, through the plug-in's calls.

use plugin::{Calls, Exchange, Opened, RawPlace};

use crate::library::Library;
use crate::world::{Message, World, WorldError, WorldPlace};

/// How many threads MPI lets live beside the one that calls it. numabench calls it from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadLevel {
    /// None.
    Single,
    /// Any number, but one makes all calls.
    Funneled,
    /// Any number, one after another.
    Serialized,
    /// Any number.
    Multiple,
}

/// A started MPI. Not `Send`: all calls come from the thread that started it.
#[derive(Debug)]
pub struct Mpi {
    calls: Calls,
    place: WorldPlace,
    thread_level: ThreadLevel,
    is_over_ucx: bool,
}

impl Mpi {
    pub(crate) fn start(
        opened: Opened,
        library: &Library,
        wanted: Option<ThreadLevel>,
    ) -> Result<Self, WorldError> {
        let thread_level = wanted.map_or(0, |level| level as u32 + 1);
        let (calls, raw) = opened.start(RawPlace { thread_level, ..RawPlace::default() })?;
        let place = WorldPlace {
            rank: raw.rank as usize,
            size: raw.size as usize,
            node: raw.node as usize,
            nodes: raw.nodes as usize,
            node_rank: raw.node_rank as usize,
            node_size: raw.node_size as usize,
        };

        let thread_level = match raw.thread_level {
            1 => ThreadLevel::Funneled,
            2 => ThreadLevel::Serialized,
            3 => ThreadLevel::Multiple,
            _ if wanted == Some(ThreadLevel::Single) => ThreadLevel::Single,
            // A rank's thread lives beside the one that calls MPI, which such an MPI does not allow.
            _ => {
                let message = "gave MPI_THREAD_SINGLE where MPI_THREAD_FUNNELED is the least that works; use \
                    an MPI built with threads";
                return Err(WorldError { call: "MPI_Init_thread".into(), message: message.into() });
            }
        };
        Ok(Self { calls, place, thread_level, is_over_ucx: library.is_over_ucx })
    }

    /// The thread level MPI gave.
    pub fn thread_level(&self) -> ThreadLevel {
        self.thread_level
    }

    /// Whether MPICH's own device for UCX moves its messages, whose MPI_Finalize may wait for ever
    /// ([`crate::farewell`]).
    pub fn is_over_ucx(&self) -> bool {
        self.is_over_ucx
    }

    /// What two ranks send each other to be measured.
    pub fn exchange(&self) -> &dyn Exchange {
        &self.calls
    }
}

impl World for Mpi {
    fn place(&self) -> WorldPlace {
        self.place
    }

    fn post(&self, to: usize, bytes: &[u8]) -> Result<(), WorldError> {
        let Some(to) = u32::try_from(to).ok().filter(|_| to < self.place.size) else {
            let message = format!("there is no rank {to} of {}", self.place.size);
            return Err(WorldError { call: "post".into(), message });
        };
        self.calls.post(to, bytes)
    }

    fn collect(&self) -> Result<Option<Message>, WorldError> {
        Ok(self.calls.collect()?.map(|(from, bytes)| Message { from: from as usize, bytes }))
    }

    fn abort(&self, code: u8) {
        self.calls.abort(code);
    }

    fn leave(&self) -> Result<(), WorldError> {
        self.calls.leave()
    }
}
