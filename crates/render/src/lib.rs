//! What people see of documents: pure functions from documents, and from what `analysis` found in them, to
//! text. What is shown is in the document or found there; nothing is looked up, and nothing is inferred.
//!
//! * `terminal` tables for a terminal, with the `page` and `grid` that they are made of; `compared` those of
//!   comparisons, histories and baselines;
//! * `html` a report for people who were not there;
//! * `node` the node with its measured rates; `charts` curves, bars and dots, drawn with the crate `svg`;
//! * `export` documents in the forms of dashboards and pipelines;
//! * `slower_twins` their sentences; `names` what a person calls a case, a rank and a device; `digits`
//!   figures with the digits that their intervals carry; `witness_cells` tables that a terminal and a page
//!   share.

pub mod compared;
pub mod export;
pub mod html;
pub mod node;
pub mod terminal;

mod charts;
mod digits;
mod names;
mod slower_twins;
mod witness_cells;
