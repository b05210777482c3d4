//! What nvloom_cli prints: the GPUs of its processes, then a matrix a test, and its least, mean, most and
//! total.
//!
//! The forms are those of its source (`cli/nvloom_cli.cpp`, `cli/util.h`, `cli/testcases.cpp`): version 1.0,
//! which prints neither its version nor a unit, and 1.1 and later. A figure of a test of both directions is
//! their sum. In matrices of GPUs with GPUs and of racks with racks a column is the source and a row the
//! destination; of GPUs with racks, and of latencies, a row is what copies or loads. Left out: least, mean,
//! most and total, which say again what the matrix holds. Memory is a GPU's own, or EGM where the test's name
//! says so; a process has one GPU, so that places are processes. Figures of copies of several processes at
//! once (`std::reduce` in `cli/testcases.cpp`) are their sum, and their place says so.

use report::imported::{ImportedStatus, ImportedUnit};

use super::error::{ImportError, ImportErrorKind, as_many};
use super::numbers::{begins_with_digit, number, whole};
use super::stray::StrayLines;
use super::{Case, Program, Taken, figure};

/// A test under way.
#[derive(Default)]
struct Test {
    name: String,
    line: u64,
    columns: Vec<String>,
    rows: usize,
    cells: Vec<Cell>,
    /// Its line `Min …` was read, or it was waived.
    is_whole: bool,
}

/// A cell of its matrix, as printed.
struct Cell {
    place: String,
    value: f64,
    line: u64,
}

#[derive(Default)]
struct Reader {
    taken: Taken,
    bytes: Option<u64>,
    hosts: Vec<String>,
    processes: usize,
    /// The models of its GPUs, each once.
    gpus: Vec<String>,
    test: Option<Test>,
    stray: StrayLines,
}

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let mut reader = Reader::default();
    for (line, words) in (1_u64..).zip(text.lines()) {
        reader.line(words, line)?;
    }
    reader.ended()?;

    let Reader { mut taken, hosts, gpus, stray, .. } = reader;
    if taken.cases.is_empty() {
        let missing = "it has no line \"Running …\" with a matrix below";
        return Err(ImportError::whole(ImportErrorKind::NotThis {
            program: Program::Nvloom.name(),
            missing,
        }));
    }
    if !gpus.is_empty() {
        taken.fact("gpu", gpus.join(", "), true);
    }
    if let [host] = &hosts[..] {
        taken.host = Some(host.clone());
    }
    stray.note(&mut taken, Program::Nvloom.name());
    Ok(taken)
}

impl Reader {
    fn line(&mut self, words: &str, line: u64) -> Result<(), ImportError> {
        if let Some(version) = words.strip_prefix("nvloom_cli ") {
            self.taken.version = Some(version.trim().to_owned());
        } else if let Some(mib) =
            words.strip_prefix("Buffer size: ").and_then(|rest| rest.strip_suffix(" MiB"))
        {
            self.bytes = Some(whole(mib, line, "a size in MiB")? << 20);
        } else if let Some((name, value)) = parsed_fact(words) {
            self.taken.fact(name, value, true);
        } else if words.starts_with("Process ") && words.contains("): device ") {
            self.process(words);
        } else if let Some(name) = words.strip_prefix("Running ") {
            self.ended()?;
            let name = name.trim().to_owned();
            self.test = Some(Test { name, line, ..Test::default() });
        } else if words.trim() == "testcase WAIVED" {
            self.waived(line);
        } else if let Some(test) = self.test.as_mut().filter(|test| test.is_row(words)) {
            test.row(words, line)?;
        } else if is_summary(words, "Min") {
            self.finish_matrix(words);
        } else if !is_known(words) {
            self.stray.push(line, words);
        }

        Ok(())
    }

