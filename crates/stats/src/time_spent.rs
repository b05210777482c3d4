//! Where a rank's time went: every stage of its life, in nanoseconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a rank's time went, by the node's clock. What is missing from the run's whole time is the rank's
/// waiting for other ranks, and what was done before and after the ranks lived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSpent {
    /// Binding, and opening the device.
    pub init_ns: u64,
    /// Allocating, placing and touching memory, and freeing it.
    pub allocate_ns: u64,
    /// Pinning memory.
    pub pin_ns: u64,
    /// Looking where thread and pages are.
    pub prove_ns: u64,
    /// Rounds that do not count.
    pub warm_up_ns: u64,
    /// Filling the memory that blocks will copy.
    pub lay_out_ns: u64,
    /// The timed regions.
    pub measure_ns: u64,
    /// Verifying.
    pub verify_ns: u64,
}

impl TimeSpent {
    /// Adds another's times.
    pub fn add(&mut self, other: &Self) {
        self.init_ns += other.init_ns;
        self.allocate_ns += other.allocate_ns;
        self.pin_ns += other.pin_ns;
        self.prove_ns += other.prove_ns;
        self.warm_up_ns += other.warm_up_ns;
        self.lay_out_ns += other.lay_out_ns;
        self.measure_ns += other.measure_ns;
        self.verify_ns += other.verify_ns;
    }
}
