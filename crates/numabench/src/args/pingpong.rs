//! `numabench pingpong` as typed.

use std::num::NonZeroUsize;

use ::pingpong::TimingChoice;
use ::report::settings::OrderAsked;
use clap::{Arg, ValueEnum};
use device::{CopyBy, Direction, MemoryKind};
use engine::Amount;
use experiments::options;
use placement::Membind;
use stats::IdList;

use super::measuring::Measuring;
use super::words::{CLOCKS, DIRECTIONS, ENGINES, MEMORY, ORDERS, one_of};
use super::{MOST, Sizes, sizes, whole};
use crate::fault::Fault;

/// `numabench pingpong`.
#[derive(Debug, clap::Args)]
#[command(mut_args(as_in_pingpong))]
pub struct Pingpong {
    /// One PU for each rank, OS ids as taskset writes them: 49,57 or 0-3 or 0-31:2 [default: the first
    /// allowed core of each device's locality domain]
    #[arg(long, value_name = "LIST", help_heading = "Placement")]
    pub cpus: Option<IdList>,
    /// Where host memory lies: local (the node of the rank's PU), a NUMA node's number, or page by page over
    /// several nodes: interleave or interleave:0-1, weighted:0-1 by the kernel's weights (as exec takes it)
    #[arg(long, value_name = "WHERE", default_value = "local", help_heading = "Placement")]
    pub membind: Membind,
    /// This process's number among the ranks of its node, from 0, for a launcher that numabench does not
    /// know; MPI then brings them together
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0..=MOST - 1), help_heading = "Placement")]
    pub rank: Option<usize>,
    /// How many ranks this node has, where the launcher does not say it
    #[arg(long, value_name = "M", value_parser = whole::<NonZeroUsize>(1..=MOST), help_heading = "Placement")]
    pub ranks: Option<NonZeroUsize>,

    /// Sizes of one copy: 128MiB, a list, or a geometric range 4B..1GiB (×2) or 4B..8GiB:4 [default: 128MiB;
    /// without a GPU twice the L3 if that is more]
    #[arg(long, value_name = "SIZES", value_parser = sizes, conflicts_with = "floats",
          help_heading = "What is copied")]
    pub size: Option<Sizes>,
    /// The size as a number of 4-byte floats
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=stats::units::MOST_BYTES / 4),
          help_heading = "What is copied")]
    pub floats: Option<u64>,
    /// Kinds of host memory [default: pinned; pageable with the host backend]
    #[arg(long, value_parser = one_of(MEMORY), value_delimiter = ',', value_name = "KINDS",
          help_heading = "What is copied")]
    pub memory: Vec<MemoryKind>,
    /// Directions; roundtrip is H2D then D2H, bidir both at once
    #[arg(long, value_parser = one_of(DIRECTIONS), value_delimiter = ',',
          default_values = ["h2d", "d2h", "roundtrip"],
          hide_default_value = true, value_name = "DIRECTIONS", help_heading = "What is copied")]
    pub direction: Vec<Direction>,
    /// What moves the bytes: the GPU's copy engines, or (pinned memory only) a kernel of loads and stores, or
    /// its tensor memory accelerator (TMA): they differ on coherent links
    #[arg(long, value_parser = one_of(ENGINES), default_value = "ce", value_name = "ENGINE",
          help_heading = "What is copied")]
    pub engine: CopyBy,

    /// Rounds before those of --reps, which do not count [default: 10]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=1_000_000),
          help_heading = "How it is measured")]
    pub warmup: Option<u64>,
    /// The clock: auto times pinned copies of 1 MiB and more on the device, everything else on the host
    #[arg(long, value_parser = one_of(CLOCKS), default_value = "auto", help_heading = "How it is measured")]
    pub timing: TimingChoice,
    /// All ranks at once, one after the other, or both and the contention penalty [default: at once, and with
    /// GPUs each of several ranks alone for six blocks]
    #[arg(long, value_parser = one_of(ORDERS), help_heading = "How it is measured")]
    pub order: Option<OrderAsked>,

    /// Findings that end an otherwise complete run with exit code 5: slower-twin, a GPU that copies much
    /// slower than those of its node that are like it (6 where no two are compared)
    #[arg(long, value_enum, value_delimiter = ',', value_name = "FINDINGS", help_heading = "Output")]
    pub fail_on: Vec<FailingFinding>,
    /// What every measurement has.
    #[command(flatten)]
    pub measuring: Measuring,
}

