//! Pure planning: a topology and what was asked for become a [`Plan`], which can be printed without touching a device.
//!
//! * `selector` how a user names devices: indices, PCI addresses, UUIDs, `all`;
//! * `target` what a rank copies to: a GPU, or the memory of a node where no GPU takes part;
//! * `request` what was asked for;
//! * `plan` which PU, memory node and target each rank gets, and why;
//! * `check_pu`, `check_node` whether a PU or node can be had, said in words;
//! * `verdict` how close a PU is to a target.
//!
//! Nothing here reads the machine, binds or allocates: the same input gives the same plan on any machine.

mod check_node;
mod check_pu;
mod default_pu;
#[cfg(test)]
mod machine;
mod plan;
mod request;
mod selector;
mod target;
mod verdict;

pub use check_node::NodeError;
pub use check_pu::PuError;
pub use plan::{ChosenBy, Plan, PlanError, RankPlan, plan};
pub use request::{Membind, Request};
pub use selector::{Selection, SelectionError};
pub use target::{Target, TargetId};
pub use verdict::{Closeness, Verdict, verdict};
