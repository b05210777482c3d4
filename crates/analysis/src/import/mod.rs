//! Outputs of the field's programs, taken apart: pure functions of text, one file a format.
//!
//! * `nvbandwidth_text`, `nvbandwidth_json` what nvbandwidth prints, and what it prints with `-j`, on
//!   `nvbandwidth_test`, a test with its matrices, and `nvbandwidth_size`, what a command line says;
//! * `transferbench` what TransferBench prints of a configuration file and of its preset p2p, as a table or
//!   as CSV, `transferbench_presets` of its presets a2a and scaling;
//! * `nvloom` what nvloom_cli prints;
//! * `osu` the OSU micro-benchmarks osu_latency, osu_bw, osu_bibw and osu_mbw_mr;
//! * `nccl_tests` nccl-tests and rccl-tests; `bandwidth_test`, `p2p_matrix` the CUDA samples bandwidthTest
//!   and p2pBandwidthLatencyTest; `rocm_bandwidth_test`, `stream`, `perftest` and `mlc` the programs of these
//!   names;
//! * `stray` lines of others between a program's lines;
//! * `numbers` a figure as such programs write it; `error` why a text cannot be read, with the line.
//!
//! A text is read whole or refused: a line that looks like a figure and cannot be read is an error with its
//! number, never left out. A test that the program waived is a case without a figure. `N/A` is left out where
//! the pair does not exist (nvbandwidth, nvloom, TransferBench), and waived elsewhere. Figures are taken as
//! printed, with the digits that the program gives.
//!
//! Samples that some programs print are not taken for blocks: nothing says that memory was allocated afresh
//! or that their order was random. A case keeps the program's own names of places, because the output does
//! not say which PU, node or PCI address they were.

mod bandwidth_test;
mod error;
mod mlc;
mod nccl_tests;
mod numbers;
mod nvbandwidth_json;
mod nvbandwidth_size;
mod nvbandwidth_test;
mod nvbandwidth_text;
mod nvloom;
mod osu;
mod p2p_matrix;
mod perftest;
mod rocm_bandwidth_test;
mod stray;
mod stream;
mod transferbench;
mod transferbench_presets;

use std::collections::BTreeMap;

use report::SavedDocument;
use report::document::{Status, Tool};
use report::imported::{
    ImportedCase, ImportedDocument, ImportedFact, ImportedFile, ImportedStatus, ImportedUnit, NOT_VERIFIED,
};
use stats::units::counted;

pub use error::{ImportError, ImportErrorKind};

/// The programs whose outputs are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// NVIDIA's nvbandwidth.
    Nvbandwidth,
    /// AMD's TransferBench.
    TransferBench,
    /// The OSU micro-benchmarks.
    Osu,
    /// nccl-tests and rccl-tests.
    NcclTests,
    /// bandwidthTest of the CUDA samples.
    BandwidthTest,
    /// p2pBandwidthLatencyTest of the CUDA samples.
    P2pMatrix,
    /// rocm_bandwidth_test.
    RocmBandwidthTest,
    /// McCalpin's STREAM.
    Stream,
    /// perftest (`ib_write_bw`).
    Perftest,
    /// Intel's Memory Latency Checker.
    Mlc,
    /// NVIDIA's nvloom.
    Nvloom,
}

impl Program {
    /// As its makers write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvbandwidth => "nvbandwidth",
            Self::TransferBench => "TransferBench",
            Self::Osu => "OSU micro-benchmarks",
            Self::NcclTests => "nccl-tests",
            Self::BandwidthTest => "bandwidthTest",
            Self::P2pMatrix => "p2pBandwidthLatencyTest",
            Self::RocmBandwidthTest => "rocm_bandwidth_test",
            Self::Stream => "STREAM",
            Self::Perftest => "perftest",
            Self::Mlc => "Intel MLC",
            Self::Nvloom => "nvloom",
        }
    }
}

/// What a text holds.
#[derive(Debug, Default)]
pub struct Taken {
    version: Option<String>,
    host: Option<String>,
    facts: Vec<ImportedFact>,
    cases: Vec<Case>,
    notes: Vec<String>,
}

