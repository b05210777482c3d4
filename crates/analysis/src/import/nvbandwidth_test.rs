//! A test of nvbandwidth as it is read from text: its matrices, each with its sum.

use report::imported::{ImportedStatus, ImportedUnit};

use super::error::{ImportError, ImportErrorKind, as_many, short};
use super::numbers::{begins_with_digit, number};
use super::nvbandwidth_size::CopySize;
use super::{Case, Taken, figure};

/// The place of a test without figures.
pub(super) const ALL: &str = "all";
/// What stands at the end of a run, and in it.
const ASIDE: [&str; 11] = [
    "NOTE:",
    "Additional ",
    "Performance can",
    "Built from",
    "CUDA ",
    "MPI version",
    "MIN ",
    "MAX ",
    "AVG ",
    "COEFFICIENT_OF_VARIATION ",
    "Warning",
];

/// What the program's maker calls a case, wherever it is told.
pub(super) fn id(test: &str) -> String {
    format!("nvbandwidth/{}", test.trim())
}

/// A test under way; of one with several matrices, `part` is the last that is whole.
pub(super) struct Test {
    pub(super) name: String,
    pub(super) line: u64,
    pub(super) matrix: Option<Matrix>,
    part: Option<String>,
    /// The bytes of a copy, where the command line says them.
    bytes: Option<u64>,
    /// The first line before a matrix that is none of it, with its number: the program's word on why there is
    /// no matrix, unless one follows.
    said: Option<(u64, String)>,
}

impl Test {
    pub(super) fn new(name: &str, line: u64, size: &CopySize) -> Self {
        let name = name.trim_end_matches('.').to_owned();
        Self { name, line, matrix: None, part: None, bytes: size.bytes(), said: None }
    }
}

/// The last matrix of a test of copies both ways: both together.
pub(super) const TOTAL: &str = "total";

/// A matrix: what its title says, its columns, and its figures.
pub(super) struct Matrix {
    title: Title,
    columns: Vec<u32>,
    cells: Vec<(u32, u32, f64, u64)>,
}

/// What a matrix's title says: what rows and columns are, and what its figures count.
pub(super) struct Title {
    row: Option<String>,
    between: String,
    column: String,
    /// Of a matrix that is one of several, which: `read1`, `write2`, `total`.
    pub(super) part: Option<String>,
    pub(super) unit: ImportedUnit,
    pub(super) scale: f64,
}

impl Title {
    /// `memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)`, `memory latency SM CPU(row) <-> GPU(column)
    /// (ns)`, `memcpy local GPU(column) bandwidth (GB/s)`.
    pub(super) fn of(words: &str) -> Option<Self> {
        let (before, after) = words.split_once("(column)")?;
        let (part, unit) = after.split_once("bandwidth").unwrap_or(("", after));
        let (unit, scale) = match unit.trim() {
            "(GB/s)" => (ImportedUnit::BytesPerS, 1e9),
            "(ns)" => (ImportedUnit::Ns, 1.0),
            _ => return None,
        };
        let part = Some(part.trim().to_lowercase()).filter(|part| !part.is_empty());
        if part.as_ref().is_some_and(|part| part.contains(' ')) {
            return None;
        }
        let last = |text: &str| text.split_whitespace().next_back().map(str::to_owned);
        let column = last(before)?;
        let Some((rows, between)) = before.split_once("(row)") else {
            return Some(Self { row: None, between: String::new(), column, part, unit, scale });
        };
        let between = between.split_whitespace().next()?.to_owned();

        Some(Self { row: last(rows), between, column, part, unit, scale })
    }

    /// `CPU 0 -> GPU 1`; `GPU 1` where the row says nothing.
    pub(super) fn place(&self, row: u32, column: u32) -> String {
        match &self.row {
            Some(name) => format!("{name} {row} {} {} {column}", self.between, self.column),
            None => format!("{} {column}", self.column),
        }
    }
}

