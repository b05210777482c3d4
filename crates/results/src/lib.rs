//! What is made of result documents once they are there: pure functions of documents, no file and no clock.
//!
//! * `figure` what a document says of one case in one place; `run` all of a document's figures, and `conditions` what it ran under;
//! * `compare` two sides of runs: `judge` decides each case, `comparison` is the document that comes of it, and `render` shows it;
//! * `export` documents in the forms of dashboards and pipelines;
//! * `baseline` what is normal for a class of hardware, and `gate` whether a node is well by it;
//! * `history` step changes over many documents; `html` a report for people who were not there;
//! * `trial` trial documents as runs to compare, and in the same forms; `mpi` and `imported` documents of `numabench mpi` and `import`;
//! * `incomplete` how the run of a document ended that is not complete, and how much of it has a figure;
//! * `kept` a document of any kind that holds figures; `import` the outputs of other programs as documents;
//! * `schema` the JSON Schemas of the documents made here.
//!
//! Reading files is the caller's: knowledge of results is here, and of the file system in the binary.

pub mod baseline;
pub mod compare;
pub mod comparison;
pub mod conditions;
pub mod export;
pub mod figure;
pub mod gate;
pub mod history;
pub mod html;
pub mod import;
pub mod imported;
pub mod incomplete;
pub mod judge;
pub mod kept;
pub mod mpi;
pub mod render;
pub mod run;
pub mod schema;
pub mod trial;