/// The fact of a command line whose size of copies could not be read.
pub(crate) const SIZE_NOT_READ: &str = "size not read";

/// A case of a text.
#[derive(Debug)]
struct Case {
    id: String,
    place: String,
    bytes: Option<u64>,
    unit: ImportedUnit,
    figure: CaseFigure,
    line: Option<u64>,
}

/// The figure of a case, or that there is none, and why.
type CaseFigure = Result<f64, (ImportedStatus, String)>;

/// The figure of a printed value, of which `scale` is what one printed unit is in the unit of the figure. A
/// value of 0 is a failure.
fn figure(value: f64, scale: f64) -> CaseFigure {
    let failed = || (ImportedStatus::Failed, "the program printed 0".to_owned());
    if value > 0.0 { Ok(value * scale) } else { Err(failed()) }
}

impl Taken {
    fn fact(&mut self, name: &str, value: impl Into<String>, essential: bool) {
        let value = value.into();
        if !self.facts.iter().any(|fact| fact.name == name && fact.value == value) {
            self.facts.push(ImportedFact { name: name.to_owned(), value, essential });
        }
    }
}

/// A file with an output.
#[derive(Clone, Debug)]
pub struct ProgramOutput {
    /// As it was named.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// What the output itself does not say, and whoever imports it does.
#[derive(Clone, Debug)]
pub struct About {
    /// The importer.
    pub tool: Tool,
    /// The command line.
    pub argv: Vec<String>,
    /// When the run was, RFC 3339 in UTC, and who says so.
    pub started_at: (String, String),
    /// The host.
    pub host: Option<String>,
}

/// One text of a program.
///
/// # Errors
/// [`ImportError`]: where it cannot be read, and why.
pub fn take(program: Program, bytes: &[u8]) -> Result<Taken, ImportError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        ImportError::at(
            1 + before.iter().filter(|byte| **byte == b'\n').count() as u64,
            ImportErrorKind::NotText,
        )
    })?;
    if text.trim().is_empty() {
        return Err(ImportError::whole(ImportErrorKind::Empty));
    }

    let taken = match program {
        Program::Nvbandwidth if text.trim_start().starts_with('{') => nvbandwidth_json::take(text),
        Program::Nvbandwidth => nvbandwidth_text::take(text),
        Program::TransferBench => transferbench::take(text),
        Program::Osu => osu::take(text),
        Program::NcclTests => nccl_tests::take(text),
        Program::BandwidthTest => bandwidth_test::take(text),
        Program::P2pMatrix => p2p_matrix::take(text),
        Program::RocmBandwidthTest => rocm_bandwidth_test::take(text),
        Program::Stream => stream::take(text),
        Program::Perftest => perftest::take(text),
        Program::Mlc => mlc::take(text),
        Program::Nvloom => nvloom::take(text),
    }?;

    let mut lines: BTreeMap<(&str, &str), Option<u64>> = BTreeMap::new();
    for case in &taken.cases {
        if let Some(first) = lines.insert((&case.id, &case.place), case.line) {
            let fault = ImportErrorKind::Twice { case: format!("{}, {}", case.id, case.place), first };
            return Err(ImportError { line: case.line, refused: fault });
        }
    }
    Ok(taken)
}

