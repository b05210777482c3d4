//! What processes tell each other over a [`World`]: gather, broadcast, scatter, and notes in between.
//!
//! Every exchange has a number, counted alike by all, and every message bears its exchange's. So a message
//! that comes before others' first waits for its turn, and one that comes after its exchange was given up is
//! dropped instead of being taken for the next one's. Notes have number 0: they belong to no exchange and are
//! kept in the order they came.
//!
//! Waiting is polling with naps ([`Naps`]), never spinning: a rank of this node may be measuring. Rank 0
//! sends and receives one message for each rank and looks at it once, so the cost grows linearly with the
//! ranks.

use crate::deadline::Deadline;
use crate::world::{Message, World, WorldError, WorldPlace};
use std::collections::{HashMap, VecDeque};
use std::thread;

/// The number of what belongs to no exchange.
const NOTE: u32 = 0;
const HEADER: usize = size_of::<u32>();

/// Why an exchange gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeError {
    /// The transport failed.
    #[error(transparent)]
    World(#[from] WorldError),
    /// No message came in time.
    #[error("rank {from} sent nothing in time")]
    Late {
        /// Who should have sent it.
        from: usize,
    },
}

/// A process's messages, sorted. All processes call the collective functions
/// ([`gather`](Communicator::gather), [`broadcast`](Communicator::broadcast),
/// [`scatter`](Communicator::scatter)) in the same order, also those whose last one failed.
pub struct Communicator<'w> {
    world: &'w dyn World,
    // The newest exchange that has begun.
    newest: u32,
    // Messages by exchange: of those that are open, of some that are not yet, and of late ones until the next
    // begins.
    arrived: HashMap<u32, VecDeque<Message>>,
    notes: VecDeque<Message>,
    written_off: Vec<bool>,
}

impl<'w> Communicator<'w> {
    /// The only communicator of this world: it takes every message that comes.
    pub fn new(world: &'w dyn World) -> Self {
        let written_off = vec![false; world.place().size];
        Self { world, newest: NOTE, arrived: HashMap::new(), notes: VecDeque::new(), written_off }
    }

    /// Where this process stands.
    pub fn place(&self) -> WorldPlace {
        self.world.place()
    }

    /// From now on nobody waits for this rank, and nothing is sent to it. What it sent before still counts.
    pub fn write_off(&mut self, rank: usize) {
        if let Some(written_off) = self.written_off.get_mut(rank) {
            *written_off = true;
        }
    }

    /// Sends a note: no exchange, no answer.
    ///
    /// # Errors
    /// [`WorldError`] if the transport refuses.
    pub fn send(&self, to: usize, bytes: &[u8]) -> Result<(), WorldError> {
        self.post(NOTE, to, bytes)
    }

    /// The next note that has come, if one has. Also moves messages along: whoever has posted calls this, or
    /// waits in an exchange.
    ///
    /// # Errors
    /// [`WorldError`] if the transport fails.
    pub fn try_receive(&mut self) -> Result<Option<Message>, WorldError> {
        self.fetch()?;
        Ok(self.notes.pop_front())
    }

    /// Collective: brings everybody's bytes to rank 0, by rank; None is one that did not come in time. Rank 0
    /// alone waits; the others get None at once. Their message, if it is long, leaves while they wait in a
    /// later exchange or ask for notes.
    ///
    /// # Errors
    /// [`WorldError`] if the transport fails.
    pub fn gather(
        &mut self,
        bytes: &[u8],
        deadline: Deadline,
    ) -> Result<Option<Vec<Option<Vec<u8>>>>, WorldError> {
        let [exchange] = self.begin();
        if self.place().rank != 0 {
            return self.post(exchange, 0, bytes).map(|()| None);
        }
        let mut all = vec![None; self.place().size];
        all[0] = Some(bytes.to_vec());
        let mut missing = self.written_off.iter().skip(1).filter(|&&off| !off).count();
        self.wait(deadline, |comm| {
            while let Some(message) = comm.arrived.get_mut(&exchange).and_then(VecDeque::pop_front) {
                let awaited = !comm.written_off[message.from];
                if all[message.from].replace(message.bytes).is_none() && awaited {
                    missing -= 1;
                }
            }
            (missing == 0).then_some(())
        })?;

        Ok(Some(all))
    }

