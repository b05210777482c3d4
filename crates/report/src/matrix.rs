//! What a document holds of figures that stand in rows and columns: where host memory and the threads that
//! use it are (rows) against GPUs or memory nodes (columns). Which rank stands where, which rows could not be
//! measured and why, and where each column is by what the platform declares.
//!
//! The figures themselves are the cases': each cell is a rank, or the ranks of several threads.
//! `analysis::matrix_analysis` finds them there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;

use crate::Known;
use crate::settings::{CopyEngine, Settings};

/// How figures stand in rows and columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Matrix {
    /// What it is of: `host memory and GPUs`.
    pub title: String,
    /// What its sentences compare.
    pub compares: Compares,
    /// The rows, those that could not be measured too.
    pub rows: Vec<MatrixRow>,
    /// The columns.
    pub columns: Vec<MatrixColumn>,
}

impl Matrix {
    /// What moved the bytes of its copies.
    pub fn engine(&self, settings: &Settings) -> CopyEngine {
        let groups = self.rows.iter().filter_map(|row| row.group.as_deref());
        groups.filter_map(engine_of_group).next().unwrap_or(settings.engine)
    }
}

/// The `group`, or the end of it behind a `/`, of copies that a run makes so beside those of its first
/// engine.
pub fn engine_group(engine: CopyEngine) -> Option<&'static str> {
    match engine {
        CopyEngine::Sm => Some("sm"),
        CopyEngine::Tma => Some("tma"),
        CopyEngine::Ce | CopyEngine::Newer => None,
    }
}

/// What moved the bytes of the copies of this group, where the group says so.
pub fn engine_of_group(group: &str) -> Option<CopyEngine> {
    let end = group.rsplit('/').next();
    [CopyEngine::Sm, CopyEngine::Tma].into_iter().find(|engine| engine_group(*engine) == end)
}

/// What a matrix's sentences compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compares {
    /// The rows of each column: from where a GPU is reached best.
    Rows,
    /// The columns of each row: which memory a core reaches best.
    Columns,
    /// Each row's ranks with the same in the first row that has them: what more at once costs.
    Load,
    /// All cells with each other: GPUs against GPUs. A GPU with itself is apart: what it copies within its
    /// own memory.
    Pairs,
    /// Cores with each other: each row's core asks, each column's answers.
    Cores,
    /// Each row's GPU beside each column's; with itself, alone.
    Beside,
    /// Each row's GPU with all others at it but the column's; with itself, with all others.
    #[serde(rename = "but-one")]
    LeaveOneOut,
    /// The GPUs of each row at once.
    Together,
    /// Each row's loads (the first column) beside each row's traffic (the second); the first row is idle, the
    /// last all traffic that is made.
    Loaded,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixRow {
    /// What it is called: `node 0`, `core of PU 3`, `2 GPUs at once`.
    pub name: String,
    /// The PUs that measured it, OS indices; empty where it was not.
    pub pus: IdSet,
    /// The NUMA node of its memory, OS index; null where it has none of its own.
    pub memory_node: Option<u32>,
    /// Its ranks.
    pub ranks: IdSet,
    /// The `group` of the cases that it is of; null for cases of any.
    pub group: Option<String>,
    /// Why it was not measured; null where it was.
    pub reason: Option<String>,
    /// What is to be known of it.
    pub note: Option<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixColumn {
    /// What it is called: `GPU 0`, `node 1`.
    pub name: String,
    /// The device's `id`, or `node N`.
    pub device: String,
    /// Its ranks.
    pub ranks: IdSet,
    /// The NUMA nodes that the platform says are local to it.
    pub declared_nodes: Known<IdSet>,
}

impl Matrix {
    /// Whether a cell is of one GPU with itself, among pairs of GPUs: their rows and columns are the same
    /// GPUs in the same order.
    pub fn is_own(&self, row: usize, column: usize) -> bool {
        self.compares == Compares::Pairs && row == column
    }

    /// The ranks of such cells.
    pub fn own(&self) -> IdSet {
        let own = self.rows.iter().zip(&self.columns).filter(|_| self.compares == Compares::Pairs);
        own.flat_map(|(row, column)| row.ranks.and(&column.ranks).iter().collect::<Vec<u32>>()).collect()
    }
}
