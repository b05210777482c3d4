//! p2pBandwidthLatencyTest of the CUDA samples: matrices of GPUs, each below its title.
//!
//! What a cell counts is in p2pBandwidthLatencyTest.cu: with writes from row to column, with reads from
//! column to row; both directions of a bidirectional copy are added up; a cell of a GPU with itself counts
//! each byte twice, once read and once written. Samples before CUDA 10 do not name writes, and which way
//! their copies went is unknown. Latencies are of copies of 16 bytes or less: of the GPU, and what the CPU
//! took to start them. GB are 10^9 bytes; the size of the copies is not in the output.

use std::collections::BTreeSet;

use report::imported::ImportedUnit;

use super::error::{ImportError, ImportErrorKind, as_many};
use super::numbers::{begins_with_digit, looks_like_number, number, whole};
use super::stray::StrayLines;
use super::{Case, Program, Taken, figure};

/// The matrix of which GPUs reach each other.
const CONNECTIVITY: &str = "P2P Connectivity Matrix";

/// Lines that say nothing of a figure.
const ASIDE: [&str; 6] =
    ["[P2P (Peer-to-Peer)", "Device=", "***NOTE:", "So you can see lesser", "NOTE:", "P2P=Disabled Latency"];

/// A matrix under way.
struct Matrix {
    title: String,
    /// The line of its title.
    line: u64,
    /// The meaning of its cells; `None` where they say which GPUs reach each other.
    cells: Option<Cells>,
    /// The GPUs of the columns of the table under way; of latencies there are two tables.
    columns: Vec<u64>,
    /// How many rows the table has so far.
    rows: usize,
    /// A table of GPU times came, and none of CPU times yet.
    lacks_cpu_times: bool,
}

/// What the figures of a matrix are of.
#[derive(Clone)]
struct Cells {
    unit: ImportedUnit,
    scale: f64,
    is_p2p: bool,
    way: &'static str,
    /// What stands between a row's GPU and a column's.
    between: &'static str,
    is_cpu_time: bool,
}

#[derive(Default)]
struct Reader {
    taken: Taken,
    strays: StrayLines,
    names: Vec<String>,
    names_writes: bool,
    /// Pairs of GPUs of which the first cannot access the memory of the second.
    without_access: BTreeSet<(u64, u64)>,
    matrix: Option<Matrix>,
}

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let mut reader = Reader { names_writes: text.contains("(P2P Writes)"), ..Reader::default() };
    for (line, words) in (1_u64..).zip(text.lines()) {
        reader.line(words.trim(), line)?;
    }
    reader.close_matrix()?;

    let Reader { mut taken, strays, names, .. } = reader;
    if taken.cases.is_empty() {
        let missing = "it has no matrix such as \"Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\"";
        return Err(ImportError::whole(ImportErrorKind::NotThis {
            program: Program::P2pMatrix.name(),
            missing,
        }));
    }
    if !taken.cases.iter().any(|case| case.id.starts_with("p2pBandwidthLatencyTest/latency/p2p")) {
        let last = "the last matrix of the program (P2P=Enabled Latency) is missing";
        taken.notes.push(format!("{last}: the output may be cut off"));
    }
    if !names.is_empty() {
        taken.fact("gpus", names.join(", "), true);
    }
    strays.note(&mut taken, Program::P2pMatrix.name());
    Ok(taken)
}

impl Reader {
    fn line(&mut self, words: &str, line: u64) -> Result<(), ImportError> {
        let cells = cells(words, self.names_writes);
        if cells.is_some() || words == CONNECTIVITY {
            self.close_matrix()?;
            self.matrix = Some(Matrix::new(words, line, cells));
        } else if let Some(columns) = columns(words, line)? {
            if let Some(matrix) = &mut self.matrix {
                matrix.begin_table(words, columns)?;
            }
        } else if let Some(matrix) = self.matrix.as_mut().filter(|_| is_row(words)) {
            matrix.rows += 1;
            let row = Row::of(matrix, words, line)?;
            match &matrix.cells {
                Some(cells) => self.taken.cases.extend(row.cases(cells, &self.without_access)?),
                None => self.without_access.extend(row.pairs_without_access()),
            }
        } else if let Some(pair) = pair_without_access(words) {
            self.without_access.insert(pair);
        } else if let Some((_, rest)) = words.strip_prefix("Device: ").and_then(|rest| rest.split_once(", "))
        {
            self.names.push(rest.split(", pciBusID").next().unwrap_or(rest).to_owned());
        } else if !(words.is_empty() || ASIDE.iter().any(|aside| words.starts_with(aside))) {
            self.strays.push(line, words);
        }

        Ok(())
    }

