//! `--dry-run` of the suite's commands: rows, columns and figures, without touching a GPU.

use std::fmt::Write;
use std::time::Duration;

use placement::Row;

use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Prints the plan.
///
/// # Errors
/// Standard output cannot be written.
pub fn show(source: &str, rows: &[Row], columns: &[String], said: &str, max_time: Duration) -> Result<Exit, Fault> {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "Plan (dry run: no GPU was touched, nothing was measured)");
    let _ = writeln!(text, "platform  {source}");
    for row in rows {
        let _ = match &row.place {
            Ok(row_place) => {
                let pus: stats::IdSet = row_place.pus.iter().copied().collect();
                writeln!(
                    text,
                    "row       {}: PU {}, cores of PUs {pus}, memory on node {}",
                    row.name,
                    row_place.pu(),
                    row_place.node
                )
            }
            Err(why) => writeln!(text, "row       {}: not measured: {why}", row.name),
        };
        if let Ok(Some(note)) = row.place.as_ref().map(|row_place| &row_place.note) {
            let _ = writeln!(text, "          {note}");
        }
    }
    let _ = writeln!(text, "columns   {}", columns.join(", "));
    let _ = writeln!(text, "figures   {said}");
    if max_time != Duration::MAX {
        let _ = writeln!(text, "time      no further pass after {:.0} s of measuring", max_time.as_secs_f64());
    }
    terminal::print(text.as_bytes())?;
    Ok(Exit::Ok)
}
