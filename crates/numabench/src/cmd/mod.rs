//! One file a command: each reads as the list of steps it takes.

pub mod check;
pub mod pingpong;
pub mod topo;
