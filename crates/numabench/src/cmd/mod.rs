//! One file a command: each reads as the list of steps it takes.

pub mod baseline;
pub mod check;
pub mod compare;
pub mod exec;
pub mod export;
pub mod history;
pub mod pingpong;
pub mod place;
pub mod report;
pub mod schema;
pub mod topo;
