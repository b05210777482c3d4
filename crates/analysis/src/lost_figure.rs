//! A copy of a node's check that has no figure: a call failed, or it was not measured as asked.

use report::row::RowStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A copy without a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LostFigure {
    /// The device's `id`; of a copy between GPUs with the other one's.
    pub device: String,
    /// The case's `id`; that of a copy within a GPU's memory ends in `within`.
    pub case: String,
    /// How the copy went, in the last pass that lacks its figure.
    pub status: RowStatus,
    /// Why there is no figure, in words.
    pub reason: String,
    /// How many passes lack it.
    pub lost: u32,
    /// Of how many.
    pub passes: u32,
}

impl LostFigure {
    /// Whether a call of the driver failed.
    pub fn has_failed(&self) -> bool {
        self.status == RowStatus::Failed
    }
}
