//! The rows of a measurement of near and far places: of each device the NUMA node that is declared near to
//! it, and the node that is farthest from there.
//!
//! Left out: memory without CPUs of its own. A copy from there differs in the kind of memory, and not in the
//! path alone.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use stats::IdSet;
use topo::model::Topology;

use crate::check_node::distance;
use crate::rows::{Row, RowsBy, RowsByError, rows};

/// As users write it.
const NEAR_AND_FAR: &str = "near,far";

/// Which rows of the machine are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowSelection {
    /// All of a kind.
    All(RowsBy),
    /// The NUMA node near each device, and the node farthest from it.
    NearAndFar,
}

impl fmt::Display for RowSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(by) => by.fmt(f),
            Self::NearAndFar => f.write_str(NEAR_AND_FAR),
        }
    }
}

/// The name of no selection of rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a kind of rows: write near,far or node, l3 or core")]
pub struct RowSelectionError(String);

impl FromStr for RowSelection {
    type Err = RowSelectionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == NEAR_AND_FAR {
            return Ok(Self::NearAndFar);
        }
        text.parse().map(Self::All).map_err(|_: RowsByError| RowSelectionError(text.to_owned()))
    }
}

/// Why there are no near and far rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NearAndFarError {
    /// Nothing is far.
    #[error(
        "--rows near,far needs two NUMA nodes with cores and memory that this process may use, and there is \
         {0}: no near/far comparison. Leave --rows out"
    )]
    OnePlace(String),
    /// A device of unknown locality.
    #[error(
        "NUMA node of {0} unknown, so --rows near,far cannot choose the rows; --rows node takes every NUMA \
         node"
    )]
    Unknown(String),
    /// No node near the device can be a row.
    #[error(
        "this process may not use the cores and memory of NUMA node {nodes}, which is near {device}: ask for \
         it, or use --rows node"
    )]
    NotUsable {
        /// The device.
        device: String,
        /// Its nodes.
        nodes: IdSet,
    },
}

/// Which of the packages a node belongs to; `None` of memory beside them.
fn package(topology: &Topology, node: u32) -> Option<usize> {
    topology.packages.iter().position(|package| package.nodes.contains(node))
}

/// The rows of near and far NUMA nodes of devices, in the machine's order. Each device has a name and the
/// nodes that are declared near to it.
///
/// # Errors
/// Near and far cannot be told apart here.
pub fn near_and_far(
    topology: &Topology,
    devices: impl IntoIterator<Item = (String, Option<IdSet>)>,
) -> Result<Vec<Row>, NearAndFarError> {
    let own =
        |row: &Row| row.place.as_ref().ok().filter(|place| place.note.is_none()).map(|place| place.node);
    let nodes: Vec<(u32, Row)> =
        rows(topology, RowsBy::Node).into_iter().filter_map(|row| Some((own(&row)?, row))).collect();
    if nodes.len() < 2 {
        let names: Vec<&str> = nodes.iter().map(|(_, row)| &row.name[..]).collect();
        let only = if names.is_empty() { "none".to_owned() } else { format!("{} alone", names.concat()) };
        return Err(NearAndFarError::OnePlace(only));
    }

    let mut chosen = IdSet::default();
    for (device, near) in devices {
        let near = near.filter(|near| !near.is_empty()).ok_or(NearAndFarError::Unknown(device.clone()))?;
        let ids = || nodes.iter().map(|(node, _)| *node);
        let Some(nearest) = ids().find(|node| near.contains(*node)) else {
            return Err(NearAndFarError::NotUsable { device, nodes: near });
        };
        // Where all distances are alike or none is known, another package is further than the neighbour.
        let away = |node: &u32| {
            let is_other_package = package(topology, *node) != package(topology, nearest);
            (distance(topology, nearest, *node).unwrap_or(0), is_other_package, Reverse(*node))
        };
        chosen.extend([nearest]);
        chosen.extend(ids().filter(|node| !near.contains(*node)).max_by_key(away));
    }

    Ok(nodes.into_iter().filter(|(node, _)| chosen.contains(*node)).map(|(_, row)| row).collect())
}

#[cfg(test)]
mod tests {
    use topo::model::PuStatus;

    use super::*;
    use crate::machine::{machine, without};

    fn names(topology: &Topology, near: &[Option<&[u32]>]) -> Result<Vec<String>, String> {
        let devices = near.iter().enumerate().map(|(at, nodes)| {
            (format!("GPU {at}"), nodes.map(|nodes| nodes.iter().copied().collect::<IdSet>()))
        });
        let found = near_and_far(topology, devices).map_err(|error| error.to_string())?;
        Ok(found.into_iter().map(|row| row.name).collect())
    }

    #[test]
    fn near_and_far_are_the_declared_node_and_the_farthest_one() {
        let both = || Ok(vec!["node 0".to_owned(), "node 1".to_owned()]);
        assert_eq!(names(&machine(), &[Some(&[0])]), both());
        assert_eq!(names(&machine(), &[Some(&[1])]), both());
        assert_eq!(names(&machine(), &[Some(&[0]), Some(&[1])]), both(), "each row once");
    }

    #[test]
    fn where_distances_are_alike_another_package_is_the_far_one() -> Result<(), Box<dyn std::error::Error>> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/dgx-a100.xml");
        let mut topology = topo::from_xml(std::path::Path::new(file))?;
        if let Some(distances) = &mut topology.distances {
            distances.rows.iter_mut().flatten().for_each(|distance| *distance = 20);
        }
        assert_eq!(names(&topology, &[Some(&[0])])?, ["node 0", "node 4"]);
        Ok(())
    }

    #[test]
    fn what_leaves_no_near_and_far_is_told_with_the_way_out() {
        let one = names(&without(machine(), "4-7,12-15", PuStatus::NotInAffinity), &[Some(&[0])]);
        let refusals = [one, names(&machine(), &[None]), names(&machine(), &[Some(&[2])])];
        let texts: Vec<String> = refusals.into_iter().filter_map(Result::err).collect();
        insta::assert_snapshot!("no_near_and_far", texts.join("\n"));
    }

    #[test]
    fn a_selection_is_read_as_it_is_written() {
        for text in ["near,far", "node", "l3", "core"] {
            assert_eq!(text.parse::<RowSelection>().map(|rows| rows.to_string()), Ok(text.to_owned()));
        }
        assert!("far".parse::<RowSelection>().is_err());
    }
}
