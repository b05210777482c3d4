//! Why no plan can be made for the processes of a node, and the lists (`--cpus`, `--gpus`) that are held
//! against their number.

use stats::units::counted;

use crate::{RankPlanError, SelectionError};

/// No plan can be made for the processes of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodePlanError {
    /// A list with fewer items than there are processes.
    #[error(
        "{option} names {} ({list}) and this node has {}: the i-th rank of a node takes the i-th, so name \
         {ranks}",
        counted(*named, what), counted(*ranks, "rank")
    )]
    Short {
        /// The option.
        option: &'static str,
        /// How many it names.
        named: usize,
        /// One of them.
        what: &'static str,
        /// As asked.
        list: String,
        /// How many ranks there are.
        ranks: usize,
    },
    /// No process sees anything to copy to.
    #[error("there is no device to copy to")]
    NoTarget,
    /// A process that sees nothing while others do.
    #[error("{name} sees no device, and others of this node do ({others}): {remedy}")]
    Blind {
        /// The process.
        name: String,
        /// What the others see.
        others: String,
        /// What to change.
        remedy: String,
    },
    /// GPUs here, host memory there.
    #[error(
        "{gpus} sees GPUs, and {host} none, only host memory: {remedy}, or measure host memory in every rank \
         (--backend host)"
    )]
    Mixed {
        /// A process that sees GPUs.
        gpus: String,
        /// One that sees none.
        host: String,
        /// What to change.
        remedy: String,
    },
    /// A device that is not there.
    #[error(transparent)]
    Selection(SelectionError),
    /// A device that this machine has, but no process of this node sees.
    #[error("{error}; this machine has {}, and this launch sees {shown} of them: \
        {remedy}", counted(*machine, "GPU"))]
    NotShown {
        /// What there is.
        error: SelectionError,
        /// How many GPUs the machine has.
        machine: usize,
        /// How many the processes see.
        shown: usize,
        /// What to change.
        remedy: String,
    },
    /// A device that others see and the process that was to have it does not.
    #[error("--gpus gives {name} device {device}, which it does not see: it sees {sees}{own}; {remedy}")]
    Hidden {
        /// The process.
        name: String,
        /// The device it was to have.
        device: String,
        /// What it sees.
        sees: String,
        /// The list that gives each process its own, where each sees one.
        own: String,
        /// What to change.
        remedy: String,
    },
    /// Fewer devices than processes.
    #[error(
        "this node has {} and {}, and {name} finds none free (it sees {sees}): say which ranks share one, \
         e.g. --gpus {example}",
        counted(*ranks, "rank"), counted(*devices, "device")
    )]
    Crowded {
        /// How many processes there are.
        ranks: usize,
        /// How many devices.
        devices: usize,
        /// The first that is left without.
        name: String,
        /// What it sees.
        sees: String,
        /// A list that would do.
        example: String,
    },
    /// A rank that cannot have its place.
    #[error(transparent)]
    Rank(#[from] RankPlanError),
}

/// A list of which process i takes the i-th item.
pub(crate) struct List<'l> {
    pub(crate) option: &'static str,
    pub(crate) what: &'static str,
    pub(crate) named: usize,
    pub(crate) text: &'l dyn std::fmt::Display,
}

impl List<'_> {
    /// Whether it names one for each; a note where it names more. One list serves nodes that have not all the
    /// same number of ranks.
    pub(crate) fn is_enough_for(&self, ranks: usize) -> Result<Option<String>, NodePlanError> {
        let Self { option, what, named, text } = *self;
        if named < ranks {
            return Err(NodePlanError::Short { option, named, what, list: text.to_string(), ranks });
        }
        let (some, few) = (counted(named, what), counted(ranks, "rank"));
        let note = || format!("{option} names {some} and this node has {few}: the first {ranks} are taken");
        Ok((named > ranks).then(note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_what_does_not_fit_and_what_to_change() {
        let text = |text: &str| text.to_owned();
        let absent = || SelectionError::Absent { asked: text("4"), present: text("there are 0-1") };
        let refusals = [
            NodePlanError::Short { option: "--cpus", named: 2, what: "PU", list: text("4,5"), ranks: 3 },
            NodePlanError::Blind { name: text("rank 1"), others: text("0"), remedy: text("show it") },
            NodePlanError::Mixed { gpus: text("rank 0"), host: text("rank 1"), remedy: text("show it") },
            NodePlanError::Selection(absent()),
            NodePlanError::NotShown { error: absent(), machine: 5, shown: 2, remedy: text("show it") },
            NodePlanError::Rank(RankPlanError::NoPu { owner: text("rank 1") }),
        ];
        insta::assert_snapshot!("refused_plans", refusals.map(|refusal| refusal.to_string()).join("\n"));
    }
}
