//! What a terminal shows of a document of `numabench mpi`: the answer; of each pair a table of sizes by path,
//! the operations and the witnesses; then ranks and library.

use std::collections::BTreeSet;

use analysis::mpi_figure::mpi_figure;
use report::awareness::{DeviceOperation, MpiOperation, OperationOutcome};
use report::message::{MessagePattern, MpiPath, MpiThreadLevel};
use report::mpi::{MpiCase, MpiDocument, MpiGpuThread, MpiPair};
use stats::alike::{distinct, grouped};
use stats::units::counted;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use super::screen;
use super::table::Style;
use super::words::{self, NEWER};

/// The paths in the order of their columns, with their heads.
const PATHS: [(MpiPath, &str); 7] = [
    (MpiPath::Host, "host"),
    (MpiPath::Staged, "staged"),
    (MpiPath::Pipelined, "pipelined"),
    (MpiPath::GpuAware, "GPU-aware"),
    (MpiPath::PeerCopy, "peer copy"),
    (MpiPath::D2hCopy, "D2H copy"),
    (MpiPath::H2dCopy, "H2D copy"),
];

/// The patterns in the order of their tables, with what the figures are.
const PATTERNS: [(MessagePattern, &str); 3] = [
    (MessagePattern::PingPong, "one message at a time: time one way, and GB/s from 1 MiB on"),
    (MessagePattern::OneWay, "messages one way, several at once: GB/s"),
    (MessagePattern::BothWays, "messages, bidirectional: GB/s of both directions together"),
];

/// The document as text for a terminal. Quiet is the answer alone.
pub fn mpi(document: &MpiDocument, style: &Style) -> String {
    let mut page = Page::new(style.width);
    for (at, line) in document.verdict.iter().enumerate() {
        page.paragraph(if at == 0 { Tone::Title } else { Tone::Plain }, "", line);
    }
    if let Some(simulation) = &document.simulated {
        page.paragraph(Tone::Warning, "", &format!("SIMULATED: {simulation}; no figure of a device is real"));
    }
    if style.quiet {
        return page.finish(style.color);
    }

    if let Some(matrix) = &document.matrix {
        page.blank();
        super::mpi_matrix::draw(document, matrix, &mut page);
        let is_well = |pair: &MpiPair| {
            pair.cases.iter().all(|case| case.reason.is_none())
                && pair.operations.iter().all(|tried| tried.outcome == OperationOutcome::Works)
        };
        for pair in document.pairs.iter().filter(|pair| !is_well(pair)) {
            page.line(Tone::Plain, format!("Ranks {} and {}", pair.ranks[0], pair.ranks[1]));
            operations(&pair.operations, &mut page);
            reasons(pair, &mut page);
        }
    }

    let one_by_one = if document.matrix.is_none() { &document.pairs[..] } else { &[] };

    for pair in one_by_one {
        page.blank();
        let [one, other] = pair.ranks;
        page.line(Tone::Plain, format!("Ranks {one} and {other}"));
        for pattern in PATTERNS {
            figures(pair, pattern, &mut page);
        }
        super::mpi_threads::draw(pair, &mut page);
        operations(&pair.operations, &mut page);
        for witness in pair.device_memory.iter().flat_map(|found| &found.witnesses) {
            page.paragraph(
                Tone::Plain,
                &format!("  {}: ", witness.name.name()),
                &format!("{}: {}", witness.says.name(), witness.detail),
            );
        }
        reasons(pair, &mut page);
    }

    of_newer_versions(document, &mut page);
    page.blank();
    ranks(document, &mut page);
    page.blank();
    let library = document.mpi.library.as_deref().unwrap_or("not started");
    let said = if document.mpi.says.is_empty() { "nothing".to_owned() } else { document.mpi.says.join(", ") };
    let level = document.mpi.thread_level.map_or("unknown", MpiThreadLevel::name);
    page.paragraph(
        Tone::Plain,
        "",
        &format!(
            "MPI: {library}, thread level {level}, started by {}; of GPUs it says: {said}",
            document.mpi.launcher
        ),
    );

    if !document.mpi.variables.is_empty() {
        let set: Vec<String> =
            document.mpi.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        page.paragraph(Tone::Plain, "", &format!("Set: {}", set.join(" ")));
    }

    for note in &document.notes {
        page.paragraph(Tone::Plain, "note: ", note);
    }
    let tool = &document.tool;
    let line = format!(
        "{} {}, {:.1} s, seed {}, begun {}",
        tool.name, tool.version, document.elapsed_s, document.settings.seed, document.started_at
    );
    page.paragraph(Tone::Faint, "", &line);
    let mut end = Page::new(style.width);
    if let Some(path) = &style.saved_to {
        end.line(Tone::Plain, format!("Document: {path}"));
    }
    screen::finish(page, end, style)
}

