//! Intel's Memory Latency Checker (`mlc`, versions 3): matrices of NUMA nodes, peak bandwidths by mix, loaded
//! latencies, and latencies between caches.
//!
//! A matrix's rows are the nodes whose cores read, its columns the nodes with the memory. MB are 10^6 bytes,
//! as the program says itself. Of a loaded latency the delay between accesses is in the case's name: its
//! bandwidth is what such a delay lets through. A node without cores has no row, so a matrix may have fewer
//! rows than columns; one of as many columns above it tells how many. Forms: a whole run, and the parts that
//! options such as `--latency_matrix` print alone (Intel's page on the program, versions 3.4 to 3.11). The
//! lines of all parts are those of outputs of versions 3.5 to 3.11b in public repositories, where tabs are
//! often spaces.

use std::collections::BTreeMap;

use report::imported::ImportedUnit;
use stats::units::counted;

use super::error::{ImportError, ImportErrorKind, as_many};
use super::numbers::{begins_with_digit, number, whole};
use super::stray::StrayLines;
use super::{Case, Program, Taken, figure};

/// The part of the output that is read.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    None,
    IdleLatency,
    Peak,
    NodeBandwidth,
    Loaded,
    Caches,
}

/// What parts begin with.
const PARTS: [(&str, Part); 5] = [
    ("Measuring idle latencies", Part::IdleLatency),
    ("Measuring Peak Injection Memory Bandwidths", Part::Peak),
    ("Measuring Memory Bandwidths between nodes", Part::NodeBandwidth),
    ("Measuring Loaded Latencies", Part::Loaded),
    ("Measuring cache-to-cache transfer latency", Part::Caches),
];

/// What other lines of the program begin with.
const ASIDE: [&str; 10] = [
    "Command line parameters",
    "Using ",
    "Bandwidths are in",
    "Inject",
    "Delay",
    "=====",
    "Remote Socket",
    "Reader Numa Node",
    "*** ",
    "Numa node",
];

/// A unit as printed: what it counts, and how much of a document's unit it is.
#[derive(Clone, Copy)]
struct PrintedUnit {
    unit: ImportedUnit,
    scale: f64,
}

const NS: PrintedUnit = PrintedUnit { unit: ImportedUnit::Ns, scale: 1.0 };
const MB_PER_S: PrintedUnit = PrintedUnit { unit: ImportedUnit::BytesPerS, scale: 1e6 };

/// Where reading stands.
struct Reader {
    taken: Taken,
    strays: StrayLines,
    part: Part,
    /// The first line of the part, and how many cases came before it.
    part_begin: (u64, usize),
    /// The nodes of a matrix's columns, the line of its heading, and how many rows it has so far.
    columns: Vec<u64>,
    matrix_line: u64,
    rows: usize,
    /// How many rows a whole matrix of so many columns has.
    whole: BTreeMap<usize, usize>,
    /// Whether options chose a part of the run.
    has_options: bool,
    /// What the matrix of cache latencies is of.
    caches: String,
}

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let mut reader = Reader {
        taken: Taken::default(),
        strays: StrayLines::default(),
        part: Part::None,
        part_begin: (0, 0),
        columns: Vec::new(),
        matrix_line: 0,
        rows: 0,
        whole: BTreeMap::new(),
        has_options: false,
        caches: String::new(),
    };
    for (line, words) in (1_u64..).zip(text.lines()) {
        reader.line(words.trim(), line)?;
    }
    reader.finish()?;

    let Reader { mut taken, strays, .. } = reader;
    if taken.cases.is_empty() {
        let missing = "it has no figures below a line such as \"Measuring idle latencies\"";
        return Err(ImportError::whole(ImportErrorKind::NotThis { program: Program::Mlc.name(), missing }));
    }
    strays.note(&mut taken, Program::Mlc.name());
    Ok(taken)
}

