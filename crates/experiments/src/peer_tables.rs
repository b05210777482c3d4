//! The tables of `numabench peer`: which copies are alone and which at once, and where each stands in rows
//! and columns of GPUs.
//!
//! The copies of a table are a group of the document's cases. Copies of all at once are
//! [`Compares::Together`]: a row is one GPU with all others, and has a sum.

use std::collections::BTreeSet;

use device::{CopyBy, PeerEnd};
use placement::{RankPlan, Target};
use report::matrix::{Compares, Matrix, MatrixRow};
use stats::IdSet;
use topo::Topology;

use super::peer_copies::{OneCopy, all_to_one, local, one_to_all, pairs};
use crate::backends::FoundPlatform;
use crate::columns::name_of;
use crate::matrix_parts::column;

/// The group of copies alone.
pub const ONE_WAY: &str = "one-way";
/// What a group's name ends with where the GPU that the bytes go to makes the copies.
const BY_DESTINATION: &str = "-by-destination";
/// The group of loads.
pub const LOADS: &str = "loads";
/// Why a row of copies of all at once is not measured.
const TOO_FEW_PAIRS: &str = "fewer than two pairs are in a kernel's reach";

/// A group of copies, and how they stand in a matrix.
pub struct PeerTable {
    /// The group: the kind of copies, and who makes them where that is not their source.
    pub group: String,
    title: String,
    compares: Compares,
    /// What is put before the GPU of a row and of a column.
    words: [&'static str; 2],
    /// Whether a row is where the bytes go, and not where they come from.
    into_rows: bool,
    /// What is measured: the copies of each case, which are at once.
    pub cases: Vec<Vec<OneCopy>>,
    /// Of each row, why it is not measured.
    reasons: Vec<Option<&'static str>>,
}

/// What a matrix needs to know of the GPUs.
pub struct Gpus<'a> {
    pub targets: &'a [Target],
    pub ranks: &'a [RankPlan],
    pub topology: &'a Topology,
    pub found: &'a FoundPlatform,
}

/// Why copies of all GPUs to one, and of one to all, are not measured between so many.
pub fn why_not_all(gpus: usize) -> Option<&'static str> {
    match gpus {
        0 | 1 => Some("there is one GPU"),
        2 => Some("between two GPUs they are the pairs one way"),
        _ => None,
    }
}

/// The group of copies of a kind by this end: what a GPU reads is another figure than what it writes.
pub fn group(kind: &str, end: PeerEnd) -> String {
    match end {
        PeerEnd::Source => kind.to_owned(),
        PeerEnd::Destination => format!("{kind}{BY_DESTINATION}"),
    }
}

/// How the copies are made.
#[derive(Clone, Copy)]
pub struct MadeBy {
    /// The GPU that makes them.
    pub end: PeerEnd,
    /// What of it.
    pub by: CopyBy,
}

impl MadeBy {
    /// In words, for a title.
    fn words(self) -> &'static str {
        match (self.end, self.by) {
            (PeerEnd::Source, CopyBy::Engine) => "",
            (PeerEnd::Source, CopyBy::Kernel) => " by a kernel",
            (PeerEnd::Source, CopyBy::Tma) => " by TMA",
            (PeerEnd::Destination, CopyBy::Engine) => " by the destination",
            (PeerEnd::Destination, CopyBy::Kernel) => " by a kernel of the destination",
            (PeerEnd::Destination, CopyBy::Tma) => " by TMA of the destination",
        }
    }
}

/// The tables of copies between so many GPUs, made so; those of `all` at once without the pairs that are
/// `out_of_reach`.
pub fn tables(
    gpus: usize,
    made: MadeBy,
    all: bool,
    out_of_reach: &BTreeSet<(usize, usize)>,
) -> Vec<PeerTable> {
    let (pairs, how) = (pairs(gpus), made.words());
    let title = |what: &str| format!("GPU to GPU{how}, {what}");
    let alone = |copies: Vec<OneCopy>| copies.into_iter().map(|copy| vec![copy]).collect();
    let back = |one: &OneCopy| pairs.iter().find(|back| (back.from, back.to) == (one.to, one.from)).copied();
    let there_and_back = |one: &OneCopy| [*one].into_iter().chain(back(one)).collect();
    let of_pairs = |kind, what, cases| PeerTable {
        group: group(kind, made.end),
        title: title(what),
        compares: Compares::Pairs,
        words: ["from", "to"],
        into_rows: false,
        cases,
        reasons: vec![None; gpus],
    };

    let mut tables = vec![of_pairs(ONE_WAY, "one way", alone([pairs.clone(), local(gpus)].concat()))];
    if gpus > 1 {
        let both = pairs.iter().filter(|one| one.from < one.to).map(there_and_back).collect();
        tables.push(of_pairs("both-ways", "bidirectional, per direction", both));
    }

    if all {
        let at_once = |kind, what, into_rows, rows: Vec<Vec<OneCopy>>| {
            let reached = |mut row: Vec<OneCopy>| {
                row.retain(|copy| !out_of_reach.contains(&(copy.from, copy.to)));
                row
            };
            let rows: Vec<Vec<OneCopy>> = rows.into_iter().map(reached).collect();
            let too_few = |row: &Vec<OneCopy>| (row.len() < 2).then_some(TOO_FEW_PAIRS);
            PeerTable {
                group: group(kind, made.end),
                title: title(what),
                compares: Compares::Together,
                words: if into_rows { ["to", "from"] } else { ["from", "to"] },
                into_rows,
                reasons: rows.iter().map(|row| why_not_all(gpus).or_else(|| too_few(row))).collect(),
                cases: rows.into_iter().filter(|row| row.len() > 1).collect(),
            }
        };
        tables.push(at_once("all-to-one", "all to one at once", true, all_to_one(gpus)));
        tables.push(at_once("one-to-all", "one to all at once", false, one_to_all(gpus)));
    }
    tables
}