/// Sizes by path: the time of a message one way, or the rate.
fn figures(pair: &MpiPair, (pattern, what): (MessagePattern, &str), page: &mut Page) {
    let of_pattern =
        |case: &&MpiCase| case.pattern == pattern && PATHS.iter().any(|(path, _)| case.path == *path);
    let cases: Vec<&MpiCase> = pair.cases.iter().filter(of_pattern).collect();
    let paths: Vec<(MpiPath, &str)> =
        PATHS.into_iter().filter(|(path, _)| cases.iter().any(|case| case.path == *path)).collect();
    let is_copy = |path: MpiPath| matches!(path, MpiPath::PeerCopy | MpiPath::D2hCopy | MpiPath::H2dCopy);
    if paths.iter().all(|(path, _)| is_copy(*path)) {
        return;
    }
    page.line(Tone::Faint, format!("  {what}"));
    let heads: Vec<&str> = ["size"].into_iter().chain(paths.iter().map(|(_, head)| *head)).collect();
    let mut grid = TextGrid::new(1, &heads);
    let sizes: BTreeSet<u64> = cases.iter().map(|case| case.bytes).collect();

    for bytes in sizes {
        let cell = |path: MpiPath| {
            let case = cases.iter().find(|case| case.path == path && case.bytes == bytes);
            case.map_or_else(String::new, |case| mpi_figure(case))
        };
        let mut cells = vec![stats::units::size(bytes)];
        cells.extend(paths.iter().map(|(path, _)| cell(*path)));
        grid.row(cells, Vec::new());
    }
    grid.draw_fitting_figures(&["H2D copy", "D2H copy", "peer copy", "pipelined"], page);
}

/// How many figures cannot be told apart here.
fn of_newer_versions(document: &MpiDocument, page: &mut Page) {
    let cases = document.pairs.iter().flat_map(|pair| &pair.cases);
    let newer = cases.filter(|case| !case.is_known()).count();
    if newer > 0 {
        let figures = counted(newer, "figure");
        page.paragraph(Tone::Plain, "", &format!("Not shown: {figures} of a path or pattern {NEWER}"));
    }
}

/// What works and what does not, each operation once.
fn operations(operations: &[MpiOperation], page: &mut Page) {
    if operations.is_empty() {
        return;
    }
    page.line(Tone::Faint, "  operations on device memory".to_owned());
    let works = that_all(operations, OperationOutcome::Works);
    if !works.is_empty() {
        page.paragraph(Tone::Plain, "  works: ", &DeviceOperation::names(&works));
    }

    for tried in operations {
        let tone = match tried.outcome {
            OperationOutcome::Works | OperationOutcome::NotTried => continue,
            OperationOutcome::Newer => Tone::Plain,
            OperationOutcome::Garbage
            | OperationOutcome::Error
            | OperationOutcome::Crash
            | OperationOutcome::Hang => Tone::Warning,
        };
        let (name, outcome) = (tried.operation.name(), tried.outcome.name());
        let size = stats::units::size(tried.bytes);
        let detail = tried.detail.as_deref().map_or(String::new(), |detail| format!(": {detail}"));
        page.paragraph(tone, "  ", &format!("{name} of {size}: {outcome}{detail}"));
    }

    let not_tried = that_all(operations, OperationOutcome::NotTried);
    if !not_tried.is_empty() {
        let names = DeviceOperation::names(&not_tried);
        page.paragraph(Tone::Plain, "  ", &format!("not tried: {names}"));
    }
}

/// The operations that ended so at all sizes.
fn that_all(operations: &[MpiOperation], outcome: OperationOutcome) -> Vec<DeviceOperation> {
    let mut names = distinct(operations.iter().map(|tried| tried.operation));
    names.retain(|name| {
        operations.iter().filter(|tried| tried.operation == *name).all(|tried| tried.outcome == outcome)
    });
    names
}

/// Why there is no figure, each reason once.
fn reasons(pair: &MpiPair, page: &mut Page) {
    let without: Vec<(&str, Vec<&MpiCase>)> =
        grouped(pair.cases.iter().filter_map(|case| Some((case.reason.as_deref()?, case))));
    for (reason, cases) in without {
        let (path, pattern) = (cases[0].path.name(), cases[0].pattern.name());
        let size = stats::units::size(cases[0].bytes);
        let more = match cases.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!("no figure for {path} {pattern} of {size}{more}: {reason}");
        page.paragraph(Tone::Warning, "  ", &text);
    }
}

fn ranks(document: &MpiDocument, page: &mut Page) {
    let with_threads = document.ranks.iter().any(|rank| !rank.gpu_threads.is_empty());
    let mut heads = vec!["rank", "host", "PU", "memory node", "GPU", "locality"];
    heads.extend(with_threads.then_some("PUs of its GPU threads"));
    let mut grid = TextGrid::new(heads.len(), &heads);

    for rank in &document.ranks {
        let gpu = rank.gpu.map_or_else(
            || "none".to_owned(),
            |pci| format!("{pci} {}", rank.gpu_name.as_deref().unwrap_or_default()).trim_end().to_owned(),
        );
        let mut cells = vec![
            rank.rank.to_string(),
            rank.host.clone(),
            rank.pu.to_string(),
            rank.memory_node.to_string(),
            gpu,
            rank.locality.map_or("-", words::locality_short).to_owned(),
        ];
        let thread = |thread: &MpiGpuThread| format!("{} {}", thread.pu, thread.at.name());
        let threads: Vec<String> = rank.gpu_threads.iter().map(thread).collect();
        cells.extend(with_threads.then(|| threads.join(", ")));
        grid.row(cells, Vec::new());
    }
    grid.draw_fitting(&["locality", "memory node"], page);
}
