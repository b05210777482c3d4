//! What nvbandwidth prints, versions 0.4 to 0.10 and the line `Waiving NAME.` of earlier ones: a preamble,
//! and for each test a heading, a matrix and its sum.
//!
//! The sum is what tells a whole matrix from one that was cut off, and a damaged one from a sound one.
//! Samples of `-v` are passed over: they are repetitions of one figure and no blocks. A line of a launcher or
//! of MPI before a matrix is passed over and noted; within one it is refused. A test of copies both ways
//! between GPUs has three matrices, each with its sum: one way, the other, both together. `N/A` is a pair
//! that the test does not have. `Waived` without a test before it is what nvbandwidth 0.8 prints of a test
//! that it leaves out: the name is not in the text (it is in the JSON).
//!
//! People post parts of a run: without its first line, quoted, without a test's heading (the line of the sum
//! names the test) or without sums. Where the first line is missing, a matrix counts without its sum, and the
//! notes say that nothing tells whether it is whole.
//!
//! Some 540 lines because what is posted differs, and the tests hold each form beside the reader.

use report::imported::{ImportedStatus, ImportedUnit};

use super::error::{ImportError, ImportErrorKind, as_many, short};
use super::numbers::{begins_with_digit, number};
use super::{Case, Program, SIZE_NOT_READ, Taken, figure};

/// The place of a test without figures.
const ALL: &str = "all";
/// How a run begins.
const FIRST_LINE: &str = "nvbandwidth Version:";
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
struct Test {
    name: String,
    line: u64,
    matrix: Option<Matrix>,
    part: Option<String>,
    /// The bytes of a copy, where the command line says them.
    bytes: Option<u64>,
    /// The first line before a matrix that is none of it, with its number: the program's word on why there is
    /// no matrix, unless one follows.
    said: Option<(u64, String)>,
}

impl Test {
    fn new(name: &str, line: u64, size: &CopySize) -> Self {
        let name = name.trim_end_matches('.').to_owned();
        Self { name, line, matrix: None, part: None, bytes: size.bytes(), said: None }
    }
}

/// The last matrix of a test of copies both ways: both together.
const TOTAL: &str = "total";

