//! What TransferBench prints: the tables of a configuration file's tests, and the matrices of its preset
//! `p2p` (of `a2a` and `scaling`: `transferbench_presets`); with borders, without, and as CSV
//! (`OUTPUT_TO_CSV=1`).
//!
//! A test is known by its number, for that is what its configuration file gives it; a transfer by its number
//! in the test, and its place by what it copies through what (`G0 -> G0:4 -> G1`). All rates are averages
//! over the program's iterations. Left out: single iterations (`SHOW_ITERATIONS`), the tables of other
//! presets, and the CSV of versions before 1.5, which had other columns.

use std::collections::BTreeMap;

use report::imported::{ImportedStatus, ImportedUnit};

use super::error::{ImportError, ImportErrorKind, as_many, short};
use super::numbers::{begins_with_digit, number, whole};
use super::transferbench_presets::PresetReader;
use super::{Case, CaseFigure, Program, Taken, figure};

/// A test under way: its number, and where it began.
struct Test {
    number: u64,
    line: u64,
}

/// A matrix of `p2p` under way.
struct Peers {
    name: &'static str,
    line: u64,
    columns: Vec<String>,
    /// The rows that came.
    rows: BTreeMap<String, u32>,
}

#[derive(Default)]
struct Reader {
    taken: Taken,
    tests: u64,
    test: Option<Test>,
    peers: Option<Peers>,
    bytes: Option<u64>,
    /// The first error that came with no test under way, and its line.
    error: Option<(u64, String)>,
    /// The heading of a preset that is not read, and its line.
    preset: Option<(u64, String)>,
    /// Presets that have a table of their own.
    presets: PresetReader,
}

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let mut reader = Reader::default();
    for (line, words) in (1_u64..).zip(text.lines()) {
        reader.line(words.trim(), line)?;
    }
    reader.ended()?;
    reader.presets.ended()?;
    let Reader { mut taken, error, preset, presets, .. } = reader;
    taken.notes.extend(presets.note());
    taken.facts.extend(presets.facts);
    taken.cases.extend(presets.cases);

    if let Some((line, test)) = &preset
        && !taken.cases.is_empty()
    {
        taken.notes.push(format!("line {line}: {test} is not read here"));
    }

    if let Some((line, test)) = preset.filter(|_| taken.cases.is_empty()) {
        let known = "the tests of a configuration file and the presets p2p, a2a and scaling are";
        return Err(ImportError::at(line, ImportErrorKind::UnknownTest { test, known }));
    }

    if taken.cases.is_empty() {
        let program = Program::TransferBench.name();
        let missing = "it has no rows \"Executor: …\" or \"GPU 00 -> …\"";
        return Err(ImportError::whole(match error {
            Some((_, said)) if taken.version.is_some() => ImportErrorKind::NoFigures { said },
            _ => ImportErrorKind::NotThis { program, missing },
        }));
    }
    // An error between tests costs those that were to follow.
    if let Some((line, said)) = error
        && !taken.cases.iter().any(|case| case.figure.is_err())
    {
        taken.cases.push(failed("transferbench/error".to_owned(), "what follows the error", said, line));
    }
    Ok(taken)
}

