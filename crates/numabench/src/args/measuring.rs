//! The options that every command of the measurement suite has: which devices, how it is measured, where the
//! result goes.

use std::path::PathBuf;
use std::time::Duration;

use clap::ArgAction;
use engine::{Amount, EngineConfig, WARMUP};
use experiments::for_one_platform::ForOnePlatform;
use experiments::options::{self, Backend};
use placement::Selection;

use super::words::BACKENDS;
use super::{ColorChoice, SWITCH, duration, one_of, percent, whole};

/// What commands that measure have in common.
#[derive(Clone, Debug, clap::Args)]
pub struct Measuring {
    /// The GPUs: indices in PCI order, PCI addresses, UUIDs, or all; with the host backend NUMA nodes
    /// [default: all]
    #[arg(long, value_name = "LIST", help_heading = "Placement")]
    pub gpus: Option<Selection>,
    /// Which devices: auto takes CUDA, else HIP, where there is a GPU, and host memory otherwise
    #[arg(long, value_parser = one_of(BACKENDS), default_value = "auto", help_heading = "Placement")]
    pub backend: Backend,

    /// Whether host memory may use huge pages
    #[arg(long, value_parser = one_of(SWITCH), action = ArgAction::Set, default_value = "on",
          help_heading = "How it is measured")]
    pub huge_pages: bool,
    /// Measure this number of rounds a case; without it, blocks are measured until the interval is narrow
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=10_000_000),
          help_heading = "How it is measured")]
    pub reps: Option<u64>,
    /// Measure until the 95 % interval is within ± this part of the figure, however long that takes, up to
    /// 1000 blocks a case and --max-time [default: 1 %, or what ten blocks and a second or a quarter of the
    /// run more give]
    #[arg(long, value_name = "PERCENT", value_parser = percent, conflicts_with = "reps",
          help_heading = "How it is measured")]
    pub precision: Option<f64>,
    /// Begin no further pass after this time of measuring [default: 1 s a case, at least 30 s; with
    /// --reps none]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "How it is measured")]
    pub max_time: Option<Duration>,
    /// Give up after this time, whatever a device does
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "How it is measured")]
    pub timeout: Option<Duration>,
    /// Seed of the payload and of the order of blocks
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX),
          default_value_t = EngineConfig::default().seed, help_heading = "How it is measured")]
    pub seed: u64,
    /// Do not verify the bytes that were copied and read
    #[arg(long, help_heading = "How it is measured")]
    pub no_verify: bool,

    /// Print the plan and touch no GPU
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub dry_run: bool,
    /// Print the result document instead of the table, or write it to FILE (rewritten between passes) beside
    /// it, or into a folder under the node's name (DIR/). Launched with one task a node, DIR/ takes each
    /// node's document, and the first task shows all nodes
    #[arg(long, value_name = "FILE|-|DIR/", num_args = 0..=1, default_missing_value = "-",
          help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Also hold the figures against those of this file (`numabench reference --lines` shows its form): your
    /// site's own
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub reference: Option<PathBuf>,
    /// Print everything: each rank, the placement, the devices and the settings. By default so where no
    /// terminal is (a log keeps all), and on a terminal what a screen holds
    #[arg(long, help_heading = "Output")]
    pub full: bool,
    /// Print what a screen holds, also where no terminal is
    #[arg(long, conflicts_with = "full", help_heading = "Output")]
    pub brief: bool,
    /// Only the verdict, the figures and the problems
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Whether the table is coloured
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, help_heading = "Output")]
    pub color: ColorChoice,
    /// Options that were typed and say something only with GPUs, or only without.
    #[arg(skip)]
    pub for_one_platform: ForOnePlatform,
}

impl Measuring {
    /// How it is measured.
    pub fn options(&self) -> options::Measuring {
        let amount = match (self.reps, self.precision) {
            (Some(reps), _) => Amount::Fixed { reps, warmup: WARMUP },
            (None, Some(part)) => Amount::within(part),
            (None, None) => Amount::default(),
        };

        options::Measuring {
            gpus: self.gpus.clone(),
            backend: self.backend,
            engine: EngineConfig {
                seed: self.seed,
                amount,
                verify: !self.no_verify,
                huge_pages: self.huge_pages,
                max_time: self.max_time,
                timeout: self.timeout,
            },
            for_one_platform: self.for_one_platform.clone(),
        }
    }
}
