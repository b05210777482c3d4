//! Where a node's ranks go: planned, read back, or measured in turns until it is decided, and the document
//! that says it.
//!
//! ```text
//! PlaceRequest ─► candidates ─► PlaceMeasurement ─► turns ─► decide ─┐
//!             └─► one PlaceCandidate ────────────────────────────────┴─► Candidates ─► document
//! ```
//!
//! * `request` what is to be placed;
//! * `candidate` one way to place it, `candidates` those that are worth measuring, `own_map` the user's own;
//! * `decide` what turns have given, whether another is of use, and which way to take: pure, and tried on
//!   given turns;
//! * `how` the size, memory, seed and time of the turns, `turns` runs them on the engine, `measured` from a
//!   plan to what was found;
//! * `saved` an earlier finding read back, and held against this machine;
//! * `situation` what is known of the launcher;
//! * `document` what is kept and shown, `pasted` the places in one launcher's words.
//!
//! Only `turns` acts. Places themselves are `placement::recommend`'s. Left out: arguments, which platform
//! drives the devices, the terminal, signals, exit codes.

mod candidate;
mod candidates;
mod decide;
pub mod document;
mod error;
mod how;
mod measured;
mod own_map;
mod pasted;
mod request;
mod saved;
pub mod situation;
mod turns;

pub use candidate::PlaceCandidate;
pub use candidates::{Candidates, planned};
pub use decide::{PlaceDecision, TURNS_AT_MOST};
pub use error::PlaceError;
pub use how::{How, membind_asked};
pub use measured::PlaceMeasurement;
pub use own_map::{OwnMap, OwnMapError};
pub use pasted::{knows_nics, pasted};
pub use request::PlaceRequest;
pub use saved::{Saved, SavedError};
