//! What a terminal shows of a comparison, a history and a baseline: text for a terminal, and Markdown for a merge request. JSON is the document itself.

mod baseline;
mod figures;
mod gate;
mod history;
mod markdown;
mod table;

pub use baseline::baseline;
pub(crate) use figures::verdict;
pub use gate::gate;
pub use history::history;
pub use markdown::markdown;
pub use table::table;
