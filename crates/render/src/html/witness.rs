//! A report of programs' copies: the answer, the bytes between each NUMA node and GPU, then the ranks of a
//! launch, the buffers, and the processes.

use analysis::answer_status;
use analysis::figure::Key;
use analysis::incomplete::Incomplete;
use analysis::run::Run;
use analysis::witness::run;
use analysis::witness_answer::{bytes, direction, distance, memory};
use analysis::witness_launch::{WitnessLaunch, WitnessLink, links};
use report::WitnessDocument;
use report::document::Tool;
use report::witness::{Distance, WitnessMemory};

use super::paged::Paged;
use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::rows::{Mark, Row, Rows};
use crate::digits;
use crate::witness_cells;

/// Bars that a reader looks through.
const BARS: usize = 40;

impl Paged for WitnessLaunch {
    const SEVERAL: [&str; 2] = ["numabench witness", "runs"];

    fn title(&self) -> String {
        let host = self.sum.host.as_deref().unwrap_or("a machine without a name");
        format!("numabench witness of {} on {host}, {}", program(&self.sum), self.sum.started_at)
    }

    fn heading(&self, name: &str) -> String {
        format!("{name}: {}, {}", program(&self.sum), self.sum.started_at)
    }

    fn tool(&self) -> &Tool {
        &self.sum.tool
    }

    fn run(&self, name: &str) -> Option<Run> {
        Some(Run { name: name.to_owned(), ..run(self).ok()? })
    }

    fn in_words(_launches: &[(String, Self)], key: &Key) -> String {
        format!("{}: {}", key.place(), key.case)
    }

    fn draw(&self, page: &mut HtmlPage) {
        let document = &self.sum;
        if document.simulated {
            page.element("p", "SIMULATED devices: times and rates say nothing of real hardware.");
        }
        page.answer_then_picture(answer_status::of_witness(document), &document.verdict);
        if let Some(incomplete) = Incomplete::of_witness(document) {
            page.list(&[format!("Not complete: {incomplete}.")]);
        }

        let links = links(&self.ranks);
        picture(&links, page);
        page.release();
        page.list(&document.not_seen);
        tables(self, &links, page);
    }
}

/// The program's name, without its folder.
fn program(document: &WitnessDocument) -> &str {
    let first = document.program.first().map_or("a program", |name| &name[..]);
    first.rsplit('/').next().unwrap_or(first)
}

/// A bar a node, GPU, direction and kind of memory, the far ones first, in the colour of the distance.
fn picture(links: &[WitnessLink], page: &mut HtmlPage) {
    let row = |link: &WitnessLink| {
        let name = name(link);
        let said = format!("{} {}", bytes(link.bytes), distance(link.distance));
        let rate = link.bytes_per_s.map_or(String::new(), |rate| format!(", {}", digits::rate(rate, None)));
        let marks = vec![(Mark::Bar(link.bytes as f64 / 1e6), format!("{name}: {said}{rate}"))];
        Row { name, said, colour: colour(link), marks }
    };
    let rows: Vec<Row> = links.iter().take(BARS).map(row).collect();
    if rows.is_empty() {
        return;
    }

    let rows = Rows { title: "MB".to_owned(), rows, from_zero: true, ..Rows::default() };
    page.rows("Bytes between each NUMA node and GPU", &rows);
    if links.len() > BARS {
        page.element("p", &format!("{} more are in the table.", links.len() - BARS));
    }
}

/// `node 2 → GPU 0, pinned`: the way that the bytes went; of several hosts `nid001: node 2 → …`.
fn name(link: &WitnessLink) -> String {
    let node = link.node.map_or("unknown node".to_owned(), |node| format!("node {node}"));
    let gpu = link.gpu_index.map_or_else(|| link.gpu.clone(), |index| format!("GPU {index}"));
    let (from, to) = match direction(link.direction) {
        "D2H" => (gpu, node),
        _ => (node, gpu),
    };
    let on = link.host.as_ref().map_or(String::new(), |host| format!("{host}: "));
    format!("{on}{from} → {to}, {}", memory(link.memory))
}

/// Far and near in two colours; pageable memory in a colour of its own for each.
fn colour(link: &WitnessLink) -> &'static str {
    let is_pageable = link.memory == WitnessMemory::Pageable;
    match (link.distance, is_pageable) {
        (Distance::Far, false) => series(1),
        (Distance::Far, true) => series(7),
        (Distance::Near, false) => series(2),
        (Distance::Near, true) => series(0),
        _ => series(5),
    }
}

fn tables(launch: &WitnessLaunch, links: &[WitnessLink], page: &mut HtmlPage) {
    let document = &launch.sum;
    if launch.ranks.len() > 1 {
        let rows = witness_cells::ranks(launch).into_iter().map(Vec::from);
        page.table("Ranks, all of them together first", &witness_cells::RANKS, rows);
    }

    let cells = |link: &WitnessLink| {
        let rate = link.bytes_per_s.map_or("–".to_owned(), |rate| digits::rate(rate, None));
        vec![
            name(link),
            distance(link.distance).to_owned(),
            link.bytes.to_string(),
            link.timed.to_string(),
            rate,
        ]
    };
    let header = ["way", "distance", "bytes ", "copies timed ", "rate "];
    page.folded_first_rows("Bytes by node and GPU", &header, links.iter().map(cells));

    let has_several = document.processes.len() > 1;
    let rows = document.buffers.iter().map(|buffer| Vec::from(witness_cells::buffer(buffer, has_several)));
    page.folded_first_rows("Buffers, most far bytes first", &witness_cells::BUFFERS, rows);

    let rows = document.processes.iter().map(|process| {
        let counts = [process.device_bytes, process.host_bytes, process.prefetch_bytes, process.graphs];
        let names = [process.pid.to_string(), process.name.clone()];
        names.into_iter().chain(counts.map(|count| count.to_string())).collect()
    });
    let header =
        ["process", "name", "bytes between GPUs ", "bytes within host ", "bytes prefetched ", "graphs "];
    page.folded_first_rows("Processes that copied", &header, rows);
}
