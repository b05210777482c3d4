//! What people see of documents: pure functions from documents, and from what `analysis` found in them, to text. What is shown is in the document or found there;
//! nothing is looked up, and nothing is inferred.
//!
//! * `terminal` tables for a terminal, with the `page` and `grid` that they are made of; `compared` those of comparisons, histories and baselines;
//! * `html` a report for people who were not there;
//! * `export` documents in the forms of dashboards and pipelines; `xml` the escape of two of these outputs.

pub mod compared;
pub mod export;
pub mod html;
pub mod terminal;

mod xml;
