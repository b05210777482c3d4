//! What the host and a latch meet in. `tests/models` compiles `tickets` with another `sync`, which tries
//! their steps in many orders.

pub(crate) use std::sync::atomic;
