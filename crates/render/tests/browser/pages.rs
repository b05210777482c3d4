//! A page of every kind, each from a document that is committed or made for it.

use std::error::Error;

use analysis::node_run::of_document;
use analysis::nodes::nodes;
use analysis::witness_launch::WitnessLaunch;
use render::html::{self, page};
use report::case::{Case, Order};
use report::contention::Penalty;
use report::device::DeviceKind;
use report::document::PlatformKind;
use report::environment::{NodeKind, NumaNode};
use report::loaded_latency::{LoadedLatency, LoadedPoint, TwiceIdle};
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::place::{Candidate, Measured, MeasuredFinding, Place, PlaceDocument, PlacedGpu, Turn};
use report::result::Outcome;
use report::rows::rows;
use report::settings::{Direction, MemoryKind};
use report::{Document, Known, MpiDocument, SavedDocument, TrialDocument, WitnessDocument};
use stats::interval::Interval;
use stats::{IdSet, PciAddress};

use crate::made::{between_gpus, document};

const BOTH: [Direction; 2] = [Direction::H2d, Direction::D2h];
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/results/documents");

type Page = (String, String);

/// All pages by name.
pub fn all() -> Result<Vec<Page>, Box<dyn Error>> {
    let one = |document: Document| page(&[("run.json".to_owned(), document)]);
    let mut slow = document(&[24.3e9, 12.3e9], &BOTH, 1)?;
    slow.slower_twins = analysis::slower_twins::slower_twins(&slow);
    slow.penalties = penalties();
    let days: Result<Vec<(String, Document)>, Box<dyn Error>> = (0..12)
        .map(|day| {
            let mut run = document(&[24.3e9, if day < 6 { 24.3e9 } else { 12.3e9 }], &BOTH, day)?;
            run.started_at = format!("2026-02-{:02}T03:00:00.000Z", day + 1);
            Ok((format!("run-{day}.json"), run))
        })
        .collect();
    let read = |name: &str| std::fs::read(format!("{FOLDER}/{name}"));
    let aware = MpiDocument::from_json(&read("mpi-1.0-aware.json")?)?;
    let trial = TrialDocument::from_json(&read("trial-1.0.json")?)?;
    let pages = [
        ("ranks", one(slow)),
        ("peers", one(between_gpus(4, 1.5)?)),
        ("peers16", one(between_gpus(16, 2.0)?)),
        ("sweep", one(sweep()?)),
        ("matrix", one(node(4, 8)?)),
        ("matrix16", one(node(2, 16)?)),
        ("matrix1", one(node(2, 1)?)),
        ("nodes8", one(node(8, 4)?)),
        ("superchips", one(superchips()?)),
        ("contend8", one(gallery("eight-gpus.json")?)),
        ("kernels", one(gallery("kernels.json")?)),
        ("laplace", one(gallery("laplace.json")?)),
        ("lumi", one(gallery("lumi-g.json")?)),
        ("cpu", one(cpu_only(8)?)),
        ("loaded", one(loaded()?)),
        ("several", page(&days?)),
        ("fleet", fleet()?),
        ("trial", page(&[("trial.json".to_owned(), trial)])),
        ("mpi", page(&[("mpi.json".to_owned(), aware)])),
        ("witness", page(&copies()?)),
        ("place", page(&[("place.json".to_owned(), placed()?)])),
    ];
    Ok(pages.into_iter().map(|(name, page)| (name.to_owned(), page)).collect())
}

/// Two runs of a program, with far and with near memory.
fn copies() -> Result<Vec<(String, WitnessLaunch)>, Box<dyn Error>> {
    let read = |name: &str| {
        let file = format!("{}/../../docs/gallery/{name}", env!("CARGO_MANIFEST_DIR"));
        let document = WitnessDocument::from_json(&std::fs::read(file)?)?;
        Ok((name.to_owned(), WitnessLaunch::of_one(name, document)))
    };
    ["witness-far.json", "witness-near.json"].into_iter().map(read).collect()
}

