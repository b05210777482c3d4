//! One host range of a rank: placed on its node and pinned as asked.

use device::{Device, HostMemory, MemoryKind};
use engine::{Bound, Failure, MemoryNodes, PlacedMemory, PlacingRules, TimeSpent, clock, with_memory_policy};

use crate::fault::allocating;

/// What is to be allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// The kind of host memory.
    pub kind: MemoryKind,
    /// Bytes.
    pub len: usize,
    /// The nodes it is to lie on.
    pub nodes: MemoryNodes,
}

/// Allocates, places and pins one range.
///
/// # Errors
/// The kernel or the device refused a step.
pub fn allocate(
    bound: &Bound,
    device: &dyn Device,
    want: &Want,
    rules: &PlacingRules,
    spent: &mut TimeSpent,
) -> Result<Box<dyn HostMemory>, Failure> {
    if want.kind == MemoryKind::PinnedDriver {
        return clock::timed(&mut spent.pin_ns, || {
            with_memory_policy(bound, &want.nodes, rules.one_node, || {
                let mut memory = device.allocate_pinned(want.len).map_err(allocating)?;
                memory.bytes_mut().fill(0);
                Ok(memory)
            })
        });
    }
    let placed = clock::timed(&mut spent.allocate_ns, || {
        PlacedMemory::new(bound, want.len, want.nodes.clone(), rules)
    })?;
    clock::timed(&mut spent.pin_ns, || {
        device.adopt(want.kind, Box::new(placed.into_mapping())).map_err(allocating)
    })
}