/// A matrix: what its title says, its columns, and its figures.
struct Matrix {
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

/// `0: NVIDIA H200 (00000000:00:06)`, as text and JSON name a GPU.
pub(super) fn device(taken: &mut Taken, words: &str) {
    let Some((index, rest)) = words.split_once(':') else { return };
    let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name).trim();
    taken.fact(&format!("GPU {}", index.trim()), rest.trim(), false);
    // All models are one fact, each named once.
    let model = taken.facts.iter().position(|fact| fact.name == "GPU model");
    match model.and_then(|at| taken.facts.get_mut(at)) {
        Some(fact) if !fact.value.split(", ").any(|known| known == name) => {
            fact.value += &format!(", {name}")
        }
        Some(_) => {}
        None => taken.fact("GPU model", name, true),
    }
}

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let mut taken = Taken::default();
    let (mut test, mut last_said): (Option<Test>, Option<String>) = (None, None);
    let lines = (1_u64..).zip(text.lines());
    let (mut in_output, mut host_line) = (false, None);

    // Of the last command line, and whether a run has used it.
    let (mut size, mut is_size_used) = (CopySize::Unsaid, false);
    let is_part = !text.lines().any(|words| unquoted(words).trim_start().starts_with(FIRST_LINE));

    for (line, words) in lines {
        let words = unquoted(words);
        in_output |= is_part
            && (Title::of(words).is_some() || words.starts_with("Running ") || words.starts_with("Device "));
        if let Some(said) = CopySize::of(words) {
            (size, is_size_used) = (said, false);
            if let CopySize::Unread(option) = &size {
                taken.fact(SIZE_NOT_READ, option, true);
            }
        }
        if let Some(version) = words.trim_start().strip_prefix(FIRST_LINE) {
            in_output = true;
            // A command line gives the size of one run: that of a second one below it is not in the text.
            if std::mem::replace(&mut is_size_used, true) {
                size = CopySize::Unsaid;
            }
            taken.version = Some(version.trim().to_owned());
            continue;
        }
        if !in_output || words.trim().is_empty() {
            continue;
        }
        if let Some(name) = words.strip_prefix("Running ") {
            close_test(&mut taken, test.take(), is_part)?;
            test = Some(Test::new(name, line, &size));
        } else if test.is_none() && Title::of(words).is_some() {
            within(test.insert(Test::new("", line, &size)), &mut taken, words, line)?;
        } else if let Some(name) = words.strip_prefix("Waiving ") {
            let waived = Test::new(name, line, &size);
            close_test(&mut taken, test.take().filter(|open| open.name != waived.name), is_part)?;
            taken.cases.push(without_figure(&waived.name, ImportedStatus::Waived, "waived".to_owned(), line));
        } else if let Some(waived) = words.strip_prefix("Waived:") {
            match test.take() {
                Some(test) if test.matrix.is_none() => {
                    let reason =
                        if waived.trim().is_empty() { "waived".to_owned() } else { waived.trim().to_owned() };
                    taken.cases.push(without_figure(&test.name, ImportedStatus::Waived, reason, test.line));
                }
                other => {
                    close_test(&mut taken, other, is_part)?;
                    taken.notes.push(format!(
                        "line {line}: nvbandwidth waived a test and does not say which; its JSON (-j) does"
                    ));
                }
            }
        } else if let Some(said) = words.strip_prefix("ERROR:") {
            last_said = Some(short(words));
            let name = said.trim().strip_prefix("Testcase ").and_then(|rest| rest.split_whitespace().next());
            if let Some(name) = name {
                taken.cases.push(without_figure(name, ImportedStatus::Failed, short(said), line));
            } else if let Some(test) = test.take() {
                taken.cases.push(without_figure(&test.name, ImportedStatus::Failed, short(said), test.line));
            }
        } else if let Some(open) = &mut test {
            if let (true, Some(sum)) = (open.name.is_empty(), words.strip_prefix("SUM ")) {
                open.name = sum.split_whitespace().next().unwrap_or_default().to_owned();
            }
            if let Some(sum) = words.strip_prefix("SUM ").and_then(|rest| rest.strip_prefix(&open.name[..])) {
                let (part, sum) =
                    sum.strip_prefix('_').and_then(|rest| rest.split_once(' ')).unwrap_or(("", sum));
                check_sum(open, sum.trim(), line)?;
                push_cases(&mut taken, open, part);
                if part.is_empty() || part == TOTAL {
                    test = None;
                }
            } else {
                within(open, &mut taken, words, line)?;
            }
        } else if let Some(driver) = words.strip_prefix("Driver Version:") {
            taken.fact("driver version", driver.trim(), false);
        } else if let Some(runtime) = words.strip_prefix("CUDA Runtime Version:") {
            taken.fact("CUDA runtime", cuda_version(runtime), false);
        } else if let Some(gpu) = words.strip_prefix("Device ") {
            // The host stands alone in the line before the first device.
            taken.host = taken.host.or(host_line.take());
            device(&mut taken, gpu);
        } else if words.starts_with('[') {
            last_said = Some(short(words));
        } else {
            host_line = Some(words.trim()).filter(|words| !words.contains([' ', ':'])).map(str::to_owned);
        }
    }

    close_test(&mut taken, test, is_part)?;
    // A test that failed or was waived has no cells: a line of somebody else's may look like one.
    let has_cells = taken.cases.iter().any(|case| case.place != ALL);
    if !in_output || is_part && !has_cells {
        let missing = "it has no line \"nvbandwidth Version: …\"";
        return Err(ImportError::whole(ImportErrorKind::NotThis {
            program: Program::Nvbandwidth.name(),
            missing,
        }));
    }

    if is_part {
        taken.notes.push("the first line of a run is missing: the version is not known".to_owned());
    }
    let has_figure = taken.cases.iter().any(|case| case.figure.is_ok());
    if taken.cases.is_empty() || is_part && !has_figure {
        let said = last_said.unwrap_or("nothing of a test, or 0".to_owned());
        return Err(ImportError::whole(ImportErrorKind::NoFigures { said }));
    }
    Ok(taken)
}

/// A line without the mark of a quotation.
fn unquoted(words: &str) -> &str {
    let words = words.trim_end();
    if words == ">" { "" } else { words.strip_prefix("> ").unwrap_or(words) }
}

/// What a command line above the output says of the size of a copy; the output itself does not say it.
enum CopySize {
    /// Nothing: it is the program's own.
    Unsaid,
    Bytes(u64),
    /// The option is there, and no number behind it.
    Unread(String),
}

impl CopySize {
    /// Of a line that runs nvbandwidth; `None` of others.
    ///
    /// Forms of the option: `-b MIB`, `-bMIB`, `--bufferSize MIB`, `--bufferSize=MIB`, and beginnings of its
    /// name (nvbandwidth.cpp and boost::program_options, which it reads them by).
    fn of(words: &str) -> Option<Self> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let program = words.iter().position(|word| word.rsplit('/').next() == Some("nvbandwidth"))?;
        let ends = |word: &&str| ["|", ">", "&", ";", "2>"].iter().any(|sign| word.starts_with(sign));
        let behind = &words[program + 1..];
        // A sentence about the program is no command line.
        if behind.first().is_some_and(|word| !word.starts_with('-') && !ends(word)) {
            return None;
        }

