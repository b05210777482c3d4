//! The MPI plug-in: the C interface that it is built against (`abi`), and its library as numabench opens
//! (`opened`) and calls it (`calls`); and what both sides do alike, so that the plug-in is built of little
//! else: which machine a process is on (`machine`), and how long it naps between two looks for messages.
//!
//! Here alone numabench speaks to an MPI: what `ranks` makes of it, and the plug-in itself, know the
//! interface. Whether a file may be opened as code is `ranks`' to say, and said before.

pub mod abi;
mod calls;
pub mod machine;
mod naps;
mod opened;

pub use abi::{PairOperation, RawPlace};
pub use calls::{Calls, Exchange, WorldError};
pub use naps::Naps;
pub use opened::{NotOpened, Opened, keep_open};
