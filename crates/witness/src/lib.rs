//! Which copies of a program are far from their GPU, from one run: the library behind `numabench witness`.
//!
//! ```text
//! program with the hook ─► record of each process ─► ProcessRecord ─► buffers ─► gain ─► document
//! run                      layout                    record           buffers    gain    document, answer
//! ```
//!
//! `hook` finds the library that counts (the crate `witness-hook`), `run` starts the program with it and
//! waits. Everything behind the record is pure: tests give it words. Left out: HIP's copies, copies by
//! kernels that read host memory themselves, and the order in time.

pub mod answer;
pub mod buffers;
pub mod document;
pub mod gain;
pub mod hook;
pub mod layout;
pub mod record;
pub mod run;
pub mod still_running;

#[cfg(test)]
mod tests;
