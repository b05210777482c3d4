//! `numabench suite` as typed.

use std::time::Duration;

use experiments::options;

use super::duration;
use super::measuring::Measuring;

/// `numabench suite`.
#[derive(Debug, clap::Args)]
pub struct Suite {
    /// The time that it may take, its start and its last verification included; less than one block of every
    /// case takes is refused
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2min",
          conflicts_with = "max_time", help_heading = "What is measured")]
    pub within: Duration,
    /// What every measurement has.
    #[command(flatten)]
    pub measuring: Measuring,
}

impl Suite {
    /// What is to be measured.
    pub fn options(&self) -> options::SuiteOptions {
        options::SuiteOptions { within: self.within, measuring: self.measuring.options() }
    }
}
