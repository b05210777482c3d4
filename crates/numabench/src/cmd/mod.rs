//! One file a command: each reads as the list of steps it takes.

pub mod check;
pub mod exec;
pub mod pingpong;
pub mod place;
pub mod topo;
