//! The node by what `place --measure` and `mpi --matrix` measured: each rank's GPU below the memory that the
//! rank has there, with its rates in the recommended way; places with what messages take between each two of
//! them.

use analysis::measured_links::{LinkEnd, Measured, MeasuredLink};
use analysis::mpi_matrix::{MpiMatrixFigures, MpiPlane};
use report::MpiDocument;
use report::message::MessagePattern;
use report::mpi::MpiMatrix;
use report::place::{Candidate, Place as RankPlace, PlaceDocument, Turn};
use report::settings::{Direction, Membind};
use stats::alike::grouped;
use stats::interval::median;
use stats::units::size;

use super::model::{Card, Chip, Node, Place};
use super::ring::Ring;
use super::scale::Colours;

/// Rings of as many planes have room.
const RINGS: usize = 4;

/// The recommended way of a placement document; `None` where no turn gave a figure.
pub(crate) fn of_place(document: &PlaceDocument) -> Option<Node> {
    let (candidate, measured) = (document.candidates.first()?, document.measured.as_ref()?);
    // Places name the near node; what was measured had the memory that was asked for.
    let memory = |place: &RankPlace| match measured.membind {
        Membind::Local => place.memory_node,
        Membind::Node { node } => Some(node),
        Membind::Interleave { .. } | Membind::Weighted { .. } | Membind::Newer => None,
    };
    let links: Vec<(&RankPlace, Vec<MeasuredLink>)> = candidate
        .places
        .iter()
        .map(|place| (place, of_rank(candidate, place, memory(place), measured.size_bytes)))
        .collect();
    let all: Vec<MeasuredLink> = links.iter().flat_map(|(_, links)| links.clone()).collect();
    if all.is_empty() {
        return None;
    }
    let card = |(place, links): (&RankPlace, Vec<MeasuredLink>)| {
        let gpu = place.gpu.as_ref();
        let to = gpu.map(|gpu| format!("GPU {}", gpu.index));
        let to = to
            .or(place.target_node.map(|node| format!("memory of node {node}")))
            .unwrap_or("no GPU".to_owned());
        let chips = links
            .into_iter()
            .map(|link| Chip { name: analysis::words::direction(link.direction).to_owned(), link });
        let card = Card {
            name: format!("rank {}, {to}", place.rank),
            detail: gpu.map_or_else(|| format!("PUs {}", place.pus), |gpu| gpu.pci_address.to_string()),
            chips: chips.collect(),
            from_nodes: Vec::new(),
            marks: Vec::new(),
        };
        (memory(place), card)
    };

    let place = |(index, cards): (Option<u32>, Vec<Card>)| Place {
        index,
        name: index.map_or("memory of no one node".to_owned(), |node| format!("NUMA node {node}")),
        detail: "host memory".to_owned(),
        chips: Vec::new(),
        cards,
    };

    let mut places: Vec<Place> = grouped(links.into_iter().map(card)).into_iter().map(place).collect();
    places.sort_by_key(|place| place.index.unwrap_or(u32::MAX));
    let host = document.machine.hostname.clone().unwrap_or("a node without a name".to_owned());
    let simulated = if measured.platform.simulated.is_some() { "SIMULATED: " } else { "" };
    let title = format!(
        "{simulated}{host}: GB/s, {}, all ranks at once, placement {}",
        size(measured.size_bytes),
        candidate.name
    );
    Some(Node { title, places, rings: Vec::new(), colours: Colours::of(&all) })
}

