//! What a terminal shows of documents.
//!
//! * `page` and `grid`, the lines and aligned rows that they are made of, also for other documents;
//! * `place` what a terminal shows of a placement document, `trial` of a trial document, `mpi` of one about
//!   MPI, `doctor` of a node's settings, `witness` of a program's copies;
//! * `screen` what a screen holds of these; `brief` what it holds of a measurement, with the `curve` of a
//!   sweep; `table` all that there is: `title`, `settings`, `devices`, the only `rank` (or its `sweep`), or
//!   the `places` of several and their figures, a row a rank (`ranks`), `remarks` on them, `nodes`,
//!   `together`, `contention`, `closing`, each a section of the `page`; a `matrix` (figures as `plane` shows
//!   them, of many cores in `bands`, a curve of `loaded` latency; `kernels` that compute), or the
//!   `line_fit_table` of a sweep and the losses of its rows (`row_sweep`), where the document has one. Of
//!   many ranks and nodes `rank_selection` says which are shown; `row_folding` shows nodes that are alike
//!   once.

mod bands;
mod brief;
mod closing;
mod contention;
mod curve;
mod devices;
mod doctor;
mod figures;
pub mod grid;
mod groups;
mod hosts;
mod kernels;
mod laplace;
mod line_fit_table;
mod loaded;
mod matrix;
mod missing;
mod moving;
mod mpi;
mod mpi_matrix;
mod mpi_threads;
mod nodes;
mod numbers;
pub mod page;
mod pieces;
mod place;
mod place_answer;
mod placement;
mod places;
mod plane;
mod rank;
mod rank_selection;
mod ranks;
mod rates;
mod reference;
mod remarks;
mod row_folding;
mod row_sweep;
mod screen;
mod settings;
mod status;
mod sweep;
mod table;
mod title;
mod together;
mod trial;
mod visible_cells;
mod witness;
mod words;

pub use brief::brief;

pub use self::doctor::doctor;
pub use self::mpi::mpi;
pub use place::place;
pub(crate) use place_answer::answer as place_answer;
pub(crate) use plane::caption as plane_caption;
pub use reference::references;
pub use screen::answer_again;
pub use table::{SCREEN, Style, table, table_beside};
pub use trial::trial;
pub(crate) use trial::word as trial_verdict;
pub use witness::witness;
pub(crate) use words::{locality, locality_short};
