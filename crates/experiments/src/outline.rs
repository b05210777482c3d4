//! A measurement as it would be carried out, without touching a GPU: rows, columns and figures.

use std::fmt;
use std::time::Duration;

use placement::Row;

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
        Ok(())
    }
}
