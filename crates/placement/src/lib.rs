//! Pure planning: a topology and what was asked for become a [`Plan`], which can be printed without touching
//! a device.
//!
//! * `selector` how a user names devices: indices, PCI addresses, UUIDs, all of them;
//! * `target` what a rank copies to: a GPU, or the memory of a node where no GPU takes part;
//! * `request` what was asked for;
//! * `plan` which device each rank gets where ranks are threads of one process;
//! * `node_plan` the same where they are launched processes, each with an allowed set and devices of its own
//!   (`member`); `assign_gpus` its devices, by a `matching`;
//! * `rank_plan` which PU and memory node each rank gets, and why: the same for both;
//! * `check_pu`, `check_node` whether a PU or node can be had, said in words; `hints` what to change where
//!   not;
//! * `verdict` how close a PU is to a target;
//! * `recommend` places for the ranks of a whole node, by strategy: what `place` shows, `exec` applies and
//!   `check` compares with;
//! * [`nic`] the network adapter near a GPU, and the variables by which libraries are told of it;
//! * `rows` the NUMA nodes, L3s or cores that a matrix measures from, and why some cannot be;
//!   `near_and_far` the nodes near devices and the farthest ones alone;
//! * [`judge`] whether ranks that were observed are well placed.
//!
//! Nothing here reads the machine, binds or allocates: the same input gives the same plan on any machine.

mod assign_gpus;
mod check_node;
mod check_pu;
mod chosen_by;
mod default_pu;
mod gpu_list;
mod hints;
pub mod judge;
#[cfg(test)]
mod machine;
mod matching;
mod member;
mod membind;
mod near_and_far;
pub mod nic;
mod node_plan;
mod node_plan_error;
mod plan;
mod rank_plan;
mod recommend;
mod request;
mod rows;
mod selector;
mod target;
mod verdict;

pub use check_node::{NodeError, can_hold_memory};
pub use check_pu::PuError;
pub use chosen_by::ChosenBy;
pub use gpu_list::GpuList;
pub use hints::Remedies;
pub use member::Member;
pub use membind::{Membind, MembindError, nodes_to_spread_over};
pub use near_and_far::{NearAndFarError, RowSelection, RowSelectionError, near_and_far};
pub use node_plan::plan_node;
pub use node_plan_error::NodePlanError;
pub use plan::{PlanError, plan};
pub use rank_plan::{Plan, RankPlan, RankPlanError, bind_memory};
pub use recommend::{
    Ask, GpuChoice, MOST_RANKS, NodePlaces, Place, RecommendError, Strategy, StrategyError, gpus_of_ranks,
    recommend,
};
pub use request::{NodeRequest, Request};
pub use rows::{Row, RowPlace, RowsBy, RowsByError, rows};
pub use selector::{Selection, SelectionError, Selector};
pub use target::{Target, TargetId};
pub use verdict::{Closeness, ClosenessVerdict, verdict};
