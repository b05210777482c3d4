//! Messages by where their two ranks run: which ranks stand in rows and columns of a document of `numabench
//! mpi`, and in sentences what their figures show.
//!
//! The figures are the pairs'. Left out: how it is drawn (render).
//!
//! No rank is moved to another place: what MPI allocates stays where it was first touched, so each place
//! takes a rank of its own.

use report::MpiDocument;
use report::json::from_word;
use report::message::{MessagePattern, MpiPath};
use report::mpi::{MpiCase, MpiMatrix, MpiMissingPlace, MpiPlace};
use stats::alike::{distinct, grouped};
use stats::block_interval::BlockValue;

use crate::family::{CaseFamily, CaseFinding, ComparedSet, FamilyCase};
use crate::mpi_figure::{half_width, headline_figure};
use crate::passes::Moments;
use crate::words::{NEWER, capital};
use crate::{headline, mpi_adapters};

/// Figures that are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpiPlane {
    /// The path of the messages.
    pub path: MpiPath,
    /// How they follow each other.
    pub pattern: MessagePattern,
    /// Bytes of each.
    pub bytes: u64,
}

impl MpiPlane {
    /// Of a figure's id, `host/ping-pong/8`; `None` of another one.
    pub fn of_id(id: &str) -> Option<Self> {
        let [path, pattern, bytes] = id.split('/').collect::<Vec<_>>().try_into().ok()?;
        let path = from_word(path).filter(|path| *path != MpiPath::Newer)?;
        let pattern = from_word(pattern).filter(|pattern| *pattern != MessagePattern::Newer)?;
        Some(Self { path, pattern, bytes: bytes.parse().ok()? })
    }

    /// `host memory, 8 B, one message at a time`.
    pub fn name(&self) -> String {
        let path = match self.path {
            MpiPath::Host => "host memory",
            MpiPath::Staged => "GPU memory staged through the host",
            MpiPath::GpuAware => "GPU memory given to MPI",
            other => other.name(),
        };
        let pattern = match self.pattern {
            MessagePattern::PingPong => "one message at a time",
            MessagePattern::OneWay => "several messages one way",
            MessagePattern::BothWays => "several messages both ways",
            MessagePattern::Newer => NEWER,
        };
        format!("{path}, {}, {pattern}", stats::units::size(self.bytes))
    }

    fn is_of(&self, case: &MpiCase) -> bool {
        self.path == case.path && self.pattern == case.pattern && self.bytes == case.bytes
    }
}

/// A matrix's figures, which its document's pairs hold.
pub trait MpiMatrixFigures {
    /// The planes of its figures, in the order measured; none of a path or pattern that a newer numabench
    /// knows.
    fn planes(&self, document: &MpiDocument) -> Vec<MpiPlane>;

    /// The case of a row and a column; `None` where nothing was to be measured.
    fn cell<'d>(
        &self,
        document: &'d MpiDocument,
        plane: &MpiPlane,
        row: usize,
        column: usize,
    ) -> Option<&'d MpiCase>;

    /// The least time of a plane's cells, nanoseconds; `None` without a figure.
    fn best_ns(&self, document: &MpiDocument, plane: &MpiPlane) -> Option<f64>;
}

impl MpiMatrixFigures for MpiMatrix {
    fn planes(&self, document: &MpiDocument) -> Vec<MpiPlane> {
        let cases = document.pairs.iter().flat_map(|pair| &pair.cases).filter(|case| case.is_known());
        distinct(cases.map(|case| MpiPlane { path: case.path, pattern: case.pattern, bytes: case.bytes }))
    }

    fn cell<'d>(
        &self,
        document: &'d MpiDocument,
        plane: &MpiPlane,
        row: usize,
        column: usize,
    ) -> Option<&'d MpiCase> {
        let (one, other) = (self.rows.get(row)?.rank, self.columns.get(column)?.rank);
        let pair = document.pairs.iter().find(|pair| pair.ranks == [one.min(other), one.max(other)])?;
        pair.cases.iter().find(|case| plane.is_of(case))
    }

    fn best_ns(&self, document: &MpiDocument, plane: &MpiPlane) -> Option<f64> {
        let of_plane = document.pairs.iter().flat_map(|pair| &pair.cases).filter(|case| plane.is_of(case));
        of_plane.filter_map(MpiCase::counted_ns).reduce(f64::min)
    }
}

