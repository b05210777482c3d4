//! What ranks and their lead say to each other: reports up, decisions down, in a channel within a process and
//! in messages between processes.
//!
//! As bytes they are postcard's: both ends are the same binary (the launch checks that before), so no field
//! needs a name.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stats::latch::Latch;
use stats::time_spent::TimeSpent;
use topo::gpu_condition::GpuConditions;

use crate::sample::Outcome;

/// What a rank tells the lead.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// It is bound and has its device open, or not.
    Started { rank: usize, thread_id: u32, latch: Option<Latch> },
    /// One pass is over.
    Pass {
        rank: usize,
        outcomes: Vec<Outcome>,
        devices: Vec<GpuConditions>,
        spent: TimeSpent,
        signalled: bool,
    },
    /// It has left; `aborted`: because another rank of its node gave up.
    Ended { rank: usize, aborted: bool },
    /// Where it is, because it was asked: in wait for another rank, or not.
    Waits { rank: usize, waiting: bool },
    /// Its node is there: said by one process of each, for all.
    Here { rank: usize },
    /// Nothing more will come of it; `gone`: its process is.
    Lost { rank: usize, why: String, gone: bool },
}

impl Report {
    /// The rank it is about.
    pub(crate) fn rank(&self) -> usize {
        match self {
            Self::Started { rank, .. }
            | Self::Pass { rank, .. }
            | Self::Ended { rank, .. }
            | Self::Waits { rank, .. }
            | Self::Here { rank }
            | Self::Lost { rank, .. } => *rank,
        }
    }
}

/// What the lead answers after each pass.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Decision {
    /// Measure another pass of the cases that are not finished.
    Go {
        /// The pass.
        pass: u64,
        /// Cases that need no further block of anyone.
        finished: Vec<bool>,
        /// Cases that this rank is out of, though others go on.
        out: Vec<bool>,
    },
    /// Enough.
    Stop,
}

/// What the lead writes to another process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum LeadMessage {
    /// To its rank.
    Decide(Decision),
    /// Say whether its rank waits for another one: the time is up, and somebody hangs.
    Where,
    /// The lead is there.
    Here,
    /// The run is over and its document written: leave with this exit code, in good order only if all are
    /// well.
    Leave { code: u8, all_well: bool },
}

/// A message that cannot be read: the two ends are not the same program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of rank {from} cannot be read ({why}): run the same numabench on all ranks")]
pub struct Unreadable {
    /// The sender.
    pub from: usize,
    /// What is wrong with it.
    pub why: String,
}

pub(crate) fn write(message: &impl Serialize) -> Vec<u8> {
    // Writing plain values to a growing buffer cannot fail; nothing would be an unreadable message, which is
    // reported.
    postcard::to_stdvec(message).unwrap_or_default()
}

pub(crate) fn read<T: DeserializeOwned>(from: usize, bytes: &[u8]) -> Result<T, Unreadable> {
    postcard::from_bytes(bytes).map_err(|error| Unreadable { from, why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use stats::PciAddress;
    use stats::figures::BlockFigures;
    use stats::sample::Block;
    use stats::stage::Stage;
    use topo::gpu_condition::CountedConditions;

    use super::*;
    use crate::failure::Failure;
    use crate::observed_placement::{ObservedPlacement, PagesPerNode};
    use crate::sample::{BlockDetail, Sample, Trouble};
    use crate::timing::Timing;

    #[test]
    fn what_is_written_is_read_back() -> Result<(), Unreadable> {
        let block = Block {
            elapsed_ns: 4.0,
            round_ns: vec![1.0, 3.0],
            copies_per_round: 1,
            allocation: 2,
            ..Block::default()
        };

        let sample = BlockFigures::of(&block).map(|block| Sample {
            block,
            timing: Timing::Device,
            overlap: Some(0.99),
            start_skew_ns: None,
            verified_bytes: Some(7),
            told: Some(BlockDetail::HostNs(12.5)),
        });

        let seen = ObservedPlacement {
            pu: 3,
            affinity: [3].into_iter().collect(),
            pages: PagesPerNode { per_node: [(0, 512)].into(), one_in: 1, unknown: 0, unknown_reason: None },
            device_pages: None,
        };
        let failure = Failure { code: Some(-5), ..Failure::new(Stage::Open, "why") };
        let outcomes = vec![
            Outcome {
                case: 0,
                sample: sample.ok_or_else(|| Trouble::Skipped(String::new())),
                seen: [Some(seen), None],
                so_far: None,
            },
            Outcome { case: 1, sample: Err(failure.into()), seen: [None, None], so_far: None },
        ];

        let counted = CountedConditions { processes: Some(2), ..CountedConditions::default() };
        let pci = PciAddress { domain: 0, bus: 5, device: 0, function: 0 };
        let seen = |counted| GpuConditions { pci, link: None, lowest_link: None, counted };
        let devices = vec![seen(Ok(counted)), seen(Err("nobody counts".to_owned()))];
        let spent = TimeSpent { measure_ns: 7, ..TimeSpent::default() };
        let report = Report::Pass {
            rank: 9,
            outcomes: outcomes.clone(),
            devices: devices.clone(),
            spent,
            signalled: true,
        };

        let Report::Pass { rank, outcomes: got, devices: got_devices, spent: got_spent, signalled } =
            read(9, &write(&report))?
        else {
            panic!("another report");
        };
        assert_eq!((rank, got, got_devices, got_spent, signalled), (9, outcomes, devices, spent, true));
        Ok(())
    }

    #[test]
    fn a_message_that_is_cut_short_names_its_sender() {
        let bytes = write(&Report::Ended { rank: 300, aborted: true });
        let error = read::<Report>(300, &bytes[..1]).map(|report| report.rank());
        assert!(error.is_err_and(|error| error.from == 300));
    }
}
