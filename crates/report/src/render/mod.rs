//! Renderers: pure functions from a document to bytes. What is shown is in the document; nothing is looked up.
//!
//! * `json` the document itself, or any other value, broken into `lines`;
//! * `table` what a terminal shows: `title`, `settings`, `devices`, one `rank` (or its `sweep`) after the other,
//!   `remarks` on them, `together`, `closing`, each a section of the `page`.

mod closing;
mod devices;
mod grid;
mod groups;
mod json;
mod lines;
mod numbers;
mod page;
mod placement;
mod rank;
mod remarks;
mod settings;
mod shown;
mod sweep;
mod table;
mod title;
mod together;
mod words;

pub use json::{JsonError, json, json_value, write_json};
pub use table::{Style, table};