    /// `Process  0 (host): device 0: NVIDIA GB200 (00000008:01:00); rackGuid: 8a…`.
    fn process(&mut self, words: &str) {
        self.processes += 1;
        let (host, rest) = words.split_once("): device ").unwrap_or((words, ""));
        let host = host.rsplit_once('(').map_or("", |(_, host)| host).to_owned();
        if !self.hosts.contains(&host) {
            self.hosts.push(host);
        }

        let name = rest.split_once(": ").and_then(|(_, name)| name.split_once(" (")).map(|(name, _)| name);
        if let Some(name) = name.filter(|name| self.gpus.iter().all(|known| known != name)) {
            self.gpus.push(name.to_owned());
        }
    }

    fn waived(&mut self, line: u64) {
        if let Some(test) = self.test.as_mut() {
            test.is_whole = true;
            self.taken.cases.push(Case {
                id: format!("nvloom/{}", test.name),
                place: "all".to_owned(),
                bytes: None,
                unit: ImportedUnit::BytesPerS,
                figure: Err((ImportedStatus::Waived, "the program says: testcase WAIVED".to_owned())),
                line: Some(line),
            });
        }
    }

    /// `Min device_to_device_unidir_write_ce 727.84 GB/s` ends the matrix: its cells become cases. Version
    /// 1.0 prints no unit and has rates only.
    fn finish_matrix(&mut self, words: &str) {
        let Some(test) = self.test.as_mut() else { return };
        let is_time = words.ends_with(" ns");
        let (unit, scale) = if is_time { (ImportedUnit::Ns, 1.0) } else { (ImportedUnit::BytesPerS, 1e9) };
        test.is_whole = true;

        // The program ended the matrix: rows that are not there were lost between it and the file.
        let rows = test.wanted_rows(self.processes);
        if test.rows < rows {
            let reason = format!("its matrix has {} of {rows} rows", test.rows);
            self.taken.cases.push(Case {
                id: format!("nvloom/{}", test.name),
                place: "the rows that are missing".to_owned(),
                bytes: None,
                unit,
                figure: Err((ImportedStatus::Failed, reason)),
                line: Some(test.line),
            });
        }

        for cell in test.cells.drain(..) {
            self.taken.cases.push(Case {
                id: format!("nvloom/{}", test.name),
                place: cell.place,
                // A latency is of single loads.
                bytes: self.bytes.filter(|_| !is_time),
                unit,
                figure: figure(cell.value, scale),
                line: Some(cell.line),
            });
        }
    }

    /// Another test begins, or the text ends: the one under way must be whole.
    fn ended(&mut self) -> Result<(), ImportError> {
        match self.test.take().filter(|test| !test.is_whole) {
            Some(Test { name, line, .. }) => {
                Err(ImportError::truncated(line, format!("{name} has no line \"Min {name} …\"")))
            }
            None => Ok(()),
        }
    }
}

impl Test {
    /// Whether this is the line of columns, which begins with a gap, or a row of figures: also one with a
    /// cell that is none, as long as its cells are as many as the columns. Tabs may have become spaces.
    fn is_row(&self, words: &str) -> bool {
        let is_cell = |cell: &str| cell == "N/A" || begins_with_digit(cell);
        let mut cells = cells(words);
        match self.is_whole {
            true => false,
            false if self.columns.is_empty() => words.starts_with([' ', '\t']) && cells.next().is_some(),
            false if cells.next().is_none() || is_known(words) || is_summary(words, "Min") => false,
            false => match cells.clone().count() {
                0 => false,
                1 if self.columns.len() == 1 => words.starts_with(|first: char| first.is_ascii_digit()),
                count if count == self.columns.len() && begins_with_digit(words) => cells.any(is_cell),
                _ => cells.all(is_cell),
            },
        }
    }

