//! A document with the figures of a later experiment on the same machine behind its own: what was measured
//! next because of what was found.

use report::Document;
use report::matrix::Matrix;

use super::merged::moved_by;

/// `first` with the cases, ranks and matrices of `next`, whose ranks are numbered behind its own.
pub fn appended(mut first: Document, next: Document) -> Document {
    let by = first.ranks.len() as u32;
    for mut rank in next.ranks {
        (rank.rank, rank.node_rank) = (rank.rank + by, rank.node_rank + by);
        if let Some(node) = first.nodes.first_mut() {
            node.ranks.0.insert(rank.rank);
        }
        first.ranks.push(rank);
    }

    for mut case in next.cases {
        case.ranks.iter_mut().for_each(|result| result.rank += by);
        if let Some(aggregate) = &mut case.aggregate {
            aggregate.slowest_rank += by;
        }
        first.cases.push(case);
    }

    let moved = next.matrices.into_iter().map(|matrix: Matrix| moved_by(matrix, by));
    first.matrices.extend(moved);
    first.elapsed_s = next.elapsed_s;
    first
}
