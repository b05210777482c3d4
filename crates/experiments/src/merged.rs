//! Several experiments as one run with one document: their cases interleaved, their figures under one list of
//! ranks.

use std::sync::Arc;

use engine::{Joined, Suite, Worker};
use placement::{Plan, RankPlan};
use report::matrix::{Matrix, MatrixColumn, MatrixRow};
use stats::IdSet;

use super::experiment::{Beforehand, CaseMap, CaseMapping, Experiment, RequestedSettings};

/// These experiments as one, measured as the first one says; `None` without any.
pub fn merged(command: &'static str, parts: Vec<Experiment>) -> Option<Experiment> {
    let suites = parts.iter().map(|part| (Arc::clone(&part.suite), part.workers.len())).collect();
    let joined = Joined::new(suites);
    let mut all: Option<Experiment> = None;
    for (number, part) in parts.into_iter().enumerate() {
        let first_rank = joined.first_rank(number);
        let all = all.get_or_insert_with(|| empty(command, &part));
        let first_place = all.places.ranks.len();
        all.workers
            .extend(part.workers.iter().map(|worker| Worker { rank: worker.rank + first_rank, ..*worker }));
        let moved = |place: RankPlan| RankPlan { rank: place.rank + first_place, ..place };
        all.places.ranks.extend(part.places.ranks.into_iter().map(moved));
        all.places.notes.extend(part.places.notes);
        for CaseMapping { at, case, places } in part.figures.mappings {
            let Some(at) = joined.number((number, at)) else { continue };
            let places =
                places.into_iter().map(|(rank, place)| (rank + first_rank, place + first_place)).collect();
            all.figures.add(at, part.figures.cases[case].clone(), places);
        }
        all.matrices.extend(part.matrices.into_iter().map(|matrix| moved_by(matrix, first_place as u32)));
        add(&mut all.asked.sizes, part.asked.sizes);
        add(&mut all.asked.directions, part.asked.directions);
        add(&mut all.asked.memory, part.asked.memory);
        all.asked.sizes.sort_unstable();
    }

    all.map(|all| Experiment { suite: Arc::new(joined) as Arc<dyn Suite>, ..all })
}

fn empty(command: &'static str, first: &Experiment) -> Experiment {
    Experiment {
        known: Beforehand::default(),
        command,
        suite: Arc::clone(&first.suite),
        workers: Vec::new(),
        engine: first.engine,
        places: Plan { ranks: Vec::new(), notes: Vec::new() },
        figures: CaseMap::default(),
        matrices: Vec::new(),
        asked: RequestedSettings::default(),
    }
}

/// The matrix with its ranks numbered from `by` on.
pub fn moved_by(matrix: Matrix, by: u32) -> Matrix {
    let moved = |ranks: IdSet| ranks.iter().map(|rank| rank + by).collect();
    let row = |row: MatrixRow| MatrixRow { ranks: moved(row.ranks), ..row };
    let column = |column: MatrixColumn| MatrixColumn { ranks: moved(column.ranks), ..column };
    Matrix {
        rows: matrix.rows.into_iter().map(row).collect(),
        columns: matrix.columns.into_iter().map(column).collect(),
        ..matrix
    }
}

fn add<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}
