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
//! notes say that nothing tells whether it is whole. Some 410 lines because the tests hold such parts beside
//! whole outputs.

use report::imported::ImportedStatus;

use super::error::{ImportError, ImportErrorKind, short};
use super::nvbandwidth_size::CopySize;
use super::nvbandwidth_test::{
    ALL, TOTAL, Test, Title, check_sum, close_test, push_cases, within, without_figure,
};
use super::{Program, SIZE_NOT_READ, Taken};

/// How a run begins.
const FIRST_LINE: &str = "nvbandwidth Version:";
/// How a run that came to its end ends.
const LAST_LINES: &str = "NOTE: The reported results";
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
    let mut reader = Reader::of(text);
    for (line, words) in (1_u64..).zip(text.lines()) {
        reader.line(unquoted(words), line)?;
    }
    reader.finish()
}

/// A text as far as it was read.
struct Reader {
    taken: Taken,
    /// The test under way.
    test: Option<Test>,
    /// The last line that is an error, or of a log.
    last_said: Option<String>,
    /// Whether nvbandwidth's own output has begun.
    in_output: bool,
    /// A line of one word, which is the host if the first device follows.
    host_line: Option<String>,
    /// The size of a copy, by the last command line.
    size: CopySize,
    /// Whether a run below that command line has used it.
    is_size_used: bool,
    /// Whether the first line of a run is missing.
    is_part: bool,
    /// Whether the run came to its end.
    is_ended: bool,
}

impl Reader {
    fn of(text: &str) -> Self {
        let is_first = |words: &str| unquoted(words).trim_start().starts_with(FIRST_LINE);
        Self {
            taken: Taken::default(),
            test: None,
            last_said: None,
            in_output: false,
            host_line: None,
            size: CopySize::Unsaid,
            is_size_used: false,
            is_part: !text.lines().any(is_first),
            is_ended: false,
        }
    }

    fn line(&mut self, words: &str, line: u64) -> Result<(), ImportError> {
        let may_begin_a_part =
            || Title::of(words).is_some() || words.starts_with("Running ") || words.starts_with("Device ");
        self.in_output |= self.is_part && may_begin_a_part();
        if let Some(size) = CopySize::of(words) {
            self.command_line(size);
        }
        if let Some(version) = words.trim_start().strip_prefix(FIRST_LINE) {
            self.first_line(version.trim());
            return Ok(());
        }
        if !self.in_output || words.trim().is_empty() {
            return Ok(());
        }
        self.is_ended |= words.trim_start().starts_with(LAST_LINES);

        if let Some(name) = words.strip_prefix("Running ") {
            self.close()?;
            self.test = Some(Test::new(name, line, &self.size));
        } else if self.test.is_none() && Title::of(words).is_some() {
            within(self.test.insert(Test::new("", line, &self.size)), &mut self.taken, words, line)?;
        } else if let Some(name) = words.strip_prefix("Waiving ") {
            self.waiving(name, line)?;
        } else if let Some(reason) = words.strip_prefix("Waived:") {
            self.waived(reason.trim(), line)?;
        } else if let Some(said) = words.strip_prefix("ERROR:") {
            self.last_said = Some(short(words));
            self.error(said, line);
        } else if self.test.is_some() {
            self.within_test(words, line)?;
        } else {
            self.preamble(words);
        }
        Ok(())
    }

    fn command_line(&mut self, size: CopySize) {
        if let CopySize::Unread(option) = &size {
            self.taken.fact(SIZE_NOT_READ, option, true);
        }
        (self.size, self.is_size_used) = (size, false);
    }

    /// `nvbandwidth Version: v0.8`. A command line gives the size of one run: that of a second one below it
    /// is not in the text.
    fn first_line(&mut self, version: &str) {
        (self.in_output, self.is_ended) = (true, false);
        if std::mem::replace(&mut self.is_size_used, true) {
            self.size = CopySize::Unsaid;
        }
        self.taken.version = Some(version.to_owned());
    }

    /// `Waiving NAME.`
    fn waiving(&mut self, name: &str, line: u64) -> Result<(), ImportError> {
        let waived = Test::new(name, line, &self.size);
        self.test = self.test.take().filter(|open| open.name != waived.name);
        self.close()?;
        let case = without_figure(&waived.name, ImportedStatus::Waived, "waived".to_owned(), line);
        self.taken.cases.push(case);
        Ok(())
    }

    /// `Waived: REASON`, of the test under way, or of one that the text does not name.
    fn waived(&mut self, reason: &str, line: u64) -> Result<(), ImportError> {
        let reason = if reason.is_empty() { "waived" } else { reason }.to_owned();
        if let Some(test) = self.test.take_if(|test| test.matrix.is_none()) {
            let case = without_figure(&test.name, ImportedStatus::Waived, reason, test.line);
            self.taken.cases.push(case);
            return Ok(());
        }
        self.close()?;
        self.taken.notes.push(format!(
            "line {line}: nvbandwidth waived a test and does not say which; its JSON (-j) does"
        ));
        Ok(())
    }

