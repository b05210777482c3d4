//! What the results crate promises of whole documents.
//!
//! * `made` documents with figures of a test's choosing;
//! * `consumers` what is exported, read by those that it is for;
//! * `fleet` the gate on a simulated fleet, `gate` what it says of a node;
//! * `old` documents of every schema version; `html` the report, `html_left_out` what it leaves out;
//! * `imports` and `imports_nvbandwidth` outputs of other programs as documents; `exchanges` documents of
//!   `numabench mpi`;
//! * `incomplete` what is exported of runs that did not end well;
//! * `references` published figures that fit a document;
//! * `screens` what a terminal shows of documents of other kinds; `witness` documents of programs' copies;
//! * `compared` verdicts, what is missing, what is refused, what differs.

mod compared;
mod consumers;
mod exchanges;
mod fleet;
mod gate;
mod html;
mod html_left_out;
mod imports;
mod imports_nvbandwidth;
mod imports_posted;
mod incomplete;
mod lost;
mod made;
mod moving;
mod old;
mod pairs_fleet;
mod pieces;
mod references;
mod screens;
mod witness;
