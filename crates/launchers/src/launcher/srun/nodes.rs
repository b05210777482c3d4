//! How many tasks each node gets, and with which numbers: `--nodes`, `--ntasks-per-node` and the first word
//! of `--distribution`, as Slurm 22.05 was seen to take them in a job with two nodes.

use std::collections::BTreeMap;

use crate::count::{Count, Dealing};
use crate::error::LineError;
use crate::value::{count, wrong};

/// `--nodes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nodes {
    Exactly(usize),
    /// At least this many; how many there are, the job decides.
    AtLeast(usize),
}

impl Nodes {
    /// `2`, `2-4`, `2,4,8`.
    pub fn read(option: &str, value: &str) -> Result<Self, LineError> {
        let wanted = "write a number of nodes (2), or the least and the most (2-4)";
        let (least, most) = value.split_once(['-', ',', ':']).unwrap_or((value, value));
        let least_nodes = count(option, least).map_err(|_| wrong(option, value, wanted))?;
        Ok(if least == most { Self::Exactly(least_nodes) } else { Self::AtLeast(least_nodes) })
    }
}

/// Completes the count of tasks by the nodes that they go to; `listed` places are in the line's lists.
///
/// # Errors
/// [`LineError`]: how many tasks a node gets does not follow from the line, or the distribution is none.
pub(super) fn deal(
    said: &mut Count,
    nodes: Option<Nodes>,
    distribution: Option<&str>,
    listed: usize,
    variables: &BTreeMap<String, String>,
    notes: &mut Vec<String>,
) -> Result<(), LineError> {
    let not_said = |what: &str| Err(LineError::NotSaid(what.to_owned()));
    let value = distribution.unwrap_or_default();
    let (method, packing) = value.split_once(',').unwrap_or((value, ""));
    let method = method.split(':').next().unwrap_or_default();

    // Without -n the lists of the line are for as many tasks as a node may have.
    let is_open = said.ranks.is_some() || listed <= 1;
    if method == "arbitrary" && is_open && nodes != Some(Nodes::Exactly(1)) {
        return not_said(
            "--distribution=arbitrary takes the number of tasks of each node from a list of hosts that is \
             not read: write the line without it",
        );
    }

    let nodes = match nodes {
        Some(Nodes::AtLeast(_)) if said.ranks.is_some() && said.of_a_node.is_none() => {
            return not_said(
                "how many nodes the step gets does not follow from the line, and so how many tasks one of \
                 them has: write -N with one number, or --ntasks-per-node",
            );
        }
        Some(Nodes::Exactly(nodes) | Nodes::AtLeast(nodes)) => nodes,
        None => return Ok(()),
    };
    said.nodes = Some(nodes);

    // "can't honor --ntasks-per-node … Ignoring".
    if let (Some(each), Some(all)) = (said.of_a_node, said.ranks)
        && each.saturating_mul(nodes) < all
    {
        said.of_a_node = None;
        notes.push(format!(
            "srun ignores --ntasks-per-node={each}: {} on {} are more",
            stats::units::counted(all, "task"),
            stats::units::counted(nodes, "node")
        ));
    }

    if nodes > 1 && packing.split(',').any(|word| word.eq_ignore_ascii_case("pack")) {
        return not_said(
            "--distribution=…,Pack fills nodes by the CPUs that each has in the job: leave out Pack",
        );
    }

    said.dealing = match method.split_once('=').unwrap_or((method, "")) {
        ("cyclic", _) => Dealing::Turns(1),
        ("plane", size) => {
            let of_variable = variables.get("SLURM_DIST_PLANESIZE").map_or("", String::as_str);
            Dealing::Turns(count("--distribution=plane", if size.is_empty() { of_variable } else { size })?)
        }
        _ => Dealing::Filled,
    };
    Ok(())
}