        let own: Vec<&str> = behind.iter().copied().take_while(|word| !ends(word)).collect();
        let next = |at: usize| own.get(at + 1).copied().unwrap_or_default();
        let value = own.iter().enumerate().find_map(|(at, word)| {
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) = long.split_once('=').unwrap_or_else(|| (long, next(at)));
                return (!name.is_empty() && "bufferSize".starts_with(name)).then_some(value);
            }
            let value = word.strip_prefix("-b")?;
            Some(if value.is_empty() { next(at) } else { value })
        });
        let Some(value) = value else { return Some(Self::Unsaid) };
        let bytes = value.parse::<u64>().ok().and_then(|mib| mib.checked_mul(1 << 20));
        Some(bytes.map_or_else(|| Self::Unread(format!("-b {value}")), Self::Bytes))
    }

    fn bytes(&self) -> Option<u64> {
        if let Self::Bytes(bytes) = self { Some(*bytes) } else { None }
    }
}

/// A line within a test: of a matrix, an aside, or one before a matrix whose meaning its end tells.
fn within(test: &mut Test, taken: &mut Taken, words: &str, line: u64) -> Result<(), ImportError> {
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
    as_many(numbers.len(), matrix.columns.len() + 1, line)?;
    let row = index(numbers[0])?;

    for (column, text) in matrix.columns.iter().zip(&numbers[1..]) {
        if *text != "N/A" {
            matrix.cells.push((row, *column, number(text, line, "a figure")?, line));
        }
    }
    Ok(())
}

