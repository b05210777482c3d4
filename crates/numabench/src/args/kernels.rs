//! `numabench kernels` as typed.

use ::kernels::LARGEST_CLASS;
use experiments::options::ComputingOptions;
use placement::RowsBy;

use super::measuring::Measuring;
use super::{MOST, whole};

/// `numabench kernels`.
#[derive(Debug, clap::Args)]
pub struct Kernels {
    /// The kernels: triad, reduction, scan, sort, stencil, sgemm, dgemm, fft, fft-dp, md, md-dp, spmv
    /// [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "What is measured")]
    pub kernels: Vec<kernels::Kernel>,
    /// The size of their problems, from 1 to 4, as SHOC's -s: each class has about half the data of the one
    /// above it
    #[arg(long, value_name = "1-4", value_parser = whole::<u8>(1..=u64::from(LARGEST_CLASS)),
          default_value_t = LARGEST_CLASS, help_heading = "What is measured")]
    pub class: u8,
    /// The size of their problems in bytes of input and result (a thread's, where no GPU takes part): each
    /// kernel takes the nearest that its shape allows
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size, conflicts_with = "class",
          help_heading = "What is measured")]
    pub size: Option<u64>,
    /// Have the GPU vendor's libraries compute sgemm, dgemm, fft and fft-dp (cuBLAS and cuFFT, rocBLAS and
    /// hipFFT), where they lie on this machine
    #[arg(long, help_heading = "What is measured")]
    pub vendor: bool,
    /// Runs on data that stays on the GPU, between the copy of the input and that of the result
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=1000),
          default_value_t = ComputingOptions::default().iterations, help_heading = "What is measured")]
    pub iterations: u32,
    /// What a row is: a NUMA node's memory from its own cores, an L3's cores, or each core
    #[arg(long, value_name = "node|l3|core", default_value_t, help_heading = "What is measured")]
    pub rows: RowsBy,
    /// Threads of a row that compute at once, where no GPU takes part [default: one on each of its cores]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=MOST), help_heading = "What is measured")]
    pub threads: Option<usize>,
    /// What every measurement has.
    #[command(flatten)]
    pub measuring: Measuring,
}

impl Kernels {
    /// What is to be measured.
    pub fn options(&self) -> ComputingOptions {
        ComputingOptions {
            kernels: self.kernels.clone(),
            size: self.size.map_or(kernels::ProblemSize::Class(self.class), kernels::ProblemSize::Bytes),
            vendor: self.vendor,
            iterations: self.iterations,
            rows: self.rows,
            threads: self.threads,
            measuring: self.measuring.options(),
        }
    }
}