/// A document of the gallery.
fn gallery(name: &str) -> Result<Document, Box<dyn Error>> {
    let file = format!("{}/../../docs/gallery/{name}", env!("CARGO_MANIFEST_DIR"));
    Ok(Document::from_json(&std::fs::read(file)?)?)
}

/// Four GPUs of two nodes, of which each two ways were measured in ten turns.
pub fn placed() -> Result<PlaceDocument, Box<dyn Error>> {
    let mut document = PlaceDocument::from_json(&std::fs::read(format!("{FOLDER}/place-1.1.json"))?)?;
    let (mut close, place) = (document.candidates[0].clone(), document.candidates[0].places[0].clone());
    close.places = (0..4)
        .map(|rank| Place {
            rank,
            memory_node: Some(rank / 2),
            gpu: Some(PlacedGpu {
                index: rank,
                pci_address: PciAddress { domain: 0, bus: rank as u8, device: 0, function: 0 },
                uuid: None,
            }),
            ..place.clone()
        })
        .collect();
    let turns = |rate: f64| -> Vec<Turn> {
        let of = |turn: u32| vec![rate * (1.0 + f64::from(turn) * 0.001); 4];
        (0..10).map(|turn| Turn { h2d_bytes_per_s: of(turn), d2h_bytes_per_s: of(turn + 1) }).collect()
    };
    close.turns = turns(54e9);
    let mut far = Candidate { name: "worst".to_owned(), turns: turns(36e9), ..close.clone() };
    far.places.iter_mut().for_each(|place| place.memory_node = Some(1 - place.rank / 2));
    document.candidates = vec![close, far];
    document.measured = Some(Measured {
        platform: document_of_a_run()?.platform,
        size_bytes: 64 << 20,
        memory: "pinned".to_owned(),
        membind: report::settings::Membind::Local,
        seed: 1,
        finding: MeasuredFinding::Best,
        leader: Some("close".to_owned()),
        ended_early: None,
    });
    Ok(document)
}

fn document_of_a_run() -> Result<Document, Box<dyn Error>> {
    document(&[24.3e9, 24.3e9], &BOTH, 1)
}

/// Eight nodes in three runs each; one GPU of the sixth is slow in all of them.
fn fleet() -> Result<String, Box<dyn Error>> {
    let mut runs: Vec<(String, Document)> = Vec::new();
    for (at, run) in (0..8_u32).flat_map(|at| (0..3_u32).map(move |run| (at, run))) {
        let slow = if at == 5 { 12.3e9 } else { 24.3e9 };
        let mut document = document(&[24.3e9, slow], &BOTH, u64::from(at * 3 + run))?;
        document.environment.hostname = format!("nid{at:06}");
        document.started_at = format!("2026-02-01T0{run}:00:00.000Z");
        document.ranks.iter_mut().for_each(|rank| rank.host = format!("nid{at:06}"));
        document.nodes.iter_mut().for_each(|node| node.host = format!("nid{at:06}"));
        document.rows = rows(&document);
        runs.push((format!("nid{at:06}-{run}.json"), document));
    }
    let of_nodes = runs.iter().flat_map(|(_, document)| of_document(document)).collect();
    Ok(html::nodes(&nodes(runs[0].1.tool.clone(), of_nodes, Vec::new()), &runs))
}

fn penalties() -> Vec<Penalty> {
    let of = |rank| Penalty {
        rank,
        direction: Direction::H2d,
        bytes: 128 << 20,
        memory: MemoryKind::Pinned,
        alone_case: "alone".to_owned(),
        simultaneous_case: "at once".to_owned(),
        alone_bytes_per_s: 24.1e9,
        simultaneous_bytes_per_s: 17.4e9,
        comparison: None,
    };
    vec![of(0), of(1)]
}

