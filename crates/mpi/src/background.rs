//! Messages of ranks that are not measured, beside those of a pair that is: traffic as a program has it whose
//! other ranks send too.
//!
//! Two ranks go on until the leader says that it is enough. It says so to the lower one, which tells the
//! other between two batches, so that both do the same number of rounds.

use std::thread;
use std::time::{Duration, Instant};

use ranks::{Communicator, Exchange};

use crate::case::{GpuThreadAt, MessageCase, MessagePath, MessagePattern};
use crate::command::{MessageAnswer, MessageOrder, read, write};
use crate::endpoint::MessageEnd;
use crate::fault::ExchangeFault;
use crate::gpu_thread::GpuThread;
use crate::memory::MessageMemory;

/// How long another rank's answer is waited for that may never come: its call of MPI may wait for what was
/// not sent.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How often an answer is looked for.
const NAP: Duration = Duration::from_micros(100);

/// Bytes of the messages between two looks at whether it is enough.
const BATCH_BYTES: usize = 1 << 20;
/// The slowest rate of all of them together that is waited for, bytes a second: somewhat less than a network
/// of one gigabit. The limit of an operation may end the run before.
const SLOWEST_BYTES_PER_S: f64 = 1e8;
/// The most rounds of a batch.
const MOST_ROUNDS: usize = 64;

/// A rank that sends in the background, as it is lent.
pub(crate) struct BackgroundRank<'s> {
    /// Its number.
    pub rank: usize,
    /// Its calls of MPI.
    pub mpi: &'s dyn Exchange,
    /// Its memory.
    pub memory: &'s mut MessageMemory,
    /// Its thread that copies meanwhile.
    pub copying: Option<&'s GpuThread>,
}

/// What a rank has sent in the background.
pub(crate) struct Sent {
    /// What it answers the leader.
    pub answer: MessageAnswer,
    /// Whether it was told meanwhile that the run is over.
    pub is_over: bool,
}

/// What the leader has said to the lower one of two meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// Nothing: both go on.
    GoOn,
    /// It is enough.
    Rest,
    /// The run is over: others may have failed.
    Leave,
}

/// Sends messages of so many bytes with another rank until the leader has enough of them.
pub(crate) fn send(
    sender: BackgroundRank,
    comm: &mut Communicator,
    [leader, with]: [usize; 2],
    bytes: usize,
) -> Sent {
    let BackgroundRank { rank, mpi, memory, copying } = sender;
    let mut end = MessageEnd::new(mpi, memory, rank, with);
    let case = MessageCase { path: MessagePath::Host, pattern: MessagePattern::PingPong, bytes };
    let rounds = (BATCH_BYTES / bytes.max(1)).clamp(1, MOST_ROUNDS) as u32;

    let mut is_over = false;

    let mut all = || -> Result<u64, ExchangeFault> {
        let (mut ns, mut is_first) = (0, true);
        loop {
            ns += end.rounds(case, rounds)?;
            if end.is_lower && is_first {
                comm.send(leader, &write(&MessageAnswer::Took(0)))?;
            }
            is_first = false;
            let told = if end.is_lower { Some(told(comm)?) } else { None };
            is_over = told == Some(Told::Leave);
            if end.calls.flag(told.map(|told| told != Told::GoOn))? {
                return Ok(ns);
            }
        }
    };
    let done = match copying {
        None => all().map(MessageAnswer::Took),
        Some(thread) => thread.beside(all).map(|(ns, copied)| MessageAnswer::TookBeside(ns, copied)),
    };
    let answer = done.unwrap_or_else(|fault| MessageAnswer::Failed(fault.to_string()));
    Sent { answer, is_over }
}

fn told(comm: &mut Communicator) -> Result<Told, ExchangeFault> {
    let Some(message) = comm.try_receive()? else { return Ok(Told::GoOn) };
    Ok(match read(&message.bytes)? {
        MessageOrder::Rest => Told::Rest,
        MessageOrder::Leave => Told::Leave,
        _ => Told::GoOn,
    })
}

