//! bandwidthTest of the CUDA samples: for each direction a heading, the kind of host memory and a row a size;
//! or a line a figure (`--csv`).
//!
//! Copies inside a device are counted twice, once read and once written (`2.0f * memSize` in
//! bandwidthTest.cu), and several devices are added up: the cases say so. GB are 10^9 bytes; samples before
//! CUDA 10.2 print MB/s, which are 2^20 bytes.

use report::imported::{ImportedStatus, ImportedUnit};

use super::error::{ImportError, ImportErrorKind};
use super::numbers::{looks_like_number, number, whole};
use super::stray::StrayLines;
use super::{Case, Program, Taken, figure};

/// Directions as headings and as `--csv` have them, and the case's name for them.
const DIRECTIONS: [(&str, &str, &str); 3] = [
    ("Host to Device", "H2D", "host-to-device"),
    ("Device to Host", "D2H", "device-to-host"),
    ("Device to Device", "D2D", "device-to-device/read and write counted"),
];

/// Lines that say nothing of a figure.
const ASIDE: [&str; 6] =
    ["[CUDA Bandwidth Test]", "Running on", "NOTE:", "Quick Mode", "Range Mode", "Shmoo Mode"];

/// The table that is read.
#[derive(Clone, Default)]
struct Table {
    /// The line of its heading.
    line: u64,
    rows: usize,
    direction: &'static str,
    memory: &'static str,
    is_combined: bool,
    devices: u64,
    scale: Option<f64>,
}

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let mut taken = Taken::default();
    let mut strays = StrayLines::default();
    let mut table: Option<Table> = None;
    let mut names: Vec<&str> = Vec::new();
    let mut result: Option<(u64, &str)> = None;

    for (line, words) in (1_u64..).zip(text.lines()) {
        let words = words.trim();
        if let Some(found) = heading(words, line)? {
            close_table(table.replace(found))?;
        } else if let Some(rest) = words.strip_prefix("bandwidthTest-") {
            taken.cases.push(csv(rest, line)?);
        } else if table.as_mut().is_some_and(|table| table.describe(words)) {
            // It is the table's.
        } else if is_row(words) {
            let Some(table) = &mut table else {
                return Err(ImportError::stray(line, words, "bandwidthTest before a heading"));
            };
            taken.cases.push(row(table, words, line)?);
            table.rows += 1;
        } else if let Some(name) =
            words.strip_prefix("Device ").and_then(|rest| Some(rest.split_once(": ")?.1))
        {
            names.push(name.trim());
        } else if let Some(word) = words.strip_prefix("Result = ") {
            taken.fact("result", word, false);
            result = Some((line, word));
        } else if !(words.is_empty()
            || words.chars().all(|c| c == '.')
            || ASIDE.iter().any(|aside| words.starts_with(aside)))
        {
            strays.push(line, words);
        }
    }

    close_table(table)?;
    if taken.cases.is_empty() {
        let missing = "it has no heading such as \"Host to Device Bandwidth, 1 Device(s)\"";
        return Err(ImportError::whole(ImportErrorKind::NotThis {
            program: Program::BandwidthTest.name(),
            missing,
        }));
    }
    match result {
        Some((_, "PASS")) => {}
        Some((line, word)) => taken.cases.push(failed(word, line)),
        None => {
            let missing = "it has no line \"Result = …\"".to_owned();
            return Err(ImportError::truncated(text.lines().count() as u64, missing));
        }
    }
    if !names.is_empty() {
        taken.fact("gpu", names.join(", "), true);
    }
    strays.note(&mut taken, Program::BandwidthTest.name());
    Ok(taken)
}

/// Another table begins, or the text ends: the one before must have rows.
fn close_table(table: Option<Table>) -> Result<(), ImportError> {
    match table {
        Some(Table { rows: 0, line, .. }) => {
            Err(ImportError::truncated(line, "it has no rows below its heading".to_owned()))
        }
        _ => Ok(()),
    }
}

/// `Result = FAIL` is of the whole run: which figures it is about, the program does not say.
fn failed(result: &str, line: u64) -> Case {
    Case {
        id: "bandwidthTest/result".to_owned(),
        place: "all devices".to_owned(),
        bytes: None,
        unit: ImportedUnit::BytesPerS,
        figure: Err((ImportedStatus::Failed, format!("Result = {result}"))),
        line: Some(line),
    }
}

/// `Host to Device Bandwidth, 1 Device(s)`.
fn heading(words: &str, line: u64) -> Result<Option<Table>, ImportError> {
    for (title, _, direction) in DIRECTIONS {
        let Some(rest) = words.strip_prefix(title).and_then(|rest| rest.strip_prefix(" Bandwidth, ")) else {
            continue;
        };
        let count = rest.split_whitespace().next().unwrap_or_default();
        let devices = whole(count, line, "a count of devices")?;
        return Ok(Some(Table { line, direction, devices, memory: "unknown memory", ..Table::default() }));
    }
    Ok(None)
}

