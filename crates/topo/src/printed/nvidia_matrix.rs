//! `nvidia-smi topo -m`: what lies between every two devices, and what each GPU is near to.
//!
//! Drivers of ten years differ: adapters are rows by their own name (`mlx5_0`) or as `NIC0` with a legend
//! below, the NUMA columns came later, the head is underlined, and a matrix of many adapters has cells
//! without a space between (`NODENODE`).

use stats::IdSet;

use crate::pci_path::PciLevel;

/// The matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NvidiaMatrix {
    pub(super) rows: Vec<MatrixRow>,
}

/// A device's row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MatrixRow {
    /// `GPU0`, `NIC0`, `mlx5_0`.
    pub(super) label: String,
    /// An adapter's name, where the row or the legend says it.
    pub(super) adapter: Option<String>,
    /// One a column, in the order of the rows; `None` for one that is not read.
    pub(super) cells: Vec<Option<Cell>>,
    pub(super) pus: Option<IdSet>,
    pub(super) nodes: Option<IdSet>,
    pub(super) memory_node: Option<u32>,
}

/// What a cell says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Itself,
    Pci(PciLevel),
    /// This number of NVLinks, bonded.
    NvLinks(u32),
}

impl MatrixRow {
    /// nvidia-smi's number of the GPU; `None` for an adapter.
    pub(super) fn gpu(&self) -> Option<u32> {
        self.label.strip_prefix("GPU")?.parse().ok()
    }
}

/// The columns behind the devices', as their heads are written.
const AFFINITIES: [&str; 3] = ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"];

/// The matrix; `None` where there is none.
pub(super) fn read(lines: &[&str]) -> Option<NvidiaMatrix> {
    let (at, (labels, affinities)) =
        lines.iter().enumerate().find_map(|(at, line)| Some((at, head(line)?)))?;
    let mut rows: Vec<MatrixRow> = Vec::new();
    for line in &lines[at + 1..] {
        match labels.get(rows.len()) {
            Some(label) if line.split_whitespace().next() == Some(label.as_str()) => {
                rows.push(row(line, &labels, &affinities));
            }
            _ if rows.is_empty() && line.trim().is_empty() => {}
            _ => break,
        }
    }

    let legend = |label: &str| {
        let entry = lines[at..].iter().find_map(|line| line.trim().strip_prefix(label)?.strip_prefix(": "));
        entry.map(|name| name.trim().to_owned())
    };
    for row in rows.iter_mut().filter(|row| row.gpu().is_none()) {
        row.adapter = if row.label.starts_with("NIC") { legend(&row.label) } else { Some(row.label.clone()) };
    }

    // A matrix without its last rows would say that devices are not there.
    (rows.len() == labels.len()).then_some(NvidiaMatrix { rows })
}

/// The labels of the devices, and which of the affinity columns follow.
fn head(line: &str) -> Option<(Vec<String>, Vec<&'static str>)> {
    let end = line.find(AFFINITIES[0])?;
    let labels: Vec<String> = line[..end].split_whitespace().map(str::to_owned).collect();
    let is_head = labels.first().is_some_and(|label| label.starts_with("GPU"));
    let affinities = AFFINITIES.into_iter().filter(|name| line.contains(name)).collect();
    is_head.then_some((labels, affinities))
}

fn row(line: &str, labels: &[String], affinities: &[&str]) -> MatrixRow {
    let label = line.split_whitespace().next().unwrap_or_default();
    let mut rest = line.trim_start().strip_prefix(label).unwrap_or_default();
    let mut cells = Vec::new();
    while cells.len() < labels.len() {
        let Some((cell, after)) = cell(rest.trim_start()) else { break };
        cells.push(Some(cell));
        rest = after;
    }

    let is_read = cells.len() == labels.len();
    cells.resize(labels.len(), None);
    let values = if is_read { affinity_values(rest, affinities.len()) } else { vec![None; affinities.len()] };
    let value = |name: &str| {
        let value = *values.get(affinities.iter().position(|column| *column == name)?)?;
        value.filter(|value| *value != "N/A")
    };
    let set = |name: &str| value(name)?.parse::<IdSet>().ok().filter(|set| !set.is_empty());

    MatrixRow {
        label: label.to_owned(),
        adapter: None,
        cells,
        pus: set(AFFINITIES[0]),
        nodes: set(AFFINITIES[1]),
        memory_node: value(AFFINITIES[2]).and_then(|node| node.parse().ok()),
    }
}

