//! What a run gave, as a document, and every form it is shown in. The only crate that knows serde_json.
//!
//! * `document` and the modules it names (`settings`, `launch`, `environment`, `node`, `device`, `rank`, `case`, `result`,
//!   `contention`, `outlier_node`) are the result schema v1; `rows` makes its figures' flat table (`row` in documents); `known` is a value or the reason there is none;
//! * `block` less than the whole of a block, for readers of large documents;
//! * `place` is the placement document v1, which `numabench place` writes and reads back;
//! * `matrix` which rank stands in which row and column, `matrix_figures` the figures there and what they say; `groups` which GPUs and cores belong together by them
//!   (`measured_groups` in documents); `latency_curves` latency against traffic (`loaded_latency`); `sweep_fits` time against size (`sweep_fit`);
//! * `trial` the trial document v1, which `numabench trial` writes and takes up again;
//! * `mpi` the document v1 of `numabench mpi`, `mpi_matrix` its figures by where the ranks run, `mpi_threads` those beside copies;
//! * `imported` the document v1 of `numabench import`: another program's figures;
//! * `answer` what a ping-pong found, in the sentences read first; `device_memory` those on GPUs that share memory with their CPU;
//! * `conditions` what a GPU was under while it was measured, `held_back` the sentences on it;
//! * `slower_twins` GPUs that are slower than those of their node that are like them (`slower_twin` in documents);
//! * `difference` what a node has otherwise than most;
//! * `schema` their JSON Schemas, committed and compared; `versioned` the name and version of one before another crate's content;
//! * `read` a document from bytes, refusing what is not one;
//! * `render` documents to bytes: pure functions;
//! * `sink` a file that always holds a whole document.
//!
//! Nothing here measures, looks at the machine or prints.

pub mod answer;
pub mod block;
pub mod case;
pub mod conditions;
pub mod contention;
pub mod device;
pub mod difference;
pub mod document;
pub mod environment;
pub mod groups;
pub mod held_back;
pub mod imported;
pub mod latency_curves;
pub mod launch;
pub mod loaded_latency;
pub mod matrix;
pub mod matrix_figures;
pub mod measured_groups;
pub mod mpi;
pub mod mpi_matrix;
pub mod mpi_threads;
pub mod node;
pub mod outlier_node;
pub mod place;
pub mod rank;
pub mod read;
pub mod render;
pub mod result;
pub mod row;
pub mod rows;
pub mod schema;
pub mod settings;
pub mod sink;
pub mod slower_twin;
pub mod slower_twins;
pub mod sweep_fit;
pub mod sweep_fits;
pub mod timestamp;
pub mod trial;
pub mod versioned;
pub mod wire;

mod device_memory;
mod finite;
mod header;
mod known;

pub use document::Document;
pub use finite::NonFinite;
pub use header::schema_of;
pub use imported::ImportedDocument;
pub use known::Known;
pub use mpi::MpiDocument;
pub use place::PlaceDocument;
pub use trial::TrialDocument;
