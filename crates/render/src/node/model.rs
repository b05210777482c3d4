//! What stands where in the picture of a node: NUMA nodes with their GPUs, and the links that go from each to
//! each.

use analysis::measured_links::{LinkEnd, MeasuredLink};
use analysis::words::direction;
use report::Document;
use report::device::{Device, DeviceKind};
use report::environment::NodeKind;
use stats::units::size;

use super::ring::Ring;
use super::scale::Colours;
use crate::{digits, names};

/// A figure beside its direction.
#[derive(Clone, Debug)]
pub(super) struct Chip {
    pub(super) link: MeasuredLink,
    /// Before the figure: `H2D`, `H2D from node 2`.
    pub(super) name: String,
}

/// A GPU.
#[derive(Clone, Debug)]
pub(super) struct Card {
    pub(super) name: String,
    pub(super) detail: String,
    /// From the memory that is near, or, where nobody knows which is, from the one used.
    pub(super) chips: Vec<Chip>,
    /// From every node's memory, in the first direction: a cell each.
    pub(super) from_nodes: Vec<(u32, MeasuredLink)>,
    /// What of it is not as it should be: `50 % below twins`.
    pub(super) marks: Vec<String>,
}

/// A NUMA node and the GPUs that are local to it; without an index, GPUs of which nobody knows the node.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) index: Option<u32>,
    pub(super) name: String,
    pub(super) detail: String,
    /// Of its own cores in its own memory.
    pub(super) chips: Vec<Chip>,
    pub(super) cards: Vec<Card>,
}

/// The node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(super) title: String,
    pub(super) places: Vec<Place>,
    pub(super) rings: Vec<Ring>,
    pub(super) colours: Colours,
}

impl Node {
    /// `None` without links.
    pub(super) fn of(document: &Document, links: &[MeasuredLink]) -> Option<Self> {
        if links.is_empty() {
            return None;
        }
        let topology = &document.environment.topology;
        let gpus: Vec<&Device> = document
            .devices
            .iter()
            .filter(|device| device.node == 0 && device.kind == DeviceKind::Gpu)
            .collect();
        let shown =
            topology.nodes.iter().filter(|node| !matches!(node.kind, NodeKind::GpuMemory | NodeKind::Empty));
        let mut places: Vec<Place> = shown
            .map(|node| {
                let package =
                    topology.packages.iter().position(|package| package.nodes.contains(node.os_index));
                let package = package.filter(|_| topology.packages.len() > 1);
                let package = package.map_or(String::new(), |at| {
                    format!(", package {}", topology.packages[at].os_index.unwrap_or(at as u32))
                });
                let local = gpus.iter().filter(|gpu| gpu.numa_node.value == Some(node.os_index));
                let pus =
                    if node.pus.is_empty() { "no cores".to_owned() } else { format!("PUs {}", node.pus) };
                Place {
                    index: Some(node.os_index),
                    name: format!("NUMA node {}{package}", node.os_index),
                    detail: format!("{}; {pus}", digits::size(node.total_bytes as f64)),
                    chips: own(node.os_index, links),
                    cards: local.map(|gpu| Card::of(document, gpu, links)).collect(),
                }
            })
            .collect();

        // A machine of one node has all of its GPUs there.
        let only = if let [only] = &places[..] { only.index } else { None };
        let known = |gpu: &&&Device| {
            gpu.numa_node.value.is_some_and(|near| places.iter().any(|place| place.index == Some(near)))
        };
        let unknown: Vec<Card> =
            gpus.iter().filter(|gpu| !known(gpu)).map(|gpu| Card::of(document, gpu, links)).collect();

        if only.is_some() {
            places.iter_mut().for_each(|place| place.cards.extend(unknown.iter().cloned()));
        } else if !unknown.is_empty() {
            places.push(Place {
                index: None,
                name: "NUMA node not known".to_owned(),
                detail: "the platform does not say where these are".to_owned(),
                chips: Vec::new(),
                cards: unknown,
            });
        }

        let host = &document.environment.hostname;
        let others = document.nodes.len().saturating_sub(1);
        let others = if others > 0 { format!(", the first of {} nodes", others + 1) } else { String::new() };

        // Of copies to and from GPUs where there are some: memory is accessed over other sizes.
        let is_copy = |link: &&MeasuredLink| matches!(link.to, LinkEnd::Device(_));
        let rates = || links.iter().filter(|link| !link.is_time);
        let largest = rates().filter(is_copy).map(|link| link.bytes).max();
        let largest = largest.or_else(|| rates().map(|link| link.bytes).max());
        let what = largest.map_or(String::new(), |bytes| format!(": GB/s, {}", size(bytes)));
        let both = links.iter().any(|link| link.alone.is_some() && link.at_once.is_some());
        let both = if both { ", alone and all at once" } else { "" };

        // The picture may stand alone, without the page that says it.
        let simulated = if document.platform.simulated.is_some() { "SIMULATED: " } else { "" };
        let mut colours = Colours::of_document(document, links);
        colours.has_marks |= places.iter().flat_map(|place| &place.cards).any(|card| !card.marks.is_empty());

        Some(Self {
            title: format!("{simulated}{host}{others}{what}{both}"),
            places,
            rings: Ring::all(document, links),
            colours,
        })
    }