/// The cell that `text` begins with, and what comes after it.
fn cell(text: &str) -> Option<(Cell, &str)> {
    if let Some(after) = text.strip_prefix("NV") {
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        return Some((Cell::NvLinks(after[..digits].parse().ok()?), &after[digits..]));
    }
    if let Some(after) = text.strip_prefix('X') {
        return Some((Cell::Itself, after));
    }
    // The word of drivers before 375 for SYS.
    let words = ["PIX", "PXB", "PHB", "NODE", "SYS", "SOC"];
    let word = words.into_iter().find(|word| text.starts_with(word))?;
    let level = PciLevel::of_word(if word == "SOC" { "SYS" } else { word })?;
    Some((Cell::Pci(level), &text[word.len()..]))
}

/// The values of the affinity columns; `None` for all where it is not clear which one is missing.
fn affinity_values(text: &str, columns: usize) -> Vec<Option<&str>> {
    let values: Vec<&str> = text.split_whitespace().collect();
    if values.len() == columns {
        return values.into_iter().map(Some).collect();
    }
    // A GPU none of whose CPUs the container has: its first column is empty between two tabs.
    let is_first_empty = text.trim_start_matches(' ').starts_with("\t\t") && values.len() + 1 == columns;
    let empty = std::iter::once(None).chain(values.into_iter().map(Some));
    if is_first_empty { empty.collect() } else { vec![None; columns] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<MatrixRow> {
        read(&text.lines().collect::<Vec<_>>()).unwrap_or_default().rows
    }

    #[test]
    fn a_matrix_of_today_and_one_of_an_old_driver_are_read() {
        let new = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n\
            GPU0\t X \tNV18\tPXB\t0-31\t0\t\tN/A\nGPU1\tNV18\t X \tSYS\t32-63\t1\t\t8\n\
            NIC0\tPXB\tSYS\t X \t\t\t\t\n\nNIC Legend:\n\n  NIC0: mlx5_3\n";
        let new = rows(new);
        assert_eq!(new[0].cells[1..], [Some(Cell::NvLinks(18)), Some(Cell::Pci(PciLevel::Pxb))]);
        assert_eq!((new[1].nodes.clone(), new[1].memory_node), ("1".parse().ok(), Some(8)));
        assert_eq!((new[0].memory_node, new[2].adapter.as_deref()), (None, Some("mlx5_3")));
        let old = "        GPU0    GPU1    mlx4_0  CPU Affinity\nGPU0     X      SOC     PHB     0-9,20-29\n\
            GPU1    SOC      X      SOC     10-19\nmlx4_0  PHB     SOC      X\n";
        let old = rows(old);
        assert_eq!((old[0].cells[1], old[0].nodes.clone()), (Some(Cell::Pci(PciLevel::Sys)), None));
        assert_eq!((old[2].adapter.as_deref(), old[1].pus.clone()), (Some("mlx4_0"), "10-19".parse().ok()));
    }

    #[test]
    fn cells_without_a_space_between_are_two() {
        let text = "     GPU0  GPU1  NIC0  CPU Affinity  NUMA Affinity\nGPU0  X    NODENODE  0-3  0\n\
            GPU1 NODE   X   NV4   0-3  0\nNIC0 NODE  NV4  X\n";
        assert_eq!(
            rows(text)[0].cells[1..],
            [Some(Cell::Pci(PciLevel::Node)), Some(Cell::Pci(PciLevel::Node))]
        );
        assert_eq!(rows(text)[0].pus, "0-3".parse().ok());
    }

    #[test]
    fn an_empty_column_is_unknown_and_does_not_move_the_next() {
        let text = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t\t1\t\tN/A\n";
        assert_eq!((rows(text)[0].pus.clone(), rows(text)[0].nodes.clone()), (None, "1".parse().ok()));
        let unclear = "     GPU0  CPU Affinity  NUMA Affinity  GPU NUMA ID\nGPU0  X    1   N/A\n";
        assert_eq!((rows(unclear)[0].pus.clone(), rows(unclear)[0].nodes.clone()), (None, None));
    }

    #[test]
    fn a_matrix_that_is_cut_off_is_none() {
        assert!(rows("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPIX\t0-3\n").is_empty());
    }
}
