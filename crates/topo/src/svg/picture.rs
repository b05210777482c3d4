//! The whole picture as rectangles: the title, the machine with what is at its edge, the legend, the notes.

use stats::units::rounded_size;

use super::arrange;
use super::block::{Block, Drawn, Grid, Line, Panel, Rect};
use super::columns::Level;
use super::devices;
use super::legend;
use super::links::{self, GpuLink};
use super::look::Look;
use super::nodes;
use super::places::{Nest, nest};
use super::pus::Pus;
use super::text_metrics::Font;
use crate::model::{L3, Package, Topology, TopologySource};
use crate::nest::{Place, PlaceKind};
use crate::survey::Survey;
use crate::text;
use crate::text::layout::{count, ids, named};

/// Between places, px.
const APART: i32 = 8;
/// Between the parts of the sheet, and around them, px.
const MARGIN: i32 = 16;
/// What the title and the legend need at least, px.
const LEAST_WIDTH: i32 = 680;
/// The room for words that explain, px.
const WORDS: i32 = 420;
/// The widest that a list of PUs or a CPU's name makes its box, px.
const LIST: i32 = 250;
/// More missing PUs than this are written as a list, not drawn.
const DRAWN_PUS: usize = 512;

/// Computes every rectangle.
pub(super) fn picture(survey: &Survey, links: &[GpuLink]) -> Drawn {
    let topology = &survey.topology;
    let drawing = Drawing { survey, pus: Pus::of(topology), common_cpu: common_cpu(topology) };
    let nest = nest(survey);
    let mut machine = drawing.machine(&nest);
    let columns = arrange::arranged(&mut machine);
    let width = machine.measure(&columns).width.max(LEAST_WIDTH);

    let mut lines: Vec<Line> = Font::TITLE
        .wrapped(&title(topology), width)
        .into_iter()
        .map(|words| Line::new(Font::TITLE, words))
        .collect();
    let cpu = drawing.common_cpu.flatten().map_or_else(String::new, |model| format!("{model}; "));
    lines.extend(paragraph(Font::BODY, &format!("{cpu}{}", text::read_from(topology)), width));
    let mut sheet = Block::new(Look::Sheet, "", lines)
        .spaced(MARGIN, MARGIN)
        .with(Panel::new(Grid::Stacked, 0, vec![machine]))
        .with(Panel::new(Grid::Stacked, 0, links::block(links).into_iter().collect()))
        .with(legend::legend(survey, &drawing.pus, width))
        .with(Panel::new(Grid::Stacked, APART, notes(survey, width)));
    let size = sheet.measure(&columns);
    sheet.placed(Rect { x: 0, y: 0, width: size.width, height: size.height })
}

/// The host's name where it is known, and what the machine has.
pub(super) fn title(topology: &Topology) -> String {
    let host = topology.hostname.as_ref().map_or_else(String::new, |host| format!("{host}: "));
    host + &text::counts(topology)
}

/// How the localities are known, and what may not be used, in words.
fn notes(survey: &Survey, room: i32) -> Vec<Block> {
    let (localities, missing) = text::notes(survey);
    let mut cores = Vec::new();
    if !localities.is_empty() {
        cores.push(
            "each GPU is in the place that is local to it; its card says the cores, each by its first \
             allowed PU"
                .to_owned(),
        );
        cores.extend(localities);
    }

    let sections = [
        ("Which cores for which GPU", cores),
        ("Links between GPUs", links::unknown(survey)),
        ("Not usable from here", missing),
    ];
    let section = |(heading, entries): (&str, Vec<String>)| {
        let mut lines = vec![Line::new(Font::STRONG, heading)];
        lines.extend(entries.iter().flat_map(|entry| paragraph(Font::SMALL, entry, room)));
        (!entries.is_empty()).then(|| Block::new(Look::Unseen, "", lines).spaced(0, 0))
    };
    sections.into_iter().filter_map(section).collect()
}

fn paragraph(font: Font, words: &str, room: i32) -> impl Iterator<Item = Line> {
    font.wrapped(words, room).into_iter().map(move |words| Line::new(font, words))
}

/// The CPU's name, where it is the same for all packages: the picture says it once. Inside, `None` where
/// nobody knows it.
fn common_cpu(topology: &Topology) -> Option<Option<&str>> {
    let first = topology.packages.first()?.cpu_model.as_deref();
    topology.packages.iter().all(|package| package.cpu_model.as_deref() == first).then_some(first)
}

struct Drawing<'t> {
    survey: &'t Survey,
    pus: Pus,
    common_cpu: Option<Option<&'t str>>,
}

