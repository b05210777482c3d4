//! `numabench peer` as typed.

use device::{CopyBy, PeerEnd};
use experiments::options::{self, GpuPairs};

use super::measuring::Measuring;
use super::{ENGINES, MOST, Word, one_of, whole};

/// Which GPU does the work.
const BY: &[Word<PeerEnd>] = &[
    ("source", PeerEnd::Source, "The GPU that the bytes come from: it writes to the other"),
    ("destination", PeerEnd::Destination, "The GPU that they go to: it reads from the other"),
];

/// Which pairs of GPUs.
const PAIRS: &[Word<GpuPairs>] = &[
    ("all", GpuPairs::All, "Every two, one way and both ways at once"),
    ("ring", GpuPairs::Ring, "Each with the next one, one way"),
    ("none", GpuPairs::None, "None: only within each GPU's memory"),
];

/// `numabench peer`.
#[derive(Debug, clap::Args)]
pub struct Peer {
    /// The size of one copy [default: 512MiB, or an eighth of a GPU's memory where that is less]
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size,
          help_heading = "What is measured")]
    pub size: Option<u64>,
    /// Which pairs: every two both ways, each GPU with the next one way (quick: every GPU sends and receives
    /// once), or none but each GPU's own memory
    #[arg(long, value_parser = one_of(PAIRS), default_value = "all", help_heading = "What is measured")]
    pub pairs: GpuPairs,
    /// Measure so many of all pairs instead of all: chosen by --seed, so that every GPU sends and receives
    /// and every kind of link is there (more pairs where that takes more)
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=MOST), help_heading = "What is measured")]
    pub sample: Option<usize>,
    /// Which of the two GPUs copies: writes and reads differ on most links
    #[arg(long, value_parser = one_of(BY), default_value = "source", help_heading = "What is measured")]
    pub by: PeerEnd,
    /// What moves the bytes: that GPU's copy engines, a kernel of loads and stores, or its tensor memory
    /// accelerator (TMA)
    #[arg(long, value_parser = one_of(ENGINES), default_value = "ce", value_name = "ENGINE",
          help_heading = "What is measured")]
    pub engine: CopyBy,
    /// Measure how long a load takes too: by a kernel of each GPU, from each other one's memory. The time of
    /// the smallest copy, which is always measured between every two, is that of the driver's call, the copy
    /// and the wait
    #[arg(long, help_heading = "What is measured")]
    pub latency: bool,
    /// The range of these loads: one larger than the owner's cache is answered by its memory (64 MiB on an
    /// H100 or H200 of 50 MB; a B200 has 126 MB, an MI300X 256), 1 MiB (nvbandwidth's) by its cache [default:
    /// 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size, requires = "latency",
          help_heading = "What is measured")]
    pub range: Option<u64>,
    /// Measure all at once too: the copies of all other GPUs to each one, and its copies to all others.
    /// Between two GPUs that is each pair one way
    #[arg(long, help_heading = "What is measured")]
    pub all: bool,
    /// What every measurement has.
    #[command(flatten)]
    pub measuring: Measuring,
}

impl Peer {
    /// What is to be measured.
    pub fn options(&self) -> options::PeerOptions {
        options::PeerOptions {
            size: self.size,
            pairs: self.pairs,
            sample: self.sample,
            by: self.by,
            engine: self.engine,
            latency: self.latency,
            range: self.range,
            all: self.all,
            measuring: self.measuring.options(),
        }
    }
}
