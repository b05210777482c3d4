//! What a run gave, as a document: the types, their schemas, reading and writing. The only crate that knows
//! serde_json.
//!
//! * `document` and the modules it names (`settings`, `launch`, `environment`, `node`, `device`, `rank`,
//!   `case`, `result`, `contention`, `outlier_node`) are the result schema v1; `rows` makes its figures' flat
//!   table (`row` in documents, `quantity` what a row counts, `round_count` found so, `other_end` the GPU at
//!   the other end of a copy); `known` is a value or the reason there is none;
//! * `figures` what kind of result a document is;
//! * `block` less than the whole of a block, for readers of large documents;
//! * `place` is the placement document v1, which `numabench place` writes and reads back;
//! * `matrix` which rank stands in which row and column; `measured_groups`, `loaded_latency`, `sweep_fit` and
//!   `slower_twin` what documents hold of findings (`analysis` finds them);
//! * `trial` the trial document v1, which `numabench trial` writes and takes up again;
//! * `mpi` the document v1 of `numabench mpi`, with `message` for how messages went and
//!   `awareness` for what MPI does with device memory;
//! * `imported` the document v1 of `numabench import`: another program's figures;
//! * `doctor` the document v1 of `numabench doctor`: a node's settings; `witness` that of `numabench
//!   witness`: a program's copies;
//! * `conditions` what a GPU was under while it was measured;
//! * `schema` their JSON Schemas, committed and compared; `versioned` the name and version of one, and both
//!   before another crate's content;
//! * `read` a document from bytes, refusing what is not one; `json` a document to bytes;
//! * `sink` a file that always holds a whole document.
//!
//! Nothing here measures, looks at the machine, draws conclusions or speaks to people.

pub mod awareness;
pub mod block;
pub mod case;
pub mod conditions;
pub mod contention;
pub mod device;
pub mod doctor;
pub mod document;
pub mod environment;
pub mod figures;
pub mod imported;
pub mod json;
pub mod kernels;
pub mod laplace;
pub mod launch;
pub mod loaded_latency;
pub mod matrix;
pub mod measured_groups;
pub mod message;
pub mod mpi;
pub mod node;
pub mod other_end;
pub mod outlier_node;
pub mod pair_sample;
pub mod pieces;
pub mod place;
pub mod quantity;
pub mod rank;
pub mod read;
pub mod result;
pub mod row;
pub mod rows;
pub mod schema;
pub mod settings;
pub mod sink;
pub mod size_loss;
pub mod slower_twin;
pub mod sweep_fit;
pub mod timestamp;
pub mod trial;
pub mod versioned;
pub mod witness;

mod finite;
mod header;
mod known;
pub mod round_count;

pub use doctor::DoctorDocument;
pub use document::Document;
pub use figures::Figures;
pub use finite::NonFinite;
pub use header::schema_of;
pub use imported::ImportedDocument;
pub use known::Known;
pub use mpi::MpiDocument;
pub use place::PlaceDocument;
pub use read::SavedDocument;
pub use trial::TrialDocument;
pub use witness::WitnessDocument;

/// Shown in the place of every value that a newer numabench wrote.
pub const NEWER: &str = "(known to a newer numabench)";
