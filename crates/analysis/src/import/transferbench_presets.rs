//! What TransferBench prints of its presets `a2a` and `scaling`, as tables or as CSV.
//!
//! Of `a2a` each pair's rate while all pairs copy at once, and the sums over all; the sums of a row or a
//! column are left out, for they add what stands beside them, and so is `Actual`, which versions count in
//! different ways. Of `scaling` the rate of one GPU's kernel to each device, by compute units; the row `Best`
//! repeats rows above it. A rate counts the bytes of a transfer once.

use report::imported::{ImportedFact, ImportedUnit};

use super::error::{ImportError, as_many};
use super::numbers::{number, whole};
use super::{Case, figure};

/// The preset under way.
enum Preset {
    AllToAll,
    /// The GPU that copies.
    Scaling {
        from: String,
    },
}

/// A preset's table under way.
struct Table {
    preset: Preset,
    bytes: u64,
    /// Where it began.
    line: u64,
    columns: Vec<String>,
    rows: usize,
}

/// The cases of presets, and where reading them stands.
#[derive(Default)]
pub(super) struct PresetReader {
    pub cases: Vec<Case>,
    /// How the transfers of `a2a` were made: other ones are not compared.
    pub facts: Vec<ImportedFact>,
    /// `a2a` prints its transfers as a test before its table, and sums behind it.
    bytes: Option<u64>,
    table: Option<Table>,
    /// What must still come for the last table to be whole.
    lacking: Option<&'static str>,
}

