//! A sweep over sizes from several rows of the machine: what each far row loses against the near one at each
//! size, and the sentences on it.
//!
//! Rows take turns in passes, so a loss is judged by the blocks of the same pass, and those of all sizes,
//! directions and GPUs are one family (`family`). A size is compared by rates, however small it is: both rows
//! move the same bytes.

use report::matrix::Matrix;
use report::settings::{Direction, MemoryKind};
use report::{Document, Figures};
use stats::alike::distinct;
use stats::compare::{TwoSampleComparison, TwoSampleVerdict};
use stats::units::size;

use super::cell_family::family;
use super::near_far::{NearFar, near_far_places};
use super::words::{nothing_beside, show};
use super::{CellFigure, MatrixFigures, Plane};
use crate::{headline, words};

/// A loss of a smaller size is told beside that of the largest one where it is larger by so much.
const LARGER: f64 = 0.01;

/// A GPU's copies in one direction from a far row, beside those from the near one.
pub struct FarRow<'d> {
    /// The GPU.
    pub column: &'d str,
    /// Its `id`.
    pub device: &'d str,
    /// The direction.
    pub direction: Direction,
    /// The kind of host memory.
    pub memory: MemoryKind,
    /// The near row.
    pub near: &'d str,
    /// The far row.
    pub far: &'d str,
    /// Whether the platform declares which row is near; it is the first one otherwise.
    pub is_declared: bool,
    /// What it loses, by size, ascending.
    pub losses: Vec<SizeLoss>,
}

/// The rates of one size from the near and from the far row.
pub struct SizeLoss {
    plane: Plane,
    /// From the near row.
    pub near: CellFigure,
    /// From the far row.
    pub far: CellFigure,
    /// The second against the first; none with too few passes.
    pub comparison: Option<TwoSampleComparison>,
}

impl SizeLoss {
    /// The size of a copy, bytes.
    pub fn bytes(&self) -> u64 {
        self.plane.bytes
    }

    /// The far row's rate over the near one's.
    pub fn ratio(&self) -> f64 {
        self.far.median / self.near.median
    }

    /// What the comparison comes to.
    pub fn verdict(&self) -> TwoSampleVerdict {
        self.comparison.as_ref().map_or(TwoSampleVerdict::Undecided, |found| found.verdict)
    }

    fn half_width(&self) -> f64 {
        self.near.half_width().max(self.far.half_width())
    }

    /// `13 % less`.
    fn change(&self) -> String {
        let part = self.ratio() - 1.0;
        let word = if part < 0.0 { "less" } else { "more" };
        let percent = part.abs() * 100.0;
        let digits = usize::from(percent < 9.95);
        headline::figure(format!("{percent:.digits$} % {word}"), self.half_width())
    }

    /// `5.0 GB/s against 5.7 GB/s`.
    fn rates(&self) -> String {
        format!("{} against {}", show(&self.plane, &self.far), show(&self.plane, &self.near))
    }
}

/// The rows and GPUs of a sweep that has rows.
pub fn matrix(document: &Document) -> Option<&Matrix> {
    match document.figures() {
        Figures::RowSweep(matrix) => Some(matrix),
        _ => None,
    }
}

/// The row of a rank of such a sweep.
pub fn row_of(document: &Document, rank: u32) -> Option<&str> {
    matrix(document)?.rows.iter().find(|row| row.ranks.contains(rank)).map(|row| &row.name[..])
}

/// What far rows lose, GPU by GPU, each in the order of the document's cases.
pub fn far_rows(document: &Document) -> Vec<FarRow<'_>> {
    let Some(matrix) = matrix(document) else { return Vec::new() };
    let planes = matrix.planes(document);
    let kinds = distinct(planes.iter().map(|plane| (plane.memory, plane.direction)));
    let mut found = Vec::new();
    for NearFar { near, far } in near_far_places(matrix) {
        let column = &matrix.columns[near.1];
        for (memory, direction) in kinds.iter().copied() {
            let loss = |plane: &Plane| {
                let figure = |(row, column)| matrix.cell(document, plane, row, column)?.ok();
                Some(SizeLoss { plane: *plane, near: figure(near)?, far: figure(far)?, comparison: None })
            };
            let of_kind =
                planes.iter().filter(|plane| (plane.memory, plane.direction) == (memory, direction));
            let mut losses: Vec<SizeLoss> = of_kind.filter_map(loss).collect();
            losses.sort_by_key(SizeLoss::bytes);
            let [near, far] = [near, far].map(|(row, _)| &matrix.rows[row].name[..]);
            let is_declared = column.declared_nodes.value.is_some();
            let (column, device) = (&column.name[..], &column.device[..]);
            found.push(FarRow { column, device, direction, memory, near, far, is_declared, losses });
        }
    }
    found.retain(|row| !row.losses.is_empty());

    let members = found.iter().flat_map(|row| &row.losses);
    let members = members.flat_map(|loss| [(loss.plane, &loss.near), (loss.plane, &loss.far)]);
    let comparisons = family(members).values_in_twos();
    let losses = found.iter_mut().flat_map(|row| &mut row.losses);
    losses.zip(comparisons).for_each(|(loss, comparison)| loss.comparison = comparison);
    found
}

