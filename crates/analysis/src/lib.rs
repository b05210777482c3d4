//! What documents say: statistics and findings of documents that are there, as values and sentences. Pure
//! functions, no file, no clock, nothing drawn.
//!
//! * `matrix_analysis` the figures of a matrix and what they say; `groups` which GPUs and cores belong
//!   together by them; `latency_curves` latency against traffic; `measured_links` what was measured on each
//!   link of a node; `contention_curves` rates against how many are at once; `kernels` what a far place costs
//!   work that computes; `sweep_fits` time against size; `mpi_matrix` messages by where their ranks run,
//!   `mpi_adapters` which network adapters carried them, `mpi_threads` those beside copies, `mpi_figure` a
//!   figure of one, `mpi_answer` what all of it comes to, in the sentences read first;
//! * `pair_sample` what a run says whose pairs are a sample of all;
//! * `conclusion` what a finished document says, whichever kind of result it is, by all of these;
//! * `answer` what a ping-pong found, in the sentences read first; `device_memory` those on GPUs that share
//!   memory with their CPU, `throttling` those on what GPUs were under; `placement` whether ranks were seen
//!   where they were asked to be; `slower_twins` GPUs slower than those like them, `slower_memory` those
//!   whose own memory is; `difference` what a node has otherwise than most;
//! * `answer_status` whether a document's answer is good, a finding, or none yet; `family` cases of one
//!   document that are compared with each other: every verdict over them asks it;
//! * `figure` what a document says of one case in one place; `run` all of a document's figures, and
//!   `conditions` what it ran under;
//! * `compare` two sides of runs, by place or `by_gpu`, in `turns` or not: `judge` decides each case,
//!   `comparison` is the document that comes of it, `comparison_notes` what a reader should know of it;
//! * `baseline` what is normal for a class of hardware, `gate` whether a node is well by it, and
//!   `lost_figure` a copy that has none; `history` step changes over many documents, `ended_series` what is
//!   no longer there;
//! * `reference` figures that others published, `reference_fits` which of them fit, `imported_fits` which of
//!   them fit what another program printed, `model_answer` whether figures are normal;
//! * `node_run` what a document says of its nodes, `nodes` several nodes side by side, and which are unlike
//!   the others, `systems` machines of unlike models, `node_settings` which are set up unlike most,
//!   `node_changes` which changed so; `column` what a case is called there;
//! * `trial`, `mpi`, `imported`, `witness` and `checked` documents of these kinds as runs to compare;
//!   `incomplete` how the run of a document ended that is not complete; `witness_launch` the documents of a
//!   launch's ranks as one run of a program, `witness_answer` what is said of its copies;
//! * `any_document` a document of any kind that holds figures, `read_document` that or another which a
//!   command reads; `import` the outputs of other programs as documents;
//! * `headline` whether a figure is known well enough to be an answer; `words` how sentences say the values
//!   of enumerations; `schema` the JSON Schemas of the documents made here.
//!
//! Reading files is the caller's, drawing is `render`'s.

pub mod answer;
pub mod answer_status;
pub mod any_document;
pub mod baseline;
pub mod by_gpu;
pub mod cached;
pub mod checked;
pub mod column;
pub mod compare;
pub mod comparison;
pub mod comparison_finding;
mod comparison_notes;
pub mod conclusion;
pub mod conditions;
pub mod contention_curves;
pub mod difference;
pub mod ended_series;
pub mod family;
pub mod few_blocks;
pub mod figure;
pub mod gate;
pub mod groups;
pub mod headline;
pub mod history;
pub mod import;
pub mod imported;
pub mod imported_fits;
pub mod incomplete;
pub mod judge;
pub mod kernels;
pub mod laplace;
pub mod latency_curves;
pub mod lost_figure;
pub mod matrix_analysis;
pub mod measured_links;
pub mod model_answer;
pub mod moving;
pub mod mpi;
pub mod mpi_adapters;
pub mod mpi_answer;
pub mod mpi_figure;
pub mod mpi_matrix;
pub mod mpi_rails;
pub mod mpi_threads;
pub mod node_changes;
pub mod node_run;
pub mod node_settings;
pub mod nodes;
pub mod pair_sample;
pub mod passes;
pub mod pieces;
pub mod placement;
pub mod read_document;
pub mod reference;
pub mod reference_answer;
pub mod reference_fits;
pub mod run;
pub mod schema;
pub mod slower_memory;
pub mod slower_twins;
pub mod sweep_fits;
pub mod systems;
pub mod throttling;
pub mod trial;
mod turns;
pub mod unfinished;
pub mod witness;
pub mod witness_answer;
pub mod witness_launch;
pub mod words;

mod device_memory;
mod held_figure;