impl Reader {
    fn line(&mut self, words: &str, line: u64) -> Result<(), ImportError> {
        if let Some((_, part)) = PARTS.iter().find(|(title, _)| words.starts_with(title)) {
            self.close_matrix()?;
            self.note_empty_part();
            (self.part, self.columns) = (*part, Vec::new());
            self.part_begin = (line, self.taken.cases.len());
        } else if let Some((_, version)) = titled(words) {
            self.taken.version = Some(version.trim().to_owned());
        } else if let Some(columns) = columns(words, line)? {
            self.close_matrix()?;
            (self.columns, self.matrix_line) = (columns, line);
        } else if let (Part::Peak, Some((mix, rate))) = (self.part, mix_and_rate(words)) {
            let rate = number(rate.trim(), line, "a bandwidth")?;
            let id = format!("mlc/peak/{}", mix.trim());
            self.push(id, "all cores and their own memory", MB_PER_S, rate, line);
        } else if begins_with_digit(words) && self.part != Part::None {
            self.row(words, line)?;
        } else if let (Part::Caches, Some((what, time))) = (self.part, cache_latency(words)) {
            let time = number(time, line, "a latency")?;
            self.push(format!("mlc/caches/{}", what.trim()), "two cores", NS, time, line);
        } else if !(words.is_empty() || ASIDE.iter().any(|aside| words.starts_with(aside))) {
            self.strays.push(line, words);
        }

        self.has_options |= words.starts_with("Command line parameters");
        if self.part == Part::Caches && words.starts_with("Remote Socket") {
            words.clone_into(&mut self.caches);
        }
        Ok(())
    }

    /// Something else begins: the matrix under way is whole, unless it has fewer rows than one above it.
    fn close_matrix(&mut self) -> Result<(), ImportError> {
        let (columns, rows) = (std::mem::take(&mut self.columns).len(), std::mem::take(&mut self.rows));
        let wanted = if columns > 0 { *self.whole.entry(columns).or_insert(rows) } else { 0 };
        match rows < wanted {
            true => Err(ImportError::truncated(
                self.matrix_line,
                format!("its matrix has {rows} of {wanted} rows"),
            )),
            false => Ok(()),
        }
    }

    /// The text ends. A first matrix with fewer rows than columns may be whole, and so may a run of which
    /// only the first parts are there.
    fn finish(&mut self) -> Result<(), ImportError> {
        let (columns, rows) = (self.columns.len(), self.rows);
        if rows < columns && !self.whole.contains_key(&columns) {
            self.taken.notes.push(format!(
                "line {}: the matrix has {} and {columns} columns: nodes without cores, or the output is cut \
                 off",
                self.matrix_line,
                counted(rows, "row")
            ));
        }

        self.close_matrix()?;
        self.note_empty_part();
        if !self.has_options && self.part != Part::Caches {
            let last = "the last part of a run without options (cache-to-cache transfer latency) is missing";
            self.taken.notes.push(format!("{last}: the output may be cut off"));
        }
        Ok(())
    }

    /// Another part begins, or the text ends: the one before has figures, or a note that it has none.
    fn note_empty_part(&mut self) {
        let (line, before) = self.part_begin;
        if self.part != Part::None && self.taken.cases.len() == before {
            let note = format!("line {line}: the part has no figures: the output may be cut off");
            self.taken.notes.push(note);
        }
    }

    /// A row of a matrix, or of the table of loaded latencies.
    fn row(&mut self, words: &str, line: u64) -> Result<(), ImportError> {
        let cells: Vec<&str> = words.split_whitespace().collect();
        let first = whole(cells[0], line, "a node's number or a delay")?;
        if self.part == Part::Loaded {
            as_many(cells.len(), 3, line)?;
            let (time, rate) = (number(cells[1], line, "a latency")?, number(cells[2], line, "a bandwidth")?);
            let place = "all cores and their own memory";
            self.push(format!("mlc/loaded/latency/delay {first}"), place, NS, time, line);
            self.push(format!("mlc/loaded/bandwidth/delay {first}"), place, MB_PER_S, rate, line);
            return Ok(());
        }

        as_many(cells.len(), self.columns.len() + 1, line)?;
        self.rows += 1;
        let (id, unit) = match self.part {
            Part::IdleLatency => ("mlc/idle latency".to_owned(), NS),
            Part::NodeBandwidth => ("mlc/bandwidth between nodes".to_owned(), MB_PER_S),
            _ => (format!("mlc/caches/{}", self.caches), NS),
        };
        for (to, cell) in self.columns.clone().into_iter().zip(&cells[1..]) {
            // Caches of one node have no remote latency.
            if *cell != "-" {
                let place = match self.part {
                    Part::Caches => format!("writer on node {first}, reader on node {to}"),
                    _ => format!("cores of node {first}, memory of node {to}"),
                };
                self.push(id.clone(), &place, unit, number(cell, line, "a figure")?, line);
            }
        }
        Ok(())
    }

