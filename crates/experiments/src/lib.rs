//! The measurements of numabench as a library: options without a command line, a plan that can be printed, a
//! run, a document.
//!
//! ```text
//! options ─► Measurement ─► Outline (no driver is touched)
//!                       └─► Experiment (engine cases, and where each figure stands) ─► run ─► Document
//! ```
//!
//! * `options` what is asked for; `driver` the steps that every measurement takes; `experiment` what all of
//!   them are made of: a suite of the engine and, for each of its figures, the case and the place in the
//!   document; `outline` the plan of one;
//! * `matrix`, `latency`, `peer`, `sweep`, `contend`, `pieces`, `moving`, `suite`, `groups` the kinds of
//!   measurement, made of
//!   * `gpu_matrix`, `gpu_loads`, `core_pairs`, `peer_plan`, `memory_matrix`: rows, devices, sizes and who is
//!     at it at once; `memory_range` how long ranges must be;
//!   * `columns` what a matrix's columns are called;
//!   * `gpu_places` rows or cores with the GPUs that each measures, `row_threads` rows of threads with the
//!     memory of nodes; `matrix_parts` their rows and columns;
//!   * `reach` which GPUs reach each other's memory, `peer_copies` which copies `peer` makes of how many
//!     GPUs, `peer_tables` how they stand in rows and columns; `pair_sample` a sample of pairs;
//!   * `gpu_groups` what GPUs lose together, in two experiments, whose documents `appended` makes one;
//!     `declared_groups` what the topology declares that is like measured groups;
//!   * `beside` copies and CPU traffic at once, `loaded` loads and CPU traffic at once (in the steps of
//!     `traffic_step`), `merged` several as one;
//! * `computing` kernels that compute, by GPUs (`gpu_kernels`) or by the cores of nodes (`thread_kernels`);
//! * `bandwidth_check` whether GPUs copy as those of their kind do, by short runs of processes of their own;
//! * `fastest_placement` which placement of ranks is the fastest, by `place`'s turns;
//! * `fleet` a measurement on each node of a launch, and all nodes beside each other (`fleet_record` what
//!   each leaves for the first);
//! * `for_one_platform` options that say something of GPUs only, or only of cores;
//! * `ping_pong` copies under a chosen placement, `launched` the same by a launch's processes; `supervised`
//!   ranks that may be lost, whose measurements other crates make;
//! * `document` fills the schema, `journal` keeps it between passes, `observer` is told how far a run is,
//!   `time_left` how long it will go on;
//! * `run_facts` what is known before a run, `run_context` what it is given; `documents`
//!   what others wrote, from files and folders;
//! * `backends` which platform drives the devices; `config` where defaults are filled in, `settings` what was
//!   asked in the words of documents; `budget` whether the memory is there;
//! * `signals`, `watchdog` what ends a run early; `exit` and `fault` how it ended, `refusal` what other
//!   crates refuse, `ending` how the process ends, `unread_output` what a launcher has to read before;
//! * `scratch` a folder for what only this process reads.

pub mod appended;
pub mod backends;
pub mod bandwidth_check;
pub mod began;
mod beside;
mod budget;
mod columns;
pub mod compared_documents;
mod computing;
pub mod config;
mod contend;
mod core_pairs;
mod declared_groups;
pub mod document;
pub mod documents;
pub mod driver;
pub mod ending;
pub mod exit;
pub mod experiment;
pub mod fastest_placement;
pub mod fault;
mod finding;
pub mod fleet;
mod fleet_record;
pub mod for_one_platform;
mod gpu_groups;
mod gpu_kernels;
mod gpu_loads;
mod gpu_matrix;
mod gpu_places;
pub mod groups;
pub mod journal;
mod kernel_facts;
mod latency;
pub mod launched;
mod loaded;
mod matrix;
mod matrix_parts;
mod memory_matrix;
mod memory_range;
mod merged;
mod moving;
pub mod observer;
pub mod options;
pub mod outline;
pub mod pair_sample;
mod peer;
mod peer_copies;
mod peer_plan;
mod peer_tables;
mod pieces;
mod ping_pong;
mod reach;
mod refusal;
mod row_threads;
mod run_context;
mod run_facts;
pub mod scratch;
pub mod settings;
pub mod signals;
mod suite;
pub mod supervised;
mod sweep;
mod sync;
mod thread_kernels;
pub mod time_left;
mod traffic_step;
mod unread_output;
pub mod watchdog;

pub use exit::Exit;
pub use fault::Fault;
pub use ping_pong::read;
