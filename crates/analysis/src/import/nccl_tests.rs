//! nccl-tests and rccl-tests (`all_reduce_perf` and its like): a preamble, the ranks, a heading of columns,
//! and a row a size; of several programs in one log, one after the other.
//!
//! Each row has figures of a call into other memory and of one in place: a time, `algbw` (bytes over time)
//! and `busbw`, which is algbw times what the operation makes the busiest link carry, so that it compares
//! with a link (PERFORMANCE.md of nccl-tests). Taken are the time and busbw; algbw is bytes over time. GB are
//! 10^9 bytes. Columns differ by version (`root` since 2.12, `error` before `#wrong`) and are read from their
//! heading. Sizes too small to share between the ranks are rows of 0 bytes, several of them. The program's
//! name is in the output since 2.17 only; before, it is taken from a command line above, and is unknown
//! otherwise. Forms: src/common.cu of nccl-tests, and what users posted in its issues 100, 107 and 294 and
//! pull request 43 of a fork.

use std::collections::BTreeSet;

use report::imported::{ImportedStatus, ImportedUnit};
use stats::units::counted;

use super::error::{ImportError, ImportErrorKind, as_many};
use super::numbers::{number, whole};
use super::stray::StrayLines;
use super::{Case, CaseFigure, Program, Taken, figure};

/// What the lines before the rows of a program say.
#[derive(Default)]
struct Preamble {
    test: Option<String>,
    ranks: usize,
    hosts: BTreeSet<String>,
    /// Whether rows have come: the next line of a preamble is another program's.
    has_rows: bool,
    has_average: bool,
    /// A test that was named below the rows: the next program's, if one follows.
    next_test: Option<String>,
}

impl Preamble {
    /// A line of a preamble: below rows it is another program's.
    fn line(&mut self, taken: &mut Taken) {
        if self.has_rows {
            let next = Self { test: self.next_test.take(), ..Self::default() };
            std::mem::replace(self, next).end(taken);
        }
    }

    fn name_test(&mut self, test: String) {
        let named = if self.has_rows { &mut self.next_test } else { &mut self.test };
        *named = Some(test);
    }

    /// The program has no further row.
    fn end(&self, taken: &mut Taken) {
        if !self.has_rows {
            return;
        }
        if self.test.is_none() {
            taken.notes.push(
                "the output does not name its program: which operation was measured is unknown".to_owned(),
            );
        }
        if !self.has_average {
            taken.notes.push("the line of the average is missing: the output may be cut off".to_owned());
        }
    }
}

/// The hosts and GPUs of all programs in a log.
#[derive(Default)]
struct Devices {
    hosts: BTreeSet<String>,
    gpus: BTreeSet<String>,
}

/// Where a row has what.
struct Columns {
    names: Vec<String>,
    /// The first column of each group of figures, and what the group is.
    groups: Vec<(usize, &'static str)>,
}

/// The two ways of a call, in the order of the columns.
const WAYS: [&str; 2] = ["out-of-place", "in-place"];

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let mut taken = Taken::default();
    let mut strays = StrayLines::default();
    let (mut preamble, mut devices) = (Preamble::default(), Devices::default());
    let mut columns: Option<Columns> = None;
    let mut empty = 0;

    for (line, words) in (1_u64..).zip(text.lines()) {
        let words = words.trim();
        if let Some(comment) = words.strip_prefix('#') {
            if let Some(heading) = heading(comment) {
                preamble.line(&mut taken);
                columns = Some(heading);
            }
            note(&mut taken, &mut preamble, &mut devices, comment.trim(), line);
        } else if is_row(words) {
            let columns = columns.as_ref().ok_or_else(|| {
                ImportError::stray(
                    line,
                    words,
                    "nccl-tests before the heading of columns (# size count type …)",
                )
            })?;
            preamble.has_rows = true;
            if words.split_whitespace().next() == Some("0") {
                empty += 1;
            } else {
                taken.cases.extend(row(columns, &preamble, words, line)?);
            }
        } else if let Some(test) = test_name(words) {
            preamble.name_test(test);
        } else if !words.is_empty() {
            strays.push(line, words);
        }
    }

    if columns.is_none() {
        let missing = "it has no heading \"# size count type … time algbw busbw\"";
        return Err(ImportError::whole(ImportErrorKind::NotThis {
            program: Program::NcclTests.name(),
            missing,
        }));
    }
    if taken.cases.is_empty() {
        return Err(ImportError::whole(ImportErrorKind::Truncated {
            missing: "it has no rows below its heading".to_owned(),
        }));
    }
    preamble.end(&mut taken);
    if empty > 0 {
        taken.notes.push(format!("{} of 0 bytes moved nothing and were passed over", counted(empty, "row")));
    }
    facts(&mut taken, devices);
    strays.note(&mut taken, Program::NcclTests.name());
    Ok(taken)
}

