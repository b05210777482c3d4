//! The processes of one launch, as one of them sees them: who it is, on which node, and messages to the
//! others.
//!
//! Messages are all there is, and nobody ever waits in here: posting returns at once and collecting answers
//! "nothing yet". So a process that died cannot make another one hang; how long to wait is its caller's
//! business. What must be quick (starting together, knowing that all have their rounds) is between the ranks
//! of one node and goes through [`Ranks`](crate::Ranks), never through messages.

use plugin::Naps;
pub use plugin::WorldError;

/// Where a process stands in its launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldPlace {
    /// Its number in the launch, 0..size.
    pub rank: usize,
    /// How many processes were launched.
    pub size: usize,
    /// Its node's number, 0..nodes, by each node's lowest rank.
    pub node: usize,
    /// How many nodes there are.
    pub nodes: usize,
    /// Its number among the processes of its node, 0..node_size, in the order of `rank`.
    pub node_rank: usize,
    /// How many processes its node has.
    pub node_size: usize,
}

impl WorldPlace {
    /// A process on its own.
    pub const SINGLE: Self = Self { rank: 0, size: 1, node: 0, nodes: 1, node_rank: 0, node_size: 1 };

    /// How long it naps between two looks for messages, from now on.
    pub fn naps(self) -> Naps {
        Naps::among(self.alike())
    }

    /// How many processes of its node wait as it does: the first one is waited for, and there is one.
    fn alike(self) -> usize {
        if self.node_rank == 0 { 1 } else { self.node_size }
    }
}

/// What one process sent to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The sender's rank.
    pub from: usize,
    /// What it says.
    pub bytes: Vec<u8>,
}

/// The processes of one launch. All calls come from the thread that made it.
pub trait World {
    /// Where this process stands.
    fn place(&self) -> WorldPlace;

    /// Sends a message without waiting for anybody. Messages between the same two processes arrive in the
    /// order sent. One to oneself arrives too.
    ///
    /// # Errors
    /// [`WorldError`] if the transport refuses.
    fn post(&self, to: usize, bytes: &[u8]) -> Result<(), WorldError>;

    /// The next message that has arrived, if one has. Also moves along what was posted: whoever posts goes on
    /// collecting.
    ///
    /// # Errors
    /// [`WorldError`] if the transport fails.
    fn collect(&self) -> Result<Option<Message>, WorldError>;

    /// Ends every process of the launch with this code, as far as the transport can. May return.
    fn abort(&self, code: u8);

    /// Leaves in good order. Collective, and so waits for every process: only when all are known to be well.
    /// Whatever must be written is written before: mpirun of Open MPI kills the others when the first process
    /// ends with a code other than 0, also after this. Nothing is called after it: MPI answers with an error.
    ///
    /// # Errors
    /// [`WorldError`] if the transport cannot: the launcher may then end with a code of its own.
    fn leave(&self) -> Result<(), WorldError>;
}

/// The world of a process on its own.
#[derive(Debug, Default)]
pub struct Single {
    to_itself: std::cell::RefCell<std::collections::VecDeque<Vec<u8>>>,
}

impl World for Single {
    fn place(&self) -> WorldPlace {
        WorldPlace::SINGLE
    }

    fn post(&self, to: usize, bytes: &[u8]) -> Result<(), WorldError> {
        if to != 0 {
            return Err(WorldError { call: "post".into(), message: format!("there is no rank {to} of 1") });
        }
        self.to_itself.borrow_mut().push_back(bytes.to_vec());
        Ok(())
    }

    fn collect(&self) -> Result<Option<Message>, WorldError> {
        Ok(self.to_itself.borrow_mut().pop_front().map(|bytes| Message { from: 0, bytes }))
    }

    fn abort(&self, _code: u8) {}

    fn leave(&self) -> Result<(), WorldError> {
        Ok(())
    }
}