/// Those that send in the background of a pair: the launch's other ranks, two after each other.
pub(crate) fn pairs(ranks: usize, leader: usize, measured: [usize; 2]) -> Vec<[usize; 2]> {
    let others: Vec<usize> = (0..ranks).filter(|rank| *rank != leader && !measured.contains(rank)).collect();
    others.chunks_exact(2).map(|two| [two[0], two[1]]).collect()
}

/// Has these pairs send.
///
/// # Errors
/// The transport between the ranks failed. `Err` within: why they do not all send.
pub(crate) fn start(
    comm: &mut Communicator,
    pairs: &[[usize; 2]],
    bytes: usize,
    copies: Option<GpuThreadAt>,
) -> Result<Result<(), String>, ExchangeFault> {
    for [lower, higher] in pairs {
        for (rank, with) in [(*lower, *higher), (*higher, *lower)] {
            comm.send(rank, &write(&MessageOrder::Background { with, bytes, copies }))?;
        }
    }
    await_answers(comm, pairs.iter().map(|pair| pair[0]).collect(), patience(bytes, pairs.len()))
}

/// How long a word of those that send is waited for: they finish a batch first, all of them over one network
/// perhaps.
fn patience(bytes: usize, pairs: usize) -> Duration {
    let batch = 2 * bytes.max(BATCH_BYTES) * pairs;
    ANSWER_TIMEOUT + Duration::from_secs_f64(batch as f64 / SLOWEST_BYTES_PER_S)
}

/// Has them rest.
///
/// # Errors
/// As [`start`].
pub(crate) fn stop(
    comm: &mut Communicator,
    pairs: &[[usize; 2]],
    bytes: usize,
) -> Result<Result<(), String>, ExchangeFault> {
    for [lower, _] in pairs {
        comm.send(*lower, &write(&MessageOrder::Rest))?;
    }
    await_answers(comm, pairs.iter().flatten().copied().collect(), patience(bytes, pairs.len()))
}

/// Why a rank that sends in the background failed.
pub(crate) fn failed(rank: usize, why: &str) -> String {
    format!("rank {rank}, which sends beside: {why}")
}

/// Why it is not waited for the answers of these ranks any longer.
fn silent(ranks: &[usize], patience: Duration) -> String {
    let ranks: stats::IdSet = ranks.iter().map(|rank| *rank as u32).collect();
    format!("ranks that send beside did not answer within {:.0} s: {ranks}", patience.as_secs_f64())
}

/// Waits for an answer of each of these ranks.
fn await_answers(
    comm: &mut Communicator,
    mut from: Vec<usize>,
    patience: Duration,
) -> Result<Result<(), String>, ExchangeFault> {
    let until = Instant::now() + patience;
    while !from.is_empty() {
        let Some(message) = comm.try_receive()? else {
            if Instant::now() > until {
                return Ok(Err(silent(&from, patience)));
            }
            thread::sleep(NAP);
            continue;
        };
        if let MessageAnswer::Failed(why) = read(&message.bytes)? {
            return Ok(Err(failed(message.from, &why)));
        }
        from.retain(|rank| *rank != message.from);
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_beside_a_pair_are_all_others_but_the_leader_and_one_that_is_left_over() {
        assert_eq!(pairs(6, 0, [0, 1]), [[2, 3], [4, 5]]);
        assert_eq!(pairs(7, 0, [0, 1]), [[2, 3], [4, 5]]);
        assert_eq!(pairs(6, 0, [2, 3]), [[1, 4]], "the leader leads, and rank 5 has nobody");
        assert!(pairs(3, 0, [0, 1]).is_empty());
    }

    #[test]
    fn a_batch_of_large_messages_of_many_is_waited_for_longer() {
        assert!(patience(8, 2) < Duration::from_millis(2100));
        assert!(patience(128 << 20, 30) > Duration::from_secs(80));
    }
}