    /// Another matrix begins, or the text ends: the one under way must be whole.
    fn close_matrix(&mut self) -> Result<(), ImportError> {
        self.matrix.take().map_or(Ok(()), |matrix| matrix.close())
    }
}

impl Matrix {
    fn new(title: &str, line: u64, cells: Option<Cells>) -> Self {
        let title = title.to_owned();
        Self { title, line, cells, columns: Vec::new(), rows: 0, lacks_cpu_times: false }
    }

    /// Begins a table below the title: `D\D  0  1`; of latencies `GPU  0  1`, and then `CPU  0  1`.
    fn begin_table(&mut self, words: &str, columns: Vec<u64>) -> Result<(), ImportError> {
        if !self.columns.is_empty() {
            self.check_rows()?;
        }
        (self.columns, self.rows) = (columns, 0);
        self.lacks_cpu_times = words.starts_with("GPU");
        if let Some(cells) = &mut self.cells {
            cells.is_cpu_time = words.starts_with("CPU");
        }
        Ok(())
    }

    /// A table has a row for each column.
    fn check_rows(&self) -> Result<(), ImportError> {
        let (rows, columns) = (self.rows, self.columns.len());
        match rows == columns && columns > 0 {
            true => Ok(()),
            false => Err(self.truncated(&format!("{rows} rows and {columns} columns"))),
        }
    }

    fn close(self) -> Result<(), ImportError> {
        self.check_rows()?;
        if self.lacks_cpu_times { Err(self.truncated("no CPU times")) } else { Ok(()) }
    }

    fn truncated(&self, extent: &str) -> ImportError {
        ImportError::truncated(self.line, format!("{:?} has {extent}", self.title))
    }
}

/// `Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)`, `P2P=Disabled Latency Matrix (us)`.
fn cells(title: &str, names_writes: bool) -> Option<Cells> {
    let (kind, unit) = title.split_once(" Matrix (")?;
    let (unit, scale) = match unit.trim_end_matches(')') {
        "GB/s" => (ImportedUnit::BytesPerS, 1e9),
        "us" => (ImportedUnit::Ns, 1e3),
        _ => return None,
    };
    let (way, between) = match () {
        () if kind.starts_with("Bidirectional") => ("both directions added up", "<->"),
        () if kind.contains("(P2P Reads)") => ("reads", "<-"),
        () if names_writes => ("writes", "->"),
        () => ("unknown direction", "and"),
    };

    let is_p2p = kind.contains("P2P=Enabled");
    Some(Cells { unit, scale, is_p2p, way, between, is_cpu_time: false })
}

/// The numbers of the columns: `D\D  0  1`, or of latencies `GPU  0  1` and `CPU  0  1`.
fn columns(words: &str, line: u64) -> Result<Option<Vec<u64>>, ImportError> {
    let mut cells = words.split_whitespace();
    if !matches!(cells.next(), Some("D\\D" | "GPU" | "CPU")) {
        return Ok(None);
    }
    let numbers: Vec<&str> = cells.collect();
    if numbers.is_empty() || !numbers.iter().all(|cell| cell.bytes().all(|byte| byte.is_ascii_digit())) {
        return Ok(None);
    }
    numbers.into_iter().map(|cell| whole(cell, line, "a GPU's number")).collect::<Result<_, _>>().map(Some)
}

