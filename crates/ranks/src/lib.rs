//! Who takes part in a run, and how they wait for one another: nothing else.
//!
//! There are two views. [`Ranks`] is the group of one *node*, and in the timed path: a reduction to the
//! maximum (a barrier is one whose value nobody reads) and a barrier that can be polled. [`Solo`] is a group
//! of one, [`Threads`] are the threads of one process, [`Processes`] are the processes of a node over shared
//! memory. [`World`] is the whole *launch*, and never in the timed path: messages, which a [`Communicator`]
//! makes into gather and broadcast. [`Single`] is a launch of one, [`LocalWorld`] one of threads and [`Mpi`]
//! one of MPI, through a [`Plugin`] that is opened at run time. What two ranks send each other to be measured
//! is an [`Exchange`].
//!
//! Nobody hangs on someone who is gone. A member that gives up calls [`Ranks::abort`], and every other
//! member's next or present wait ends with [`Aborted`]; waiting for messages ends with the caller's
//! [`Deadline`].

mod communicator;
pub mod cray_gtl;
mod deadline;
pub mod farewell;
mod library;
mod liveness;
mod local_world;
mod mpi;
mod plugin;
pub mod pmi;
mod processes;
mod rendezvous;
mod round;
mod shared_memory;
mod solo;
pub mod stale_files;
mod sync;
mod threads;
pub mod wire;
mod world;

pub use ::plugin::{Exchange, Naps, PairOperation, abi};
pub use communicator::{Communicator, ExchangeError};
pub use deadline::Deadline;
pub use library::{Flavour, Library};
pub use liveness::{Liveness, ProcessIdentity};
pub use local_world::LocalWorld;
pub use mpi::{Mpi, ThreadLevel};
pub use plugin::{Plugin, PluginError, PluginRejection, Tried};
pub use processes::{JoinError, Processes};
pub use rendezvous::RendezvousError;
pub use shared_memory::PageError;
pub use solo::Solo;
pub use threads::Threads;
pub use world::{Message, Single, World, WorldError, WorldPlace};

/// Another member gave up, so waiting for it would never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another rank gave up, so this one cannot go on with it")]
pub struct Aborted;

/// How many values a member brings to a round.
pub const VALUES: usize = 6;

/// One member's view of the group. Every member calls the collective functions in the same order.
pub trait Ranks {
    /// This member, 0..size.
    fn rank(&self) -> usize;

    /// How many members there are.
    fn size(&self) -> usize;

    /// Collective: waits for all members, and gives every one the largest of the first values, of the second
    /// ones, and so on.
    ///
    /// # Errors
    /// [`Aborted`] if a member gave up.
    fn max_of_each(&self, values: [u64; VALUES]) -> Result<[u64; VALUES], Aborted>;

    /// Collective: waits for all members, and gives every one the largest of the values.
    ///
    /// # Errors
    /// [`Aborted`] if a member gave up.
    fn max(&self, value: u64) -> Result<u64, Aborted> {
        let mut values = [0; VALUES];
        values[0] = value;
        self.max_of_each(values).map(|largest| largest[0])
    }

    /// Collective: waits for all members.
    ///
    /// # Errors
    /// [`Aborted`] if a member gave up.
    fn barrier(&self) -> Result<(), Aborted> {
        self.max(0).map(drop)
    }

    /// Says that this member has done its part of the present phase, without waiting.
    fn arrive(&self);

    /// Whether every member has arrived at the present phase. Each member calls [`Ranks::arrive`] once, polls
    /// this until it is true or a [`Ranks::barrier`] follows, and meets the others in a barrier before the
    /// next phase.
    fn all_arrived(&self) -> bool;

    /// Gives up: every wait of every member ends with [`Aborted`], now and later.
    fn abort(&self);
}
