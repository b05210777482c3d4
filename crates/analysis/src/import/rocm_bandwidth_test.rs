//! rocm_bandwidth_test (`-a`, `-A`, versions 2): its devices, CPUs among them, and matrices of the copies
//! between them.
//!
//! A row copies to a column. GB are 10^9 bytes. Figures of bidirectional copies are of both directions
//! together; a device's copies in itself are counted once (base_test and print of the program's sources do
//! not double them). CPUs are the program's devices too: which NUMA node each is, the output does not say.
//! A run without options does `-a` and `-A`; versions 2.0 do not print the command that tells.
//! Forms: what users posted in its issue 129 and in issue 110 of rocm_smi_lib. The plug-ins of version 3 are
//! not read.

use report::imported::{ImportedStatus, ImportedUnit};

use super::error::{ImportError, ImportErrorKind, as_many};
use super::numbers::{number, whole};
use super::stray::StrayLines;
use super::{Case, Program, Taken, figure};

/// Which matrix is read.
#[derive(Clone, Copy)]
struct Matrix {
    id: &'static str,
    between: &'static str,
}

const BOTH: Matrix = Matrix { id: "bidirectional, both together", between: "<->" };

/// Titles of matrices with figures, and what they are; the second one is misspelled by the program's older
/// versions.
const MATRICES: [(&str, Matrix); 3] = [
    ("Unidirectional copy peak bandwidth GB/s", Matrix { id: "unidirectional", between: "->" }),
    ("Bdirectional copy peak bandwidth GB/s", BOTH),
    ("Bidirectional copy peak bandwidth GB/s", BOTH),
];

/// What titles of matrices without figures end with.
const OTHERS: [&str; 2] = ["Device Access", "Device Numa Distance"];

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let mut taken = Taken::default();
    let mut strays = StrayLines::default();
    let mut devices: Vec<(u64, String)> = Vec::new();
    let mut matrix: Option<Matrix> = None;
    let mut columns: Vec<u64> = Vec::new();
    let mut rows = 0;
    let mut command: Option<&str> = None;

    for (line, words) in (1_u64..).zip(text.lines()) {
        let words = words.trim();
        if let Some((_, found)) = MATRICES.iter().find(|(title, _)| *title == words) {
            is_whole(matrix, rows, columns.len(), line)?;
            (matrix, rows) = (Some(*found), 0);
        } else if OTHERS.iter().any(|title| words.ends_with(title)) {
            is_whole(matrix, rows, columns.len(), line)?;
            matrix = None;
        } else if let Some(numbers) = words.strip_prefix("D/D") {
            let numbers = numbers.split_whitespace().map(|cell| whole(cell, line, "a device's number"));
            columns = numbers.collect::<Result<_, _>>()?;
        } else if let Some((number, name)) =
            words.strip_prefix("Device: ").and_then(|rest| rest.split_once(','))
        {
            let name = name.split(',').next().unwrap_or_default().trim().to_owned();
            devices.push((whole(number.trim(), line, "a device's number")?, name));
        } else if let Some(version) = words.strip_prefix("RocmBandwidthTest Version:") {
            taken.version = Some(version.trim().to_owned());
        } else if is_row(words) || is_device(words) && matrix.is_some() && rows < columns.len() {
            if let Some(matrix) = matrix {
                taken.cases.extend(row(matrix, &devices, &columns, words, line)?);
                rows += 1;
            }
        } else if let Some(launched) = words.strip_prefix("Launch Command is:") {
            command = Some(launched);
        } else if !(words.is_empty() || words.chars().all(|c| c == '.')) {
            strays.push(line, words);
        }
    }

    is_whole(matrix, rows, columns.len(), text.lines().count() as u64)?;
    if taken.cases.is_empty() {
        let missing = "it has no matrix below \"Unidirectional copy peak bandwidth GB/s\"";
        return Err(ImportError::whole(ImportErrorKind::NotThis {
            program: Program::RocmBandwidthTest.name(),
            missing,
        }));
    }
    if !taken.cases.iter().any(|case| case.id.ends_with(BOTH.id)) {
        lacks_both_ways(&mut taken, command)?;
    }
    let names: Vec<String> = devices.iter().map(|(number, name)| format!("{number} {name}")).collect();
    taken.fact("devices", names.join(", "), true);
    strays.note(&mut taken, Program::RocmBandwidthTest.name());
    Ok(taken)
}