/// A row begins with two whole numbers, bytes and elements.
fn is_row(words: &str) -> bool {
    let mut cells = words.split_whitespace();
    let mut is_whole = || cells.next().is_some_and(|cell| cell.bytes().all(|byte| byte.is_ascii_digit()));
    is_whole() && is_whole()
}

/// `all_reduce_perf` in a command line, without its folder and `_mpi`.
fn test_name(words: &str) -> Option<String> {
    let name = |word: &str| {
        let word = word.rsplit('/').next().unwrap_or(word);
        let name = word.strip_suffix("_mpi").unwrap_or(word);
        name.ends_with("_perf").then(|| name.to_owned())
    };
    words.split_whitespace().find_map(name)
}

/// `size count type redop root time algbw busbw #wrong time algbw busbw #wrong`.
fn heading(comment: &str) -> Option<Columns> {
    let names: Vec<String> = comment.split_whitespace().map(str::to_owned).collect();
    if names.first().map(String::as_str) != Some("size") || names.get(1).map(String::as_str) != Some("count")
    {
        return None;
    }
    let times = names.iter().enumerate().filter(|(_, name)| ["time", "cputime"].contains(&name.as_str()));
    let groups = times.map(|(at, _)| at).zip(WAYS).collect();
    Some(Columns { names, groups })
}

/// What a comment says.
fn note(taken: &mut Taken, preamble: &mut Preamble, devices: &mut Devices, comment: &str, line: u64) {
    if let Some((host, gpu)) = rank(comment) {
        preamble.line(taken);
        preamble.ranks += 1;
        preamble.hosts.insert(host.clone());
        devices.hosts.insert(host);
        devices.gpus.insert(gpu);
    } else if let Some(test) = comment.strip_prefix("Collective test starting:") {
        preamble.line(taken);
        preamble.test = test_name(test);
    } else if let Some(version) = comment.strip_prefix("nccl-tests version ") {
        taken.version = version.split_whitespace().next().map(str::to_owned);
    } else if comment.starts_with("nThread") {
        preamble.line(taken);
        taken.fact("options", comment, false);
    } else if let Some(average) = value(comment, "Avg bus bandwidth") {
        preamble.has_average = true;
        taken.fact("average of busbw over all rows, GB/s", average, false);
    } else if value(comment, "Out of bounds values").is_some_and(|values| values.ends_with("FAILED")) {
        taken.cases.push(Case {
            id: "validation".to_owned(),
            place: "all ranks".to_owned(),
            bytes: None,
            unit: ImportedUnit::BytesPerS,
            figure: Err((ImportedStatus::Failed, comment.to_owned())),
            line: Some(line),
        });
    }
}

fn value(comment: &str, key: &str) -> Option<String> {
    Some(comment.strip_prefix(key)?.trim_start().strip_prefix(':')?.trim().to_owned())
}

/// `Rank  0 Group  0 Pid  14840 on node1 device  0 [0x01] NVIDIA H100`: the host and the GPU.
fn rank(comment: &str) -> Option<(String, String)> {
    let (_, rest) = comment.strip_prefix("Rank ")?.split_once(" on ")?;
    let (host, rest) = rest.split_once(" device ")?;
    let (_, gpu) = rest.split_once("] ")?;
    Some((host.trim().to_owned(), gpu.trim().to_owned()))
}

/// What the preambles say of the run.
fn facts(taken: &mut Taken, devices: Devices) {
    let joined = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    if !devices.gpus.is_empty() {
        taken.fact("gpu", joined(devices.gpus), true);
    }
    if devices.hosts.len() == 1 {
        taken.host = devices.hosts.first().cloned();
    } else if !devices.hosts.is_empty() {
        taken.fact("hosts", joined(devices.hosts), false);
    }
}

