//! Messages by where their two ranks run: which ranks stand in rows and columns of a document of `numabench mpi`, and in sentences what their figures show.
//!
//! The figures are the pairs'. Left out: how it is drawn (render).

use report::MpiDocument;
use report::mpi::{MpiCase, MpiMatrix, MpiPlace};
use stats::compare::{Verdict, compare};
use stats::interval::median;

use crate::{mpi_figure::mpi_figure, words::capital};

/// Figures that are compared with each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MpiPlane {
    /// The way of the messages.
    pub path: String,
    /// How they follow each other.
    pub pattern: String,
    /// Bytes of each.
    pub bytes: u64,
}

impl MpiPlane {
    /// `host memory, 8 B, one message at a time`.
    pub fn name(&self) -> String {
        let path = match self.path.as_str() {
            "host" => "host memory",
            "staged" => "GPU memory staged through the host",
            "gpu-aware" => "GPU memory given to MPI",
            other => other,
        };
        let pattern = match self.pattern.as_str() {
            "ping-pong" => "one message at a time",
            "one-way" => "several messages one way",
            _ => "several messages both ways",
        };
        format!("{path}, {}, {pattern}", stats::units::size(self.bytes))
    }

    fn is_of(&self, case: &MpiCase) -> bool {
        self.path == case.path && self.pattern == case.pattern && self.bytes == case.bytes
    }
}

/// A matrix's figures, which its document's pairs hold.
pub trait MpiMatrixFigures {
    /// The planes of its figures, in the order measured.
    fn planes(&self, document: &MpiDocument) -> Vec<MpiPlane>;

    /// The case of a row and a column; `None` where nothing was to be measured.
    fn cell<'d>(&self, document: &'d MpiDocument, plane: &MpiPlane, row: usize, column: usize) -> Option<&'d MpiCase>;

    /// The least time of a plane's cells, nanoseconds; `None` without a figure.
    fn best_ns(&self, document: &MpiDocument, plane: &MpiPlane) -> Option<f64>;
}

impl MpiMatrixFigures for MpiMatrix {
    fn planes(&self, document: &MpiDocument) -> Vec<MpiPlane> {
        let mut planes = Vec::new();
        for case in document.pairs.iter().flat_map(|pair| &pair.cases) {
            let MpiCase { path, pattern, bytes, .. } = case;
            let plane = MpiPlane { path: path.clone(), pattern: pattern.clone(), bytes: *bytes };
            if !planes.contains(&plane) {
                planes.push(plane);
            }
        }
        planes
    }

    fn cell<'d>(&self, document: &'d MpiDocument, plane: &MpiPlane, row: usize, column: usize) -> Option<&'d MpiCase> {
        let (one, other) = (self.rows.get(row)?.rank, self.columns.get(column)?.rank);
        let pair = document.pairs.iter().find(|pair| pair.ranks == [one.min(other), one.max(other)])?;
        pair.cases.iter().find(|case| plane.is_of(case))
    }

    fn best_ns(&self, document: &MpiDocument, plane: &MpiPlane) -> Option<f64> {
        let of_plane = document.pairs.iter().flat_map(|pair| &pair.cases).filter(|case| plane.is_of(case));
        of_plane.filter_map(MpiCase::counted_ns).reduce(f64::min)
    }
}

/// Cells with a figure, each pair of ranks once.
fn cells<'d>(matrix: &'d MpiMatrix, document: &'d MpiDocument, plane: &MpiPlane) -> Vec<Cell<'d>> {
    let mut cells: Vec<Cell> = Vec::new();
    for (r, row) in matrix.rows.iter().enumerate() {
        for (c, column) in matrix.columns.iter().enumerate() {
            let Some(case) = matrix.cell(document, plane, r, c).filter(|case| case.counted_ns().is_some()) else {
                continue;
            };
            if !cells.iter().any(|cell| cell.places.map(|place| place.rank) == [column.rank, row.rank]) {
                cells.push(Cell { places: [row, column], case });
            }
        }
    }
    cells
}

/// A figure and its places.
#[derive(Clone, Copy)]
struct Cell<'d> {
    places: [&'d MpiPlace; 2],
    case: &'d MpiCase,
}

impl Cell<'_> {
    fn ns(&self) -> f64 {
        self.case.message_ns.unwrap_or(f64::INFINITY)
    }

    /// `1.88 µs between node 0 and node 1`.
    fn said(&self) -> String {
        let [one, other] = self.places;
        format!("{} between {} and {}", mpi_figure(self.case, &self.case.pattern), one.name, other.name)
    }

    fn is_near_nics(&self) -> bool {
        self.places.iter().all(|place| !place.nics.is_empty())
    }
}