    /// The line of columns, or a row: a label, then its cells.
    fn row(&mut self, words: &str, line: u64) -> Result<(), ImportError> {
        let mut cells = cells(words);
        if self.columns.is_empty() {
            self.columns = cells.map(str::to_owned).collect();
            return Ok(());
        }

        let label = cells.next().unwrap_or_default();
        let cells: Vec<&str> = cells.collect();
        as_many(cells.len(), self.columns.len(), line)?;
        self.rows += 1;
        for (column, cell) in self.columns.iter().zip(cells) {
            // `812.31;(0-5)` names the pair of a single measurement.
            let (text, pair) = cell.split_once(";(").unwrap_or((cell, ""));
            if text == "N/A" {
                continue;
            }
            let place = self.place(label, column, pair.trim_end_matches(')'));
            let value = number(text, line, "a figure")?;
            self.cells.push(Cell { place, value, line });
        }
        Ok(())
    }

    /// How many rows its matrix has in a run of so many processes (0 where they are not listed).
    fn wanted_rows(&self, processes: usize) -> usize {
        let is_by_process = self.columns.len() == 1 || self.name.starts_with("gpu_to_rack_");
        match is_by_process && !self.is_of_all() && !self.name.starts_with("rack_to_rack_") {
            true => processes,
            false => self.columns.len(),
        }
    }

    /// Whether all processes send at once and one figure counts all of them.
    fn is_of_all(&self) -> bool {
        self.name.starts_with("multicast_all_to_all_")
    }

    /// The places that a cell's copy is between, by what its test has for rows and columns.
    fn place(&self, row: &str, column: &str, pair: &str) -> String {
        let name = &self.name[..];
        let arrow = if name.contains("_bidir_") { "<->" } else { "->" };
        let pair = if pair.is_empty() { String::new() } else { format!(", processes {pair}") };

        match name {
            _ if name.starts_with("gpu_to_rack_") => format!("process {row} {arrow} rack {column}{pair}"),
            _ if name.starts_with("rack_to_rack_") => format!("rack {column} {arrow} rack {row}, added up"),
            _ if name.starts_with("latency_") => format!("process {row}, memory of process {column}"),
            _ if self.is_of_all() => "all processes, added up".to_owned(),
            _ if name.starts_with("all_to_one_") => format!("all others -> process {row}, added up"),
            _ if name.starts_with("all_from_one_") => format!("process {row} -> all others, added up"),
            _ if self.columns.len() == 1 => format!("process {row}"),
            _ if name.contains("_unidir_") || name.contains("_bidir_") => {
                format!("process {column} {arrow} process {row}")
            }
            _ => format!("row {row}, column {column}"),
        }
    }
}

/// The cells of a line, without the bars between racks.
fn cells(words: &str) -> impl Iterator<Item = &str> + Clone {
    words.split_whitespace().filter(|cell| *cell != "|")
}

/// What a line before the tests says of the run.
fn parsed_fact(words: &str) -> Option<(&str, &str)> {
    let (name, value) = words.split_once(": ")?;
    let known = ["NVCC version", "CUDA version", "Driver version", "Allocation strategy", "Iteration count"];
    known.contains(&name).then_some((name, value.trim()))
}

/// `Min NAME …`, or `MinBW NAME …` of version 1.0.
fn is_summary(words: &str, which: &str) -> bool {
    let rest = words.strip_prefix(which);
    rest.is_some_and(|rest| rest.starts_with(' ') || rest.starts_with("BW "))
}

