//! What the results crate promises of whole documents.
//!
//! * `made` documents with figures of a test's choosing;
//! * `consumers` what is exported, read by those that it is for;
//! * `fleet` the gate on a simulated fleet;
//! * `html` the report;
//! * `compared` verdicts, what is missing, what is refused, what differs.

mod compared;
mod consumers;
mod fleet;
mod html;
mod made;
