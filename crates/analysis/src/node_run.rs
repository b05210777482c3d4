//! What one document says of its node, or of each of its nodes: figures by column and place, or how it is set
//! up. Pure.
//!
//! GPUs that were measured each from its own place share a class of hardware; a cell of a matrix is a class
//! of its own, so that it is compared with the same cell of other nodes, also where the platform does not say
//! how near it is.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use report::case::Order;
use report::device::{Device, DeviceKind, name_on_node};
use report::doctor::Check;
use report::document::Status;
use report::row::{Row, RowStatus};
use report::rows::rows_of;
use report::settings::{CopyEngine, Direction};
use report::{DoctorDocument, Document};

use crate::baseline::{Class, class_of, holds_back};
use crate::column;
use crate::figure::Unit;
use crate::gate::{Checked, Gate};
use crate::model_answer::texts;
use crate::reference::known_figures;
use crate::run::asked;
use crate::{imported_fits, reference_fits, words};
use report::other_end::other_ends;

/// One figure of one place of a node, in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceFigure {
    /// What was measured, as a table's column names it: `H2D 64 MiB`.
    pub column: String,
    /// What the figure counts.
    pub unit: Unit,
    /// Where on the node: `0000:c1:00.0 from node 3`.
    pub place: String,
    /// The same with GPUs by their indices, which other machines have too: `GPU 0 from node 3`.
    pub by_index: String,
    /// Which class of hardware the place belongs to.
    pub class: Class,
    /// The figure.
    pub value: f64,
    /// Whether its GPU was throttled or shared: then nothing is learned from it.
    pub is_held_back: bool,
}

/// What one run, or one pass of a check, says of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRun {
    /// The node.
    pub host: String,
    /// When the run began, RFC 3339 in UTC.
    pub started_at: String,
    /// What was asked for: of runs that were asked for the same the latest says how the node is.
    pub asked: String,
    /// Why its figures are not all there, in words; what a check of the node by itself found.
    pub trouble: Option<String>,
    /// What the driver says of a simulation, where the devices are not real.
    pub simulated: Option<String>,
    /// Its figures.
    pub points: Vec<PlaceFigure>,
    /// Its settings, where the document is `doctor`'s.
    pub checks: Vec<Check>,
    /// How its figures stand against reference figures, in a sentence for each model of GPU.
    pub reference: Vec<String>,
}

impl NodeRun {
    /// Whether its trouble is over: a later run of the node, which was asked for the same, has all its
    /// figures and no trouble.
    pub(crate) fn is_mended(&self, runs: &[&Self]) -> bool {
        let places = |run: &Self| -> BTreeSet<(String, String)> {
            run.points.iter().map(|point| (point.column.clone(), point.place.clone())).collect()
        };
        let mut later =
            runs.iter().filter(|later| later.asked == self.asked && later.started_at > self.started_at);
        later.any(|later| later.trouble.is_none() && places(later).is_superset(&places(self)))
    }
}

/// What a document says of each of its nodes.
pub fn of_document<B>(document: &Document<B>) -> Vec<NodeRun> {
    let devices: BTreeMap<&str, &Device> =
        document.devices.iter().map(|device| (&device.id[..], device)).collect();
    let others = other_ends(document);
    let (by_place, of_links) = (document.figures().are_of_places(), document.figures().are_of_links());
    let rows = rows_of(document);
    let trouble = |host: &str| {
        is_in_trouble(document, host).then(|| {
            let reason =
                document.status_reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            format!("{}{reason}", words::status(document.status))
        })
    };
    let mut by_host: BTreeMap<&str, Vec<PlaceFigure>> =
        document.nodes.iter().map(|node| (&node.host[..], Vec::new())).collect();
    if by_host.is_empty() {
        by_host.insert(&document.environment.hostname, Vec::new());
    }
    let by = document.settings.engine;

    let measured = with_threads_together(document, &rows);
    for figure in &measured {
        let row = figure.row;
        let Some(device) = devices.get(&row.device[..]) else { continue };
        let other = others.get(&row.rank).map(String::as_str);
        let class = class_of(document, device, row.locality);
        if let Some(mut point) = point(figure, other, by_place, of_links, by, class) {
            point.by_index = with_indices(document, device.node, &point.place);
            by_host.entry(&row.host).or_default().push(point);
        }
    }

    let references = known_figures();
    let run = |(host, points): (&str, Vec<PlaceFigure>)| NodeRun {
        host: host.to_owned(),
        started_at: document.started_at.clone(),
        asked: asked(document),
        trouble: trouble(host),
        simulated: document.platform.simulated.clone(),
        points,
        checks: Vec::new(),
        reference: texts(reference_fits::answer(document, Some(host), &references)),
    };
    by_host.into_iter().map(run).collect()
}