    /// Every link's figure in words.
    pub(crate) fn described(&self) -> String {
        let of_card = |card: &Card| {
            let chips: Vec<String> = card.chips.iter().map(Chip::value).collect();
            let mark =
                if card.marks.is_empty() { String::new() } else { format!(" ({})", card.marks.join(", ")) };
            format!("{}{mark}: {}", card.name, chips.join(", "))
        };
        let cards: Vec<String> =
            self.places.iter().flat_map(|place| &place.cards).take(16).map(of_card).collect();
        cards.join("; ")
    }
}

/// A node's own cores in its own memory.
fn own(index: u32, links: &[MeasuredLink]) -> Vec<Chip> {
    let here = LinkEnd::Numa(index);
    let own = links.iter().filter(|link| link.from == here && link.to == here);
    own.map(|link| Chip { link: link.clone(), name: direction(link.direction).to_owned() }).collect()
}

impl Card {
    fn of(document: &Document, gpu: &Device, links: &[MeasuredLink]) -> Self {
        let here = LinkEnd::Device(gpu.id.clone());
        let from_memory =
            || links.iter().filter(|link| link.to == here && matches!(link.from, LinkEnd::Numa(_)));
        let node = |link: &MeasuredLink| if let LinkEnd::Numa(node) = link.from { node } else { 0 };
        let near = gpu.numa_node.value.filter(|near| from_memory().any(|link| node(link) == *near));
        let used = near.or(from_memory().map(node).next());
        let is_far = gpu.numa_node.value.is_some() && near.is_none();
        let chips = from_memory().filter(|link| Some(node(link)) == used).map(|link| {
            let from = if is_far { format!(" from node {}", node(link)) } else { String::new() };
            Chip { link: link.clone(), name: format!("{}{from}", direction(link.direction)) }
        });
        let first = from_memory().next().map(|link| (link.direction, link.is_time));
        let of_first = from_memory().filter(|link| Some((link.direction, link.is_time)) == first);
        let from_nodes: Vec<(u32, MeasuredLink)> = of_first.map(|link| (node(link), link.clone())).collect();
        let slow = document.slower_twins.iter().find(|slower| slower.device == gpu.id);
        let slow = slow.map(|slower| {
            format!("{:.0} % below twins", (1.0 - slower.bytes_per_s / slower.twins_bytes_per_s) * 100.0)
        });

        Self {
            name: names::device(gpu),
            detail: gpu.name.clone(),
            chips: chips.collect(),
            from_nodes: if from_nodes.len() > 1 { from_nodes } else { Vec::new() },
            marks: slow.into_iter().chain(gpu.state().err()).collect(),
        }
    }
}

impl Chip {
    /// With all that is known: what is under the pointer.
    pub(super) fn value(&self) -> String {
        let link = &self.link;
        let part = |what: &str, measured: &Option<analysis::measured_links::Measured>| {
            let measured = measured.as_ref()?;
            let ends = measured.interval.map_or(String::new(), |ends| {
                format!(" ± {:.1} %", ends.relative_half_width(measured.value) * 100.0)
            });
            Some(format!(
                "{what}{}{ends}",
                digits::figure(link.is_time, measured.value, measured.interval.as_ref())
            ))
        };

        let (alone, at_once) = match link.at_once {
            Some(_) => (part("alone ", &link.alone), part("with all at once ", &link.at_once)),
            None => (part("", &link.alone), None),
        };
        let below = link.is_below.then(|| "far below others of its kind".to_owned());
        let parts: Vec<String> = [alone, at_once, below].into_iter().flatten().collect();
        format!("{} {}", self.name, parts.join(", "))
    }
}