    /// Collective: gives everybody rank 0's bytes; what the others bring is not looked at.
    ///
    /// # Errors
    /// [`ExchangeError`] if they do not come in time, or the transport fails.
    pub fn broadcast(&mut self, bytes: &[u8], deadline: Deadline) -> Result<Vec<u8>, ExchangeError> {
        let [exchange] = self.begin();
        if self.place().rank != 0 {
            return self.await_message(exchange, 0, deadline);
        }
        for to in 1..self.place().size {
            self.post(exchange, to, bytes)?;
        }
        Ok(bytes.to_vec())
    }

    /// Collective: gives each what `of` makes for its rank at rank 0; the others' `of` is not called.
    ///
    /// # Errors
    /// [`ExchangeError`] if it does not come in time, or the transport fails.
    pub fn scatter(
        &mut self,
        of: impl Fn(usize) -> Vec<u8>,
        deadline: Deadline,
    ) -> Result<Vec<u8>, ExchangeError> {
        let [exchange] = self.begin();
        if self.place().rank != 0 {
            return self.await_message(exchange, 0, deadline);
        }
        for to in 1..self.place().size {
            self.post(exchange, to, &of(to))?;
        }
        Ok(of(0))
    }

    /// Begins exchanges that are open together: what came too late for earlier ones is dropped.
    pub(crate) fn begin<const N: usize>(&mut self) -> [u32; N] {
        let before = self.newest;
        self.newest += N as u32;
        self.arrived.retain(|&exchange, _| exchange > before);
        std::array::from_fn(|at| before + 1 + at as u32)
    }

    /// Sends a message of an exchange.
    pub(crate) fn post(&self, exchange: u32, to: usize, bytes: &[u8]) -> Result<(), WorldError> {
        if self.written_off.get(to).is_some_and(|&off| off) {
            return Ok(());
        }
        let mut message = Vec::with_capacity(HEADER + bytes.len());
        message.extend_from_slice(&exchange.to_le_bytes());
        message.extend_from_slice(bytes);
        self.world.post(to, &message)
    }

    /// Waits for the message of one rank in an exchange.
    pub(crate) fn await_message(
        &mut self,
        exchange: u32,
        from: usize,
        deadline: Deadline,
    ) -> Result<Vec<u8>, ExchangeError> {
        let found = self.wait(deadline, |comm| {
            let written_off = comm.written_off.get(from).is_none_or(|&off| off);
            let Some(messages) = comm.arrived.get_mut(&exchange) else { return written_off.then_some(None) };
            match messages.iter().position(|message| message.from == from) {
                Some(at) => Some(messages.remove(at)),
                None => written_off.then_some(None),
            }
        })?;
        found.flatten().map(|message| message.bytes).ok_or(ExchangeError::Late { from })
    }

    /// Polls until `look` has something, which is asked once at first and then whenever messages have come.
    /// None when the deadline has passed.
    fn wait<T>(
        &mut self,
        deadline: Deadline,
        mut look: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<Option<T>, WorldError> {
        self.fetch()?;
        let mut naps = self.place().naps();
        let mut came = true;

        loop {
            if came && let Some(found) = look(self) {
                return Ok(Some(found));
            }
            if deadline.is_over() {
                return Ok(None);
            }
            came = self.fetch()?;
            if came {
                naps.awake();
            } else {
                thread::sleep(naps.next());
            }
        }
    }

    /// Sorts what has arrived; whether anything has.
    fn fetch(&mut self) -> Result<bool, WorldError> {
        let mut came = false;
        while let Some(Message { from, mut bytes }) = self.world.collect()? {
            came = true;
            let Some(header) = bytes.first_chunk::<HEADER>().filter(|_| from < self.written_off.len()) else {
                let message = format!("rank {from} sent {} bytes without a header", bytes.len());
                return Err(WorldError { call: "collect".into(), message });
            };
            let exchange = u32::from_le_bytes(*header);
            bytes.drain(..HEADER);
            let message = Message { from, bytes };
            if exchange == NOTE {
                self.notes.push_back(message);
            } else {
                self.arrived.entry(exchange).or_default().push_back(message);
            }
        }

        Ok(came)
    }
}