impl Table {
    /// Takes what a line says of the table's figures; whether it says anything.
    fn describe(&mut self, words: &str) -> bool {
        if words.starts_with("PINNED ") {
            self.memory = "pinned";
        } else if words.starts_with("PAGEABLE ") {
            self.memory = "pageable";
        } else if words.starts_with("Write-Combined ") {
            self.is_combined = true;
        } else if !words.starts_with("Transfer Size") {
            return false;
        }
        // bandwidthTest prints no newline after the option's line: the columns may follow on it.
        self.scale = scale(words).or(self.scale);
        true
    }

    fn case(&self, bytes: u64, value: f64, line: u64) -> Result<Case, ImportError> {
        let Some(scale) = self.scale else {
            return Err(ImportError::at(line, ImportErrorKind::NoUnit { units: "GB/s or MB/s" }));
        };

        // A copy inside a device uses no host memory, whatever the heading says.
        let memory = match (self.direction.starts_with("device-to-device"), self.is_combined) {
            (true, _) => String::new(),
            (false, true) => format!("/{}, write-combined", self.memory),
            (false, false) => format!("/{}", self.memory),
        };
        let place = match self.devices {
            1 => "1 device".to_owned(),
            devices => format!("{devices} devices, added up"),
        };

        Ok(Case {
            id: format!("bandwidthTest/{}{memory}/{bytes}", self.direction),
            place,
            bytes: Some(bytes),
            unit: ImportedUnit::BytesPerS,
            figure: figure(value, scale),
            line: Some(line),
        })
    }
}

/// The bytes a second of a printed unit.
fn scale(words: &str) -> Option<f64> {
    let units = [("GB/s", 1e9), ("MB/s", f64::from(1 << 20))];
    units.into_iter().find(|(unit, _)| words.contains(unit)).map(|(_, scale)| scale)
}

/// Whether a line is of bytes and a rate.
fn is_row(words: &str) -> bool {
    words.split_whitespace().count() == 2 && words.split_whitespace().all(looks_like_number)
}

fn row(table: &Table, words: &str, line: u64) -> Result<Case, ImportError> {
    let (bytes, rate) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    table.case(whole(bytes, line, "a size in bytes")?, number(rate.trim(), line, "a bandwidth")?, line)
}

/// `H2D-Pinned, Bandwidth = 12.1 GB/s, Time = 0.00265 s, Size = 33554432 bytes, NumDevsUsed = 1`.
fn csv(rest: &str, line: u64) -> Result<Case, ImportError> {
    let mut fields = rest.split(", ");
    let config = fields.next().unwrap_or_default();
    let fields: Vec<(&str, &str)> = fields.filter_map(|field| field.split_once(" = ")).collect();
    let field =
        |name: &str| fields.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value.trim());
    let (code, memory) = config.split_once('-').unwrap_or((config, ""));
    let Some((.., direction)) = DIRECTIONS.into_iter().find(|(_, known, _)| *known == code) else {
        return Err(ImportError::stray(line, rest, "bandwidthTest --csv"));
    };

    let bandwidth = field("Bandwidth");
    let number_of = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    let table = Table {
        direction,
        memory: if memory.starts_with("Paged") { "pageable" } else { "pinned" },
        is_combined: memory.ends_with("WriteCombined"),
        devices: whole(field("NumDevsUsed"), line, "a count of devices")?,
        scale: scale(bandwidth),
        ..Table::default()
    };
    let bytes = whole(&number_of(field("Size")), line, "a size in bytes")?;
    table.case(bytes, number(&number_of(bandwidth), line, "a bandwidth")?, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_says_that_it_failed_has_a_case_that_failed() -> Result<(), ImportError> {
        let text = "Host to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n   Transfer Size \
            (Bytes)\tBandwidth(GB/s)\n   33554432\t12.3\n\nResult = FAIL\n";
        let cases = take(text)?.cases;
        let failed = (ImportedStatus::Failed, "Result = FAIL".to_owned());
        assert_eq!(
            cases.iter().map(|case| case.figure.clone()).collect::<Vec<_>>(),
            [Ok(12.3e9), Err(failed)]
        );
        Ok(())
    }

    #[test]
    fn a_table_that_is_no_table_is_refused_with_what_it_lacks() {
        let heading = "Host to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n";
        let columns = "   Transfer Size (Bytes)\tBandwidth(GB/s)\n";
        let refused = |rows: &str| take(rows).err().map(|error| error.to_string()).unwrap_or_default();

        for (text, said) in [
            (format!("{heading}{columns}   33554432\tnan\n"), "line 4: \"nan\" stands where a bandwidth"),
            (format!("{heading}{columns}   33554432\t-inf\n"), "line 4: \"-inf\" stands where a bandwidth"),
            (format!("{heading}{columns}"), "it has no rows below its heading"),
            (
                format!("{heading}{columns}   33554432\t12.3\n"),
                "line 4: the output ends in the middle: it has no line",
            ),
            (
                format!("{heading}{columns}{heading}{columns}   33554432\t12.3\n\nResult = PASS\n"),
                "line 1: the output ends in the middle: it has no rows",
            ),
            (format!("{heading}   33554432\t12.3\n"), "line 3: the heading above has no unit (GB/s or MB/s)"),
        ] {
            assert!(refused(&text).contains(said), "{said}: {}", refused(&text));
        }
    }
}
