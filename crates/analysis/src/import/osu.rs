//! The OSU micro-benchmarks' osu_latency, osu_bw, osu_bibw and osu_mbw_mr: a heading, a line of columns, and
//! a row a size.
//!
//! Texts of several of them one after the other are read; a blank line ends a table. The MB of these programs
//! are 10^6 bytes. Columns beyond the figure (percentiles of `-z`) are passed over, but for `Validation` of
//! `-c`: a size that failed it has no figure. Left out: all other tests of the suite, per-iteration output
//! (`-G`), and osu_mbw_mr with several window sizes (`-V`).
//!
//! osu_mbw_mr's rate is the sum over its pairs, which all send at once and one way. Its messages a second are
//! that rate divided by the size (`osu_mbw_mr.c`), so that they are no figure of their own.

use report::imported::{ImportedStatus, ImportedUnit};
use stats::units::counted;

use super::error::{ImportError, ImportErrorKind, as_many, short};
use super::numbers::{begins_with_digit, number, whole};
use super::stray::StrayLines;
use super::{Case, Program, Taken, figure};

const KNOWN: &str = "osu_latency, osu_bw, osu_bibw and osu_mbw_mr (of one window size) are";

/// A test of the suite: its title, its program, what is between its ranks, and what its figures count.
struct Test {
    title: &'static str,
    name: &'static str,
    between: &'static str,
    unit: ImportedUnit,
    scale: f64,
}

const TESTS: [Test; 4] = [
    Test { title: "Latency", name: "osu_latency", between: "<->", unit: ImportedUnit::Ns, scale: 1e3 },
    Test { title: "Bandwidth", name: "osu_bw", between: "->", unit: ImportedUnit::BytesPerS, scale: 1e6 },
    Test {
        title: "Bi-Directional Bandwidth",
        name: "osu_bibw",
        between: "<->",
        unit: ImportedUnit::BytesPerS,
        scale: 1e6,
    },
    Test {
        title: "Multiple Bandwidth / Message Rate",
        name: MULTIPLE,
        between: "->",
        unit: ImportedUnit::BytesPerS,
        scale: 1e6,
    },
];

/// The test of several pairs at once.
const MULTIPLE: &str = "osu_mbw_mr";

/// The place of buffers that a program built for GPUs does not tell (version 7.5 has no line for it).
const UNKNOWN: &str = "unknown-buffers";

/// A heading: the test, the version, and whether its buffers may be a GPU's.
struct Heading {
    test: &'static Test,
    version: String,
    is_for_gpus: bool,
}

/// Where reading stands.
struct Table {
    test: &'static Test,
    /// Where the buffers of sender and receiver are: `host`, `D-D` and its like, or [`UNKNOWN`].
    memory: String,
    /// Between what the figures are: `rank 0 -> rank 1`; of several pairs, how many.
    place: String,
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
    let mut stray = StrayLines::default();