/// A line within a test: of a matrix, an aside, or one before a matrix whose meaning its end tells.
pub(super) fn within(test: &mut Test, taken: &mut Taken, words: &str, line: u64) -> Result<(), ImportError> {
    let is_sample = words.starts_with('\t') || words.trim_start().starts_with("Sample ");
    if is_sample || ASIDE.iter().any(|aside| words.starts_with(aside)) {
        return Ok(());
    }

    if let Some(title) = Title::of(words) {
        if let Some((number, said)) = test.said.take() {
            taken.notes.push(format!("line {number} is none of nvbandwidth's and was passed over: {said}"));
        }
        test.matrix = Some(Matrix { title, columns: Vec::new(), cells: Vec::new() });
        return Ok(());
    }

    let numbers: Vec<&str> = words.split_whitespace().collect();
    let is_row = numbers.first().is_some_and(|first| begins_with_digit(first));
    let Some(matrix) = test.matrix.as_mut() else {
        test.said.get_or_insert_with(|| (line, short(words)));
        return Ok(());
    };
    if !is_row {
        return Err(ImportError::stray(line, words, "a matrix of nvbandwidth"));
    }
    let index = |text: &str| {
        let refused =
            ImportErrorKind::NoNumber { text: short(text), wanted: "the number of a row or column" };
        text.parse().map_err(|_| ImportError::at(line, refused))
    };
    if matrix.columns.is_empty() {
        matrix.columns = numbers.into_iter().map(index).collect::<Result<_, _>>()?;
        return Ok(());
    }
    // The heading has no word above the rows' numbers.
    as_many(numbers.len().saturating_sub(1), matrix.columns.len(), line)?;
    let row = index(numbers[0])?;

    for (column, text) in matrix.columns.iter().zip(&numbers[1..]) {
        if *text != "N/A" {
            matrix.cells.push((row, *column, number(text, line, "a figure")?, line));
        }
    }
    Ok(())
}

/// The sum must be that of the cells, each of which is rounded to a hundredth.
pub(super) fn check_sum(test: &Test, sum: &str, line: u64) -> Result<(), ImportError> {
    let said = number(sum, line, "the sum")?;
    let cells = test.matrix.as_ref().map_or(&[][..], |matrix| &matrix.cells);
    let added: f64 = cells.iter().map(|cell| cell.2).sum();
    let rounding = 0.005 * (cells.len() + 1) as f64 + 1e-9 * said;
    if (added - said).abs() > rounding {
        return Err(ImportError::at(
            line,
            ImportErrorKind::Sum { sum: sum.to_owned(), added: format!("{added:.2}") },
        ));
    }
    Ok(())
}

/// Turns the matrix that is finished into cases.
pub(super) fn push_cases(taken: &mut Taken, test: &mut Test, part: &str) {
    let Some(Matrix { title, cells, .. }) = test.matrix.take() else { return };
    let id = id_of_part(&test.name, part);
    for (row, column, value, line) in cells {
        let (place, figure) = (title.place(row, column), figure(value, title.scale));
        let bytes = test.bytes.filter(|_| title.unit == ImportedUnit::BytesPerS);
        taken.cases.push(Case { id: id.clone(), place, bytes, unit: title.unit, figure, line: Some(line) });
    }
    test.part = Some(part.to_owned());
}

/// The case of one of several matrices, as the line of its sum calls it.
pub(super) fn id_of_part(test: &str, part: &str) -> String {
    if part.is_empty() { id(test) } else { format!("{}_{part}", id(test)) }
}

/// Closes a test that was still open when another began, or the text ended.
pub(super) fn close_test(taken: &mut Taken, test: Option<Test>, is_part: bool) -> Result<(), ImportError> {
    match test {
        Some(mut test @ Test { matrix: Some(_), part: None, .. }) if is_part && !test.name.is_empty() => {
            let name = &test.name;
            taken.notes.push(format!(
                "line {}: {name} has no SUM: whether its matrix is whole is not known",
                test.line
            ));
            push_cases(taken, &mut test, "");
            Ok(())
        }
        Some(Test { name, line, matrix: Some(_), .. }) if name.is_empty() => Err(ImportError::truncated(
            line,
            "the matrix has neither a test's name before it nor a SUM after it".to_owned(),
        )),
        Some(Test { name, line, matrix: Some(_), .. }) => {
            Err(ImportError::truncated(line, format!("the matrix of {name} has no SUM after it")))
        }
        Some(Test { name, line, matrix: None, part: Some(part), .. }) => Err(ImportError::truncated(
            line,
            format!("{name} has a matrix {part} and none of both ways together"),
        )),
        Some(Test { name, line, matrix: None, part: None, said, .. }) => {
            let reason = said.map_or_else(|| "it has no figures".to_owned(), |(_, said)| said);
            taken.cases.push(without_figure(&name, ImportedStatus::Failed, reason, line));
            Ok(())
        }
        None => Ok(()),
    }
}

/// A test without figures.
pub(super) fn without_figure(test: &str, status: ImportedStatus, reason: String, line: u64) -> Case {
    let line = Some(line).filter(|line| *line > 0);
    let figure = Err((status, reason));
    Case { id: id(test), place: ALL.to_owned(), bytes: None, unit: ImportedUnit::BytesPerS, figure, line }
}
