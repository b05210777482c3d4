//! `numabench peer` as typed.

use device::PeerEnd;
use experiments::options;

use super::Engine;
use super::measuring::Measuring;

/// Which GPU does the work.
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
    /// Which of the two GPUs copies: writes and reads differ on most links
    #[arg(long, value_enum, default_value_t = By::Source, help_heading = "What is measured")]
    pub by: By,
    /// What moves the bytes: that GPU's copy engines, or a kernel of loads and stores
    #[arg(long, value_enum, default_value_t = Engine::Ce, value_name = "ENGINE", help_heading = "What is measured")]
    pub engine: Engine,
    /// Measure how long a load takes too: by a kernel of each GPU, from each other one's memory. The time of the smallest copy, which is always
    /// measured, is that of the driver's call, the copy and the wait
    #[arg(long, help_heading = "What is measured")]
    pub latency: bool,
    /// Measure all at once too: the copies of all other GPUs to each one, and its copies to all others. Between two GPUs that is each pair one way
    #[arg(long, help_heading = "What is measured")]
    pub all: bool,
    /// What every measurement has.
    #[command(flatten)]
    pub measuring: Measuring,
}

impl Peer {
    /// What is to be measured.
    pub fn options(&self) -> options::Peer {
        options::Peer {
            size: self.size,
            by: match self.by {
                By::Source => PeerEnd::Source,
                By::Destination => PeerEnd::Destination,
            },
            engine: self.engine.into(),
            latency: self.latency,
            all: self.all,
            measuring: self.measuring.options(),
        }
    }
}