/// What a plane shows.
struct Shown<'d> {
    plane: MpiPlane,
    best: Cell<'d>,
    /// The worst of the others, how many times as long it takes, and whether that is certain; `None` without others.
    worst: Option<(Cell<'d>, f64, Verdict)>,
}

/// Blocks of one kind, even or odd ones.
fn half(cell: &Cell, odd: usize) -> Vec<f64> {
    cell.case.block_ns.iter().skip(odd).step_by(2).copied().collect()
}

/// The best and the worst are chosen by the even blocks and compared by the odd ones: of many places alike one is always the best and one the worst, and the blocks by
/// which they were chosen would call them different.
fn shown<'d>(document: &'d MpiDocument, matrix: &'d MpiMatrix, plane: MpiPlane) -> Option<Shown<'d>> {
    let cells = cells(matrix, document, &plane);
    let ranked = |cell: &Cell| median(&half(cell, 0)).unwrap_or_else(|| cell.ns());
    let best = *cells.iter().min_by(|a, b| ranked(a).total_cmp(&ranked(b)))?;
    let others = cells.iter().filter(|cell| !std::ptr::eq(cell.case, best.case));
    let worst = others.max_by(|a, b| ranked(a).total_cmp(&ranked(b))).map(|worst| {
        let compared = compare(&half(&best, 1), &half(worst, 1), document.settings.seed);
        let (ratio, verdict) = compared.map_or((1.0, Verdict::Undecided), |found| (found.ratio, found.verdict));
        (*worst, ratio, verdict)
    });
    Some(Shown { plane, best, worst })
}

impl Shown<'_> {
    /// How many times as long the worst surely takes.
    fn times(&self) -> Option<f64> {
        self.worst.and_then(|(_, ratio, verdict)| (verdict == Verdict::Higher).then_some(ratio))
    }
}

/// The sentences, the answer first.
pub fn verdict(document: &MpiDocument, matrix: &MpiMatrix) -> Vec<String> {
    let all: Vec<Shown> =
        matrix.planes(document).into_iter().filter_map(|plane| shown(document, matrix, plane)).collect();
    let most = all.iter().filter_map(|at| Some((at, at.times()?))).max_by(|a, b| a.1.total_cmp(&b.1));
    let same = |at: &Shown| matches!(at.worst, Some((_, _, Verdict::NoMeasurableDifference)));
    let mut said = vec![match most {
        Some((at, ratio)) => {
            format!("Where the ranks run matters: up to {ratio:.2} times ({}).", at.plane.name())
        }
        None if all.is_empty() => "No figure was measured.".to_owned(),
        None if all.iter().all(|at| at.worst.is_none()) => {
            "One place on each side: there is nothing to compare it with.".to_owned()
        }
        None if all.iter().all(same) => {
            "No measurable difference: where the ranks run changes no figure by more than 1 %.".to_owned()
        }
        None => "No certain effect of where the ranks run (a longer --max-time may decide).".to_owned(),
    }];
    for at in &all {
        let (name, best) = (capital(&at.plane.name()), at.best.said());
        said.push(match (&at.worst, at.times()) {
            (Some((worst, ..)), Some(ratio)) => format!("{name}: {best}, {} ({ratio:.2} times).", worst.said()),
            (Some(_), None) if same(at) => format!("{name}: {best}, and no measurable difference elsewhere."),
            (Some(_), None) => format!("{name}: {best} at best, and no difference is certain."),
            (None, _) => format!("{name}: {best}."),
        });
    }
    said.extend(most.and_then(|(at, _)| adapters(document, matrix, at)));
    said
}

/// Whether messages between hosts are fastest where the topology says that adapters are near; `None` where it does not tell places apart by that.
fn adapters(document: &MpiDocument, matrix: &MpiMatrix, at: &Shown) -> Option<String> {
    let host = |place: &MpiPlace| document.ranks.iter().find(|rank| rank.rank == place.rank).map(|rank| &rank.host);
    let places = || matrix.rows.iter().chain(&matrix.columns);
    let between_hosts = host(at.best.places[0]) != host(at.best.places[1]);
    let (near, far) = (places().any(|place| !place.nics.is_empty()), places().any(|place| place.nics.is_empty()));
    if !(between_hosts && near && far) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for place in places().filter(|place| !place.nics.is_empty()) {
        let name = format!("{} near {}", place.nics.join(", "), place.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let names = names.join("; ");
    Some(match at.best.is_near_nics() {
        true => format!("The topology agrees: messages are fastest between places with an adapter near ({names})."),
        false => format!("The topology declares adapters elsewhere: {names}. Which one MPI uses is its own choice."),
    })
}
