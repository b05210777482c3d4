//! Messages by where their two ranks run: which ranks stand in rows and columns of a document of `numabench mpi`, and in sentences what their figures show.
//!
//! The figures are the pairs'. Left out: how it is drawn (render).

use stats::compare::{Verdict, compare};
use stats::interval::median;

use crate::MpiDocument;
use crate::mpi::{MpiCase, MpiMatrix, MpiPlace};
use crate::render::{capital, mpi_figure};

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

impl MpiMatrix {
    /// The planes of its figures, in the order measured.
    pub fn planes(&self, document: &MpiDocument) -> Vec<MpiPlane> {
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

    /// The case of a row and a column; `None` where nothing was to be measured.
    pub fn cell<'d>(
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

    /// The least time of a plane's cells, nanoseconds; `None` without a figure.
    pub fn best_ns(&self, document: &MpiDocument, plane: &MpiPlane) -> Option<f64> {
        let of_plane = document.pairs.iter().flat_map(|pair| &pair.cases).filter(|case| plane.is_of(case));
        of_plane.filter_map(MpiCase::counted_ns).reduce(f64::min)
    }

    /// Cells with a figure, each pair of ranks once.
    fn cells<'d>(&'d self, document: &'d MpiDocument, plane: &MpiPlane) -> Vec<Cell<'d>> {
        let mut cells: Vec<Cell> = Vec::new();
        for (r, row) in self.rows.iter().enumerate() {
            for (c, column) in self.columns.iter().enumerate() {
                let Some(case) = self.cell(document, plane, r, c).filter(|case| case.counted_ns().is_some()) else {
                    continue;
                };
                if !cells.iter().any(|cell| cell.places.map(|place| place.rank) == [column.rank, row.rank]) {
                    cells.push(Cell { places: [row, column], case });
                }
            }
        }
        cells
    }
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
    let cells = matrix.cells(document, &plane);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::document::{Status, Tool};
    use crate::mpi::{MpiLibrary, MpiPair, MpiRank, MpiSettings, SCHEMA, schema_version};

    /// Two hosts of two places, whose ranks are 0 and 1, 2 and 3: how long a message takes from rank to rank, in blocks that scatter by a thousandth.
    fn document(ns: [(u32, u32, f64); 4], near: [bool; 4]) -> (MpiDocument, MpiMatrix) {
        let case = |ns: f64| MpiCase {
            path: "host".to_owned(),
            pattern: "ping-pong".to_owned(),
            bytes: 8,
            window: 1,
            rounds: 1000,
            gpu_bytes_per_s: None,
            gpu_block_bytes_per_s: Vec::new(),
            block_ns: (0..14).map(|block| ns * (1.0 + 0.001 * f64::from(block % 3))).collect(),
            message_ns: Some(ns),
            message_interval_ns: None,
            bytes_per_s: Some(8.0 / ns * 1e9),
            verified_bytes: 16,
            stop: None,
            reason: None,
        };
        let pair = |(one, other, ns): (u32, u32, f64)| MpiPair {
            ranks: [one, other],
            device_memory: None,
            operations: Vec::new(),
            cases: vec![case(ns)],
            placed: [[None, None], [None, None]],
        };
        let rank = |rank: u32| MpiRank {
            rank,
            host: format!("n{}", rank / 2),
            pu: rank,
            memory_node: rank % 2,
            gpu: None,
            gpu_name: None,
            locality: None,
            gpu_threads: Vec::new(),
        };
        let place = |rank: u32| MpiPlace {
            rank,
            name: format!("n{} node {}", rank / 2, rank % 2),
            nics: near[rank as usize].then(|| "hsn0".to_owned()).into_iter().collect(),
        };
        let matrix = MpiMatrix {
            places: "node".to_owned(),
            rows: vec![place(0), place(1)],
            columns: vec![place(2), place(3)],
            missing: Vec::new(),
        };
        let document = MpiDocument {
            schema: SCHEMA.to_owned(),
            schema_version: schema_version(),
            tool: Tool { name: "numabench".to_owned(), version: "0".to_owned(), git: None },
            argv: Vec::new(),
            started_at: String::new(),
            elapsed_s: 1.0,
            status: Status::Complete,
            status_reason: None,
            exit_code: Some(0),
            simulated: None,
            verdict: Vec::new(),
            mpi: MpiLibrary {
                library: None,
                launcher: "srun".to_owned(),
                says: Vec::new(),
                thread_level: None,
                variables: BTreeMap::new(),
            },
            settings: MpiSettings {
                sizes_bytes: vec![8],
                patterns: vec!["ping-pong".to_owned()],
                operations: Vec::new(),
                operation_timeout_s: 30,
                seed: 1,
            },
            ranks: (0..4).map(rank).collect(),
            pairs: ns.map(pair).to_vec(),
            matrix: Some(matrix.clone()),
            rows: Vec::new(),
            notes: Vec::new(),
        };
        (document, matrix)
    }

    #[test]
    fn the_dearest_place_is_named_with_how_many_times_and_the_adapters_near_the_best() {
        let near = [true, false, true, false];
        let (document, matrix) = document([(0, 2, 1877.0), (0, 3, 2000.0), (1, 2, 2010.0), (1, 3, 2136.0)], near);
        let said = verdict(&document, &matrix);
        assert_eq!(
            said,
            [
                "Where the ranks run matters: up to 1.14 times (host memory, 8 B, one message at a time).",
                "Host memory, 8 B, one message at a time: 1.88 µs between n0 node 0 and n1 node 0, 2.14 µs between n0 node 1 and n1 node 1 (1.14 times).",
                "The topology agrees: messages are fastest between places with an adapter near (hsn0 near n0 node 0; hsn0 near n1 node 0).",
            ]
        );
    }

    #[test]
    fn adapters_that_are_elsewhere_than_the_fastest_place_are_said_to_be() {
        let near = [false, true, false, true];
        let (document, matrix) = document([(0, 2, 1877.0), (0, 3, 2000.0), (1, 2, 2010.0), (1, 3, 2136.0)], near);
        let said = verdict(&document, &matrix);
        assert!(said[2].starts_with("The topology declares adapters elsewhere: hsn0 near n0 node 1"), "{said:?}");
    }

    #[test]
    fn places_alike_are_no_measurable_difference_and_adapters_are_no_matter_then() {
        let near = [true, false, true, false];
        let (document, matrix) = document([(0, 2, 1877.0), (0, 3, 1878.0), (1, 2, 1879.0), (1, 3, 1877.5)], near);
        let said = verdict(&document, &matrix);
        assert!(said[0].starts_with("No measurable difference"), "{said:?}");
        assert_eq!(said.len(), 2, "{said:?}");
    }

    #[test]
    fn of_many_places_alike_none_is_said_to_be_worse() {
        let mut random = stats::random::SplitMix64::new(7);
        let mut false_alarms = 0;
        for _ in 0..60 {
            let (mut document, mut matrix) = document([(0, 2, 1.0), (0, 3, 1.0), (1, 2, 1.0), (1, 3, 1.0)], [false; 4]);
            // Eight places on each side whose figures differ by chance alone, by up to a fifth.
            let place = |rank: u32| MpiPlace { rank, name: format!("node {rank}"), nics: Vec::new() };
            (matrix.rows, matrix.columns) = ((0..8).map(place).collect(), (8..16).map(place).collect());
            let pattern = document.pairs[0].clone();
            document.pairs.clear();
            for (row, column) in (0..8).flat_map(|row| (8..16).map(move |column| (row, column))) {
                let mut pair = pattern.clone();
                pair.ranks = [row, column];
                let noise = || 1000.0 * (1.0 + random.below(1000) as f64 * 2e-4);
                pair.cases[0].block_ns = std::iter::repeat_with(noise).take(20).collect();
                pair.cases[0].message_ns = median(&pair.cases[0].block_ns);
                document.pairs.push(pair);
            }
            false_alarms += usize::from(verdict(&document, &matrix)[0].contains("matters"));
        }
        assert!(false_alarms <= 7, "{false_alarms} of 60 at 5 %");
    }

    #[test]
    fn a_cell_whose_figure_does_not_count_is_no_place_that_is_worst() {
        let (mut document, matrix) =
            document([(0, 2, 1877.0), (0, 3, 1878.0), (1, 2, 1879.0), (1, 3, 9000.0)], [false; 4]);
        document.pairs[3].cases[0].reason = Some("misplaced".to_owned());
        assert!(verdict(&document, &matrix)[0].starts_with("No measurable difference"));
    }

    #[test]
    fn a_terminal_has_a_row_and_a_column_for_each_place_and_shades() {
        let (document, _) = document([(0, 2, 1000.0), (0, 3, 1100.0), (1, 2, 1500.0), (1, 3, 4000.0)], [false; 4]);
        let style = crate::render::Style { width: 100, color: false, quiet: false, saved_to: None };
        let text = crate::render::mpi(&document, &style);
        let lines: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("n0 node")).collect();
        assert_eq!(lines, ["    n0 node 0    1.00 µs █    1.10 µs ▓", "    n0 node 1    1.50 µs ▒    4.00 µs ░"]);
    }
}