/// Whether what a document that is not complete lacks may be this host's: it lacks a figure or a rank of it,
/// or ended early, or nothing says whose it is.
fn is_in_trouble<B>(document: &Document<B>, host: &str) -> bool {
    let lacking: BTreeSet<&str> = document
        .rows
        .iter()
        .filter(|row| row.status != RowStatus::Measured)
        .map(|row| &row.host[..])
        .chain(document.missing.iter().filter_map(|missing| missing.host.as_deref()))
        .collect();
    match document.status {
        Status::Complete => false,
        Status::Partial | Status::DataCorrupt => lacking.is_empty() || lacking.contains(host),
        _ => true,
    }
}

/// A measured row with its figure.
struct RowFigure<'r> {
    row: &'r Row,
    /// What it is judged by.
    unit: Unit,
    /// The row's, or that of all threads of its cell together; `None` where it, or one of them, has none.
    value: Option<f64>,
}

impl<'r> RowFigure<'r> {
    fn of(row: &'r Row) -> Self {
        let unit = Unit::judging(row.quantity, row.bytes);
        let value = if unit == Unit::Ns { row.median_ns } else { row.value };
        Self { row, unit, value: value.filter(|_| row.status == RowStatus::Measured) }
    }

    /// Another thread of the same cell: rates add up; of times the first thread's stays.
    fn add(&mut self, more: &Self) {
        let sum = |value: f64, more: f64| if self.unit.more_is_better() { value + more } else { value };
        self.value = self.value.zip(more.value).map(|(value, more)| sum(value, more));
    }
}

/// The figures of the measured rows; those of threads that together make one cell of a matrix of CPU reads,
/// writes, copies or kernels are one, with their sum, as the matrix shows it.
fn with_threads_together<'r, B>(document: &Document<B>, rows: &'r [Row]) -> Vec<RowFigure<'r>> {
    let cell_of = |rank: u32| {
        document.matrices.iter().enumerate().find_map(|(number, matrix)| {
            let row = matrix.rows.iter().position(|row| row.ranks.contains(rank))?;
            let column = matrix.columns.iter().position(|column| column.ranks.contains(rank))?;
            Some((number, row, column))
        })
    };
    let is_of_threads = |row: &Row| {
        row.order == Order::Simultaneous
            && matches!(
                row.direction,
                Direction::Read | Direction::Write | Direction::Copy | Direction::Kernel
            )
    };

    let (mut all, mut first): (Vec<RowFigure>, BTreeMap<_, usize>) = (Vec::new(), BTreeMap::new());
    for row in rows {
        let figure = RowFigure::of(row);
        let cell = cell_of(row.rank).filter(|_| is_of_threads(row)).map(|cell| (&row.case, cell));
        match cell.map(|cell| first.entry(cell)) {
            Some(Entry::Occupied(at)) => all[*at.get()].add(&figure),
            Some(Entry::Vacant(place)) => {
                place.insert(all.len());
                all.push(figure);
            }
            None => all.push(figure),
        }
    }
    all
}

