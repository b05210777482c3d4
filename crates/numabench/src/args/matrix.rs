//! `numabench matrix` as typed.

use device::{CopyBy, Direction, MemoryKind};
use experiments::options::{MatrixOptions, MovingOptions};
use hostmem::Access;
use placement::RowsBy;

use super::measuring::Measuring;
use super::number::typed_size;
use super::words::words_of;
use super::{DIRECTIONS, ENGINES, MEMORY, MOST, Word, one_of, whole};
use crate::fault::Fault;

/// `numabench matrix`.
#[derive(Debug, clap::Args)]
pub struct Matrix {
    /// What a row is: a NUMA node's memory from its own cores, an L3's cores, or each core
    #[arg(long, value_name = "node|l3|core", default_value_t, help_heading = "What is measured")]
    pub rows: RowsBy,
    /// The size of one copy
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size,
          default_value = typed_size(MatrixOptions::default().size), help_heading = "What is measured")]
    pub size: u64,
    /// Kinds of host memory, for GPUs [default: pinned]
    #[arg(long, value_parser = one_of(MEMORY), value_delimiter = ',', value_name = "KINDS",
          help_heading = "What is measured")]
    pub memory: Vec<MemoryKind>,
    /// Directions, for GPUs; bidir is both at once
    #[arg(long, value_parser = one_of(DIRECTIONS), value_delimiter = ',',
          default_values = words_of(DIRECTIONS, &MatrixOptions::default().directions),
          hide_default_value = true, value_name = "DIRECTIONS", help_heading = "What is measured")]
    pub direction: Vec<Direction>,
    /// What moves the bytes: the GPU's copy engines, or (pinned memory only) a kernel of loads and stores, or
    /// its tensor memory accelerator (TMA); ce,sm measures both in one run
    #[arg(long, value_parser = one_of(ENGINES), value_delimiter = ',',
          default_values = words_of(ENGINES, &MatrixOptions::default().engines),
          value_name = "ENGINES", help_heading = "What is measured")]
    pub engine: Vec<CopyBy>,
    /// Copy to (and from) all GPUs at once in each row, instead of to one after the other
    #[arg(long, help_heading = "What is measured")]
    pub concurrent: bool,
    /// Measure the latency of a load too: of each row's memory by each GPU; where no GPU takes part, by each
    /// row's core
    #[arg(long, conflicts_with = "concurrent", help_heading = "What is measured")]
    pub latency: bool,
    /// Accesses by the CPU, where no GPU takes part: bandwidth of reads, writes and copies, latency of loads
    #[arg(long, value_parser = one_of(ACCESSES), value_delimiter = ',',
          default_values = words_of(ACCESSES, &MatrixOptions::default().access),
          hide_default_value = true, value_name = "ACCESSES", help_heading = "What is measured")]
    pub access: Vec<Access>,
    /// Threads of a row that read, write or copy at once, where no GPU takes part [default: one on each of
    /// its cores]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=MOST), help_heading = "What is measured")]
    pub threads: Option<usize>,
    /// The range of each thread [default: 64 MiB, or as much as all threads of a row need for four times the
    /// L3; less where a node has little memory]; for GPUs the range of --latency [default: 64 MiB]
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size,
          help_heading = "What is measured")]
    pub range: Option<u64>,
    /// What every measurement has.
    #[command(flatten)]
    pub measuring: Measuring,
}

/// Accesses by the CPU.
const ACCESSES: &[Word<Access>] = &[
    ("read", Access::Read, "Bandwidth of reads"),
    ("write", Access::Write, "Bandwidth of writes"),
    ("copy", Access::Copy, "Bandwidth of copies, bytes read and written"),
    ("load", Access::Load, "Latency of a load"),
];

impl Matrix {
    /// What is to be touched, where memory that moves is asked for.
    ///
    /// # Errors
    /// What such memory is not measured with.
    pub fn moving(&self) -> Result<Option<MovingOptions>, Fault> {
        let MatrixOptions { rows, size, memory, directions, measuring, .. } = self.options();
        let with = MovingOptions {
            command: "matrix",
            cpus: None,
            rows: Some(rows),
            kinds: memory,
            sizes: Some(vec![size]),
            directions,
            measuring,
        };
        with.where_asked_for()
    }

    /// What is to be measured.
    pub fn options(&self) -> MatrixOptions {
        MatrixOptions {
            rows: self.rows,
            size: self.size,
            memory: self.memory.clone(),
            directions: self.direction.clone(),
            engines: self.engine.clone(),
            concurrent: self.concurrent,
            latency: self.latency,
            access: self.access.clone(),
            threads: self.threads,
            range: self.range,
            measuring: self.measuring.options(),
        }
    }
}
