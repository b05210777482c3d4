//! What of a comparison a pipeline can be asked to fail for.

use crate::comparison::{ComparedCase, Comparison};
use crate::node_changes::{NodeChange, NodeChanges};

/// Something that a comparison can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonFinding {
    /// A case got worse by the threshold or more, or a node by itself.
    Regressed,
    /// A case or a node may have got worse; too few runs to tell.
    Suspect,
    /// A case of the base has no new figure, or a node of it lacks figures or is gone.
    Missing,
    /// A case got better by the threshold or more.
    Improved,
    /// A case is new.
    Added,
    /// Conditions differ: driver, kernel, link, ….
    Differing,
}

/// What the summary can begin with of nodes.
const WORST_FIRST: [(ComparisonFinding, &str); 3] = [
    (ComparisonFinding::Regressed, "REGRESSED"),
    (ComparisonFinding::Missing, "MISSING"),
    (ComparisonFinding::Suspect, "SUSPECT"),
];

impl Comparison {
    /// The same with what became of each node, of which the summary says what is no case's. It comes first
    /// where no case is as bad.
    pub fn with_nodes(self, nodes: Option<NodeChanges>) -> Self {
        let Some(clause) = nodes.as_ref().and_then(NodeChanges::clause) else {
            return Self { nodes, ..self };
        };
        let worst = |comparison: &Self| WORST_FIRST.iter().position(|(finding, _)| comparison.has(*finding));
        let of_cases = worst(&self).unwrap_or(WORST_FIRST.len());
        let (cases, all) = (self.summary.clone(), Self { nodes, ..self });

        let summary = match worst(&all).filter(|of_all| *of_all < of_cases) {
            Some(of_nodes) => format!("{}: {clause}. {cases}", WORST_FIRST[of_nodes].1),
            None => format!("{cases}; {clause}"),
        };
        Self { summary, ..all }
    }

    /// Whether it found this.
    pub fn has(&self, finding: ComparisonFinding) -> bool {
        let has_node = |is_it: fn(&NodeChange) -> bool| {
            self.nodes.as_ref().is_some_and(|nodes| nodes.rows.iter().any(is_it))
        };
        let is_gone = self.nodes.as_ref().is_some_and(|nodes| !nodes.gone.is_empty());

        match finding {
            ComparisonFinding::Regressed => self.counts.regressed > 0 || has_node(NodeChange::is_worse),
            ComparisonFinding::Suspect => {
                self.cases.iter().any(ComparedCase::may_be_worse) || has_node(|row| row.is_suspect)
            }
            ComparisonFinding::Missing => {
                self.counts.missing > 0 || is_gone || has_node(|row| row.missing > 0)
            }
            ComparisonFinding::Improved => self.counts.improved > 0,
            ComparisonFinding::Added => self.counts.added > 0,
            ComparisonFinding::Differing => !self.differing.is_empty(),
        }
    }
}
