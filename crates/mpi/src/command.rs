//! What the leader tells a rank to do, and what it answers. They go over MPI as messages of the launch,
//! between what is timed.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::carried::PerByte;
use crate::case::{GpuThreadAt, MessageCase, MessagePath};
use crate::fault::ExchangeFault;
use crate::gpu_thread::Copied;
use crate::operation::{AttemptOutcome, DeviceOperation, WrongBytes};
use crate::results::{CountedBytes, RankSeen};

/// What a rank is to do; all but the last with another rank, which is told the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MessageOrder {
    /// Say where thread and memory are.
    Look { first: bool },
    /// Get ready for peer copies to the other's device.
    Reach { with: usize },
    /// So many rounds of a case.
    Rounds { with: usize, case: MessageCase, rounds: u32 },
    /// Known bytes there and back.
    Check { with: usize, path: MessagePath, bytes: usize, key: u64 },
    /// An operation on device memory.
    Attempt { with: usize, operation: DeviceOperation, bytes: usize, key: u64 },
    /// So many messages of device memory from the lower one to the higher one, with the links' counters read
    /// before and after.
    Count { with: usize, bytes: usize, messages: u32 },
    /// So many rounds of a case, again and again, with rests between them and the counters of this host's
    /// network adapters read at each end.
    Carry { with: usize, case: MessageCase, rounds: u32, window: Duration },
    /// Messages there and back, again and again, for others are measured beside them, and copies by that
    /// thread where this rank has it; the lower one says when it has begun.
    Background { with: usize, bytes: usize, copies: Option<GpuThreadAt> },
    /// Enough of them: said to the lower one, which tells the other.
    Rest,
    /// Nothing, for others are measured.
    Stay,
    /// It is over.
    Leave,
}

/// What a rank says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum MessageAnswer {
    /// How long it took, nanoseconds.
    Took(u64),
    /// The same, and what was copied beside it.
    TookBeside(u64, Copied),
    /// How many bytes were compared, and what was wrong.
    Checked(u64, Option<WrongBytes>),
    /// Where it is.
    Placed(RankSeen),
    /// Whether it reaches the other: nothing to say, or that and why not, or how.
    Reached(Option<String>),
    /// What the links counted, where they can be read.
    Counted(Option<CountedBytes>),
    /// What each network adapter of its host counted.
    Carried(Vec<PerByte>),
    /// Why it could not.
    Failed(String),
}

/// As it travels.
pub(crate) fn write(message: &impl Serialize) -> Vec<u8> {
    // These types cannot fail to be written; nothing at all is no message.
    postcard::to_stdvec(message).unwrap_or_default()
}

/// What travelled.
///
/// # Errors
/// It is no such message.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ExchangeFault> {
    postcard::from_bytes(bytes).map_err(|error| {
        ExchangeFault::Protocol(format!(
            "a message of another rank cannot be read ({error}): run the same numabench on all ranks"
        ))
    })
}

/// What is known of a rank whose answer was not waited for.
pub(crate) const SILENT: &str = "it did not answer, because the other rank's call failed";

/// What an operation came to at both ranks.
pub(crate) fn outcome(answers: &[MessageAnswer; 2]) -> AttemptOutcome {
    let failed = |answer: &&MessageAnswer| matches!(answer, MessageAnswer::Failed(_));
    // The first one is MPI's own word where only the other one did not answer.
    let word = answers
        .iter()
        .filter(failed)
        .min_by_key(|answer| **answer == MessageAnswer::Failed(SILENT.to_owned()));
    if let Some(MessageAnswer::Failed(why)) = word {
        return AttemptOutcome::Error(why.clone());
    }
    let wrong = answers.iter().find_map(|answer| match answer {
        MessageAnswer::Checked(_, wrong) => *wrong,
        _ => None,
    });
    wrong.map_or(AttemptOutcome::Works, AttemptOutcome::Garbage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_works_where_both_ranks_say_so_and_what_one_saw_is_what_happened() {
        let right = || MessageAnswer::Checked(1024, None);
        assert_eq!(outcome(&[right(), right()]), AttemptOutcome::Works);
        let zeros = || MessageAnswer::Checked(1024, Some(WrongBytes::Zeros));
        assert_eq!(outcome(&[right(), zeros()]), AttemptOutcome::Garbage(WrongBytes::Zeros));
        assert_eq!(outcome(&[zeros(), right()]), AttemptOutcome::Garbage(WrongBytes::Zeros));
    }

    #[test]
    fn an_error_in_mpis_own_words_is_worth_more_than_a_rank_that_did_not_answer() {
        let said = || MessageAnswer::Failed("MPI_Put failed: MPI_ERR_WIN".to_owned());
        let silent = || MessageAnswer::Failed(SILENT.to_owned());
        for answers in [
            [said(), silent()],
            [silent(), said()],
            [said(), MessageAnswer::Checked(8, Some(WrongBytes::Zeros))],
        ] {
            assert_eq!(outcome(&answers), AttemptOutcome::Error("MPI_Put failed: MPI_ERR_WIN".to_owned()));
        }
    }
}
