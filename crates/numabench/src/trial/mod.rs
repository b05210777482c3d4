//! `numabench trial`: from arguments and this machine to runs of a program under several placements, and a document of them.
//!
//! * `variants` what is tried: strategies, launch lines and values, each as a command, an environment and a binding;
//! * `placed` a strategy's place on this machine, worked out once by what `exec` does for each rank;
//! * `through_exec` a variant as options of `exec` and of a launcher;
//! * `metrics` what is compared;
//! * `session` makes the runs, looks at their ranks, keeps the document and shows how far it is;
//! * `document` what is kept and shown.
//!
//! When it is enough, and what the figures say, is the `trial` crate's to decide.

pub mod document;
pub mod metrics;
pub mod placed;
pub mod session;
mod through_exec;
pub mod variants;
