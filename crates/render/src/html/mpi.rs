//! A report of runs of `numabench mpi`: the answer first, then figures, what was tried on device memory, and where ranks were asked to be and were seen.

use analysis::incomplete::Incomplete;
use analysis::mpi::{id, run};
use report::MpiDocument;
use report::document::Status;
use report::mpi::{MpiCase, MpiPair, MpiPlaced};

use super::several;
use super::write::Page;
use super::{begin, end};
use crate::xml::escaped;

/// Rows of a table at most; the rest is in the document.
const ROWS: usize = 400;

/// The report of these runs, in the order given; `names` are their files.
pub fn mpi(documents: &[(String, MpiDocument)]) -> String {
    let title = match documents {
        [(_, only)] => format!("numabench mpi, {}", only.started_at),
        several => format!("numabench mpi: {} runs", several.len()),
    };
    let mut page = begin(&title);
    if let [(_, first), _, ..] = documents {
        let runs: Vec<_> = documents.iter().filter_map(|(name, document)| run(name, document).ok()).collect();
        several::draw(&runs, &first.tool, &mut page);
    }
    for (name, document) in documents {
        page.level = if documents.len() > 1 { 3 } else { 2 };
        if documents.len() > 1 {
            page.element("h2", &format!("{name}: {}", document.started_at));
        }
        one(document, &mut page);
    }
    end(page)
}

fn one(document: &MpiDocument, page: &mut Page) {
    let is_well = document.status == Status::Complete;
    for (at, line) in document.verdict.iter().enumerate() {
        let class = match (at, is_well) {
            (0, true) => " class=\"verdict\"",
            (0, false) => " class=\"verdict finding\"",
            _ => "",
        };
        page.raw(&format!("<p{class}>{}</p>\n", escaped(line)));
    }
    if let Some(incomplete) = Incomplete::of_mpi(document) {
        page.element("p", &format!("Not complete: {incomplete}."));
    }
    if let Some(simulated) = &document.simulated {
        page.element(
            "p",
            &format!("The devices are simulated: {simulated}. The figures say nothing about real hardware."),
        );
    }
    page.raw(&format!("<p><code>{}</code></p>\n", escaped(&document.argv.join(" "))));
    figures(document, page);
    tried(document, page);
    places(document, page);
    library(document, page);
    if !document.notes.is_empty() {
        let items: String = document.notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note))).collect();
        page.raw(&format!("<ul>\n{items}</ul>\n"));
    }
}

fn figures(document: &MpiDocument, page: &mut Page) {
    page.heading(0, "Figures");
    let number =
        |value: Option<f64>, scale: f64| value.map_or("–".to_owned(), |value| format!("{:.3}", value / scale));
    let cells = |(pair, case): (&MpiPair, &MpiCase)| {
        let half = case.message_ns.zip(case.message_interval_ns.as_ref());
        vec![
            id(case),
            format!("{}–{}", pair.ranks[0], pair.ranks[1]),
            number(case.counted_ns(), 1e3),
            half.map_or("–".to_owned(), |(ns, ends)| format!("{:.2} %", (ends.high - ends.low) / 2.0 / ns * 100.0)),
            number(case.counted_bytes_per_s(), 1e9),
            number(case.gpu_bytes_per_s, 1e9),
            case.block_ns.len().to_string(),
            case.reason.clone().unwrap_or("measured".to_owned()),
        ]
    };
    let cases = || document.pairs.iter().flat_map(|pair| pair.cases.iter().map(move |case| (pair, case)));
    let header =
        ["path/pattern/bytes", "ranks", "message µs ", "± 95 % ", "GB/s ", "copies GB/s ", "blocks ", "status"];
    page.table("Messages of each pair of ranks", &header, cases().take(ROWS).map(cells));
    let all = cases().count();
    if all > ROWS {
        page.element("p", &format!("{} more figures are in the document.", all - ROWS));
    }
}

/// What MPI does with device memory, operation by operation.
fn tried(document: &MpiDocument, page: &mut Page) {
    let tried = || document.pairs.iter().flat_map(|pair| pair.operations.iter().map(move |tried| (pair, tried)));
    if tried().next().is_none() {
        return;
    }
    page.heading(0, "Device memory");
    let rows = tried().take(ROWS).map(|(pair, tried)| {
        vec![
            tried.operation.clone(),
            tried.bytes.to_string(),
            format!("{}–{}", pair.ranks[0], pair.ranks[1]),
            tried.outcome.clone(),
            tried.detail.clone().unwrap_or_default(),
        ]
    });
    page.table(
        "Operations that device memory was given to",
        &["operation", "bytes ", "ranks", "outcome", "detail"],
        rows,
    );
    let witnesses = document.pairs.iter().filter_map(|pair| Some((pair, pair.device_memory.as_ref()?)));
    let rows = witnesses.flat_map(|(pair, memory)| {
        memory.witnesses.iter().map(move |witness| {
            let ranks = format!("{}–{}", pair.ranks[0], pair.ranks[1]);
            vec![witness.name.clone(), ranks, witness.says.clone(), witness.detail.clone()]
        })
    });
    page.table("What tells which way it goes", &["witness", "ranks", "says", "on which grounds"], rows);
}

fn places(document: &MpiDocument, page: &mut Page) {
    page.heading(0, "Placement");
    let seen = |placed: Option<&MpiPlaced>| {
        placed.map_or("not looked at".to_owned(), |placed| {
            let nodes: Vec<String> = placed.pages.keys().map(ToString::to_string).collect();
            let mismatch = placed.mismatch.as_ref().map_or(String::new(), |mismatch| format!(": {mismatch}"));
            format!("PU {}, memory on node {}{mismatch}", placed.pu, nodes.join(", "))
        })
    };
    let rows = document.ranks.iter().map(|rank| {
        let pair = document.pairs.iter().find(|pair| pair.ranks.contains(&rank.rank));
        let at = |moment: usize| {
            let side = |pair: &&MpiPair| usize::from(pair.ranks[1] == rank.rank);
            pair.as_ref().and_then(|pair| pair.placed[moment][side(pair)].as_ref())
        };
        vec![
            rank.rank.to_string(),
            rank.host.clone(),
            format!("PU {}, node {}", rank.pu, rank.memory_node),
            seen(at(0)),
            seen(at(1)),
            rank.gpu.as_ref().map_or("none".to_owned(), ToString::to_string),
            rank.gpu_name.clone().unwrap_or_default(),
            rank.locality.clone().unwrap_or("unknown".to_owned()),
        ]
    });
    let header = ["rank", "host", "asked", "seen before", "seen after", "GPU", "model", "locality"];
    page.table("Where ranks were asked to be and were seen, in their first pair", &header, rows);
}

fn library(document: &MpiDocument, page: &mut Page) {
    page.heading(0, "MPI");
    let mpi = &document.mpi;
    let mut rows = vec![
        vec!["library".to_owned(), mpi.library.clone().unwrap_or("not started".to_owned())],
        vec!["launcher".to_owned(), mpi.launcher.clone()],
        vec!["thread level".to_owned(), mpi.thread_level.clone().unwrap_or("not started".to_owned())],
    ];
    rows.extend(mpi.says.iter().map(|says| vec!["says of itself, no proof".to_owned(), says.clone()]));
    rows.extend(mpi.variables.iter().map(|(name, value)| vec![name.clone(), value.clone()]));
    page.table("The library, and variables that decide how it sends", &["what", "value"], rows.into_iter());
}