/// The table of the loads of these pairs.
pub fn loads(pairs: Vec<OneCopy>, gpus: usize) -> PeerTable {
    PeerTable {
        group: LOADS.to_owned(),
        title: "GPU to GPU, loads by a kernel".to_owned(),
        compares: Compares::Pairs,
        words: ["by", "from"],
        into_rows: false,
        cases: vec![pairs],
        reasons: vec![None; gpus],
    }
}

impl PeerTable {
    /// The matrix, with what is to be known of rows (`notes`).
    pub fn matrix(&self, gpus: &Gpus, notes: &[Option<String>]) -> Matrix {
        let [of_row, of_column] = self.words;
        let row_of = |copy: &OneCopy| if self.into_rows { copy.to } else { copy.from };
        let column_of = |copy: &OneCopy| if self.into_rows { copy.from } else { copy.to };
        let copies = || self.cases.iter().flatten();
        let place = |copy: &OneCopy| u32::try_from(copy.place).unwrap_or(u32::MAX);
        let row = |(at, target): (usize, &Target)| MatrixRow {
            name: format!("{of_row} {}", name_of(target)),
            pus: copies().filter(|copy| row_of(copy) == at).map(|copy| gpus.ranks[copy.rank].pu).collect(),
            memory_node: None,
            ranks: copies().filter(|copy| row_of(copy) == at).map(place).collect(),
            group: Some(self.group.clone()),
            reason: self.reasons[at].map(str::to_owned),
            note: notes.get(at).cloned().flatten(),
        };

        let column = |(at, target): (usize, &Target)| {
            let ranks: IdSet = copies().filter(|copy| column_of(copy) == at).map(place).collect();
            column(format!("{of_column} {}", name_of(target)), target, ranks, (gpus.topology, gpus.found))
        };

        Matrix {
            title: self.title.clone(),
            compares: self.compares,
            rows: gpus.targets.iter().enumerate().map(row).collect(),
            columns: gpus.targets.iter().enumerate().map(column).collect(),
        }
    }

    /// Whether its rows are pairs alone or both ways, of which the staged ones are told.
    pub fn is_of_pairs(&self) -> bool {
        self.compares == Compares::Pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: MadeBy = MadeBy { end: PeerEnd::Source, by: CopyBy::Engine };

    /// The ends of the copies of each case of the table of this group.
    fn ends(tables: &[PeerTable], group: &str) -> Vec<Vec<(usize, usize)>> {
        let cases = tables.iter().filter(|table| table.group == group).flat_map(|table| &table.cases);
        cases.map(|copies| copies.iter().map(|copy| (copy.from, copy.to)).collect()).collect()
    }

    #[test]
    fn each_table_has_the_copies_of_its_group_and_one_gpu_has_its_own_only() {
        let tables = tables(2, WRITTEN, false, &BTreeSet::new());
        assert_eq!(ends(&tables, ONE_WAY), [[(0, 1)], [(1, 0)], [(0, 0)], [(1, 1)]]);
        assert_eq!(ends(&tables, "both-ways"), [[(0, 1), (1, 0)]]);
        assert_eq!(tables.len(), 2);
        let one = super::tables(1, WRITTEN, true, &BTreeSet::new());
        assert_eq!(one.iter().map(|table| table.cases.len()).collect::<Vec<_>>(), [1, 0, 0]);
    }

    #[test]
    fn copies_that_the_destination_makes_are_other_cases_under_another_title() {
        let read = MadeBy { end: PeerEnd::Destination, ..WRITTEN };
        let [written, read] = [WRITTEN, read].map(|made| tables(3, made, true, &BTreeSet::new()));
        assert_eq!(written.len(), read.len());
        for (written, read) in written.iter().zip(&read) {
            assert_eq!(read.group, format!("{}-by-destination", written.group));
            assert_ne!(read.title, written.title);
        }
    }

    #[test]
    fn pairs_out_of_a_kernels_reach_take_no_part_in_copies_of_all() {
        // The last reaches the first only, and is reached by that.
        let apart = BTreeSet::from([(1, 3), (2, 3), (3, 1), (3, 2)]);
        let tables = tables(4, WRITTEN, true, &apart);
        assert_eq!(
            ends(&tables, "all-to-one"),
            [vec![(1, 0), (2, 0), (3, 0)], vec![(0, 1), (2, 1)], vec![(0, 2), (1, 2)]]
        );
        assert_eq!(
            ends(&tables, "one-to-all"),
            [vec![(0, 1), (0, 2), (0, 3)], vec![(1, 0), (1, 2)], vec![(2, 0), (2, 1)]]
        );
        assert_eq!(tables[2].reasons, [None, None, None, Some(TOO_FEW_PAIRS)]);
    }
}
