//! What a watchdog and whoever it watches meet in. `tests/models` compiles `watchdog` with another `sync`,
//! which tries their steps in many orders.

pub(crate) use std::sync::{Arc, Mutex, PoisonError, mpsc};
pub(crate) use std::thread;