/// Refuses an output without a bidirectional matrix whose command asks for one; where the command is not
/// printed, the output may be whole.
fn lacks_both_ways(taken: &mut Taken, command: Option<&str>) -> Result<(), ImportError> {
    match command.map(|command| command.split([' ', '(', ')']).any(|word| word == "-A")) {
        Some(true) => {
            let missing = "the command has -A, and there is no matrix of bidirectional copies".to_owned();
            Err(ImportError::whole(ImportErrorKind::Truncated { missing }))
        }
        Some(false) => Ok(()),
        None => {
            let lacks = "there is no matrix of bidirectional copies (-A)";
            taken.notes.push(format!("{lacks}: the output may be cut off"));
            Ok(())
        }
    }
}

/// Refuses a matrix that has fewer rows than columns: it was cut off, or has lost a row.
fn is_whole(matrix: Option<Matrix>, rows: usize, columns: usize, line: u64) -> Result<(), ImportError> {
    match matrix {
        Some(matrix) if rows < columns => {
            let what = format!("the matrix {} has {rows} rows and {columns} columns", matrix.id);
            Err(ImportError::truncated(line, what))
        }
        _ => Ok(()),
    }
}

/// Whether the first word is the number of a device, as that of a row is.
fn is_device(words: &str) -> bool {
    let first = words.split_whitespace().next().unwrap_or_default();
    !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit())
}

/// Numbers and `N/A`.
fn is_row(words: &str) -> bool {
    if !words.starts_with(|first: char| first.is_ascii_digit()) {
        return false;
    }
    let is_cell =
        |cell: &str| cell == "N/A" || cell.bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte));
    words.split_whitespace().all(is_cell)
}

fn row(
    matrix: Matrix,
    devices: &[(u64, String)],
    columns: &[u64],
    words: &str,
    line: u64,
) -> Result<Vec<Case>, ImportError> {
    let cells: Vec<&str> = words.split_whitespace().collect();
    let from = whole(cells[0], line, "a device's number")?;
    as_many(cells.len(), columns.len() + 1, line)?;
    let named = |number: u64| {
        let name =
            devices.iter().find(|(known, _)| *known == number).map_or("unknown", |(_, name)| name.as_str());
        format!("device {number} ({name})")
    };

    let case = |(to, cell): (&u64, &&str)| -> Result<Case, ImportError> {
        let figure = match *cell {
            "N/A" => Err((ImportedStatus::Waived, "N/A".to_owned())),
            cell => figure(number(cell, line, "a bandwidth")?, 1e9),
        };
        let place = match from == *to {
            true => named(from),
            false => format!("{} {} {}", named(from), matrix.between, named(*to)),
        };
        let id = format!("rocm_bandwidth_test/{}", matrix.id);
        Ok(Case { id, place, bytes: None, unit: ImportedUnit::BytesPerS, figure, line: Some(line) })
    };
    columns.iter().zip(&cells[1..]).map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(rows: &str) -> Result<usize, String> {
        let begins =
            "Device: 0,  AMD EPYC\nDevice: 1,  gfx90a\n\nUnidirectional copy peak bandwidth GB/s\n\n";
        let text = format!("{begins}D/D       0           1\n{rows}");
        take(&text).map(|taken| taken.cases.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_row_with_a_cell_that_is_no_figure_and_a_matrix_without_a_row_are_refused() {
        assert_eq!(taken("0         N/A         55.3\n1         55.1        1000.1\n"), Ok(4));
        for damaged in ["55.3x", "nan", "5 5.3"] {
            let refused = taken(&format!("0         N/A         {damaged}\n1         55.1        1000.1\n"));
            assert!(refused.as_ref().is_err_and(|why| why.starts_with("line 7")), "{damaged}: {refused:?}");
        }
        let strays =
            "0.31user 0.02system 0:01elapsed\n2026-11-29 12:00 WARN of a library\n7 of us are done\n";
        assert_eq!(
            taken(&format!("0         N/A         55.3\n1         55.1        1000.1\n{strays}")),
            Ok(4)
        );
        let cut_off = taken("0         N/A         55.3\n");
        assert!(cut_off.is_err_and(|why| why.contains("1 rows and 2 columns")));
    }

    #[test]
    fn an_output_without_the_matrix_that_its_command_asks_for_is_cut_off() -> Result<(), ImportError> {
        let text = |command: &str| {
            let title = "Unidirectional copy peak bandwidth GB/s";
            format!("{command}Device: 0,  gfx90a\n{title}\nD/D 0\n0 1000.1\n")
        };
        let refused = take(&text("Launch Command is: ./rbt (rocm_bandwidth -a + rocm_bandwidth -A)\n"));
        assert!(refused.is_err_and(|why| why.to_string().contains("no matrix of bidirectional copies")));
        assert_eq!(take(&text("Launch Command is: ./rbt -a\n"))?.notes, [""; 0]);
        let unsaid = take(&text(""))?.notes;
        assert_eq!(unsaid, ["there is no matrix of bidirectional copies (-A): the output may be cut off"]);
        Ok(())
    }
}