    fn push(&mut self, id: String, place: &str, printed: PrintedUnit, value: f64, line: u64) {
        let PrintedUnit { unit, scale } = printed;
        let figure = figure(value, scale);
        self.taken.cases.push(Case {
            id,
            place: place.to_owned(),
            bytes: None,
            unit,
            figure,
            line: Some(line),
        });
    }
}

/// `Intel(R) Memory Latency Checker - v3.11b`, with words in brackets before the version in some builds.
fn titled(words: &str) -> Option<(&str, &str)> {
    words.strip_prefix("Intel(R) Memory Latency Checker")?.split_once(" - v")
}

/// `Local Socket L2->L2 HIT  latency\t48.8`, whose tab is spaces where it was copied from a terminal.
fn cache_latency(words: &str) -> Option<(&str, &str)> {
    let (what, time) = words.rsplit_once(" latency")?;
    let time = time.strip_prefix([' ', '\t'])?.trim();
    begins_with_digit(time).then_some((what, time))
}

/// `3:1 Reads-Writes :    207894.6`.
fn mix_and_rate(words: &str) -> Option<(&str, &str)> {
    words.rsplit_once(':').filter(|(_, rate)| begins_with_digit(rate.trim()))
}

/// The nodes of a matrix's columns: `Numa node   0   1`, or `Writer Numa Node   0   1`.
fn columns(words: &str, line: u64) -> Result<Option<Vec<u64>>, ImportError> {
    let Some(rest) = words.strip_prefix("Numa node").or(words.strip_prefix("Writer Numa Node")) else {
        return Ok(None);
    };
    let cells: Vec<&str> = rest.split_whitespace().collect();
    if cells.is_empty() {
        return Ok(None);
    }
    cells.into_iter().map(|cell| whole(cell, line, "a node's number")).collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_without_figures_is_noted_with_its_line() -> Result<(), ImportError> {
        let text = "Measuring idle latencies (in ns)...\n\t\tNuma node\nNuma node\t     0\n       \
            0\t  81.5\n\n\
            Measuring Peak Injection Memory Bandwidths for the system\nBandwidths are in MB/sec\n";
        let taken = take(text)?;
        assert_eq!(taken.cases.len(), 1);
        assert_eq!(taken.notes[0], "line 6: the part has no figures: the output may be cut off");
        Ok(())
    }

    const LATENCIES: &str = "Intel(R) Memory Latency Checker - v3.9\nMeasuring idle latencies (in ns)...\n\
        Numa node\nNuma node\t     0\t     1\n       0\t  81.3\t 139.6\n";
    const ROW: &str = "       1\t 138.9\t  81.5\n";
    const BANDWIDTHS: &str = "Measuring Memory Bandwidths between nodes within system\nNuma node\t 0\t 1\n";

    #[test]
    fn a_matrix_with_fewer_rows_than_one_above_it_is_cut_off_and_a_first_one_may_be()
    -> Result<(), ImportError> {
        let notes = take(LATENCIES)?.notes;
        let said =
            "line 4: the matrix has 1 row and 2 columns: nodes without cores, or the output is cut off";
        assert_eq!(notes[0], said);
        let without_cores = format!("Command line parameters: --latency_matrix\n{LATENCIES}");
        assert_eq!(take(&without_cores)?.notes.len(), 1);

        let row = "       0\t 112640.1\t  51243.2\n";
        let whole = format!("{LATENCIES}{ROW}{BANDWIDTHS}{row}");
        let refused = take(&whole).map_or_else(|error| error.to_string(), |_| "taken".to_owned());
        assert!(refused.starts_with("line 8: ") && refused.contains("1 of 2 rows"), "{refused}");
        let no_cores = take(&format!("{LATENCIES}{BANDWIDTHS}{row}"))?;
        assert_eq!(no_cores.cases.len(), 4, "a node without cores has no row in either");
        Ok(())
    }

    #[test]
    fn a_run_without_options_that_lacks_its_last_part_is_noted() -> Result<(), ImportError> {
        let (whole, last) = (format!("{LATENCIES}{ROW}"), "cache-to-cache transfer latency) is missing");
        assert!(take(&whole)?.notes.iter().any(|note| note.contains(last)));
        let caches = "Measuring cache-to-cache transfer latency (in ns)...\n\
            Local Socket L2->L2 HIT  latency\t48.8\n";
        for text in [format!("Command line parameters: --latency_matrix\n{whole}"), whole + caches] {
            assert_eq!(take(&text)?.notes, [""; 0], "{text}");
        }
        Ok(())
    }
}