/// What far rows lose at each size, as the document keeps it.
pub fn size_losses(document: &Document) -> Vec<report::size_loss::SizeLoss> {
    let of_row = |row: FarRow| {
        let FarRow { device, direction, memory, near, far, losses, .. } = row;
        let of_size = move |loss: SizeLoss| report::size_loss::SizeLoss {
            device: device.to_owned(),
            memory,
            direction,
            near: near.to_owned(),
            far: far.to_owned(),
            bytes: loss.bytes(),
            near_bytes_per_s: loss.near.median,
            far_bytes_per_s: loss.far.median,
            comparison: loss.comparison,
        };

        losses.into_iter().map(of_size).collect::<Vec<_>>()
    };
    far_rows(document).into_iter().flat_map(of_row).collect()
}

/// The sentences, the answer first; none of a document that is no sweep with rows.
pub fn verdict(document: &Document) -> Vec<String> {
    let Some(matrix) = matrix(document) else { return Vec::new() };
    if matrix.rows.iter().filter(|row| row.reason.is_none()).count() < 2 {
        return vec![nothing_beside(matrix).to_owned()];
    }
    if near_far_places(matrix).is_empty() {
        return vec!["Every row is near its GPU: no near/far comparison.".to_owned()];
    }
    let found = far_rows(document);
    let several_kinds = found.iter().any(|row| row.memory != found[0].memory);
    let mut said: Vec<String> = answer(document, &found).into_iter().collect();
    said.extend(found.iter().map(|row| sentence(document, row, several_kinds)));
    said
}

/// The largest copies' losses in one sentence: they are what a bandwidth loses. Memory that is not near and
/// is the faster one stands there where none loses.
fn answer(document: &Document, found: &[FarRow]) -> Option<String> {
    let largest = || found.iter().filter_map(|row| Some((row, row.losses.last()?)));
    let of = |wanted: TwoSampleVerdict| largest().filter(move |(_, loss)| loss.verdict() == wanted);
    let by_ratio = |a: &(&FarRow, &SizeLoss), b: &(&FarRow, &SizeLoss)| a.1.ratio().total_cmp(&b.1.ratio());
    let worst = of(TwoSampleVerdict::Lower).min_by(by_ratio);
    if let Some((row, loss)) = worst.or_else(|| of(TwoSampleVerdict::Higher).max_by(by_ratio)) {
        return Some(format!(
            "Where host memory lies matters: up to {} at {} ({}, {} from {}).",
            loss.change(),
            size(loss.bytes()),
            row.column,
            words::direction_in(document, row.direction),
            row.far
        ));
    }

    let at = size(largest().map(|(_, loss)| loss.bytes()).max()?);
    let smaller = found.iter().filter_map(|row| Some((row, worst_size(row)?))).min_by(by_ratio);
    let is_same = |loss: &SizeLoss| loss.verdict() == TwoSampleVerdict::NoMeasurableDifference;
    Some(match (largest().all(|(_, loss)| is_same(loss)), smaller) {
        (is_same, Some((row, loss))) => {
            let found = if is_same { "no measurable difference" } else { "no certain loss" };
            let (size, change) = (size(loss.bytes()), loss.change());
            format!("Where host memory lies matters at {size}: {change} from {}; {found} at {at}.", row.far)
        }
        (true, None) => {
            format!("No measurable difference at {at}: where host memory lies changes no rate by 1 %.")
        }
        (false, None) => format!("No certain loss from far memory at {at}; a longer --max-time may decide."),
    })
}