impl Drawing<'_> {
    /// The machine, and what is at its edge beside or below it.
    fn machine(&self, nest: &Nest<'_>) -> Block {
        let place = &nest.machine;
        let mut main = Block::new(Look::Unseen, "", Vec::new()).spaced(0, APART);
        for panel in self.contents(place) {
            main = main.with(panel);
        }
        let edge = self.edge(nest);
        let mut parts = vec![main];

        if !edge.is_empty() {
            parts.push(Block::new(Look::Unseen, "", Vec::new()).spaced(0, APART).with(Panel::new(
                Grid::Stacked,
                APART,
                edge,
            )));
        }

        Block::new(Look::Unseen, "", Vec::new()).spaced(0, 0).with(Panel::new(
            Grid::Beside(Level::Whole),
            APART,
            parts,
        ))
    }

    /// Cores and places of a place.
    fn contents(&self, place: &Place<'_>) -> Vec<Panel> {
        let mut panels = self.pus.cores(&place.cores);
        let (mut packages, mut nodes, mut l3s, mut memory) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for part in &place.inside {
            let block = self.place(part);
            match part.kind {
                PlaceKind::Machine | PlaceKind::Package(_) => packages.push(block),
                PlaceKind::Node(_) if part.pus.is_empty() => memory.push(block),
                PlaceKind::Node(_) => nodes.push(block),
                PlaceKind::L3(_) => l3s.push(block),
            }
        }

        panels.push(Panel::new(Grid::Stretched(Level::Packages), APART, packages));
        panels.push(Panel::new(Grid::Stretched(Level::Nodes), APART, nodes));
        panels.push(Panel::new(Grid::Stretched(Level::L3s), APART, l3s));
        panels.push(Panel::new(Grid::Cards(Level::Devices), APART, memory));
        panels
    }

    fn place(&self, place: &Place<'_>) -> Block {
        let block = match place.kind {
            PlaceKind::Machine => Block::new(Look::Unseen, "", Vec::new()),
            PlaceKind::Package(package) => self.package(package),
            PlaceKind::Node(node) => nodes::node(self.survey, node),
            PlaceKind::L3(l3) => self::l3(l3),
        };
        let devices = devices::panels(&self.survey.topology, &place.gpus, &place.nics);
        self.contents(place).into_iter().chain(devices).fold(block, Block::with)
    }

    fn package(&self, package: &Package) -> Block {
        let id = package.os_index.map_or_else(|| "?".to_owned(), |id| id.to_string());
        let model = package.cpu_model.as_deref().unwrap_or("CPU model not known");
        let mut heading = Line::new(Font::HEADING, format!("Package {id}"));
        if self.common_cpu.is_none() {
            heading = heading.and(model).asking_at_most(LIST);
        }
        Block::new(
            Look::Package,
            format!("package {id}: {model}\n{}", named("PU", &package.pus)),
            vec![heading],
        )
    }

    /// What is in no place, or missing.
    fn edge(&self, nest: &Nest<'_>) -> Vec<Block> {
        let mut blocks = Vec::new();
        if !nest.unknown_gpus.is_empty() || !nest.unknown_nics.is_empty() {
            let mut lines = vec![Line::new(Font::HEADING, "Locality unknown")];
            let gpus = nest.unknown_gpus.iter().map(|gpu| gpu.locality.reason.as_str());
            let mut reasons: Vec<&str> =
                gpus.chain(nest.unknown_nics.iter().map(|nic| nic.locality.reason.as_str())).collect();
            reasons.sort_unstable();
            reasons.dedup();
            lines.extend(reasons.into_iter().flat_map(|reason| paragraph(Font::SMALL, reason, WORDS)));
            blocks.push(self.group("locality unknown", lines, &nest.unknown_gpus, &nest.unknown_nics));
        }

        if !nest.machine.gpus.is_empty() || !nest.machine.nics.is_empty() {
            let lines = vec![Line::new(Font::HEADING, "Near more than one of the boxes")];
            blocks.push(self.group("near several places", lines, &nest.machine.gpus, &nest.machine.nics));
        }
        blocks.extend(self.missing(nest));
        blocks.extend(nodes::empty(&nest.empty_nodes));
        blocks
    }

    fn group(
        &self,
        tooltip: &str,
        lines: Vec<Line>,
        gpus: &[&crate::model::Gpu],
        nics: &[&crate::nics::Nic],
    ) -> Block {
        let panels = devices::panels(&self.survey.topology, gpus, nics);
        panels.into_iter().fold(Block::new(Look::Edge, tooltip, lines), Block::with)
    }

    /// PUs that are in no core.
    fn missing(&self, nest: &Nest<'_>) -> Option<Block> {
        let words = match self.survey.topology.source {
            TopologySource::ThisSystem => "Offline",
            TopologySource::XmlFile { .. } | TopologySource::Texts { .. } => {
                "Offline, or left out of the file"
            }
        };
        let missing = &nest.missing_pus;
        let lines = vec![
            Line::new(Font::HEADING, words),
            Line::new(Font::SMALL, format!("{}: {}", count(missing.len(), "PU"), ids(missing)))
                .asking_at_most(WORDS),
        ];
        let drawn = missing.iter().filter(|_| missing.len() <= DRAWN_PUS);
        let cells = drawn.map(|pu| self.pus.pu(pu, "")).collect();
        let block = Block::new(Look::Edge, format!("{words}: {}", named("PU", missing)), lines);

        (!missing.is_empty()).then(|| block.with(Panel::new(Grid::Filling(Level::Missing), 4, cells)))
    }
}

fn l3(l3: &L3) -> Block {
    let size = l3.size_bytes.map_or_else(String::new, |bytes| format!(" {}", rounded_size(bytes)));
    let heading = Line::new(Font::STRONG, format!("L3{size}")).and(named("PU", &l3.pus));
    Block::new(Look::L3, format!("L3{size}: {}", named("PU", &l3.pus)), vec![heading.asking_at_most(LIST)])
}