/// The outputs of one run as one document.
///
/// # Errors
/// The name of the file, and why it cannot be read, or does not belong to the others.
pub fn import(
    program: Program,
    outputs: &[ProgramOutput],
    about: About,
) -> Result<ImportedDocument, (String, Box<ImportError>)> {
    let mut all = Taken::default();
    let (mut cases, mut files, mut files_of) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (at, output) in outputs.iter().enumerate() {
        let named = |fault: ImportError| (output.name.clone(), Box::new(fault));
        let taken = take(program, &output.bytes).map_err(named)?;
        join(&mut all, &taken, outputs.first().map_or("", |first| &first.name), at == 0).map_err(named)?;
        for case in taken.cases {
            let case = imported_case(case, at as u32);
            if let Some(first) = files_of.insert((case.id.clone(), case.place.clone()), at) {
                let first = outputs.get(first).map_or(String::new(), |output| output.name.clone());
                let refused =
                    ImportErrorKind::InTwoFiles { case: format!("{}, {}", case.id, case.place), first };
                return Err(named(ImportError { line: case.line, refused }));
            }
            cases.push(case);
        }
        files.push(ImportedFile { name: output.name.clone(), bytes: output.bytes.len() as u64 });
    }

    let (started_at, started_at_source) = about.started_at;
    let mut document = ImportedDocument {
        schema: ImportedDocument::SCHEMA.to_owned(),
        schema_version: ImportedDocument::VERSION.number(),
        tool: about.tool,
        argv: about.argv,
        program: program.name().to_owned(),
        program_version: all.version,
        files,
        started_at,
        started_at_source,
        host: about.host.or(all.host),
        status: Status::Complete,
        status_reason: None,
        verdict: Vec::new(),
        facts: all.facts,
        cases,
        notes: all.notes,
    };
    conclude(&mut document);
    Ok(document)
}

/// Adds what a further file says of the run; it must be the same run.
fn join(all: &mut Taken, taken: &Taken, first: &str, is_first: bool) -> Result<(), ImportError> {
    let differs = |what: &str, here: &Option<String>, there: &Option<String>| {
        let said = |value: &Option<String>| value.clone().unwrap_or("not said".to_owned());
        let (here, there) = (said(here), said(there));
        ImportError::whole(ImportErrorKind::OtherRun {
            what: what.to_owned(),
            here,
            there,
            first: first.to_owned(),
        })
    };

    if !is_first && all.version != taken.version {
        return Err(differs("version", &taken.version, &all.version));
    }
    if !is_first && all.host.is_some() && taken.host.is_some() && all.host != taken.host {
        return Err(differs("host", &taken.host, &all.host));
    }

    all.version.clone_from(&taken.version);
    all.host = all.host.take().or_else(|| taken.host.clone());
    // What this file says twice is no other run.
    let others = all.facts.clone();
    for fact in &taken.facts {
        let mut known = others.iter().filter(|known| known.name == fact.name).peekable();
        match known.peek().map(|known| known.value.clone()) {
            None => all.facts.push(fact.clone()),
            Some(_) if known.any(|known| known.value == fact.value) => {}
            there => return Err(differs(&fact.name, &Some(fact.value.clone()), &there)),
        }
    }
    all.notes.extend(taken.notes.iter().cloned());
    Ok(())
}

fn imported_case(case: Case, file: u32) -> ImportedCase {
    let (status, value, reason) = match case.figure {
        Ok(value) => (ImportedStatus::Measured, Some(value), None),
        Err((status, reason)) => (status, None, Some(reason)),
    };
    let Case { id, place, bytes, unit, line, .. } = case;
    ImportedCase { id, place, bytes, unit, status, value, reason, file, line }
}

/// Sets status and verdict: cases that failed make the document partial, or failed where nothing was
/// measured; waived ones do not count.
fn conclude(document: &mut ImportedDocument) {
    let (measured, waived, failed) = (
        document.count(ImportedStatus::Measured),
        document.count(ImportedStatus::Waived),
        document.count(ImportedStatus::Failed),
    );

    let version = document.program_version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    let mut first = format!(
        "{} of {}{version}, imported from {}.",
        counted(measured, "figure"),
        document.program,
        counted(document.files.len(), "file")
    );

    if waived > 0 {
        first += &format!(" {} waived by the program.", counted(waived, "case"));
    }
    if failed > 0 {
        first += &format!(" {} FAILED.", counted(failed, "case"));
        document.status = if measured > 0 { Status::Partial } else { Status::Failed };
        let reason = document.cases.iter().find(|case| case.status == ImportedStatus::Failed);
        document.status_reason =
            reason.and_then(|case| Some(format!("{}: {}", case.id, case.reason.as_ref()?)));
    }
    document.verdict = vec![first, NOT_VERIFIED.to_owned()];
}