/// The size at which a row surely loses more than at the largest, where there is one.
fn worst_size<'r>(row: &'r FarRow<'_>) -> Option<&'r SizeLoss> {
    let largest = row.losses.last()?;
    let worse = row.losses.iter().filter(|loss| loss.verdict() == TwoSampleVerdict::Lower);
    let worst = worse.min_by(|a, b| a.ratio().total_cmp(&b.ratio()))?;
    let least = if largest.verdict() == TwoSampleVerdict::Lower { largest.ratio() } else { 1.0 };
    (worst.bytes() != largest.bytes() && worst.ratio() < least - LARGER).then_some(worst)
}

/// `GPU 0, D2H: 31 % less from node 1 than from node 0 at 64 MiB (4.0 GB/s against 5.8 GB/s); most at 4 MiB,
/// 35 % less.`
fn sentence(document: &Document, row: &FarRow, names_memory: bool) -> String {
    let memory = if names_memory { format!(", {} memory", words::memory(row.memory)) } else { String::new() };
    let of = format!("{}, {}{memory}", row.column, words::direction_in(document, row.direction));
    let Some(largest) = row.losses.last() else { return format!("{of}: no figure.") };
    let (near, far, at) = (row.near, row.far, size(largest.bytes()));
    let found = match largest.verdict() {
        TwoSampleVerdict::NoMeasurableDifference => {
            format!("no measurable difference between {far} and {near} at {at}")
        }
        TwoSampleVerdict::Undecided => {
            format!("{far} against {near} undecided at {at} (a longer --max-time may decide)")
        }
        TwoSampleVerdict::Lower => {
            format!("{} from {far} than from {near} at {at} ({})", largest.change(), largest.rates())
        }
        TwoSampleVerdict::Higher => {
            let declared = if row.is_declared { ", which the topology declares near," } else { "" };
            format!(
                "{} from {far} than from {near}{declared} at {at} ({})",
                largest.change(),
                largest.rates()
            )
        }
    };

    let most = worst_size(row);
    let most =
        most.map_or(String::new(), |worst| format!("; most at {}, {}", size(worst.bytes()), worst.change()));
    format!("{of}: {found}{most}.")
}

#[cfg(test)]
mod tests {
    use report::read::SavedDocument;
    use stats::interval::Interval;

    use super::*;

    /// A row's loss at a size: this rate of the near row's 10 GB/s, and what that comes to.
    fn loss(bytes: u64, part: f64, verdict: TwoSampleVerdict) -> SizeLoss {
        let figure = |rate: f64| CellFigure {
            blocks: Vec::new(),
            median: rate,
            interval: Some(Interval { low: rate * 0.99, high: rate * 1.01, confidence: 0.95 }),
            began_ns: Vec::new(),
            node: 0,
        };
        let ratio_interval = Interval { low: part * 0.99, high: part * 1.01, confidence: 0.95 };
        let comparison =
            TwoSampleComparison { ratio: part, ratio_interval, p_value: 0.01, cliffs_delta: -1.0, verdict };
        let plane = Plane { direction: Direction::H2d, bytes, range_bytes: None, memory: MemoryKind::Pinned };
        SizeLoss { plane, near: figure(10e9), far: figure(part * 10e9), comparison: Some(comparison) }
    }

    #[test]
    fn memory_that_is_faster_though_far_and_smaller_sizes_that_lose_are_the_answer_too()
    -> Result<(), Box<dyn std::error::Error>> {
        use TwoSampleVerdict::{Higher, Lower, NoMeasurableDifference as Same};

        let document = Document::from_json(include_bytes!("../../../../docs/gallery/sweep.json"))?;
        let said = |losses: Vec<SizeLoss>| {
            let row = FarRow {
                column: "GPU 0",
                device: "0000:01:00.0",
                direction: Direction::H2d,
                memory: MemoryKind::Pinned,
                near: "node 0",
                far: "node 1",
                is_declared: true,
                losses,
            };
            answer(&document, &[row]).unwrap_or_default()
        };
        let (small, large) = (4 << 20, 64 << 20);
        let faster = said(vec![loss(large, 1.2, Higher)]);
        let found = "Where host memory lies matters: up to 20 % more at 64 MiB (GPU 0, H2D from node 1).";
        assert_eq!(faster, found);
        let smaller = said(vec![loss(small, 0.65, Lower), loss(large, 1.0, Same)]);
        let found = "Where host memory lies matters at 4 MiB: 35 % less from node 1; no measurable \
                     difference at 64 MiB.";
        assert_eq!(smaller, found);
        let same = said(vec![loss(small, 1.0, Same), loss(large, 1.0, Same)]);
        assert!(same.starts_with("No measurable difference at 64 MiB"), "{same}");
        Ok(())
    }
}
