//! What the members of a group meet in. `tests/models` compiles the files that use it with another `sync`, which tries their steps in many orders.

pub(crate) use std::sync::{Arc, Condvar, Mutex, PoisonError, atomic};