/// The sum must be that of the cells, each of which is rounded to a hundredth.
fn check_sum(test: &Test, sum: &str, line: u64) -> Result<(), ImportError> {
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
fn push_cases(taken: &mut Taken, test: &mut Test, part: &str) {
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

/// `13020`, also where it is told as `13.2 (13020)`.
pub(super) fn cuda_version(words: &str) -> &str {
    let number = words.rsplit_once('(').and_then(|(_, number)| number.trim_end().strip_suffix(')'));
    number.unwrap_or(words).trim()
}

/// Closes a test that was still open when another began, or the text ended.
fn close_test(taken: &mut Taken, test: Option<Test>, is_part: bool) -> Result<(), ImportError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "nvbandwidth Version: v0.7\nBuilt from Git version: v0.7\n\n";
    const FOREIGN: &str = "[1741236511.646130] [n0:364800:0]     ucp_context.c:1192 UCX  WARN  transport \
        'rc' is not available\n";
    const MATRIX: &str = "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n \
        0       N/A    396.50\n 1    396.51       N/A\n\nSUM a_test 793.01\n";

    fn figures(taken: &Taken) -> Vec<f64> {
        taken.cases.iter().filter_map(|case| case.figure.clone().ok()).collect()
    }

    #[test]
    fn a_line_of_a_launcher_before_a_matrix_is_passed_over_and_noted() -> Result<(), ImportError> {
        let taken = take(&format!("{BEGIN}Running a_test.\n{FOREIGN}{MATRIX}"))?;
        assert_eq!(figures(&taken), [396.50e9, 396.51e9]);
        assert!(
            taken.notes[0].starts_with("line 5 is none of nvbandwidth's") && taken.notes[0].contains("UCX")
        );
        Ok(())
    }

    #[test]
    fn a_line_before_no_matrix_is_why_there_is_none_and_one_within_a_matrix_is_refused_with_its_number() {
        let why = "[CUDA_ERROR_OUT_OF_MEMORY] out of memory in expression cuMemAlloc";
        let taken = take(&format!("{BEGIN}Running other_test.\n{why}\nRunning a_test.\n{MATRIX}")).unwrap();
        let failed = taken.cases[0].figure.as_ref().unwrap_err();
        assert!(
            failed.0 == ImportedStatus::Failed && failed.1.contains("CUDA_ERROR_OUT_OF_MEMORY"),
            "{failed:?}"
        );
        assert_eq!(figures(&taken).len(), 2);

        let within = MATRIX.replacen(" 1    396", &format!("{FOREIGN} 1    396"), 1);
        let refused = take(&format!("{BEGIN}Running a_test.\n{within}")).unwrap_err();
        assert_eq!(refused.line, Some(8), "{refused}");
    }

    #[test]
    fn a_test_that_an_old_version_waives_by_name_is_a_case() -> Result<(), ImportError> {
        let taken =
            take(&format!("{BEGIN}Waiving device_to_device_memcpy_write_ce.\nRunning a_test.\n{MATRIX}"))?;
        let waived = &taken.cases[0];
        assert_eq!(waived.id, "nvbandwidth/device_to_device_memcpy_write_ce");
        assert_eq!(waived.figure, Err((ImportedStatus::Waived, "waived".to_owned())));
        assert_eq!(figures(&taken).len(), 2);
        Ok(())
    }

    #[test]
    fn a_wholly_quoted_run_is_read_as_the_run_itself() -> Result<(), ImportError> {
        let quoted = |text: &str| {
            text.lines().map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect::<String>()
        };
        let taken = take(&quoted(&format!("{BEGIN}Running a_test.\n{MATRIX}")))?;
        assert_eq!(
            (taken.version.as_deref(), figures(&taken).len(), &taken.notes[..]),
            (Some("v0.7"), 2, &[][..])
        );

        let without_sum = MATRIX.replacen("SUM a_test 793.01\n", "", 1);
        let refused =
            take(&quoted(&format!("{BEGIN}Running a_test.\n{without_sum}"))).expect_err("it was cut off");
        assert!(refused.to_string().contains("no SUM after it"), "{refused}");
        Ok(())
    }

    #[test]
    fn each_run_has_the_size_of_its_own_command_line_in_every_form_of_the_option() -> Result<(), ImportError>
    {
        let sizes = |text: &str| -> Result<Vec<Option<u64>>, ImportError> {
            let mib = take(text)?
                .cases
                .into_iter()
                .map(|case| case.bytes.map(|bytes| bytes >> 20))
                .collect::<Vec<_>>();
            Ok(mib.chunks(2).map(|run| run[0]).collect())
        };

        let run = format!("{BEGIN}Running a_test.\n{MATRIX}");
        let three =
            format!("$ ./nvbandwidth -b 1024\n{run}$ ./nvbandwidth --bufferSize=64 | tee log\n{run}{run}");
        assert_eq!(sizes(&three)?, [Some(1024), Some(64), None]);

        for (command, size) in [
            ("# nvbandwidth -t 1 --bufferSize 32", Some(32)),
            ("mpirun -n 4 /opt/nvbandwidth -p multi -b16", Some(16)),
            ("./nvbandwidth --buf 8 -v", Some(8)),
            ("./nvbandwidth", None),
            ("./nvbandwidth -t bidirectional | less -b 8", None),
            ("./nvbandwidth -b $SIZE", None),
        ] {
            assert_eq!(sizes(&format!("{command}\n{run}"))?, [size], "{command}");
        }

        let sentence = format!("./nvbandwidth -b 8\nnvbandwidth with small buffers says:\n{run}");
        assert_eq!(sizes(&sentence)?, [Some(8)]);
        Ok(())
    }

    #[test]
    fn parts_of_a_run_as_they_are_posted_are_read_and_say_what_is_missing() -> Result<(), ImportError> {
        let quoted = MATRIX.replacen("SUM a_test 793.01\n", "", 1);
        let without_sums = take(&format!("> Running a_test.\n{quoted}\n> Running other_test.\n{quoted}"))?;
        assert_eq!(figures(&without_sums).len(), 4);
        assert!(without_sums.notes[0].contains("a_test has no SUM"), "{:?}", without_sums.notes);
        assert!(without_sums.notes[2].contains("version is not known"), "{:?}", without_sums.notes);

        let without_preamble = take(&format!("Device 0: NVIDIA H200\nRunning a_test.\n{MATRIX}"))?;
        assert_eq!(figures(&without_preamble).len(), 2);
        let without_heading = take(&format!("{BEGIN}...\n\n{MATRIX}"))?;
        assert_eq!(without_heading.cases[0].id, "nvbandwidth/a_test");

        let zeros = MATRIX.replace("793.01", "0.00").replace("396.50", "0.00").replace("396.51", "0.00");
        let zeros = format!("Running a_test.\n{zeros}");
        for (text, words) in [
            (format!("{BEGIN}Running a_test.\n{quoted}"), "no SUM after it"),
            (quoted, "neither a test's name"),
            (zeros, "the program measured nothing"),
            ("Running on...\n\n Device 0: NVIDIA H200\n".to_owned(), "no line \"nvbandwidth Version"),
        ] {
            let refused = take(&text).expect_err(&text).to_string();
            assert!(refused.contains(words), "{refused}");
        }
        Ok(())
    }
}