    /// `ERROR: Testcase NAME …`, or an error of the test under way.
    fn error(&mut self, said: &str, line: u64) {
        let name = said.trim().strip_prefix("Testcase ").and_then(|rest| rest.split_whitespace().next());
        if let Some(name) = name {
            self.taken.cases.push(without_figure(name, ImportedStatus::Failed, short(said), line));
        } else if let Some(test) = self.test.take() {
            let case = without_figure(&test.name, ImportedStatus::Failed, short(said), test.line);
            self.taken.cases.push(case);
        }
    }

    /// The sum of a matrix, whose name is that of the test, or another line of the test.
    fn within_test(&mut self, words: &str, line: u64) -> Result<(), ImportError> {
        let Some(open) = &mut self.test else { return Ok(()) };
        let sum = words.strip_prefix("SUM ");
        if let (true, Some(sum)) = (open.name.is_empty(), sum) {
            open.name = sum.split_whitespace().next().unwrap_or_default().to_owned();
        }
        let Some(sum) = sum.and_then(|rest| rest.strip_prefix(&open.name[..])) else {
            return within(open, &mut self.taken, words, line);
        };

        let (part, sum) = sum.strip_prefix('_').and_then(|rest| rest.split_once(' ')).unwrap_or(("", sum));
        check_sum(open, sum.trim(), line)?;
        push_cases(&mut self.taken, open, part);
        if part.is_empty() || part == TOTAL {
            self.test = None;
        }
        Ok(())
    }

    fn preamble(&mut self, words: &str) {
        if let Some(driver) = words.strip_prefix("Driver Version:") {
            self.taken.fact("driver version", driver.trim(), false);
        } else if let Some(runtime) = words.strip_prefix("CUDA Runtime Version:") {
            self.taken.fact("CUDA runtime", cuda_version(runtime), false);
        } else if let Some(gpu) = words.strip_prefix("Device ") {
            // The host stands alone in the line before the first device.
            self.taken.host = self.taken.host.take().or(self.host_line.take());
            device(&mut self.taken, gpu);
        } else if words.starts_with('[') {
            self.last_said = Some(short(words));
        } else {
            let host = Some(words.trim()).filter(|words| !words.contains([' ', ':']));
            self.host_line = host.map(str::to_owned);
        }
    }

    /// Closes the test under way, if there is one.
    fn close(&mut self) -> Result<(), ImportError> {
        close_test(&mut self.taken, self.test.take(), self.is_part)
    }

    fn finish(mut self) -> Result<Taken, ImportError> {
        self.close()?;
        let Self { mut taken, last_said, in_output, is_part, is_ended, .. } = self;

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
        // A program that an error ended says so in its last test.
        let is_failed = taken.cases.last().is_some_and(|case| case.figure.is_err());
        if !is_part && !is_ended && !is_failed {
            taken.notes.push(format!("the last line ({LAST_LINES} …) is missing: the output may be cut off"));
        }
        let has_figure = taken.cases.iter().any(|case| case.figure.is_ok());
        if taken.cases.is_empty() || is_part && !has_figure {
            let said = last_said.unwrap_or("nothing of a test, or 0".to_owned());
            return Err(ImportError::whole(ImportErrorKind::NoFigures { said }));
        }
        Ok(taken)
    }
}

/// A line without the mark of a quotation.
fn unquoted(words: &str) -> &str {
    let words = words.trim_end();
    if words == ">" { "" } else { words.strip_prefix("> ").unwrap_or(words) }
}

/// `13020`, also where it is told as `13.2 (13020)`.
pub(super) fn cuda_version(words: &str) -> &str {
    let number = words.rsplit_once('(').and_then(|(_, number)| number.trim_end().strip_suffix(')'));
    number.unwrap_or(words).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "nvbandwidth Version: v0.7\nBuilt from Git version: v0.7\n\n";
    const FOREIGN: &str = "[1741236511.646130] [n0:364800:0]     ucp_context.c:1192 UCX  WARN  transport \
        'rc' is not available\n";
    const MATRIX: &str = "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n \
        0       N/A    396.50\n 1    396.51       N/A\n\nSUM a_test 793.01\n";

    const END: &str = "\nNOTE: The reported results may not reflect the full capabilities of the platform.\n";

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
        let taken = take(&quoted(&format!("{BEGIN}Running a_test.\n{MATRIX}{END}")))?;
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

    #[test]
    fn a_run_without_its_last_line_may_be_cut_off_also_where_one_above_is_whole() -> Result<(), ImportError> {
        let run = format!("{BEGIN}Running a_test.\n{MATRIX}");
        assert_eq!(take(&format!("{run}{END}"))?.notes, [""; 0]);
        for text in [run.clone(), format!("{run}{END}{run}")] {
            let notes = take(&text)?.notes;
            assert!(notes.iter().any(|note| note.ends_with("the output may be cut off")), "{notes:?}");
        }

        let failed = format!("{run}Running other_test.\nERROR: out of memory\n");
        assert_eq!(take(&failed)?.notes, [""; 0], "the program says why it ended");
        Ok(())
    }
}
