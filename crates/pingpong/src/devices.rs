//! The devices of one rank: each opened when it is first asked for, on the rank's own thread, and once.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use device::{Device, DeviceId, Platform};
use engine::{Failure, Latch, Stage};
use placement::TargetId;

use crate::fault::failure;

/// Opened devices.
pub(crate) struct Devices {
    platform: Arc<dyn Platform>,
    open: BTreeMap<TargetId, Box<dyn Device>>,
}

impl Devices {
    /// None is open yet.
    pub(crate) fn new(platform: &Arc<dyn Platform>) -> Self {
        Self { platform: Arc::clone(platform), open: BTreeMap::new() }
    }

    /// A device, opened when it is first asked for.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(&mut self, target: TargetId) -> Result<&dyn Device, Failure> {
        Ok(match self.open.entry(target) {
            Entry::Occupied(open) => &**open.into_mut(),
            Entry::Vacant(closed) => {
                let id = match target {
                    TargetId::Gpu(pci) => DeviceId::Pci(pci),
                    TargetId::Node(node) => DeviceId::Node(node),
                };
                let device = self.platform.open(id).map_err(|error| failure(Stage::Open, &error))?;
                &**closed.insert(device)
            }
        })
    }

    /// A device that is open.
    pub(crate) fn get(&self, target: TargetId) -> Option<&dyn Device> {
        self.open.get(&target).map(|device| &**device)
    }

    /// The latch of a device that is open.
    pub(crate) fn latch(&self, target: TargetId) -> Option<Latch> {
        let latch = &self.get(target)?.capabilities().latch;
        let reason = match latch {
            device::Latch::None { reason } => Some(reason.clone()),
            device::Latch::StreamWait | device::Latch::SpinKernel => None,
        };
        Some(Latch { name: latch.name().to_owned(), reason })
    }
}
