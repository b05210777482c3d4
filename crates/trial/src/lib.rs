//! A user's own program under several placements: which is the fastest, how sure that is, and where each run
//! really was.
//!
//! Pure, and tried by simulation:
//! * `order` the order of the variants in each block, drawn by lot from a seed;
//! * `sequential_alpha` after how many blocks the figures are looked at, and how much of the error each look
//!   may spend;
//! * `decide` what the figures say at a look: better, worse, the same, or not yet; `drift` whether the
//!   machine changed meanwhile;
//! * `start` whether what starting costs decides instead of the program; `answer` the four lines that it
//!   comes to;
//! * `metric` a run's figure from its output or a file; `template` a launch line with places for the program
//!   and its binding;
//! * `proof` whether a run was where it was to be.
//!
//! Acting:
//! * `run` one run of a program, timed and reaped (`wait4`), with a time limit; `ending` the end of what it
//!   leaves behind; `rank_observer` what its ranks are seen to have meanwhile; `run_record` what is kept of
//!   it;
//! * `trial_loop` block after block until it is enough, over a `Runner` that tests replace; `runner` the one
//!   that starts programs.
//!
//! From what is asked for to the document, as `numabench trial` goes and any other caller can:
//! ```text
//! TrialOptions ─► PlannedTrial ─► WarmedUpTrial ─► TrialDocument
//!                            └──► FalseAlarms: the baseline against itself
//! ```
//! * `options` what is asked for; `session` what a trial is given beside: where it is kept, what ends it
//!   early, who is told how far it is;
//! * `planned` the variants (`variants`: strategies, launch lines and values, each as a command, an
//!   environment and a binding; `placed` a strategy's place, `through_exec` a variant as options of `exec`
//!   and of a launcher), the metrics, and when it is enough;
//! * `warmed_up` the blocks and their end; `against_itself` how often a difference is claimed where there is
//!   none; `document` what is kept and shown.
//!
//! Nothing is printed. Left out: how options are typed, the terminal, and what a table of the document looks
//! like.

#![forbid(unsafe_code)]

pub mod against_itself;
pub mod answer;
pub mod decide;
mod document;
pub mod drift;
mod ending;
pub mod guardian;
pub mod metric;
pub mod options;
pub mod order;
mod placed;
pub mod planned;
pub mod proof;
pub mod rank_observer;
pub mod run;
mod run_record;
mod runner;
pub mod sequential_alpha;
pub mod session;
pub mod start;
pub mod template;
mod through_exec;
pub mod trial_loop;
mod variants;
mod wait4;
pub mod warmed_up;