impl Reader {
    fn line(&mut self, words: &str, line: u64) -> Result<(), ImportError> {
        if let Some((_, rest)) = words.split_once("TransferBench v").filter(|_| self.taken.version.is_none())
        {
            let version =
                rest.split(|c: char| c.is_whitespace() || ",)".contains(c)).next().unwrap_or_default();
            self.taken.version = Some(version.to_owned());
        }

        if self.presets.line(words, line)? {
            return Ok(());
        }

        // CSV has a comma behind each cell; elsewhere a comma is no separator, so that one in a number is
        // seen.
        let is_csv = words.ends_with(',');
        let spaced = words.replace(['|', '│'], " ");
        let spaced = if is_csv { spaced.replace(',', " ") } else { spaced };
        let cells: Vec<&str> = spaced.split_whitespace().collect();

        match cells[..] {
            ["Test", number, ..] if words.starts_with("Test ") && words.ends_with(':') => {
                self.ended()?;
                self.tests = whole(number.trim_end_matches(':'), line, "the number of a test")?;
                self.test = Some(Test { number: self.tests, line });
            }
            ["Executor:", ..] => self.executor(&cells, line)?,
            ["Transfer", number, ..] if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.within(words, line)?;
                let number = whole(number, line, "the number of a transfer")?;
                let row = Row::of(&cells[2..], line)?;
                let place = row.rest.iter().map(|part| plain(part)).collect::<Vec<_>>().join(" ");
                self.rate(&format!("transfer {number}"), place, &row, line);
            }
            ["Aggregate", "(CPU)", ..] => {
                self.within(words, line)?;
                let row = Row::of(&cells[2..], line)?;
                self.rate("aggregate", "all transfers".to_owned(), &row, line);
                self.test = None;
            }
            [.., "benchmark:"] => {
                self.preset.get_or_insert((line, format!("the preset {:?}", short(words))));
            }
            ["Bytes", "Per", "Direction", bytes, ..] => {
                self.bytes = Some(whole(bytes, line, "a size in bytes")?)
            }
            ["Unidirectional" | "Bidirectional", "copy", ..] => {
                self.ended()?;
                // `… GB/s [Local read / Remote write] (GPU-Executor: GFX)`.
                if let Some((_, how)) = words.split_once("GB/s [") {
                    self.taken.fact("copies of p2p", format!("[{}", how.trim_end_matches([',', ' '])), true);
                }
                let name =
                    if cells[0] == "Unidirectional" { "p2p-unidirectional" } else { "p2p-bidirectional" };
                self.peers = Some(Peers { name, line, columns: Vec::new(), rows: BTreeMap::new() });
            }
            [first, ..] if first.starts_with("SRC") && first.contains("DST") => self.columns(&cells[1..]),
            ["CPU" | "GPU", index, arrow, ..] if self.peers.is_some() => {
                self.peer(cells[0], index, arrow, &cells[3..], line)?;
            }
            [first, ..] if first.starts_with("[ERROR]") || first.starts_with("ERROR") => {
                self.error.get_or_insert((line, short(words)));
                // The program ends at an error: what was under way has no figures.
                if let Some(Test { number, line }) = self.test.take() {
                    let id = format!("transferbench/test {number}");
                    self.taken.cases.push(failed(id, "all transfers", short(words), line));
                } else if let Some(Peers { name, line, .. }) = self.peers.take() {
                    let id = format!("transferbench/{name}");
                    self.taken.cases.push(failed(id, "the rows that are missing", short(words), line));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// `Executor: GPU 00 56.299 GB/s 4.768 ms 268435456 bytes 56.309 GB/s (sum)`, with `Rank 0` before it on
    /// several nodes.
    fn executor(&mut self, cells: &[&str], line: u64) -> Result<(), ImportError> {
        if self.test.is_none() {
            // CSV has no line that begins a test.
            self.tests += 1;
            self.test = Some(Test { number: self.tests, line });
        }

        let (rank, rest) = match cells {
            [_, "Rank", rank, rest @ ..] => (format!("rank {rank} "), rest),
            [_, rest @ ..] => (String::new(), rest),
            [] => (String::new(), cells),
        };
        let [kind, index, rest @ ..] = rest else {
            return Err(ImportError::at(line, ImportErrorKind::Columns { found: cells.len(), wanted: 11 }));
        };
        let index = whole(index, line, "the number of an executor")?;
        let row = Row::of(rest, line)?;
        self.rate("executor", format!("{rank}{kind} {index}"), &row, line);
        Ok(())
    }

    /// A row of a test must be in one: without its beginning nobody knows of which.
    fn within(&self, words: &str, line: u64) -> Result<(), ImportError> {
        let stray = || ImportError::stray(line, words, "a test of TransferBench that has begun");
        self.test.as_ref().map(|_| ()).ok_or_else(stray)
    }

    fn rate(&mut self, what: &str, place: String, row: &Row<'_>, line: u64) {
        let Some(test) = &self.test else { return };
        let id = format!("transferbench/test {}/{what}/{}", test.number, row.bytes);
        self.figure(id, place, Some(row.bytes), row.rate, line);
    }

    /// `CPU 00 CPU 01 GPU 00`.
    fn columns(&mut self, cells: &[&str]) {
        let Some(peers) = self.peers.as_mut().filter(|peers| peers.columns.is_empty()) else { return };
        peers.columns = cells
            .chunks(2)
            .map(|pair| pair.iter().map(|part| plain(part)).collect::<Vec<_>>().join(" "))
            .collect();
    }

    /// `CPU 00 -> 24.37 25.62`; rows of `min`, `max` and `sd` are of iterations.
    fn peer(
        &mut self,
        kind: &str,
        index: &str,
        arrow: &str,
        cells: &[&str],
        line: u64,
    ) -> Result<(), ImportError> {
        let bytes = self.bytes;
        let Some(peers) = self.peers.as_mut() else { return Ok(()) };
        if !matches!(arrow, "->" | "<-" | "<->") {
            return Ok(());
        }
        as_many(cells.len(), peers.columns.len(), line)?;
        let row = format!("{kind} {}", plain(index));
        let name = bytes.map_or(peers.name.to_owned(), |bytes| format!("{}/{bytes}", peers.name));
        *peers.rows.entry(row.clone()).or_default() += 1;
        let mut rates = Vec::new();
        for (column, text) in peers.columns.iter().zip(cells).filter(|(_, text)| **text != "N/A") {
            rates.push((format!("{row} {arrow} {column}"), number(text, line, "a rate in GB/s")?));
        }
        for (place, rate) in rates {
            self.figure(format!("transferbench/{name}"), place, bytes, rate, line);
        }

        Ok(())
    }

    fn figure(&mut self, id: String, place: String, bytes: Option<u64>, rate: f64, line: u64) {
        self.taken.cases.push(case(id, place, bytes, figure(rate, 1e9), line));
    }

    /// Another part begins, or the text ends: what was under way must be whole.
    fn ended(&mut self) -> Result<(), ImportError> {
        if let Some(Test { number, line }) = self.test.take() {
            return Err(ImportError::truncated(
                line,
                format!("test {number} has no row \"Aggregate (CPU)\""),
            ));
        }

        let Some(Peers { name, line, columns, rows }) = self.peers.take() else { return Ok(()) };

        // Bidirectional matrices have three rows for each device.
        let wanted = if name == "p2p-bidirectional" { 3 } else { 1 };
        let lacking = columns.iter().find(|device| rows.get(&device[..]).copied().unwrap_or(0) < wanted);

        match lacking {
            Some(device) => {
                Err(ImportError::truncated(line, format!("the matrix {name} has not all rows of {device}")))
            }
            None if columns.is_empty() => {
                Err(ImportError::truncated(line, format!("the matrix {name} has no columns")))
            }
            None => Ok(()),
        }
    }
}

/// A case that an error cost its figures.
fn failed(id: String, place: &str, reason: String, line: u64) -> Case {
    case(id, place.to_owned(), None, Err((ImportedStatus::Failed, reason)), line)
}

fn case(id: String, place: String, bytes: Option<u64>, figure: CaseFigure, line: u64) -> Case {
    Case { id, place, bytes, unit: ImportedUnit::BytesPerS, figure, line: Some(line) }
}

/// The figures of a row: `56.299 GB/s 4.768 ms 268435456 bytes`, and what comes after.
struct Row<'w> {
    rate: f64,
    bytes: u64,
    rest: Vec<&'w str>,
}

impl<'w> Row<'w> {
    fn of(cells: &[&'w str], line: u64) -> Result<Self, ImportError> {
        let [rate, "GB/s", ms, "ms", bytes, "bytes", rest @ ..] = cells else {
            // The first of its words that is not as it is to be is the one to name.
            let commas = cells.iter().find(|cell| cell.contains(','));
            if let Some(comma) = commas {
                number(comma, line, "a figure")?;
            }
            let of = "a table of TransferBench (RATE GB/s, TIME ms, SIZE bytes)";
            return Err(ImportError::stray(line, &cells.join(" "), of));
        };
        number(ms, line, "a time in ms")?;
        Ok(Self {
            rate: number(rate, line, "a rate in GB/s")?,
            bytes: whole(bytes, line, "a size in bytes")?,
            rest: rest.to_vec(),
        })
    }
}

/// Numbers without the zeroes that versions before 1.63 put before them: `G000:004` is `G0:4`.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for (at, c) in text.char_indices() {
        let is_within_number = plain.ends_with(|last: char| last.is_ascii_digit());
        if c != '0' || is_within_number || !begins_with_digit(&text[at + 1..]) {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use report::imported::ImportedFact;

    use super::*;

    #[test]
    fn a_preset_that_is_not_read_is_named() {
        let text = "TransferBench v1.62\nGPU-RDMA All-To-All benchmark:\n=====\n\
            SRC\\DST  GPU 00     GPU 01        STotal      Actual\n\
            GPU 00    45.100     45.120       90.220      90.200\n";
        let refused = take(text).unwrap_err();
        assert_eq!(refused.line, Some(2));
        assert!(
            refused.to_string().contains("the preset \"GPU-RDMA All-To-All benchmark:\" is not read here"),
            "{refused}"
        );
    }

    #[test]
    fn an_error_behind_a_test_is_a_case_that_failed() -> Result<(), ImportError> {
        let test = "TransferBench v1.62\nTest 1:\n Executor: GPU 00 | 56.299 GB/s | 4.768 ms | 268435456 \
            bytes | 56.309 GB/s (sum)\n Aggregate (CPU) | 55.015 GB/s | 4.879 ms | 268435456 bytes\n";
        let error = "[ERROR] HIP Error: invalid device\n[ERROR] gone\n";
        let cases = take(&format!("{test}{error}"))?.cases;
        let failed = (ImportedStatus::Failed, "[ERROR] HIP Error: invalid device".to_owned());
        assert_eq!((cases.len(), cases[2].line, &cases[2].figure), (3, Some(5), &Err(failed)));
        Ok(())
    }

    #[test]
    fn peers_say_how_they_were_copied_so_that_other_copies_are_not_compared() -> Result<(), ImportError> {
        let how = "[Remote read / Local write] (GPU-Executor: DMA)";
        let matrix = format!(
            "Bytes Per Direction 4194304\nUnidirectional copy peak bandwidth GB/s {how}\n SRC+EXE\\DST  GPU \
             00  GPU 01\n  GPU 00  ->  108.95  64.58\n  GPU 01  ->  66.52  109.18\n"
        );
        let facts = take(&matrix)?.facts;
        let fact = ImportedFact { name: "copies of p2p".to_owned(), value: how.to_owned(), essential: true };
        assert_eq!(facts, [fact]);
        Ok(())
    }

    #[test]
    fn a_preset_that_is_not_read_is_named_beside_figures_too() {
        let test = "Test 1:\n Executor: GPU 00 | 56.299 GB/s | 4.768 ms | 268435456 bytes | 56.309 GB/s \
            (sum)\n Aggregate (CPU) | 55.015 GB/s | 4.879 ms | 268435456 bytes | Overhead: 0.111 ms\n";
        let taken = take(&format!("TransferBench v1.62\nGPU-RDMA All-To-All benchmark:\n{test}")).unwrap();
        assert_eq!(taken.cases.len(), 2);
        assert_eq!(taken.notes, ["line 2: the preset \"GPU-RDMA All-To-All benchmark:\" is not read here"]);
    }
}