    for (line, words) in (1_u64..).zip(text.lines()) {
        if let Some(Heading { test, version, is_for_gpus }) = heading(words, line)? {
            // Version 7.1 of osu_mbw_mr prints its heading twice.
            if table.as_ref().is_some_and(|table| table.rows == 0 && table.test.name == test.name) {
                continue;
            }
            ended(table.take())?;
            if taken.version.as_ref().is_some_and(|known| *known != version) {
                return Err(ImportError::stray(line, words, "the same version"));
            }
            taken.version = Some(version);
            let memory = if is_for_gpus { UNKNOWN } else { "host" }.to_owned();
            let place = format!("rank 0 {} rank 1", test.between);
            table = Some(Table { test, memory, place, columns: None, rows: 0, line });
            is_open = true;
            continue;
        }
        let Some(table) = table.as_mut().filter(|_| is_open) else { continue };
        if words.trim().is_empty() {
            is_open = table.rows == 0;
        } else if let Some(comment) = words.strip_prefix('#') {
            note(table, &mut taken, comment.trim(), line)?;
        } else if table.columns.is_some() && !begins_with_digit(words.trim_start()) {
            stray.push(line, words);
        } else {
            let case = row(table, words, line)?;
            if table.memory == UNKNOWN && table.rows == 0 {
                taken.notes.push(format!(
                    "line {}: {} does not say whether its buffers were the host's or a GPU's",
                    table.line, table.test.name
                ));
            }
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
    stray.note(&mut taken, Program::Osu.name());
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
fn heading(words: &str, line: u64) -> Result<Option<Heading>, ImportError> {
    let Some((title, version)) = words.strip_prefix("# OSU ").and_then(|words| words.rsplit_once(" Test v"))
    else {
        return Ok(None);
    };
    // `MPI`, `MPI-CUDA`, `MPI-ROCM`; `MPI_Put` and its like are other programs with the same titles.
    let (library, title) = title.split_once(' ').unwrap_or((title, ""));
    let is_for_gpus = library.starts_with("MPI-");
    let test = TESTS.iter().find(|test| test.title == title && (library == "MPI" || is_for_gpus));
    let unknown = || ImportError::at(line, ImportErrorKind::UnknownTest { test: short(words), known: KNOWN });
    let test = test.ok_or_else(unknown)?;
    Ok(Some(Heading { test, version: version.trim().to_owned(), is_for_gpus }))
}

/// What a comment below a heading says: the columns, the buffers, the type, the pairs.
fn note(table: &mut Table, taken: &mut Taken, comment: &str, line: u64) -> Result<(), ImportError> {
    if comment.starts_with("Size ") && table.columns.is_none() {
        table.columns = Some(columns(comment));
    } else if let Some(kind) = comment.strip_prefix("Datatype:") {
        taken.fact("datatype", kind.trim().trim_end_matches('.'), true);
    } else if comment.starts_with("Send Buffer on ") {
        // `Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)`.
        let letters: Vec<&str> = comment
            .split('(')
            .skip(1)
            .filter_map(|part| part.split_once(')').map(|(letter, _)| letter))
            .collect();
        if let [from, to] = letters[..] {
            table.memory = format!("{from}-{to}");
        }
    } else if let Some(pairs) = comment.strip_prefix("[ pairs: ") {
        let (pairs, window) = pairs.split_once(" ] [ window size: ").unwrap_or((pairs, ""));
        let window = window.trim_end_matches(" ]");
        if window == "varied" {
            let test = format!("{MULTIPLE} of several window sizes");
            return Err(ImportError::at(line, ImportErrorKind::UnknownTest { test, known: KNOWN }));
        }
        table.place = counted(whole(pairs, line, "a number of pairs")? as usize, "pair");
        taken.fact("window size", window, true);
    }

    Ok(())
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
    as_many(cells.len(), columns.count, line)?;
    let bytes = whole(cells[0], line, "a size in bytes")?;
    let value = number(cells.get(1).copied().unwrap_or_default(), line, "a figure")?;
    let figure = match columns.validation.and_then(|at| cells.get(at)) {
        Some(said) if *said != "Pass" => Err((ImportedStatus::Failed, format!("validation: {said}"))),
        _ => figure(value, test.scale),
    };

    Ok(Case {
        id: format!("{}/{}/{bytes}", test.name, table.memory),
        place: table.place.clone(),
        bytes: Some(bytes),
        unit: test.unit,
        figure,
        line: Some(line),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sided_tests_of_the_same_title_are_not_taken_for_osu_bw_and_osu_latency() {
        for title in
            ["MPI_Put Bandwidth", "MPI_Get Bandwidth", "MPI_Put Latency", "MPI_Put Bi-Directional Bandwidth"]
        {
            let text = format!(
                "# OSU {title} Test v5.3\n# Window creation: MPI_Win_allocate\n# Size      Bandwidth (MB/s)\n\
                 1    1.78\n"
            );
            let refused = take(&text).unwrap_err();
            assert!(refused.line == Some(1) && refused.to_string().contains(title), "{refused}");
        }
    }

    #[test]
    fn buffers_that_a_program_built_for_gpus_does_not_place_are_unknown() {
        let table = "# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)        Validation\n\
            4194304             43210.00              Pass\n";
        let case =
            |heading: &str| take(&format!("{heading}\n{table}")).map(|taken| taken.cases[0].id.clone());
        assert_eq!(
            case("# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.5"),
            Ok("osu_bibw/unknown-buffers/4194304".into())
        );
        let placed =
            "# OSU MPI-CUDA Bandwidth Test v7.4\n# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)";
        assert_eq!(case(placed), Ok("osu_bw/D-H/4194304".into()));
        assert_eq!(case("# OSU MPI Bandwidth Test v7.5"), Ok("osu_bw/host/4194304".into()));
    }
}
