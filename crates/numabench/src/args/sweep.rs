//! `numabench sweep` as typed.

use experiments::options;

use super::measuring::Measuring;
use super::{Direction, Engine, Memory, Sizes, Timing, each, sizes};

/// `numabench sweep`.
#[derive(Debug, clap::Args)]
pub struct Sweep {
    /// Sizes of one copy, as a geometric range or a list [default: 4 B to 1 GiB, or to what fits, doubled each time]
    #[arg(long, value_name = "SIZES", value_parser = sizes, help_heading = "What is measured")]
    pub size: Option<Sizes>,
    /// Kinds of host memory [default: pinned; pageable with the host backend]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KINDS", help_heading = "What is measured")]
    pub memory: Vec<Memory>,
    /// Directions; roundtrip is H2D then D2H
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Direction::H2d, Direction::D2h],
          hide_default_value = true, value_name = "DIRECTIONS", help_heading = "What is measured")]
    pub direction: Vec<Direction>,
    /// The clock of every size: host is the time that an application sees of a blocking copy; auto changes to the device's at 1 MiB
    #[arg(long, value_enum, default_value_t = Timing::Host, help_heading = "What is measured")]
    pub timing: Timing,
    /// What moves the bytes: the GPU's copy engines, or a kernel of loads and stores (pinned memory only)
    #[arg(long, value_enum, default_value_t = Engine::Ce, value_name = "ENGINE", help_heading = "What is measured")]
    pub engine: Engine,
    /// What every measurement has. Without --gpus the first GPU alone is measured.
    #[command(flatten)]
    pub measuring: Measuring,
}

impl Sweep {
    /// What is to be measured.
    pub fn options(&self) -> options::Sweep {
        options::Sweep {
            sizes: self.size.as_ref().map(|sizes| sizes.0.clone()),
            memory: each(&self.memory),
            directions: each(&self.direction),
            timing: self.timing.into(),
            engine: self.engine.into(),
            measuring: self.measuring.options(),
        }
    }
}
