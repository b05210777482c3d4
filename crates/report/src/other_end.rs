//! The GPU at the other end of a copy between GPUs, by rank: rows of the flat table, comparisons and exports
//! name it.

use std::collections::BTreeMap;

use crate::Document;
use crate::device::name_on_node;
use crate::matrix::{Compares, Matrix};

/// By rank of copies between GPUs, the GPU at the other end (its `id` without a host); of a copy within one
/// GPU's memory that GPU.
pub fn all_other_ends<B>(document: &Document<B>) -> BTreeMap<u32, String> {
    other_ends_if(document, |_, _, _| true)
}

/// The same, but only where the rank's own GPU does not tell the other one: it has several others, or is both
/// ends. Comparisons and exports name places so, as they always did.
pub fn other_ends<B>(document: &Document<B>) -> BTreeMap<u32, String> {
    other_ends_if(document, |matrix, own, other| matrix.columns.len() > 2 || own == other)
}

/// The other ends of the pairs that `is_named` takes, by the matrix and its two GPUs. In the matrices of such
/// a document rows and columns are the same GPUs in the same order.
fn other_ends_if<B>(
    document: &Document<B>,
    is_named: impl Fn(&Matrix, &str, &str) -> bool,
) -> BTreeMap<u32, String> {
    let own: BTreeMap<u32, &str> =
        document.ranks.iter().map(|rank| (rank.rank, name_on_node(&rank.asked.device))).collect();
    // A suite has such matrices beside others.
    let is_of_pairs = |matrix: &&Matrix| document.command == "peer" || matrix.compares == Compares::Pairs;

    let mut others = BTreeMap::new();
    for matrix in document.matrices.iter().filter(is_of_pairs) {
        for (row, of_row) in matrix.rows.iter().zip(&matrix.columns) {
            let named =
                matrix.columns.iter().filter(|column| is_named(matrix, &of_row.device, &column.device));
            for column in named {
                for rank in row.ranks.and(&column.ranks).iter() {
                    let is_own = own.get(&rank).is_some_and(|own| *own == of_row.device);
                    others.insert(rank, if is_own { &column.device } else { &of_row.device }.clone());
                }
            }
        }
    }
    others
}
