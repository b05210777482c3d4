//! A NUMA node's memory as the device: real copies between two places in host memory, so that every machine
//! can measure copies and see what a remote node costs. No GPU takes part, and every output must say so.
//!
//! [`platform`] takes the nodes (the caller knows the topology; this crate does not read it). The device's
//! side of a copier is memory bound strictly to the node and proven to lie there (`node_memory`); copies are
//! plain memory copies by the calling thread (`copier`). So there is nothing to pin, to queue or to hold: the
//! capabilities say that.

#![forbid(unsafe_code)]

mod copier;
mod free;
mod node_memory;
mod platform;

pub use platform::{HostPlatform, NodeFacts, platform};
