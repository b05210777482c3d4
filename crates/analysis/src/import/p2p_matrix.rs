//! p2pBandwidthLatencyTest of the CUDA samples: matrices of GPUs, each below its title.
//!
//! What a cell counts is in p2pBandwidthLatencyTest.cu: with writes from row to column, with reads from
//! column to row; both directions of a bidirectional copy are added up; a cell of a GPU with itself counts
//! each byte twice, once read and once written. Samples before CUDA 10 do not name writes, and which way
//! their copies went is unknown. Latencies are of copies of 16 bytes or less: of the GPU, and what the CPU
//! took to start them. GB are 10^9 bytes; the size of the copies is not in the output.

use report::imported::ImportedUnit;

use super::error::{ImportError, ImportErrorKind, as_many};
use super::numbers::{looks_like_number, number, whole};
use super::stray::StrayLines;
use super::{Case, Program, Taken, figure};

/// A matrix: what it is of.
#[derive(Clone)]
struct Matrix {
    id: String,
    unit: ImportedUnit,
    scale: f64,
    /// What is between a row's GPU and a column's.
    between: &'static str,
    columns: Vec<u64>,
}

/// Lines that say nothing of a figure.
const ASIDE: [&str; 7] = [
    "[P2P (Peer-to-Peer)",
    "Device=",
    "***NOTE:",
    "So you can see lesser",
    "NOTE:",
    "P2P Connectivity Matrix",
    "P2P=Disabled Latency",
];

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let mut taken = Taken::default();
    let mut strays = StrayLines::default();
    let mut names: Vec<&str> = Vec::new();
    let mut matrix: Option<Matrix> = None;
    let names_writes = text.contains("(P2P Writes)");

    for (line, words) in (1_u64..).zip(text.lines()) {
        let words = words.trim();
        if let Some(found) = title(words, names_writes) {
            matrix = Some(found);
        } else if words == "P2P Connectivity Matrix" {
            // Whether GPUs reach each other is no figure.
            matrix = None;
        } else if let Some(columns) = columns(words, line)? {
            if let Some(matrix) = &mut matrix {
                matrix.begin(words, columns);
            }
        } else if words.starts_with(|first: char| first.is_ascii_digit()) && is_row(words) {
            if let Some(matrix) = &matrix {
                taken.cases.extend(row(matrix, words, line)?);
            }
        } else if let Some((_, rest)) = words.strip_prefix("Device: ").and_then(|rest| rest.split_once(", "))
        {
            names.push(rest.split(", pciBusID").next().unwrap_or(rest));
        } else if !(words.is_empty() || ASIDE.iter().any(|aside| words.starts_with(aside))) {
            strays.push(line, words);
        }
    }

    if taken.cases.is_empty() {
        let missing = "it has no matrix such as \"Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\"";
        return Err(ImportError::whole(ImportErrorKind::NotThis {
            program: Program::P2pMatrix.name(),
            missing,
        }));
    }
    if !names.is_empty() {
        taken.fact("gpus", names.join(", "), true);
    }
    strays.note(&mut taken, Program::P2pMatrix.name());
    Ok(taken)
}

/// `Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)`, `P2P=Disabled Latency Matrix (us)`.
fn title(words: &str, names_writes: bool) -> Option<Matrix> {
    let (kind, unit) = words.split_once(" Matrix (")?;
    let (unit, scale) = match unit.trim_end_matches(')') {
        "GB/s" => (ImportedUnit::BytesPerS, 1e9),
        "us" => (ImportedUnit::Ns, 1e3),
        _ => return None,
    };
    let access = if kind.contains("P2P=Enabled") { "p2p" } else { "no p2p" };
    let is_bidirectional = kind.starts_with("Bidirectional");
    let (way, between) = match () {
        () if is_bidirectional => ("both directions added up", "<->"),
        () if kind.contains("(P2P Reads)") => ("reads", "<-"),
        () if names_writes => ("writes", "->"),
        () => ("unknown direction", "and"),
    };
    let quantity = if unit == ImportedUnit::Ns { "latency" } else { "bandwidth" };

    Some(Matrix { id: format!("{quantity}/{access}/{way}"), unit, scale, between, columns: Vec::new() })
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

impl Matrix {
    /// Begins a table below the title; of latencies there are two.
    fn begin(&mut self, words: &str, columns: Vec<u64>) {
        self.columns = columns;
        let base = self.id.trim_end_matches("/CPU time").to_owned();
        self.id = if words.starts_with("CPU") { format!("{base}/CPU time") } else { base };
    }
}

/// Whether a line is numbers alone, or has what a program prints in their place.
fn is_row(words: &str) -> bool {
    words.split_whitespace().all(looks_like_number)
}

fn row(matrix: &Matrix, words: &str, line: u64) -> Result<Vec<Case>, ImportError> {
    let cells: Vec<&str> = words.split_whitespace().collect();
    let from = whole(cells[0], line, "a GPU's number")?;
    as_many(cells.len(), matrix.columns.len() + 1, line)?;
    let case = |(to, cell): (&u64, &&str)| -> Result<Case, ImportError> {
        let (id, place) = match from == *to {
            true if matrix.unit == ImportedUnit::BytesPerS => {
                (format!("{}/inside, read and write counted", matrix.id), format!("GPU {from}"))
            }
            true => (format!("{}/inside", matrix.id), format!("GPU {from}")),
            false => (matrix.id.clone(), format!("GPU {from} {} GPU {to}", matrix.between)),
        };
        let value = number(cell, line, "a figure")?;
        let figure = figure(value, matrix.scale);
        Ok(Case {
            id: format!("p2pBandwidthLatencyTest/{id}"),
            place,
            bytes: None,
            unit: matrix.unit,
            figure,
            line: Some(line),
        })
    };

    matrix.columns.iter().zip(&cells[1..]).map(case).collect()
}