fn sweep() -> Result<Document, Box<dyn Error>> {
    let mut sweep = document(&[24.3e9, 21.9e9], &BOTH, 1)?;
    let like = sweep.cases.clone();
    let of = |at: u32| {
        like.iter().cloned().map(move |mut case| {
            case.bytes = 4 << (2 * at);
            case.id = Case::id_for(Order::Simultaneous, case.memory, case.direction, case.bytes);
            case
        })
    };
    sweep.cases = (0..13).flat_map(of).collect();
    sweep.rows = rows(&sweep);
    // Times rise with the size from a latency on.
    for row in &mut sweep.rows {
        let ns = 2000.0 + row.bytes as f64 / 24.0;
        (row.median_ns, row.median_low_ns, row.median_high_ns) = (Some(ns), Some(ns * 0.98), Some(ns * 1.02));
        row.median_bytes_per_s = Some(row.bytes as f64 / ns * 1e9);
    }
    Ok(sweep)
}

/// A machine of so many NUMA nodes and GPUs, from each to each; far copies are slower, the last GPU's link is
/// half as wide.
fn node(nodes: u32, gpus: u32) -> Result<Document, Box<dyn Error>> {
    let mut document = document(&[24e9, 24e9], &BOTH, 1)?;
    document.command = "matrix".to_owned();
    let near = |gpu: u32| gpu * nodes / gpus;
    let (node, device, rank) = (
        document.environment.topology.nodes[0].clone(),
        document.devices[0].clone(),
        document.ranks[0].clone(),
    );
    document.environment.topology.nodes = (0..nodes)
        .map(|at| {
            let pus: IdSet = (at * 16..at * 16 + 16).chain(at * 16 + 128..at * 16 + 144).collect();
            NumaNode { os_index: at, pus, ..node.clone() }
        })
        .collect();
    document.devices = (0..gpus)
        .map(|at| report::device::Device {
            id: format!("0000:{at:02x}:00.0"),
            index: at,
            name: "NVIDIA H100 80GB HBM3".to_owned(),
            numa_node: Known::value(near(at), "test"),
            ..device.clone()
        })
        .collect();
    document.ranks.clear();
    for place in 0..nodes {
        for gpu in 0..gpus {
            let mut rank = rank.clone();
            rank.rank = place * gpus + gpu;
            (rank.asked.pu, rank.asked.memory_node) = (place * 16, Some(place));
            rank.asked.device = format!("0000:{gpu:02x}:00.0");
            document.ranks.push(rank);
        }
    }
    for case in &mut document.cases {
        let like = case.ranks[0].clone();
        let of = |rank: &report::rank::Rank| {
            let (place, gpu) = (rank.rank / gpus, rank.rank % gpus);
            let far = if place == near(gpu) { 1.0 } else { 1.4 + f64::from(place) * 0.1 };
            let slow = if gpu + 1 == gpus { 2.0 } else { 1.0 };
            let mut result = report::result::RankResult { rank: rank.rank, ..like.clone() };
            result.blocks.iter_mut().for_each(|block| block.elapsed_ns *= far * slow);
            if let Outcome::Measured { summary, .. } = &mut result.outcome {
                summary.median_bytes_per_s /= far * slow;
                summary.median_ns *= far * slow;
                summary.median_interval_ns = None;
            }
            result
        };
        case.ranks = document.ranks.iter().map(of).collect();
    }
    let ranks = |wanted: &dyn Fn(u32) -> bool| (0..nodes * gpus).filter(|at| wanted(*at)).collect::<IdSet>();
    let row = |place: u32| MatrixRow {
        name: format!("node {place}"),
        pus: IdSet::default(),
        memory_node: Some(place),
        ranks: ranks(&|at| at / gpus == place),
        group: None,
        reason: None,
        note: None,
    };
    let column = |gpu: u32| MatrixColumn {
        name: format!("GPU {gpu}"),
        device: format!("0000:{gpu:02x}:00.0"),
        ranks: ranks(&|at| at % gpus == gpu),
        declared_nodes: Known::value(IdSet::from_iter([near(gpu)]), "test"),
    };
    document.matrices = vec![Matrix {
        title: "host memory and GPUs".to_owned(),
        compares: Compares::Rows,
        rows: (0..nodes).map(row).collect(),
        columns: (0..gpus).map(column).collect(),
    }];
    document.verdict = vec!["Where host memory lies matters: up to 1.7x.".to_owned()];
    document.rows = rows(&document);
    document.slower_twins = analysis::slower_twins::slower_twins(&document);
    Ok(document)
}