/// What a rank's copies get, the medians over turns.
fn of_rank(
    candidate: &Candidate,
    place: &RankPlace,
    memory_node: Option<u32>,
    bytes: u64,
) -> Vec<MeasuredLink> {
    let of = |direction: Direction, rates: fn(&Turn) -> &Vec<f64>| {
        let all: Vec<f64> =
            candidate.turns.iter().filter_map(|turn| rates(turn).get(place.rank as usize)).copied().collect();
        let value = median(&all)?;
        let to = place.gpu.as_ref().map_or(format!("rank {}", place.rank), |gpu| gpu.pci_address.to_string());
        Some(MeasuredLink {
            from: LinkEnd::Numa(memory_node.unwrap_or_default()),
            to: LinkEnd::Device(to),
            direction,
            is_time: false,
            bytes,
            alone: Some(Measured { value, interval: None }),
            at_once: None,
            is_below: false,
        })
    };

    let both =
        [of(Direction::H2d, |turn| &turn.h2d_bytes_per_s), of(Direction::D2h, |turn| &turn.d2h_bytes_per_s)];
    both.into_iter().flatten().collect()
}

/// The places of a matrix of messages, a ring a plane: the quickest answer and the highest rate of each way
/// of messages. `None` where the document has no matrix.
pub(crate) fn of_mpi(document: &MpiDocument) -> Option<Node> {
    let matrix = document.matrix.as_ref()?;
    let mut planes = matrix.planes(document);
    // Of one message at a time the smallest, of several the largest.
    planes.sort_by_key(|plane| (plane.path.name(), plane.pattern.name(), extent(plane)));
    planes.dedup_by_key(|plane| (plane.path, plane.pattern));
    planes.truncate(RINGS);
    let rings: Vec<(Ring, Vec<MeasuredLink>)> =
        planes.iter().filter_map(|plane| ring(document, matrix, plane)).collect();
    let all: Vec<MeasuredLink> = rings.iter().flat_map(|(_, links)| links.clone()).collect();
    if all.is_empty() {
        return None;
    }
    let simulated = if document.simulated.is_some() { "SIMULATED: " } else { "" };
    let host = document.ranks.first().map_or("", |rank| &rank.host[..]);
    let title = format!("{simulated}{host}: messages between places ({})", matrix.places.name());
    let rings = rings.into_iter().map(|(ring, _)| ring).collect();

    Some(Node { title, places: Vec::new(), rings, colours: Colours::of(&all) })
}

fn extent(plane: &MpiPlane) -> u64 {
    if plane.pattern == MessagePattern::PingPong { plane.bytes } else { u64::MAX - plane.bytes }
}

fn ring(document: &MpiDocument, matrix: &MpiMatrix, plane: &MpiPlane) -> Option<(Ring, Vec<MeasuredLink>)> {
    let is_time = plane.pattern == MessagePattern::PingPong;
    let mut names: Vec<String> = Vec::new();
    let mut at = |name: &String| {
        let found = names.iter().position(|other| other == name);
        found.unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        })
    };

    let mut links: Vec<((usize, usize), MeasuredLink)> = Vec::new();

    for (row, from) in matrix.rows.iter().enumerate() {
        for (column, to) in matrix.columns.iter().enumerate() {
            let (one, other) = (at(&from.name), at(&to.name));
            let Some(case) = matrix.cell(document, plane, row, column).filter(|_| one != other) else {
                continue;
            };
            let Some(ns) = case.counted_ns() else { continue };
            let rate = case.counted_bytes_per_s().unwrap_or(case.bytes as f64 / ns * 1e9);
            let interval = case.message_interval_ns.filter(|_| is_time);
            let link = MeasuredLink {
                from: LinkEnd::Numa(one as u32),
                to: LinkEnd::Numa(other as u32),
                direction: Direction::Copy,
                is_time,
                bytes: plane.bytes,
                alone: Some(Measured { value: if is_time { ns } else { rate }, interval }),
                at_once: None,
                is_below: false,
            };
            links.push(((one.min(other), one.max(other)), link));
        }
    }

    let all: Vec<MeasuredLink> = links.iter().map(|(_, link)| link.clone()).collect();
    (!all.is_empty()).then(|| (Ring { title: plane.name(), names, lines: grouped(links) }, all))
}
