//! What a terminal shows of a comparison, a history, a baseline and several nodes: text for a terminal, and
//! Markdown for a merge request. JSON is the document itself.

mod baseline;
mod escaped;
mod figures;
mod gate;
mod history;
mod markdown;
mod node_changes;
mod node_names;
mod node_settings;
mod nodes;
mod reference_lines;
mod systems;
mod table;

pub use baseline::baseline;
pub(crate) use figures::verdict;
pub use gate::{gate, reason};
pub use history::history;
pub(crate) use history::last_run;
pub use markdown::markdown;
pub use nodes::nodes;
pub(crate) use nodes::{answer as nodes_answer, explained as nodes_explained};
pub use systems::systems;
pub use table::table;
