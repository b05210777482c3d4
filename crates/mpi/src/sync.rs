//! What a rank and its second thread meet in. `tests/models` compiles `gpu_thread` with another `sync`, which
//! tries their steps in many orders.

pub(crate) use std::sync::{Arc, atomic, mpsc};
pub(crate) use std::thread;
