//! Rows and columns as matrices of documents have them: a row of the machine, a target, a NUMA node.

use placement::{Row, Target};
use report::Known;
use report::matrix::{MatrixColumn, MatrixRow};
use stats::IdSet;
use topo::Topology;

use crate::backends::FoundPlatform;
use crate::columns::declared_nodes;
use crate::exit::Exit;
use crate::fault::Fault;

/// The document's row of a row of the machine, with its PUs and ranks.
pub(crate) fn row(row: &Row, pus: IdSet, ranks: IdSet, group: Option<String>) -> MatrixRow {
    let row_place = row.place.as_ref();
    MatrixRow {
        name: row.name.clone(),
        pus,
        memory_node: row_place.ok().map(|row_place| row_place.node),
        ranks,
        group,
        reason: row_place.err().cloned(),
        note: row_place.ok().and_then(|row_place| row_place.note.clone()),
    }
}

/// The column of a target, with the NUMA nodes that are declared near to it.
pub(crate) fn column(
    name: String,
    target: &Target,
    ranks: IdSet,
    (topology, found): (&Topology, &FoundPlatform),
) -> MatrixColumn {
    MatrixColumn {
        name,
        device: target.id.to_string(),
        ranks,
        declared_nodes: declared_nodes(topology, found, target.id),
    }
}

/// The column of what the CPU does with the memory of a node.
pub(crate) fn node_column(name: String, node: u32, ranks: IdSet) -> MatrixColumn {
    let declared_nodes = Known::value(IdSet::from_iter([node]), "the node itself");
    MatrixColumn { name, device: format!("node {node}"), ranks, declared_nodes }
}

/// The fault of a measurement of GPUs none of whose rows can be measured.
pub(crate) fn no_row(rows: &[Row]) -> Fault {
    let why = rows.iter().find_map(|row| row.place.as_ref().err());
    let why = why.map_or("this process may use no memory, or there is no device", String::as_str);
    Fault::new(Exit::NoResult, format!("no row can be measured: {why}"))
}