fn point(
    figure: &RowFigure,
    other: Option<&str>,
    by_place: bool,
    of_links: bool,
    by: CopyEngine,
    class: Class,
) -> Option<PlaceFigure> {
    let (row, unit) = (figure.row, figure.unit);
    let own = name_on_node(&row.device);
    let within = other.is_some_and(|other| other == own);
    let value = figure.value.filter(|value| value.is_finite() && *value > 0.0)?;

    let column::Column { name, group } = column::of_case(&row.case, within, by);
    // A way of sending pieces, or a touch of pages, is other work, and no place.
    let (name, group) = match group {
        Some(way) if !of_links => (format!("{name}, {way}"), None),
        group => (name, group),
    };
    let mut place = own.to_owned();
    if let Some(other) = other.filter(|_| !within) {
        place = format!("{place} with {other}");
    }
    if let Some(node) = row.memory_node.filter(|_| by_place && other.is_none()) {
        place = format!("{place} from node {node}");
    }
    if let Some(group) = group {
        place = format!("{place}, {group}");
    }

    // A cell of a matrix is compared with the same cell of other nodes, also where the platform does not say
    // how near it is.
    let locality = if by_place && !within { place.clone() } else { class.locality };
    Some(PlaceFigure {
        column: name,
        unit,
        by_index: place.clone(),
        place,
        class: Class { locality, ..class },
        value,
        is_held_back: row.flags.iter().any(|flag| holds_back(*flag)),
    })
}

/// A place with the PCI addresses of its node's GPUs as their indices.
fn with_indices<B>(document: &Document<B>, node: u32, place: &str) -> String {
    let gpus = document.devices.iter().filter(|device| device.node == node && device.kind == DeviceKind::Gpu);
    gpus.fold(place.to_owned(), |place, gpu| {
        place.replace(name_on_node(&gpu.id), &format!("GPU {}", gpu.index))
    })
}

/// What a check says of its node, a run a pass.
pub fn of_check(checked: &Checked) -> Vec<NodeRun> {
    let trouble = match checked.gate {
        Gate::Well => None,
        Gate::Undecided if checked.is_left_to_other_nodes() => None,
        Gate::Undecided => Some("its own check is undecided".to_owned()),
        Gate::Finding if checked.suspects.is_empty() && checked.slower_twins.is_empty() => {
            Some("copies failed in its own check".to_owned())
        }
        Gate::Finding => Some("its own check found it slow".to_owned()),
    };
    let mut passes: BTreeMap<u32, Vec<PlaceFigure>> = BTreeMap::new();

    for figure in &checked.figures {
        passes.entry(figure.pass).or_default().push(PlaceFigure {
            column: column::of_case(&figure.case, false, CopyEngine::Ce).name,
            unit: Unit::BytesPerS,
            place: figure.device.clone(),
            by_index: figure.device.clone(),
            class: figure.class.clone(),
            value: figure.bytes_per_s,
            is_held_back: false,
        });
    }

    if passes.is_empty() {
        passes.insert(0, Vec::new());
    }
    let reference = texts(imported_fits::answer_of_checked(checked, &known_figures()));
    let run = |points| NodeRun {
        host: checked.host.clone(),
        started_at: checked.started_at.clone(),
        asked: "check".to_owned(),
        trouble: trouble.clone(),
        simulated: checked.simulated.clone(),
        points,
        checks: Vec::new(),
        reference: reference.clone(),
    };
    passes.into_values().map(run).collect()
}

/// What `doctor` saw of its node.
pub fn of_doctor(document: DoctorDocument) -> NodeRun {
    NodeRun {
        host: document.host.unwrap_or_else(|| "a node without a name".to_owned()),
        started_at: document.started_at,
        asked: "doctor".to_owned(),
        trouble: None,
        simulated: None,
        points: Vec::new(),
        checks: document.checks,
        reference: Vec::new(),
    }
}
