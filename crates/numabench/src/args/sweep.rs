//! `numabench sweep` as typed.

use ::kernels::{Scattered, TransferMethod};
use ::pingpong::TimingChoice;
use device::{CopyBy, Direction, MemoryKind};
use experiments::options;
use placement::RowSelection;

use super::measuring::Measuring;
use super::{CLOCKS, DIRECTIONS, ENGINES, MEMORY, Sizes, Word, one_of, sizes};
use crate::fault::Fault;

/// `numabench sweep`.
#[derive(Debug, clap::Args)]
#[command(mut_args(as_in_sweep))]
pub struct Sweep {
    /// Sizes of one copy, as a geometric range or a list; those that do not fit are left out with the reason,
    /// and the exit code is 3 [default: 4 B to 1 GiB, or to what fits, doubled each time]
    #[arg(long, value_name = "SIZES", value_parser = sizes, help_heading = "What is measured")]
    pub size: Option<Sizes>,
    /// Kinds of host memory [default: pinned; pageable with the host backend]
    #[arg(long, value_parser = one_of(MEMORY), value_delimiter = ',', value_name = "KINDS",
          help_heading = "What is measured")]
    pub memory: Vec<MemoryKind>,
    /// Directions; roundtrip is H2D then D2H
    #[arg(long, value_parser = one_of(DIRECTIONS), value_delimiter = ',', default_values = ["h2d", "d2h"],
          hide_default_value = true, value_name = "DIRECTIONS", help_heading = "What is measured")]
    pub direction: Vec<Direction>,
    /// The clock of every size: host is the time that an application sees of a blocking copy; auto changes to
    /// the device's at 1 MiB
    #[arg(long, value_parser = one_of(CLOCKS), default_value = "host", help_heading = "What is measured")]
    pub timing: TimingChoice,
    /// What moves the bytes: the GPU's copy engines, or (pinned memory only) a kernel of loads and stores, or
    /// its tensor memory accelerator (TMA)
    #[arg(long, value_parser = one_of(ENGINES), default_value = "ce", value_name = "ENGINE",
          help_heading = "What is measured")]
    pub engine: CopyBy,
    /// From which host memory, by its own cores: of the NUMA nodes near the GPU and farthest from it, or of
    /// every NUMA node, L3 or core, with what each loses against the near one [default: what is nearest to
    /// the GPU]
    #[arg(long, value_name = "near,far|node|l3|core", help_heading = "What is measured")]
    pub rows: Option<RowSelection>,
    /// Many small pieces instead of single copies, by every way of sending them: their sizes, multiples of 4
    /// KiB, as a range or a list (4KiB..1MiB). Needs a GPU
    #[arg(long, value_name = "SIZES", value_parser = sizes, conflicts_with_all = ["size", "engine", "timing"],
          help_heading = "Small pieces")]
    pub pieces: Option<Sizes>,
    /// Bytes of all pieces that are sent together
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size, default_value = "64MiB",
          help_heading = "Small pieces")]
    pub total: u64,
    /// Where pieces lie scattered; on the other side they lie one behind the other
    #[arg(long, value_parser = one_of(SCATTERED), value_name = "SIDE", default_value = "both",
          help_heading = "Small pieces")]
    pub scattered: Scattered,
    /// Ways of sending them: a copy of each, one call that queues all copies, one kernel, or packed into one
    /// copy [default: all]
    #[arg(
        long,
        value_parser = one_of(WAYS),
        value_delimiter = ',',
        value_name = "WAYS",
        help_heading = "Small pieces"
    )]
    pub ways: Vec<TransferMethod>,
    /// What every measurement has.
    #[command(flatten)]
    pub measuring: Measuring,
}

/// What of all measurements is otherwise here.
fn as_in_sweep(arg: clap::Arg) -> clap::Arg {
    match arg.get_id().as_str() {
        "gpus" => arg.help(
            "The GPUs: indices in PCI order, PCI addresses, UUIDs, or all; with the host backend NUMA nodes \
             [default: the first]",
        ),
        _ => arg,
    }
}

impl Sweep {
    /// What is to be measured.
    pub fn options(&self) -> options::SweepOptions {
        options::SweepOptions {
            sizes: self.size.as_ref().map(|sizes| sizes.0.clone()),
            memory: self.memory.clone(),
            directions: self.direction.clone(),
            timing: self.timing,
            engine: self.engine,
            pieces: self.pieces.as_ref().map(|sizes| self.small(sizes)),
            rows: self.rows,
            measuring: self.measuring.options(),
        }
    }

    /// What is to be touched, where memory that moves is asked for.
    ///
    /// # Errors
    /// What such memory is not measured with.
    pub fn moving(&self) -> Result<Option<options::MovingOptions>, Fault> {
        let options::SweepOptions { sizes, memory, directions, pieces, rows, measuring, .. } = self.options();
        if pieces.is_some() {
            return Ok(None);
        }
        let command = "sweep";

        options::MovingOptions {
            command,
            cpus: None,
            rows: match rows {
                Some(RowSelection::All(by)) => Some(by),
                // Beside such memory it is refused (`rules`).
                Some(RowSelection::NearAndFar) | None => None,
            },
            kinds: memory,
            sizes,
            directions,
            measuring,
        }
        .where_asked_for()
    }

    fn small(&self, sizes: &Sizes) -> options::SmallPiecesOptions {
        let ways = if self.ways.is_empty() { TransferMethod::ALL.to_vec() } else { self.ways.clone() };
        let (sizes, scattered) = (sizes.0.clone(), self.scattered);
        options::SmallPiecesOptions { sizes, total: self.total, scattered, ways }
    }
}

/// On which sides pieces lie scattered.
const SCATTERED: &[Word<Scattered>] = &[
    ("both", Scattered::Both, "In host memory and on the GPU"),
    ("host", Scattered::Host, "In host memory"),
    ("device", Scattered::Device, "On the GPU"),
];

/// How pieces are sent.
const WAYS: &[Word<TransferMethod>] = &[
    ("loop", TransferMethod::Loop, "An asynchronous copy of each"),
    ("batch", TransferMethod::Batch, "One call of the driver that queues all copies"),
    ("kernel", TransferMethod::Kernel, "One kernel that moves all of them"),
    (
        "packed",
        TransferMethod::Packed,
        "One copy, packed on the host by the rank's core and on the GPU by a kernel",
    ),
];
