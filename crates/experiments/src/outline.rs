//! A measurement as it would be carried out, without touching a GPU: rows, columns and figures.

use std::fmt;
use std::time::Duration;

use device::CopyBy;
use pingpong::{RunConfig, TimingChoice};
use placement::Row;
use stats::units::counted;

use crate::options::Measuring;

/// The plan of a measurement, as `--dry-run` prints it.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Which devices, and who was asked for them.
    pub source: String,
    /// The rows, where there are some.
    pub rows: Vec<Row>,
    /// What the columns are called.
    pub columns: Vec<String>,
    /// The figures to be taken, in words.
    pub figures: String,
    /// How long measuring goes on at most; the longest time there is for no limit.
    pub max_time: Duration,
    /// What was asked for otherwise than it is by default, in words.
    pub how: Vec<String>,
}

/// What moves the bytes of copies, to stand behind other words; nothing for copy engines alone.
pub(crate) fn engines(engines: &[CopyBy]) -> String {
    let name = |by: &CopyBy| match by {
        CopyBy::Engine => "by copy engines",
        CopyBy::Kernel => "by a kernel",
        CopyBy::Tma => "by TMA",
    };
    match engines {
        [] | [CopyBy::Engine] => String::new(),
        several => format!(", {}", several.iter().map(name).collect::<Vec<_>>().join(" and ")),
    }
}

/// What moves the bytes of copies and what times them, where that was asked for, to stand behind other words.
pub(crate) fn engine_and_clock(config: &RunConfig) -> String {
    let engine = engines(&[config.by]);
    let clock = match config.timing {
        TimingChoice::Auto => "",
        TimingChoice::Host => ", by the host's clock",
        TimingChoice::Device => ", by the device's clock",
    };
    format!("{engine}{clock}")
}

/// What was asked of every measurement otherwise than it is by default, in words.
pub(crate) fn how(args: &Measuring) -> Vec<String> {
    let default = Measuring::default();
    let rounds = args.reps.map(|reps| format!("{} a case", counted(reps as usize, "round")));
    let precision =
        args.precision.map(|part| format!("until intervals are within ± {} %", (part * 1e6).round() / 1e4));
    let seed = (args.seed != default.seed).then(|| format!("seed {}", args.seed));
    let pages = (!args.huge_pages).then(|| "no huge pages".to_owned());
    let verified = (!args.verify).then(|| "nothing verified".to_owned());
    let limit = args.timeout.map(|limit| format!("given up after {} s", limit.as_secs_f64()));
    [rounds, precision, seed, pages, verified, limit].into_iter().flatten().collect()
}

/// These words as a line of the plan; none where there are none.
pub(crate) fn lines_of(how: &[String]) -> String {
    if how.is_empty() { String::new() } else { format!("how       {}\n", how.join(", ")) }
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Plan (dry run: no GPU was touched, nothing was measured)")?;
        writeln!(f, "platform  {}", self.source)?;
        for Row { name, place, .. } in &self.rows {
            match place {
                Ok(place) => {
                    let pus: stats::IdSet = place.pus.iter().copied().collect();
                    writeln!(
                        f,
                        "row       {name}: PU {}, cores of PUs {pus}, memory on node {}",
                        place.pu(),
                        place.node
                    )?;
                    if let Some(note) = &place.note {
                        writeln!(f, "          {note}")?;
                    }
                }
                Err(why) => writeln!(f, "row       {name}: not measured: {why}")?,
            }
        }

        writeln!(f, "columns   {}", self.columns.join(", "))?;
        writeln!(f, "figures   {}", self.figures)?;
        if self.max_time != Duration::MAX {
            writeln!(f, "time      no further pass after {:.0} s of measuring", self.max_time.as_secs_f64())?;
        }
        f.write_str(&lines_of(&self.how))
    }
}