/// The options in the order of the help, where those of every measurement stand between others.
const ORDER: &str = "cpus gpus membind backend rank ranks size floats memory direction engine huge_pages \
    reps warmup precision max_time timeout timing order seed no_verify fail_on dry_run json reference full \
    brief quiet color";

/// An option of every measurement in the words of this command.
fn as_in_pingpong(arg: Arg) -> Arg {
    let arg = match arg.get_id().as_str() {
        "gpus" => arg.help(
            "One device for each rank: indices in PCI order, PCI addresses, UUIDs, or all; one may appear \
             more than once. With the host backend: NUMA nodes [default: all]",
        ),
        "huge_pages" => arg.help_heading("What is copied"),
        "reps" => arg.help(
            "Measure this number of rounds a case; without it, blocks are measured until the interval is \
             narrow. Several ranks at once go on until all have theirs, and only rounds of their common time \
             count, so that the number differs a little",
        ),
        "max_time" => arg.help(
            "Begin no further pass after this time of measuring [default: 3 s a case (1 s \
                   of managed and system memory), at least 30 s; with --reps none]",
        ),
        "no_verify" => arg.help("Do not compare the received bytes with the sent ones"),
        "json" => arg.value_name("FILE|-").help(
            "Print the result document instead of the table, or write it to FILE (rewritten after every \
             pass) beside it",
        ),
        "quiet" => arg.help("Only the figures and the problems"),
        _ => arg,
    };

    let place = ORDER.split(' ').position(|id| arg.get_id() == id);
    arg.display_order(place)
}

/// Findings of a run that may end it with a code of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailingFinding {
    /// A GPU that copies much slower than equal GPUs of its node
    SlowerTwin,
}

impl Pingpong {
    /// What is to be touched, where memory that moves is asked for.
    ///
    /// # Errors
    /// What such memory is not measured with.
    pub fn moving(&self) -> Result<Option<options::MovingOptions>, Fault> {
        let options::PingPongOptions { cpus, sizes, memory, directions, measuring, .. } = self.options();
        let with = options::MovingOptions {
            command: "pingpong",
            cpus,
            rows: None,
            kinds: memory,
            sizes: Some(sizes),
            directions,
            measuring,
        };
        with.where_asked_for()
    }

    /// What is to be measured.
    pub fn options(&self) -> options::PingPongOptions {
        let sizes = match (&self.size, self.floats) {
            (Some(sizes), _) => sizes.0.clone(),
            (None, Some(floats)) => vec![floats * 4],
            (None, None) => Vec::new(),
        };
        let mut measuring = self.measuring.options();
        if let (Amount::Fixed { warmup, .. }, Some(asked)) = (&mut measuring.engine.amount, self.warmup) {
            *warmup = asked;
        }

        options::PingPongOptions {
            cpus: self.cpus.clone(),
            membind: self.membind.clone(),
            sizes,
            floats: self.floats,
            memory: self.memory.clone(),
            directions: self.direction.clone(),
            engine: self.engine,
            timing: self.timing,
            order: self.order,
            measuring,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Args;

    use super::*;

    #[test]
    fn every_option_has_its_place_in_the_help() {
        let command = Pingpong::augment_args(clap::Command::new("pingpong"));
        let options: BTreeSet<&str> = command.get_arguments().map(|arg| arg.get_id().as_str()).collect();
        assert_eq!(options, ORDER.split(' ').collect());
    }
}