fn row(columns: &Columns, preamble: &Preamble, words: &str, line: u64) -> Result<Vec<Case>, ImportError> {
    let cells: Vec<&str> = words.split_whitespace().collect();
    as_many(cells.len(), columns.names.len(), line)?;
    let cell = |name: &str| {
        columns.names.iter().position(|known| known == name).and_then(|at| cells.get(at)).copied()
    };
    let bytes = whole(cells[0], line, "a size in bytes")?;

    let mut call = vec![preamble.test.as_deref().unwrap_or("unknown operation")];
    call.extend(cell("type"));
    call.extend(cell("redop").filter(|redop| *redop != "none"));
    let root = cell("root").filter(|root| *root != "-1").map(|root| format!("root {root}"));
    call.extend(root.as_deref());
    let call = call.join("/");
    let place = match (preamble.ranks, preamble.hosts.len()) {
        (0, _) => "unknown ranks".to_owned(),
        (ranks, hosts) => format!("{} of {}", counted(ranks, "rank"), counted(hosts, "host")),
    };

    let mut cases = Vec::new();
    for &(at, way) in &columns.groups {
        let [time, _, busbw] = [0, 1, 2].map(|column| cells.get(at + column).copied().unwrap_or_default());
        let wrong =
            columns.names.get(at + 3).filter(|name| *name == "#wrong").and_then(|_| cells.get(at + 3));
        let wrong = wrong.filter(|count| !["0", "N/A"].contains(*count));
        let case = |quantity: &str, unit, figure| Case {
            id: format!("{call}/{way}/{quantity}/{bytes}"),
            place: place.clone(),
            bytes: Some(bytes),
            unit,
            figure,
            line: Some(line),
        };

        cases.push(case("time", ImportedUnit::Ns, cell_figure(time, 1e3, wrong.copied(), line)?));
        // Two digits: what is smaller is in the time.
        if busbw != "0.00" {
            cases.push(case(
                "busbw",
                ImportedUnit::BytesPerS,
                cell_figure(busbw, 1e9, wrong.copied(), line)?,
            ));
        }
    }
    Ok(cases)
}

/// A cell's figure, unless the result was wrong or the program did not measure it.
fn cell_figure(cell: &str, scale: f64, wrong: Option<&str>, line: u64) -> Result<CaseFigure, ImportError> {
    if let Some(wrong) = wrong {
        return Ok(Err((ImportedStatus::Failed, format!("{wrong} wrong values"))));
    }
    if cell == "N/A" {
        return Ok(Err((ImportedStatus::Waived, "N/A".to_owned())));
    }
    Ok(figure(number(cell, line, "a figure")?, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "# nThread 1 nGpus 2 minBytes 8 maxBytes 8\n#\n# Using devices\n\
        #  Rank  0 Group  0 Pid  18 on  node1 device  0 [0000:8d:00] NVIDIA H100\n\
        #  Rank  1 Group  0 Pid  18 on  node1 device  1 [0000:91:00] NVIDIA H100\n\
        #  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n";
    const ROW: &str = "1048576  262144  float  sum  -1  14.05  74.66  74.66  0  13.71  76.78  76.78  0\n";
    const END: &str = "# Avg bus bandwidth    : 75.1\n";

    fn log(tests: &[&str]) -> String {
        tests.iter().map(|test| format!("$ ./{test}_perf -g 2\n{BEGIN}{ROW}{END}")).collect()
    }

    #[test]
    fn each_program_of_a_log_has_its_own_ranks_and_its_own_name() -> Result<(), ImportError> {
        let taken = take(&log(&["all_reduce", "all_gather"]))?;
        let of = |name: &str| -> BTreeSet<&str> {
            let cases = taken.cases.iter().filter(|case| case.id.starts_with(name));
            cases.map(|case| &case.place[..]).collect()
        };
        for name in ["all_reduce_perf/", "all_gather_perf/"] {
            assert_eq!(of(name), BTreeSet::from(["2 ranks of 1 host"]), "{name}");
        }
        assert_eq!(taken.notes, [""; 0]);

        let unnamed = take(&format!("{}{BEGIN}{ROW}{END}", log(&["all_reduce"])))?;
        assert!(unnamed.cases[4].id.starts_with("unknown operation/"), "{}", unnamed.cases[4].id);
        Ok(())
    }

    #[test]
    fn a_program_that_was_cut_off_is_noted_wherever_it_stands_in_a_log() -> Result<(), ImportError> {
        let whole = log(&["all_reduce", "all_gather"]);
        let (first, second) = whole.split_at(whole.find("$ ./all_gather").unwrap_or_default());
        let cut = |text: &str| text.replace(END, "");
        for text in [format!("{}{second}", cut(first)), format!("{first}{}", cut(second))] {
            let notes = take(&text)?.notes;
            assert_eq!(notes, ["the line of the average is missing: the output may be cut off"], "{text}");
        }
        Ok(())
    }

    #[test]
    fn one_run_twice_in_a_log_is_refused() {
        let twice = super::super::take(Program::NcclTests, log(&["all_reduce"; 2]).as_bytes());
        assert!(
            matches!(twice, Err(ImportError { refused: ImportErrorKind::Twice { .. }, .. })),
            "{twice:?}"
        );
    }
}
