//! Who the devices are: in order, unique, opened by identity and by nothing else.

use std::collections::HashSet;

use stats::PciAddress;

use super::{Check, Halt, Subject, expect, names};
use crate::{DeviceError, DeviceId, Platform};

type PlatformCheck = (&'static str, fn(&dyn Platform) -> Result<(), Halt>);

pub(super) const PLATFORM_CHECKS: &[PlatformCheck] = &[
    (names::HAS_DEVICE, has_device),
    (names::DEVICES_IN_ORDER, ordered),
    (names::DEVICES_UNIQUE, unique),
    (names::UNKNOWN_DEVICE, unknown),
];

pub(super) const DEVICE_CHECKS: &[Check] =
    &[(names::SAME_FACTS, same_facts), (names::FREE_MEMORY, memory), (names::REOPENED, reopened)];

fn has_device(platform: &dyn Platform) -> Result<(), Halt> {
    expect(!platform.devices().is_empty(), || "the platform lists no device".to_owned())
}

fn ordered(platform: &dyn Platform) -> Result<(), Halt> {
    let ids: Vec<DeviceId> = platform.devices().iter().map(|facts| facts.id).collect();
    expect(ids.is_sorted(), || format!("the order is {ids:?}"))
}

fn unique(platform: &dyn Platform) -> Result<(), Halt> {
    // Instances of one partitioned GPU share its address and differ in their UUID.
    let mut seen = HashSet::new();
    let twice = platform.devices().iter().find(|facts| !seen.insert((facts.id, facts.uuid.clone())));
    expect(twice.is_none(), || format!("{twice:?} is there twice"))
}

fn unknown(platform: &dyn Platform) -> Result<(), Halt> {
    let nowhere = PciAddress { domain: 0xffff, bus: 0xff, device: 31, function: 7 };
    for id in [DeviceId::Pci(nowhere), DeviceId::Node(u32::MAX)] {
        match platform.open(id) {
            Err(DeviceError::UnknownDevice { .. }) => {}
            Err(other) => return Err(Halt::Failed(format!("{id} is refused, but not as unknown: {other}"))),
            Ok(_) => return Err(Halt::Failed(format!("{id} opened"))),
        }
    }
    Ok(())
}

fn same_facts(subject: &Subject) -> Result<(), Halt> {
    let facts = subject.device.facts();
    expect(subject.platform.devices().contains(facts), || format!("the platform does not list {facts:?}"))
}

fn memory(subject: &Subject) -> Result<(), Halt> {
    let memory = subject.device.memory()?;
    expect(memory.total_bytes > 0 && memory.free_bytes <= memory.total_bytes, || format!("{memory:?}"))
}

/// The same one stands for another: not every machine has two, and what is closed is the thread's latest in
/// both cases.
fn reopened(subject: &Subject) -> Result<(), Halt> {
    let again = subject.platform.open(subject.device.facts().id)?;
    again.memory()?;
    subject.device.memory()?;
    drop(again);
    subject.device.memory()?;
    Ok(())
}
