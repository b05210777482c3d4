//! What is promised of whole documents: as they are written and read, what is found in them, and what a
//! terminal shows.
//!
//! * `samples` documents as runs would give them; `golden` several texts as one snapshot;
//! * `answers` the first lines where not every rank has a figure;
//! * `beside` what is said of copies beside traffic and of GPUs at once;
//! * `brief` what a terminal shows on a screen;
//! * `documents` they follow the committed schema, and read back as they were written;
//! * `error_rates` how often a matrix claims what is not there, and finds what is;
//! * `groups` what measured groups say and show;
//! * `held_back` what is said of GPUs that were not left to do what they can;
//! * `kernels` what kernels that compute say and show;
//! * `loaded` what curves of loaded latency say and show;
//! * `matrices` what a matrix says and shows, `mpi_matrix` one of messages;
//! * `peers` what is said and shown of copies between GPUs;
//! * `noisy` no sentence has a figure that is not known;
//! * `nodes` what is worked out of them;
//! * `twins` GPUs slower than those like them;
//! * `size` rank 0 has room for the largest;
//! * `tables`, `many` what a terminal shows of them.
//!
//! Sentences stand in `snapshots/`, a file a subject (after a change: `INSTA_UPDATE=always`, and look at the
//! diff).

mod answers;
mod beside;
mod brief;
mod coherent;
mod documents;
mod error_rates;
mod golden;
mod groups;
mod held_back;
mod kernels;
mod loaded;
mod many;
mod matrices;
mod mpi_matrix;
mod nodes;
mod noisy;
mod peers;
mod samples;
mod size;
mod tables;
mod twins;
