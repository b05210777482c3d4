//! The OSU micro-benchmarks' osu_latency, osu_bw and osu_bibw: a heading, a line of columns, and a row a size.
//!
//! Texts of several of them one after the other are read; a blank line ends a table. The MB of these programs are 10^6 bytes. Columns beyond the figure
//! (percentiles of `-z`) are passed over, but for `Validation` of `-c`: a size that failed it has no figure. Left out: all other tests of the suite, and
//! per-iteration output (`-G`).

use report::imported::{ImportedStatus, ImportedUnit};

use super::error::{ImportError, ImportErrorKind, as_many, short};
use super::numbers::{begins_with_digit, number, whole};
use super::{Case, Program, Taken, figure};

const KNOWN: &str = "osu_latency, osu_bw and osu_bibw are";

/// A test of the suite: its title, its program, what is between its ranks, and what its figures count.
struct Test {
    title: &'static str,
    name: &'static str,
    between: &'static str,
    unit: ImportedUnit,
    scale: f64,
}

const TESTS: [Test; 3] = [
    Test { title: "Latency", name: "osu_latency", between: "<->", unit: ImportedUnit::Ns, scale: 1e3 },
    Test { title: "Bandwidth", name: "osu_bw", between: "->", unit: ImportedUnit::BytesPerS, scale: 1e6 },
    Test {
        title: "Bi-Directional Bandwidth",
        name: "osu_bibw",
        between: "<->",
        unit: ImportedUnit::BytesPerS,
        scale: 1e6,
    },
];

/// Where reading stands.
struct Table {
    test: &'static Test,
    /// `host`, or `D-D` and its like: where the buffers of sender and receiver are.
    memory: String,
    /// The columns, once their line was met.
    columns: Option<Columns>,
    rows: usize,
    line: u64,
}

struct Columns {
    count: usize,
    validation: Option<usize>,
}

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let mut taken = Taken::default();
    let mut table: Option<Table> = None;
    let mut is_open = false;
    for (line, words) in (1_u64..).zip(text.lines()) {
        if let Some((test, version)) = heading(words, line)? {
            ended(table.take())?;
            if taken.version.as_ref().is_some_and(|known| *known != version) {
                return Err(ImportError::stray(line, words, "the same version"));
            }
            taken.version = Some(version);
            table = Some(Table { test, memory: "host".to_owned(), columns: None, rows: 0, line });
            is_open = true;
            continue;
        }
        let Some(table) = table.as_mut().filter(|_| is_open) else { continue };
        if words.trim().is_empty() {
            is_open = table.rows == 0;
        } else if let Some(comment) = words.strip_prefix('#') {
            note(table, &mut taken, comment.trim());
        } else {
            let case = row(table, words, line)?;
            taken.cases.push(case);
            table.rows += 1;
        }
    }
    if table.is_none() {
        let missing = "it has no heading \"# OSU MPI … Test v…\"";
        return Err(ImportError::whole(ImportErrorKind::NotThis { program: Program::Osu.name(), missing }));
    }
    if is_open && !text.ends_with('\n') {
        let missing = "its last line has no end".to_owned();
        return Err(ImportError::truncated(text.lines().count() as u64, missing));
    }
    ended(table)?;
    Ok(taken)
}

/// A table must have rows.
fn ended(table: Option<Table>) -> Result<(), ImportError> {
    match table {
        Some(Table { test, rows: 0, line, .. }) => {
            Err(ImportError::truncated(line, format!("{} has no figures", test.name)))
        }
        _ => Ok(()),
    }
}

/// `# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.4`.
fn heading(words: &str, line: u64) -> Result<Option<(&'static Test, String)>, ImportError> {
    let Some((title, version)) = words.strip_prefix("# OSU ").and_then(|words| words.rsplit_once(" Test v")) else {
        return Ok(None);
    };
    // `MPI`, `MPI-CUDA`, `MPI-ROCM`.
    let title = title.split_once(' ').map_or("", |(_, title)| title);
    let test = TESTS.iter().find(|test| test.title == title);
    let unknown = || ImportError::at(line, ImportErrorKind::UnknownTest { test: short(words), known: KNOWN });
    let test = test.ok_or_else(unknown)?;
    Ok(Some((test, version.trim().to_owned())))
}

/// What a comment below a heading says: the columns, the buffers, the type.
fn note(table: &mut Table, taken: &mut Taken, comment: &str) {
    if comment.starts_with("Size ") && table.columns.is_none() {
        table.columns = Some(columns(comment));
    } else if let Some(kind) = comment.strip_prefix("Datatype:") {
        taken.fact("datatype", kind.trim().trim_end_matches('.'), true);
    } else if comment.starts_with("Send Buffer on ") {
        // `Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)`.
        let letters: Vec<&str> =
            comment.split('(').skip(1).filter_map(|part| part.split_once(')').map(|(letter, _)| letter)).collect();
        if let [from, to] = letters[..] {
            table.memory = format!("{from}-{to}");
        }
    }
}

/// Columns are as many as their names, which are apart by two spaces or more: `Size      Avg Latency(us)`.
fn columns(comment: &str) -> Columns {
    let names: Vec<&str> = comment.split("  ").map(str::trim).filter(|name| !name.is_empty()).collect();
    Columns { count: names.len(), validation: names.iter().position(|name| *name == "Validation") }
}

fn row(table: &Table, words: &str, line: u64) -> Result<Case, ImportError> {
    let test = table.test;
    let Some(columns) = &table.columns else {
        return Err(ImportError::stray(line, words, "a table, whose columns are not named yet"));
    };
    let cells: Vec<&str> = words.split_whitespace().collect();
    if !cells.first().is_some_and(|first| begins_with_digit(first)) {
        return Err(ImportError::stray(line, words, "a table of the OSU micro-benchmarks"));
    }
    as_many(cells.len(), columns.count, line)?;
    let bytes = whole(cells[0], line, "a size in bytes")?;
    let value = number(cells.get(1).copied().unwrap_or_default(), line, "a figure")?;
    let figure = match columns.validation.and_then(|at| cells.get(at)) {
        Some(said) if *said != "Pass" => Err((ImportedStatus::Failed, format!("validation: {said}"))),
        _ => figure(value, test.scale),
    };
    Ok(Case {
        id: format!("{}/{}/{bytes}", test.name, table.memory),
        place: format!("rank 0 {} rank 1", test.between),
        bytes: Some(bytes),
        unit: test.unit,
        figure,
        line: Some(line),
    })
}
