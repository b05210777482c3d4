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

/// Which pairs of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Pairs {
    /// Every two, one way and both ways at once
    All,
    /// Each with the next one, one way
    Ring,
    /// None: only within each GPU's memory
    None,
}

/// `numabench peer`.
#[derive(Debug, clap::Args)]
pub struct Peer {
    /// The size of one copy [default: 512MiB, or an eighth of a GPU's memory where that is less]
    #[arg(long, value_name = "SIZE", value_parser = stats::units::parse_size, help_heading = "What is measured")]
    pub size: Option<u64>,
    /// Which pairs: every two both ways, each GPU with the next one way (quick: every GPU sends and receives once), or none but each GPU's own
    /// memory
    #[arg(long, value_enum, default_value_t = Pairs::All, help_heading = "What is measured")]
    pub pairs: Pairs,
    /// Which of the two GPUs copies: writes and reads differ on most links
    #[arg(long, value_enum, default_value_t = By::Source, help_heading = "What is measured")]
    pub by: By,
    /// What moves the bytes: that GPU's copy engines, or a kernel of loads and stores
    #[arg(long, value_enum, default_value_t = Engine::Ce, value_name = "ENGINE", help_heading = "What is measured")]
    pub engine: Engine,
    /// Measure how long a load takes too: by a kernel of each GPU, from each other one's memory. The time of the smallest copy, which is always
    /// measured between every two, is that of the driver's call, the copy and the wait
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
            pairs: match self.pairs {
                Pairs::All => options::Pairs::All,
                Pairs::Ring => options::Pairs::Ring,
                Pairs::None => options::Pairs::None,
            },
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