impl PresetReader {
    /// Whether this line is one of a preset that is read; another one is the reader's of tests.
    pub fn line(&mut self, words: &str, line: u64) -> Result<bool, ImportError> {
        let spaced = words.replace(',', " ");
        let cells: Vec<&str> = spaced.split_whitespace().collect();

        match cells[..] {
            [name @ ("A2A_MODE" | "USE_DMA_EXEC"), "=", value, ..]
            | [name @ ("A2A_MODE" | "USE_DMA_EXEC"), value, ..] => self.fact(name, value),
            ["GPU-GFX", "All-To-All" | "Scaling", "benchmark:"] => self.ended()?,
            [.., "benchmark:"] => {
                self.bytes = None;
                return self.ended().map(|()| false);
            }
            ["-", "Copying", bytes, "bytes", "from", "GPU", from, ..] => {
                let from = format!("GPU {}", whole(from, line, "a GPU")?);
                self.begin(Preset::Scaling { from }, whole(bytes, line, "a size in bytes")?, line);
            }
            ["-", "Copying", bytes, "bytes", "between", ..] if words.contains("CUs") => {
                let bytes = whole(bytes, line, "a size in bytes")?;
                self.bytes = Some(bytes);
                // `… between directly connected pairs of GPUs using 8 CUs (6 Transfers)`.
                let how = words.split_once(" between ").map_or("", |(_, how)| how);
                self.fact("copies of a2a", how.split(" (").next().unwrap_or(how));
                // Without a pair that it may copy between the program ends here.
                if !words.contains("(0 Transfers)") {
                    self.begin(Preset::AllToAll, bytes, line);
                }
            }
            ["SRC\\DST", "GPU", ..] if self.bytes.is_some() => self.columns(pairs(&cells[1..])),
            ["NumCUs", ref devices @ ..] if self.table.is_some() => {
                self.columns(devices.iter().map(|device| device_name(device)).collect());
            }
            ["Aggregate", "bandwidth", timed @ ("(GPU" | "(CPU"), "Timed):", rate, ..] => {
                self.sum(timed.trim_start_matches('('), rate, line)?;
            }
            ["RTotal", ..] => return self.ended().map(|()| true),
            ["Best", ..] => {
                self.lacking = None;
                return self.ended().map(|()| true);
            }
            [_, ..] if self.table.as_ref().is_some_and(|table| !table.columns.is_empty()) => {
                return self.row(&cells, line);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Another part begins, or the text ends: a table under way must be whole.
    pub fn ended(&mut self) -> Result<(), ImportError> {
        let Some(table) = self.table.take() else { return Ok(()) };
        let wanted = match table.preset {
            Preset::AllToAll => table.columns.iter().filter(|column| column.starts_with("GPU")).count(),
            Preset::Scaling { .. } => 1,
        };
        match table.rows >= wanted.max(1) {
            true => Ok(()),
            false => Err(ImportError::truncated(
                table.line,
                format!("its table has {} of {wanted} rows", table.rows),
            )),
        }
    }

    fn fact(&mut self, name: &str, value: &str) {
        let fact = ImportedFact { name: name.to_owned(), value: value.to_owned(), essential: true };
        self.facts.push(fact);
    }

    /// That the last table may be cut off; nothing of whole ones.
    pub fn note(&self) -> Option<String> {
        self.lacking.map(|what| format!("{what} missing: the output may be cut off"))
    }

    fn begin(&mut self, preset: Preset, bytes: u64, line: u64) {
        self.lacking = Some(match preset {
            Preset::AllToAll => "the sums of a2a (Aggregate bandwidth) are",
            Preset::Scaling { .. } => "the last row of scaling (Best) is",
        });
        self.table = Some(Table { preset, bytes, line, columns: Vec::new(), rows: 0 });
    }

    fn columns(&mut self, columns: Vec<String>) {
        if let Some(table) = &mut self.table {
            table.columns = columns;
        }
    }

    /// `GPU 00 N/A 47.056 326.317 316.469` of `a2a`, `4 14.06 13.99` of `scaling`.
    fn row(&mut self, cells: &[&str], line: u64) -> Result<bool, ImportError> {
        let Some(table) = &mut self.table else { return Ok(false) };
        let bytes = table.bytes;
        let (id, from, rates) = match (&table.preset, cells) {
            (Preset::AllToAll, ["GPU", index, rates @ ..]) => {
                // Behind the rates stand the row's sum and what was reached.
                as_many(rates.len(), table.columns.len() + 2, line)?;
                let from = format!("GPU {}", whole(index, line, "a GPU")?);
                (format!("transferbench/a2a/{bytes}"), from, &rates[..table.columns.len()])
            }
            (Preset::Scaling { from }, [units, rates @ ..])
                if units.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                as_many(rates.len(), table.columns.len(), line)?;
                (format!("transferbench/scaling/{units} CUs/{bytes}"), from.clone(), rates)
            }
            _ => return Ok(false),
        };
        table.rows += 1;

        for (to, text) in table.columns.iter().zip(rates).filter(|(_, text)| **text != "N/A") {
            let rate = number(text, line, "a rate in GB/s")?;
            self.cases.push(case(id.clone(), format!("{from} -> {to}"), bytes, rate, line));
        }
        Ok(true)
    }

    /// The sum over all pairs, timed by the GPUs (each pair's own time) or by the CPU (the longest).
    fn sum(&mut self, timed: &str, rate: &str, line: u64) -> Result<(), ImportError> {
        let Some(bytes) = self.bytes else { return Ok(()) };
        let rate = number(rate, line, "a rate in GB/s")?;
        // The program prints what the CPU timed last.
        self.lacking = self.lacking.filter(|_| timed != "CPU");
        let id = format!("transferbench/a2a/sum timed by {timed}/{bytes}");
        self.cases.push(case(id, "all pairs".to_owned(), bytes, rate, line));
        Ok(())
    }
}

fn case(id: String, place: String, bytes: u64, rate: f64, line: u64) -> Case {
    Case {
        id,
        place,
        bytes: Some(bytes),
        unit: ImportedUnit::BytesPerS,
        figure: figure(rate, 1e9),
        line: Some(line),
    }
}

/// `GPU 00 GPU 01 NIC(01 QP) STotal Actual` without the sums.
fn pairs(cells: &[&str]) -> Vec<String> {
    let gpus = cells.chunks(2).take_while(|pair| pair[0] == "GPU");
    let mut columns: Vec<String> =
        gpus.filter_map(|pair| Some(device_name(&format!("GPU{}", pair.get(1)?)))).collect();
    if cells.iter().any(|cell| cell.starts_with("NIC(")) {
        columns.push("nearest NIC".to_owned());
    }
    columns
}

/// `GPU03` as `GPU 3`.
fn device_name(text: &str) -> String {
    let (kind, index) = text.split_at(text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len()));
    index.parse::<u32>().map_or(text.to_owned(), |index| format!("{kind} {index}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> Result<Option<String>, ImportError> {
        let mut reader = PresetReader::default();
        for (line, words) in (1_u64..).zip(text.lines()) {
            reader.line(words, line)?;
        }
        reader.ended()?;
        Ok(reader.note())
    }

    #[test]
    fn a_table_whose_last_line_is_missing_may_be_cut_off() -> Result<(), ImportError> {
        let pairs = "GPU-GFX All-To-All benchmark:\n\
            - Copying 1024 bytes between directly connected pairs of GPUs using 8 CUs (2 Transfers)\n\
            SRC\\DST  GPU 00  GPU 01  STotal  Actual\nGPU 00  N/A  46.1  46.1  46.1\n\
            GPU 01  46.2  N/A  46.2  46.2\nRTotal  46.2  46.1  92.3  46.1  46.2\n";
        let sums =
            "Aggregate bandwidth (GPU Timed):  92.3 GB/s\nAggregate bandwidth (CPU Timed):  80.1 GB/s\n";
        let scaling = "GPU-GFX Scaling benchmark:\n- Copying 1024 bytes from GPU 0 to other devices\n\
            NumCUs   CPU00   GPU00\n   1     14.10   20.30\n";

        for (text, last, what) in
            [(pairs, sums, "sums of a2a"), (scaling, "Best 14.10( 1) 20.30( 1)\n", "Best")]
        {
            let cut = note(text)?.unwrap_or_default();
            assert!(cut.contains(what) && cut.ends_with("the output may be cut off"), "{cut}");
            assert_eq!(note(&format!("{text}{last}"))?, None, "{text}");
        }
        Ok(())
    }
}
