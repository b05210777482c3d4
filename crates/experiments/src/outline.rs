//! A measurement as it would be carried out, without touching a GPU: rows, columns and figures.

use std::fmt;
use std::time::Duration;

use device::CopyBy;
use engine::{Amount, EngineConfig};
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
    /// How long measuring goes on at most; `None`: no limit.
    pub max_time: Option<Duration>,
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
    let (engine, default) = (args.engine, EngineConfig::default());
    let amount = (engine.amount != default.amount).then(|| match engine.amount {
        Amount::Fixed { reps, .. } => format!("{} a case", counted(reps as usize, "round")),
        Amount::Adaptive(rule) => {
            format!("until intervals are within ± {} %", (rule.target_half_width * 1e6).round() / 1e4)
        }
    });
    let seed = (engine.seed != default.seed).then(|| format!("seed {}", engine.seed));
    let pages = (!engine.huge_pages).then(|| "no huge pages".to_owned());
    let verified = (!engine.verify).then(|| "nothing verified".to_owned());
    let limit = engine.timeout.map(|limit| format!("given up after {} s", limit.as_secs_f64()));

    [amount, seed, pages, verified, limit].into_iter().flatten().collect()
}

/// How long measuring goes on at most, as a line of the plan; none where there is no limit.
pub(crate) fn time_line(limit: Option<Duration>) -> String {
    limit.map_or_else(String::new, |limit| {
        format!("time      no further pass after {:.0} s of measuring\n", limit.as_secs_f64())
    })
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
        f.write_str(&time_line(self.max_time))?;
        f.write_str(&lines_of(&self.how))
    }
}