/// The GPUs of `Device=0 CANNOT Access Peer Device=1`.
fn pair_without_access(words: &str) -> Option<(u64, u64)> {
    let (from, to) = words.strip_prefix("Device=")?.split_once(" CANNOT Access Peer Device=")?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

/// Whether a line is numbers alone, or has what a program prints in their place.
fn is_row(words: &str) -> bool {
    begins_with_digit(words) && words.split_whitespace().all(looks_like_number)
}

/// A row of a matrix: its GPU, and the cell of each column's GPU.
struct Row<'w> {
    from: u64,
    cells: Vec<(u64, &'w str)>,
    line: u64,
}

impl<'w> Row<'w> {
    fn of(matrix: &Matrix, words: &'w str, line: u64) -> Result<Self, ImportError> {
        let cells: Vec<&str> = words.split_whitespace().collect();
        let from = whole(cells[0], line, "a GPU's number")?;
        as_many(cells.len(), matrix.columns.len() + 1, line)?;
        let cells = matrix.columns.iter().copied().zip(cells.into_iter().skip(1)).collect();
        Ok(Self { from, cells, line })
    }

    fn pairs_without_access(&self) -> impl Iterator<Item = (u64, u64)> {
        self.cells.iter().filter(|(_, cell)| *cell == "0").map(|(to, _)| (self.from, *to))
    }

    /// Its figures. A copy between GPUs that do not reach each other goes through host memory, also with
    /// P2P enabled.
    fn cases(&self, of: &Cells, without_access: &BTreeSet<(u64, u64)>) -> Result<Vec<Case>, ImportError> {
        let is_rate = of.unit == ImportedUnit::BytesPerS;
        let quantity = if is_rate { "bandwidth" } else { "latency" };
        let cpu_time = if of.is_cpu_time { "/CPU time" } else { "" };
        let inside = if is_rate { "/inside, read and write counted" } else { "/inside" };

        let case = |(to, cell): &(u64, &str)| {
            let access = match (of.is_p2p, without_access.contains(&(self.from, *to))) {
                (false, _) => "no p2p",
                (true, false) => "p2p",
                (true, true) => "p2p not possible, fell back",
            };
            let (inside, place) = match self.from == *to {
                true => (inside, format!("GPU {to}")),
                false => ("", format!("GPU {} {} GPU {to}", self.from, of.between)),
            };
            Ok(Case {
                id: format!("p2pBandwidthLatencyTest/{quantity}/{access}/{}{cpu_time}{inside}", of.way),
                place,
                bytes: None,
                unit: of.unit,
                figure: figure(number(cell, self.line, "a figure")?, of.scale),
                line: Some(self.line),
            })
        };
        self.cells.iter().map(case).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISABLED: &str = "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n     \
        0 2474.76  37.19 \n";
    const ENABLED: &str = "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n";
    const TABLE: &str = "   D\\D     0      1 \n     0 2494.76 371.02 \n     1  37.81 2509.22 \n";

    #[test]
    fn a_matrix_that_is_cut_off_is_refused_with_the_line_of_its_title() {
        let latency = "P2P=Enabled Latency Matrix (us)\n   GPU     0      1 \n     0   2.61  14.95 \n     \
            1  11.09   2.10 \n";
        let row = "     1  36.36 2512.44 \n";

        for (text, said) in [
            (DISABLED.to_owned(), "line 1: the output ends in the middle: \"Unidirectional P2P=Disabled"),
            (format!("{DISABLED}{ENABLED}{TABLE}"), "(GB/s)\" has 1 rows and 2 columns"),
            (format!("{DISABLED}{row}{ENABLED}"), "line 5: the output ends in the middle"),
            (latency.to_owned(), "\"P2P=Enabled Latency Matrix (us)\" has no CPU times"),
            (
                format!("P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     1\n{DISABLED}"),
                "line 1:",
            ),
        ] {
            let refused = take(&text).map_or_else(|error| error.to_string(), |_| "taken".to_owned());
            assert!(refused.contains(said), "{refused}\n  is not  {said}");
        }
        let part = take(&format!("{DISABLED}{row}")).map(|taken| taken.notes).unwrap_or_default();
        assert!(part.iter().any(|note| note.ends_with("the output may be cut off")), "{part:?}");
    }

    #[test]
    fn a_pair_without_access_copies_through_host_memory_also_where_p2p_is_enabled() -> Result<(), ImportError>
    {
        let devices = "Device=0 CAN Access Peer Device=1\nDevice=1 CANNOT Access Peer Device=0\n";
        let matrix =
            "P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     1\n     1\t     0     1\n";

        for said in [devices, matrix] {
            let ids: Vec<String> =
                take(&format!("{said}{ENABLED}{TABLE}"))?.cases.into_iter().map(|case| case.id).collect();
            assert_eq!(
                [&ids[1][..], &ids[2][..]],
                [
                    "p2pBandwidthLatencyTest/bandwidth/p2p/writes",
                    "p2pBandwidthLatencyTest/bandwidth/p2p not possible, fell back/writes"
                ]
            );
        }
        Ok(())
    }
}