/// How many pairs of ranks a matrix has, each once.
fn asked(matrix: &MpiMatrix) -> usize {
    let pair = |row: &MpiPlace, column: &MpiPlace| [row.rank.min(column.rank), row.rank.max(column.rank)];
    let all = matrix.rows.iter().flat_map(|row| matrix.columns.iter().map(move |column| pair(row, column)));
    distinct(all.filter(|[one, other]| one != other)).len()
}

/// Cells with a figure, each pair of ranks once.
fn cells<'d>(matrix: &'d MpiMatrix, document: &'d MpiDocument, plane: &MpiPlane) -> Vec<Cell<'d>> {
    let mut cells: Vec<Cell> = Vec::new();
    for (r, row) in matrix.rows.iter().enumerate() {
        for (c, column) in matrix.columns.iter().enumerate() {
            let Some(case) = matrix.cell(document, plane, r, c).filter(|case| case.counted_ns().is_some())
            else {
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

    /// `1.88 µs between node 0 and node 1`, and between hosts the adapters that carried it.
    fn description(&self, document: &MpiDocument) -> String {
        let [one, other] = self.places;
        let ranks = [one.rank.min(other.rank), one.rank.max(other.rank)];
        let over = mpi_adapters::over(document, ranks, (self.case.path, self.case.bytes));
        let figure = headline_figure(self.case);
        format!("{figure} between {} and {}{over}", one.name, other.name)
    }

    fn is_near_nics(&self) -> bool {
        self.places.iter().all(|place| !place.nics.is_empty())
    }
}

/// What a plane shows.
struct Shown<'d> {
    plane: MpiPlane,
    best: Cell<'d>,
    /// The worst of those that surely take longer than the best, and how many times as long.
    worst: Option<(Cell<'d>, f64)>,
    /// How many other places there are.
    others: usize,
    /// Whether every two places are surely alike.
    is_same: bool,
    /// Whether every pair with a place without an adapter near surely takes longer than the best.
    is_slower_far: bool,
    /// How many pairs have no figure.
    missing: usize,
}

impl Shown<'_> {
    /// How well it is known how the worst compares with the best: the wider one of both intervals.
    fn half_width(&self) -> f64 {
        let worst = self.worst.iter().map(|(worst, _)| worst.case);
        worst.chain([self.best.case]).map(half_width).fold(0.0, f64::max)
    }
}

/// Every two places of each plane are compared, and all planes are one family: of many places alike one is
/// always the best and one the worst.
fn shown<'d>(document: &'d MpiDocument, matrix: &'d MpiMatrix) -> Vec<Shown<'d>> {
    let asked = asked(matrix);
    let of_plane = |plane: MpiPlane| {
        let cells = cells(matrix, document, &plane);
        (plane, cells)
    };
    let planes: Vec<(MpiPlane, Vec<Cell>)> = matrix.planes(document).into_iter().map(of_plane).collect();

    // The memory of messages is made once in a run.
    let blocks: Vec<Vec<Vec<BlockValue>>> = planes
        .iter()
        .map(|(_, cells)| {
            cells.iter().map(|cell| BlockValue::on_one_allocation(&cell.case.block_ns)).collect()
        })
        .collect();

    let members = blocks.iter().enumerate().flat_map(|(kind, cells)| {
        cells.iter().map(move |blocks| FamilyCase { kind, is_time: true, blocks, began: Moments::default() })
    });
    let compared = CaseFamily::of(members.collect()).within_sets(planes.iter().map(|(_, cells)| cells.len()));
    let one = |((plane, cells), compared): ((MpiPlane, Vec<Cell<'d>>), ComparedSet)| {
        let best = (0..cells.len()).min_by(|a, b| cells[*a].ns().total_cmp(&cells[*b].ns()))?;
        let is_worse = |at: &usize| compared.finding(*at, best) == CaseFinding::Worse;
        let worse = (0..cells.len()).filter(is_worse);
        let worst = worse.max_by(|a, b| cells[*a].ns().total_cmp(&cells[*b].ns())).map(|at| cells[at]);
        let is_slower_far = (0..cells.len()).filter(|at| !cells[*at].is_near_nics()).all(|at| is_worse(&at));
        let best = cells[best];
        Some(Shown {
            plane,
            best,
            worst: worst.map(|worst| (worst, worst.ns() / best.ns())),
            others: cells.len() - 1,
            is_same: compared.findings().all(|finding| finding == CaseFinding::Same),
            is_slower_far,
            missing: asked.saturating_sub(cells.len()),
        })
    };
    planes.into_iter().zip(compared).filter_map(one).collect()
}

/// The sentences, the answer first.
pub fn verdict(document: &MpiDocument, matrix: &MpiMatrix) -> Vec<String> {
    let all: Vec<Shown> = shown(document, matrix);
    let most = all.iter().filter_map(|at| Some((at, at.worst?.1))).max_by(|a, b| a.1.total_cmp(&b.1));
    let missing = all.iter().map(|at| at.missing).max().unwrap_or_default();
    let answer = match most {
        Some((at, ratio)) => {
            let ratio = headline::figure(format!("up to {ratio:.2} times"), at.half_width());
            format!("Where the ranks run matters: {ratio} ({}).", at.plane.name())
        }
        None if all.is_empty() => "No figure was measured.".to_owned(),
        None if all.iter().all(|at| at.others == 0) && missing > 0 => {
            "One pair alone has a figure: no comparison.".to_owned()
        }
        None if all.iter().all(|at| at.others == 0) => "One place on each side: no comparison.".to_owned(),
        None if all.iter().all(|at| at.is_same) => {
            "No measurable difference: where the ranks run changes no figure by more than 1 %.".to_owned()
        }
        None => "No certain effect of where the ranks run (a longer --max-time may decide).".to_owned(),
    };
    let asked = asked(matrix);
    let partial = match missing {
        0 => String::new(),
        missing => format!("PARTIAL, of {} of {asked} pairs: ", asked.saturating_sub(missing)),
    };
    let mut said = vec![format!("{partial}{answer}")];

    for at in &all {
        let (name, best) = (capital(&at.plane.name()), at.best.description(document));
        said.push(match &at.worst {
            Some((worst, _)) if !headline::is_known(at.half_width()) => {
                format!("{name}: {best}, {}.", worst.description(document))
            }
            Some((worst, ratio)) => {
                format!("{name}: {best}, {} ({ratio:.2} times).", worst.description(document))
            }
            None if at.others == 0 => format!("{name}: {best}."),
            None if at.is_same => format!("{name}: {best}, and no measurable difference elsewhere."),
            None => format!("{name}: {best} at best, and no difference is certain."),
        });
    }

    said.extend(most.and_then(|(at, _)| adapters(document, matrix, at)));
    said.extend(not_compared(matrix));
    said
}

/// The places that no rank could have, each reason once.
fn not_compared(matrix: &MpiMatrix) -> Option<String> {
    let reasons = grouped(matrix.missing.iter().map(|place| (&place.reason[..], place)));
    let of = |(reason, places): (&str, Vec<&MpiMissingPlace>)| {
        let names = distinct(places.iter().map(|place| format!("{} {}", place.host, place.name)));
        format!("{} ({reason})", names.join(", "))
    };
    let all: Vec<String> = reasons.into_iter().map(of).collect();
    (!all.is_empty()).then(|| format!("Not compared: {}.", all.join("; ")))
}

/// Whether messages between hosts are fastest where the topology says that adapters are near; `None` where it
/// does not tell places apart by that.
fn adapters(document: &MpiDocument, matrix: &MpiMatrix, at: &Shown) -> Option<String> {
    let host =
        |place: &MpiPlace| document.ranks.iter().find(|rank| rank.rank == place.rank).map(|rank| &rank.host);
    let places = || matrix.rows.iter().chain(&matrix.columns);
    let between_hosts = host(at.best.places[0]) != host(at.best.places[1]);
    let (near, far) =
        (places().any(|place| !place.nics.is_empty()), places().any(|place| place.nics.is_empty()));
    if !(between_hosts && near && far) {
        return None;
    }
    let with_adapters = places().filter(|place| !place.nics.is_empty());
    let names = with_adapters.map(|place| format!("{} near {}", place.nics.join(", "), place.name));
    let names = distinct(names).join("; ");

    // Where a place without an adapter is not surely slower, or was not measured, the best place may be so by
    // chance.
    let is_sure = at.is_slower_far && at.missing == 0;

    Some(match at.best.is_near_nics() {
        true if !is_sure => return None,
        true => format!(
            "The topology agrees: messages are fastest between places with an adapter near ({names})."
        ),
        false => format!(
            "The topology declares adapters elsewhere: {names}. Which one MPI uses is its own choice."
        ),
    })
}
