//! What of a comparison a pipeline can be asked to fail for.

use crate::comparison::{ComparedCase, Comparison};

/// Something that a comparison can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonFinding {
    /// A case got worse by the threshold or more.
    Regressed,
    /// A case may have got worse; too few runs to tell.
    Suspect,
    /// A case of the base has no new figure.
    Missing,
    /// A case got better by the threshold or more.
    Improved,
    /// A case is new.
    Added,
    /// Conditions differ: driver, kernel, link, ….
    Differing,
}

impl Comparison {
    /// Whether it found this.
    pub fn has(&self, finding: ComparisonFinding) -> bool {
        match finding {
            ComparisonFinding::Regressed => self.counts.regressed > 0,
            ComparisonFinding::Suspect => self.cases.iter().any(ComparedCase::may_be_worse),
            ComparisonFinding::Missing => self.counts.missing > 0,
            ComparisonFinding::Improved => self.counts.improved > 0,
            ComparisonFinding::Added => self.counts.added > 0,
            ComparisonFinding::Differing => !self.differing.is_empty(),
        }
    }
}
