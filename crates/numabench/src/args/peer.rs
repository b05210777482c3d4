//! `numabench peer` as typed.

use super::measuring::Measuring;

/// Whose copy engine does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// The GPU that the bytes come from: it writes to the other
    Source,
    /// The GPU that they go to: it reads from the other
    Destination,
}

/// `numabench peer`.
#[derive(Debug, clap::Args)]
pub struct Peer {
    /// The size of one copy
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = stats::units::parse_size, help_heading = "What is measured")]
    pub size: u64,
    /// Whose copy engine does it: the two differ on most links
    #[arg(long, value_enum, default_value_t = By::Source, help_heading = "What is measured")]
    pub by: By,
    /// What every measurement has.
    #[command(flatten)]
    pub measuring: Measuring,
}
