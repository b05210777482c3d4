//! A sample of pairs in the place of all: how many were asked for, and of which classes of link how many are
//! in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pairs that stand for all. A pair that is not among them has no figure, except the reverse direction of
/// one that is, in copies both ways at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairSample {
    /// How many were asked for.
    pub asked: u32,
    /// How many are in it: more than asked where it takes more to have every member and every class of link.
    /// A run that ended early has measured fewer.
    pub chosen: u32,
    /// How many pairs there are.
    pub of: u32,
    /// The classes of link between members, in order of their names.
    pub classes: Vec<SampledClass>,
}

/// The pairs with one class of link between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampledClass {
    /// What lies between: of GPUs in the signs of `topo --matrix` (`NV18`, `PIX`, `SYS`, `?`), with
    /// `, staged` where the driver stages copies; of ranks `other node`, or behind `same node` the same
    /// signs, `one GPU`, or without GPUs `one NUMA node` and `other NUMA node`.
    pub link: String,
    /// How many pairs of it are in the sample.
    pub chosen: u32,
    /// How many there are.
    pub of: u32,
}
