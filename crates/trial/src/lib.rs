//! A user's own program under several placements: which is the fastest, how sure that is, and where each run really was.
//!
//! Pure, and tried by simulation:
//! * `order` the order of the variants in each block, drawn by lot from a seed;
//! * `looks` after how many blocks the figures are looked at, and how much of the error each look may spend;
//! * `decide` what the figures say at a look: better, worse, the same, or not yet; `drift` whether the machine changed meanwhile;
//! * `start` whether what starting costs decides instead of the program; `answer` the four lines that it comes to;
//! * `metric` a run's figure from its output or a file; `template` a launch line with places for the program and its binding;
//! * `proof` whether a run was where it was to be.
//!
//! Acting:
//! * `run` one run of a program, timed and reaped (`reap`), with a time limit; `eyes` what its ranks are seen to have meanwhile;
//! * `conduct` block after block until it is enough, over a `Runner` that tests replace.
//!
//! What a variant is in words of placements and launchers is the caller's to say: here it is a command, an environment and a way to bind.

#![forbid(unsafe_code)]

pub mod answer;
pub mod conduct;
pub mod decide;
pub mod drift;
pub mod eyes;
pub mod guardian;
pub mod looks;
pub mod metric;
pub mod order;
pub mod proof;
mod reap;
pub mod run;
pub mod start;
pub mod template;