/// Four CPUs with a GPU each, whose memory is a NUMA node of its own.
fn superchips() -> Result<Document, Box<dyn Error>> {
    let mut document = node(4, 4)?;
    let nodes = &mut document.environment.topology.nodes;
    nodes.iter_mut().for_each(|node| node.pus = (node.os_index * 72..node.os_index * 72 + 72).collect());
    let (pus, kind) = (IdSet::default(), NodeKind::GpuMemory);
    let of_gpus: Vec<NumaNode> = nodes
        .iter()
        .map(|node| NumaNode { os_index: node.os_index + 4, kind, pus: pus.clone(), ..node.clone() })
        .collect();
    nodes.extend(of_gpus);
    document.ranks.iter_mut().for_each(|rank| rank.asked.pu = rank.rank / 4 * 72);
    document.devices.iter_mut().for_each(|gpu| gpu.name = "NVIDIA GH200 120GB".to_owned());
    Ok(document)
}

/// A machine of so many NUMA nodes without a GPU: each node's cores read each node's memory.
fn cpu_only(nodes: u32) -> Result<Document, Box<dyn Error>> {
    let mut document = node(nodes, nodes)?;
    document.platform.kind = PlatformKind::Host;
    let name = |at: u32| format!("node {at}");
    for (at, device) in (0..).zip(&mut document.devices) {
        (device.id, device.kind) = (name(at), DeviceKind::HostMemory);
    }
    document.ranks.iter_mut().for_each(|rank| rank.asked.device = name(rank.rank % nodes));
    document.cases.truncate(1);
    let case = &mut document.cases[0];
    (case.direction, case.memory, case.range_bytes) = (Direction::Read, MemoryKind::Pageable, Some(1 << 30));
    let matrix = &mut document.matrices[0];
    (matrix.title, matrix.compares) = ("cores and memory".to_owned(), Compares::Columns);
    for (at, column) in (0..).zip(&mut matrix.columns) {
        (column.name, column.device) = (name(at), name(at));
    }
    document.verdict = vec!["Which memory a core uses matters: up to 2.1x.".to_owned()];
    document.slower_twins.clear();
    document.rows = rows(&document);
    Ok(document)
}

fn loaded() -> Result<Document, Box<dyn Error>> {
    let mut loaded = document(&[24.3e9, 12.3e9], &BOTH, 1)?;
    let ends = |value: f64| Some(Interval { low: value * 0.95, high: value * 1.05, confidence: 0.95 });
    let point = |at: u32| LoadedPoint {
        name: format!("{} % read traffic", at * 10),
        bytes_per_s: f64::from(at) * 20e9,
        interval_bytes_per_s: ends(f64::from(at) * 20e9),
        latency_ns: 95.0 + f64::from(at).powi(3) * 0.2,
        interval_ns: ends(95.0 + f64::from(at).powi(3) * 0.2),
    };
    loaded.loaded_latency = (0..2)
        .map(|node| LoadedLatency {
            place: format!("node {node}"),
            pu: node,
            memory_node: node,
            traffic: Direction::Read,
            traffic_pus: IdSet::from_iter([1]),
            points: (0..11).map(point).collect(),
            twice_idle: TwiceIdle::Undecided,
            knee_bytes_per_s: None,
        })
        .collect();
    Ok(loaded)
}
