//! `numabench contend` as typed.

use ::pingpong::TimingChoice;
use device::{Direction, MemoryKind};
use experiments::options::ContendOptions;
use hostmem::Access;
use stats::IdList;

use super::measuring::Measuring;
use super::words::{COPIED, words_of};
use super::{CLOCKS, DIRECTIONS, Word, one_of, whole};

/// `numabench contend`.
#[derive(Debug, clap::Args)]
pub struct Contend {
    /// The ranks' PUs, one for each of --gpus, OS ids as taskset writes them: a placement, alone, then
    /// the first two, three, … and all at once [default: the first allowed core of each GPU's locality
    /// domain]
    #[arg(long, value_name = "LIST", help_heading = "What is measured")]
    pub cpus: Option<IdList>,
    /// One to so many ranks share each GPU, all GPUs at once, instead of one to all GPUs with a rank each
    #[arg(long, value_name = "N", value_parser = whole::<usize>(2..=64), conflicts_with = "cpus",
          help_heading = "What is measured")]
    pub ranks_per_gpu: Option<usize>,
    /// The size of one copy [default: 128MiB; without a GPU twice the L3 if that is more]
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size,
          help_heading = "What is measured")]
    pub size: Option<u64>,
    /// The kind of host memory [default: pinned; pageable with the host backend]
    #[arg(long, value_parser = one_of(COPIED), value_name = "KIND",
          help_heading = "What is measured")]
    pub memory: Option<MemoryKind>,
    /// Directions; bidir is both at once
    #[arg(long, value_parser = one_of(DIRECTIONS), value_delimiter = ',',
          default_values = words_of(DIRECTIONS, &ContendOptions::default().directions),
          hide_default_value = true, value_name = "DIRECTIONS", help_heading = "What is measured")]
    pub direction: Vec<Direction>,
    /// The clock; ranks that share a GPU are timed by the host, alone too
    #[arg(long, value_parser = one_of(CLOCKS), default_value = "auto", help_heading = "What is measured")]
    pub timing: TimingChoice,
    /// Copy to the first GPU beside threads that read, write or copy host memory: alone, then beside 1, 2, 4,
    /// … threads
    #[arg(
        long,
        value_parser = one_of(BESIDE),
        value_name = "ACCESS",
        conflicts_with = "ranks_per_gpu",
        help_heading = "What is measured"
    )]
    pub beside: Option<Access>,
    /// The PUs of these threads, one each [default: the other cores of the node of the copies' memory]
    #[arg(long, value_name = "LIST", help_heading = "What is measured")]
    pub beside_cpus: Option<IdList>,
    /// The range of each of these threads [default: 64 MiB, or as much as all need for four times the L3]
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size,
          help_heading = "What is measured")]
    pub range: Option<u64>,
    /// What every measurement has.
    #[command(flatten)]
    pub measuring: Measuring,
}

/// Traffic beside copies.
pub(crate) const BESIDE: &[Word<Access>] = &[
    ("read", Access::Read, "Reads"),
    ("write", Access::Write, "Writes"),
    ("copy", Access::Copy, "Copies, bytes read and written"),
];

impl Contend {
    /// What is to be measured.
    pub fn options(&self) -> ContendOptions {
        ContendOptions {
            cpus: self.cpus.clone(),
            ranks_per_gpu: self.ranks_per_gpu,
            size: self.size,
            memory: self.memory,
            directions: self.direction.clone(),
            timing: self.timing,
            beside: self.beside,
            beside_cpus: self.beside_cpus.clone(),
            range: self.range,
            measuring: self.measuring.options(),
        }
    }
}
