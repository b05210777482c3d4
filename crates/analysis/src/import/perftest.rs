//! perftest's bandwidth programs (`ib_write_bw`, `ib_read_bw`, `ib_send_bw`): a title, the settings, and a
//! row a size.
//!
//! Of each row the average is taken, and the peak where it was measured (it is 0 where not). `MB/sec` are
//! 2^20 bytes, `Gb/sec` 10^9 bits (perftest_parameters.h, `format_factor` in perftest_resources.c); a
//! bidirectional test adds both directions up. Where memory was, the output says for GPUs only (`--use_cuda`,
//! `--use_rocm`). Forms: what users posted in issues 132, 234 and 273 of perftest and its pull request 214.

use report::imported::ImportedUnit;

use super::error::{ImportError, ImportErrorKind, as_many};
use super::numbers::{number, whole};
use super::stray::StrayLines;
use super::{Case, Program, Taken, figure};

/// A test: its title, as a case has it.
struct Test {
    name: String,
    is_bidirectional: bool,
    on_gpu: bool,
}

/// Where a row has what, and what a unit of it is.
struct Columns {
    count: usize,
    scale: f64,
}

/// Settings that make another test of it.
const SETTINGS: [&str; 7] =
    ["Device", "Number of qps", "Transport type", "Connection type", "Mtu", "Link type", "Using SRQ"];

/// What the program's other lines begin with.
const ASIDE: [&str; 15] = [
    "---",
    "***",
    "* Waiting",
    "local address",
    "remote address",
    "GID:",
    "WARNING",
    "PCIe relax",
    "Conflicting CPU",
    "Perftest",
    "initializing CUDA",
    "Listing all CUDA",
    "CUDA device",
    "Using sampled CPU",
    "Connected: ",
];

pub(super) fn take(text: &str) -> Result<Taken, ImportError> {
    let mut taken = Taken::default();
    let mut strays = StrayLines::default();
    let mut test: Option<Test> = None;
    let mut columns: Option<Columns> = None;
    let on_gpu = ["initializing CUDA", "use_cuda", "use_rocm"].iter().any(|sign| text.contains(sign));

    for (line, words) in (1_u64..).zip(text.lines()) {
        let words = words.trim();
        if let Some(name) = words.strip_suffix(" BW Test") {
            let (name, is_bidirectional) = match name.strip_suffix(" Bidirectional") {
                Some(name) => (name, true),
                None => (name, false),
            };
            test = Some(Test { name: name.to_owned(), is_bidirectional, on_gpu });
        } else if let Some(found) = heading(words) {
            columns = Some(found);
        } else if let (Some(test), Some(columns), true) = (&test, &columns, is_row(words)) {
            taken.cases.extend(row(test, columns, words, line)?);
        } else if words.contains(" : ") && !words.starts_with("local") {
            settings(&mut taken, words);
        } else if !(words.is_empty() || ASIDE.iter().any(|aside| words.starts_with(aside))) {
            strays.push(line, words);
        }
    }

    if test.is_none() || columns.is_none() {
        let missing =
            "it has no title such as \"RDMA_Write BW Test\" with a heading \"#bytes #iterations BW peak …\"";
        return Err(ImportError::whole(ImportErrorKind::NotThis {
            program: Program::Perftest.name(),
            missing,
        }));
    }
    if taken.cases.is_empty() {
        return Err(ImportError::whole(ImportErrorKind::Truncated {
            missing: "it has no rows below its heading".to_owned(),
        }));
    }
    strays.note(&mut taken, Program::Perftest.name());
    Ok(taken)
}

/// `#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]`.
fn heading(words: &str) -> Option<Columns> {
    words.strip_prefix("#bytes")?.contains("BW average[").then_some(())?;
    let scale = if words.contains("average[Gb/sec]") { 1e9 / 8.0 } else { f64::from(1 << 20) };
    // Two of the names have a space in them.
    Some(Columns { count: words.split_whitespace().count() - words.matches("BW ").count(), scale })
}

/// Settings stand two a line: `Dual-port       : OFF          Device         : mlx5_0`.
fn settings(taken: &mut Taken, words: &str) {
    let mut found = Vec::new();
    for name in SETTINGS {
        let value = words.split_once(name).and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
        let value = value.and_then(|rest| rest.split_whitespace().next());
        found.extend(value.map(|value| (name, value)));
    }
    for (name, value) in found {
        taken.fact(name, value, true);
    }
}

/// A row begins with bytes and iterations.
fn is_row(words: &str) -> bool {
    let cells: Vec<&str> = words.split_whitespace().collect();
    cells.len() > 3 && cells[..2].iter().all(|cell| cell.bytes().all(|byte| byte.is_ascii_digit()))
}

fn row(test: &Test, columns: &Columns, words: &str, line: u64) -> Result<Vec<Case>, ImportError> {
    let cells: Vec<&str> = words.split_whitespace().collect();
    as_many(cells.len(), columns.count, line)?;
    let bytes = whole(cells[0], line, "a size in bytes")?;
    let memory = if test.on_gpu { "GPU memory" } else { "unknown memory" };
    let (way, place) = match test.is_bidirectional {
        true => ("both directions added up", "client <-> server"),
        false => ("one direction", "client -> server"),
    };
    let case = |quantity: &str, value: f64| Case {
        id: format!("{}/{way}/{memory}/{quantity}/{bytes}", test.name),
        place: place.to_owned(),
        bytes: Some(bytes),
        unit: ImportedUnit::BytesPerS,
        figure: figure(value, columns.scale),
        line: Some(line),
    };

    let (peak, average) = (number(cells[2], line, "a bandwidth")?, number(cells[3], line, "a bandwidth")?);
    let mut cases = vec![case("average", average)];
    if peak > 0.0 {
        cases.push(case("peak", peak));
    }
    Ok(cases)
}
