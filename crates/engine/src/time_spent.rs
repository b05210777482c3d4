//! Where a rank's time went: every stage of its life, in nanoseconds on the node's clock.

use serde::{Deserialize, Serialize};

use crate::clock;

/// The time of one rank, by what it was spent on. What is missing from the whole is waiting for other ranks and for the lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSpent {
    /// Binding, opening the device.
    pub init_ns: u64,
    /// Allocating, placing and touching memory, and freeing it.
    pub allocate_ns: u64,
    /// Pinning and unpinning it.
    pub pin_ns: u64,
    /// Looking where thread and pages are.
    pub prove_ns: u64,
    /// Warming up.
    pub warm_up_ns: u64,
    /// Laying out what a block will move.
    pub lay_out_ns: u64,
    /// The timed regions.
    pub measure_ns: u64,
    /// Verifying.
    pub verify_ns: u64,
}

impl TimeSpent {
    /// Does something and adds its time to one of the fields.
    pub fn on<T>(&mut self, field: fn(&mut Self) -> &mut u64, act: impl FnOnce() -> T) -> T {
        let began = clock::now_ns();
        let result = act();
        *field(self) += clock::now_ns() - began;
        result
    }

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