/// A line that says nothing more.
fn is_known(words: &str) -> bool {
    let begins = ["git commit: ", "ExecutionTime", "Done ", "WARNING: there are more processes"];
    words.trim().is_empty()
        || begins.iter().any(|begin| words.starts_with(begin))
        || ["Avg", "Max", "Total"].iter().any(|which| is_summary(words, which))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_without_its_end_and_a_row_of_other_columns_are_refused_with_their_lines() {
        let begins = "Running device_to_device_unidir_write_ce\n\t0\t1\t\n0\tN/A\t700.10\t\n";
        let error = take(begins).unwrap_err();
        assert!(
            error.line == Some(1) && error.to_string().contains("the output ends in the middle"),
            "{error}"
        );
        let error = take(&format!("{begins}1\t700.20\t\n")).unwrap_err();
        assert_eq!(error.to_string(), "line 4: the row has 1 columns and its header 2");

        let stray =
            format!("{begins}Rank 3 lost\n1\t700.20\tN/A\nMin device_to_device_unidir_write_ce 700.10\n");
        assert_eq!(
            take(&stray).map(|taken| taken.cases.len()).ok(),
            Some(2),
            "a line of a library costs no figure"
        );
        let damaged = format!("{begins}1\tx70.20\tN/A\n");
        let error = take(&damaged).unwrap_err();
        assert_eq!(error.line, Some(4), "{error}");
        let error = take("NCCL version 2.28\n").unwrap_err();
        assert!(error.to_string().starts_with("this is not the output of nvloom"), "{error}");
    }
    #[test]
    fn a_sum_over_processes_says_that_it_is_one() -> Result<(), ImportError> {
        for (name, place) in [
            ("multicast_all_to_all_mc_write", "all processes, added up"),
            ("multicast_one_to_all_mc_write", "process 0"),
            ("all_to_one_device_to_device_write_ce", "all others -> process 0, added up"),
            ("all_from_one_device_to_device_read_ce", "process 0 -> all others, added up"),
            ("rack_to_rack_unidir_device_to_device_write_ce", "rack 0 -> rack 0, added up"),
        ] {
            let text = format!("Running {name}\n\t0\n0\t700.10\nMin {name} 700.10 GB/s\n");
            assert_eq!(take(&text)?.cases[0].place, place);
        }
        Ok(())
    }

    #[test]
    fn rows_that_are_missing_are_a_case_that_failed() -> Result<(), ImportError> {
        let process =
            |rank: u32| format!("Process {rank} (node1): device {rank}: NVIDIA GB200 (8:01:00); r\n");
        let processes = process(0) + &process(1);

        for (name, rows, missing) in [
            ("latency_device", "\t0\t1\n0\tN/A\t810.10\n", Some("its matrix has 1 of 2 rows")),
            ("bisect_device_to_device_write_sm", "\t0\n0->1\t771.20\n", Some("its matrix has 1 of 2 rows")),
            ("bisect_device_to_device_write_sm", "\t0\n0->1\t771.20\n1->0\t771.30\n", None),
            (
                "gpu_to_rack_device_to_device_bidir_write_ce",
                "\t8a-0\t8a-1\t9b-0\n0\t1\t2\t3\n1\t1\t2\t3\n",
                None,
            ),
            ("rack_to_rack_unidir_device_to_device_write_ce", "\t8a\n8a\tN/A\n", None),
            ("multicast_all_to_all_mc_write", "\t0\n0\t1500.00\n", None),
        ] {
            let whole = "Running local_copy\n\t0\n0\t1.0\n1\t1.0\nMin local_copy 1\n";
            let taken = take(&format!("{processes}{whole}Running {name}\n{rows}Min {name} 1.00 GB/s\n"))?;
            let failed = taken.cases.iter().find_map(|case| case.figure.as_ref().err());
            assert_eq!(failed.map(|(_, reason)| &reason[..]), missing, "{name}");
        }
        Ok(())
    }

    #[test]
    fn the_models_of_a_run_with_two_kinds_of_gpu_are_one_fact() -> Result<(), ImportError> {
        let process = |rank: u32, name: &str| {
            format!("Process  {rank} (host): device {rank}: {name} (00000008:0{rank}:00); rackGuid: 8a\n")
        };
        let gpus = process(0, "NVIDIA H100") + &process(1, "NVIDIA H200") + &process(2, "NVIDIA H200");
        let matrix = "Running device_local_copy\n\t0\n0\t700.10\nMin device_local_copy 700.10 GB/s\n";
        let taken = take(&(gpus + matrix))?;
        let models: Vec<&str> =
            taken.facts.iter().filter(|fact| fact.name == "gpu").map(|fact| fact.value.as_str()).collect();
        assert_eq!(models, ["NVIDIA H100, NVIDIA H200"]);
        Ok(())
    }
}
