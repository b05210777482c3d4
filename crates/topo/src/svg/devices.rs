//! GPUs and NICs: a card each, with the identity, the name, what is local, and the link.
//!
//! A GPU's card says its cores once more, in the ids that a binding is written in: whoever reads one card
//! needs no other.

use super::block::{Block, Grid, Line, Panel};
use super::columns::Level;
use super::look::Look;
use super::text_metrics::Font;
use crate::model::{Gpu, Locality, Rung, Topology};
use crate::nics::Nic;
use crate::text::cores::cores;
use crate::text::gpus::{self, link, node_cell};
use crate::text::layout::named;
use crate::text::nics::{self, MANY, alike};

/// Between cards, px.
const APART: i32 = 8;
/// The widest that a name or a list makes a card, px.
const NAME: i32 = 200;
/// The same for the heading of a NIC, whose names may be many.
const HEADING: i32 = 280;

/// Cards of GPUs, then of NICs.
pub(super) fn panels(topology: &Topology, gpus: &[&Gpu], nics: &[&Nic]) -> [Panel; 2] {
    let gpus = gpus.iter().map(|gpu| gpu_card(topology, gpu)).collect();
    let nics = nics.chunk_by(|one, next| alike(one, next)).flat_map(|alike| match alike {
        [first, .., last] if alike.len() >= MANY => vec![nic_card(first, Some((last, alike.len())))],
        few => few.iter().map(|nic| nic_card(nic, None)).collect(),
    });
    [
        Panel::new(Grid::Cards(Level::Devices), APART, gpus),
        Panel::new(Grid::Cards(Level::Devices), APART, nics.collect()),
    ]
}

fn gpu_card(topology: &Topology, gpu: &Gpu) -> Block {
    let name = gpus::name(gpu);
    let heading = Line::new(Font::HEADING, format!("GPU {}", gpu.index)).and(gpu.pci.to_string());
    let mut lines = vec![
        heading,
        Line::new(Font::BODY, name.clone()).asking_at_most(NAME),
        Line::new(Font::STRONG, near(topology, gpu)).asking_at_most(NAME),
    ];
    let mut ways: Vec<String> = match topology.host_link(gpu) {
        Some(other) => vec![other.name.to_owned()],
        None => gpu.link.iter().map(|now| format!("PCIe {}", link(now))).collect(),
    };
    ways.extend((!gpu.os_devices.is_empty()).then(|| gpu.os_devices.join(", ")));
    if !ways.is_empty() {
        lines.push(Line::new(Font::SMALL, ways.join(" · ")).asking_at_most(NAME));
    }
    let uuid = gpu.uuid.as_ref().map_or_else(String::new, |uuid| format!("\nUUID {uuid}"));
    let tooltip = format!(
        "GPU {} at {}: {name}{uuid}\n{}\n{}",
        gpu.index,
        gpu.pci,
        near(topology, gpu),
        how_known(&gpu.locality)
    );

    Block::new(Look::Gpu, tooltip, lines).spaced(6, 6)
}

/// Its node, and the cores to use, each as its first allowed PU.
fn near(topology: &Topology, gpu: &Gpu) -> String {
    if gpu.locality.rung == Rung::Unknown {
        return "local cores unknown".to_owned();
    }
    let (node, usable) = (node_cell(topology, &gpu.locality), cores(topology, gpu));
    let noun = if node.contains(['-', ',']) { "nodes" } else { "node" };
    let place = if node == "-" { String::new() } else { format!("{noun} {node}, ") };
    if usable.is_empty() {
        return format!("{place}no local core allowed");
    }
    format!("{place}{}", named("core", &usable))
}

fn how_known(locality: &Locality) -> String {
    format!("locality from {}: {}", gpus::rung(locality.rung), locality.reason)
}

/// `others`: the last of several that are alike, and how many they are.
fn nic_card(nic: &Nic, others: Option<(&Nic, usize)>) -> Block {
    let name = nics::name(nic);
    let heading = if nic.os_devices.is_empty() {
        "NIC".to_owned()
    } else {
        format!("NIC {}", nic.os_devices.join(", "))
    };
    let mut lines = vec![
        Line::new(Font::HEADING, heading.clone())
            .and(nic.pci.to_string())
            .keeping_right()
            .asking_at_most(HEADING),
        Line::new(Font::BODY, name.clone()).asking_at_most(NAME),
    ];

    if let Some((last, all)) = others {
        lines.push(Line::new(Font::SMALL, format!("to {}: {all} alike", last.pci)).asking_at_most(NAME));
    }
    if let Some(now) = &nic.link {
        lines.push(Line::new(Font::SMALL, format!("PCIe {}", link(now))).asking_at_most(NAME));
    }
    let tooltip = format!("{heading} at {}: {name}\n{}", nic.pci, how_known(&nic.locality));
    Block::new(Look::Nic, tooltip, lines).spaced(6, 6)
}
