//! A whole run, held from outside against a platform that can be told to go wrong (`mock`, a test double: no
//! GPU takes part).
//!
//! * `harness` starts a run on this machine's own PUs, and ends the test if the run does not end;
//! * `healthy` what a run brings back when nothing goes wrong;
//! * `launched` the same as processes of two nodes, which are threads here;
//! * `faults` a rank that fails, a byte that is wrong, a thread that is not where it should be;
//! * `ends` signals, time limits, devices that hang and ranks that panic.
//!
//! Copies take virtual time (`virtual_time`), and ranks time them by it; time limits are real.

mod ends;
mod faults;
mod harness;
mod healthy;
mod launched;
mod mock;
mod virtual_time;
