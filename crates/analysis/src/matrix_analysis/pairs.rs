//! What a matrix of GPUs against GPUs says: the rate between them, which pairs have less, what a small copy
//! takes, and the same of each GPU's own memory, which no pair is compared with.
//!
//! Of many pairs alike one is always the best and others look far behind it. So a pair is said to be behind
//! only where it surely is, Holm over every two of all that the matrix compares.

use report::Document;
use report::matrix::Matrix;

use super::cell_family::family;
use super::words::{Estimate, show_all, way};
use super::{CellFigure, MatrixFigures, Plane};
use crate::family::{CaseFinding, ComparedSet};
use crate::words::by;

/// Pairs above this part of the best have its figure.
const ALIKE: f64 = 0.99;
/// Pairs below this part of the best are named.
const LESS: f64 = 0.9;

/// A name and a figure.
type Named = (String, CellFigure);

/// Figures of a plane that are compared with each other, the best first.
struct Compared {
    plane: Plane,
    /// What they are of: `GPU to GPU, one way`.
    title: String,
    /// What each is: `pairs`, or `measured pairs` of a sample.
    each: &'static str,
    /// How many there are, with those whose figure is missing.
    asked: usize,
    figures: Vec<Named>,
}

/// The sentences, plane by plane.
pub(super) fn sentences(document: &Document, matrix: &Matrix) -> Vec<String> {
    let notes = matrix.rows.iter().filter_map(|row| Some(format!("{}: {}.", row.name, row.note.as_ref()?)));
    let all: Vec<Compared> = matrix
        .planes(document)
        .into_iter()
        .flat_map(|plane| compared_pairs(document, matrix, plane))
        .collect();
    let behind = behind(&all);
    let mut said: Vec<String> =
        all.iter().zip(behind).filter_map(|(compared, behind)| sentence(compared, &behind)).collect();
    if matrix.rows.len() == 1 {
        said.push("There is one GPU, and so no pair of GPUs to measure.".to_owned());
    }
    said.extend(notes);
    said
}

/// Which figures are surely worse than the best of what they are compared with; the best itself is not.
fn behind(all: &[Compared]) -> Vec<Vec<bool>> {
    let cells = all.iter().flat_map(|one| one.figures.iter().map(|named| (one.plane, &named.1)));
    let compared = family(cells).within_sets(all.iter().map(|one| one.figures.len()));
    let of = |(one, compared): (&Compared, ComparedSet)| {
        (0..one.figures.len()).map(|at| compared.finding(at, 0) == CaseFinding::Worse).collect()
    };
    all.iter().zip(compared).map(of).collect()
}

/// The pairs of a plane, and each GPU with itself.
fn compared_pairs(document: &Document, matrix: &Matrix, plane: Plane) -> [Compared; 2] {
    let named = |own: bool| -> Vec<Named> {
        let cells = matrix.places().filter(|(row, column)| matrix.is_own(*row, *column) == own);
        let name = |row: usize, column: usize| match own {
            true => name_of_gpu(matrix, row),
            false => format!("{} {}", matrix.rows[row].name, matrix.columns[column].name),
        };
        let figure =
            |(row, column)| Some((name(row, column), matrix.cell(document, &plane, row, column)?.ok()?));
        let mut named: Vec<Named> = cells.filter_map(figure).collect();
        named.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
        if !plane.is_time() {
            named.reverse();
        }
        named
    };

    // With those whose figure is missing.
    let asked = |own: bool| {
        let cells = matrix.places().filter(|(row, column)| matrix.is_own(*row, *column) == own);
        cells.filter(|(row, column)| matrix.cell(document, &plane, *row, *column).is_some()).count()
    };
    let each = if document.pair_sample.is_some() { "measured pairs" } else { "pairs" };
    let within = format!("Within a GPU's own memory{}", by(document.settings.engine));

    [
        Compared { plane, title: matrix.title.clone(), each, asked: asked(false), figures: named(false) },
        Compared { plane, title: within, each: "GPUs", asked: asked(true), figures: named(true) },
    ]
}

/// `GPU 3` of the row `from GPU 3`.
fn name_of_gpu(matrix: &Matrix, row: usize) -> String {
    let name = &matrix.rows[row].name;
    name.split_once(' ').map_or(name.clone(), |(_, gpu)| gpu.to_owned())
}

fn sentence(compared: &Compared, behind: &[bool]) -> Option<String> {
    let Compared { plane, title, each, asked, figures: pairs } = compared;
    let (best, worst) = (pairs.first()?, pairs.last()?);
    let size = stats::units::size(plane.range_bytes.unwrap_or(plane.bytes));
    let part = |pair: &Named| match plane.is_time() {
        true => best.1.median / pair.1.median,
        false => pair.1.median / best.1.median,
    };

    // Of pairs that are alike the best one's figure is that of all.
    let shown = if part(worst) > ALIKE { &pairs[..1] } else { &pairs[..] };
    let figures = show_all(plane, shown.iter().map(|(_, cell)| Estimate::of(cell)));
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let seem: Vec<(&Named, &bool)> = pairs.iter().zip(behind).filter(|(pair, _)| part(pair) < LESS).collect();
    let less: Vec<&Named> = seem.iter().filter(|(_, surely)| **surely).map(|(pair, _)| *pair).collect();
    let percent = (1.0 - LESS) * 100.0;
    let all = match asked {
        asked if *asked > pairs.len() => format!("the {} of {asked} measured", pairs.len()),
        _ => format!("all {}", pairs.len()),
    };
    let lacking = match asked.saturating_sub(pairs.len()) {
        0 => String::new(),
        lacking => format!("; {lacking} of {asked} without a figure"),
    };
    let rest = match (&less[..], seem.len() - less.len()) {
        ([], 0) if pairs.len() == 1 => {
            return Some(format!("{title} ({size}, {}): {figures} ({}).", way(plane.direction), best.0));
        }
        ([], 0) if part(worst) > ALIKE => format!("{all} {each} alike"),
        ([], 0) => format!("{all} {each} within {percent:.0} % of the best"),
        ([], some) => format!(
            "{some} of {} {each} {} more than {percent:.0} % behind the best, not significant; try a longer \
             --max-time{lacking}",
            pairs.len(),
            are(some)
        ),
        ([.., slowest], unsure) => {
            let unsure = if unsure > 0 { format!("; {unsure} more, not significant") } else { String::new() };
            format!(
                "{} of {} {each} {} more than {percent:.0} % behind the best, slowest: {}{unsure}{lacking}",
                less.len(),
                pairs.len(),
                are(less.len()),
                slowest.0
            )
        }
    };
    Some(format!("{title} ({size}, {}): {figures}; {rest}.", way(plane.direction)))
}
