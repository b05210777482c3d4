//! The devices of one rank: each opened when it is first asked for, on the rank's own thread, and once. A GPU
//! is watched from then on.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::thread;

use device::{Device, DeviceId, Platform, PlatformKind};
use engine::{Failure, Latch, Stage, Timing};
use placement::TargetId;
use stats::PciAddress;
use topo::gpu_class;
use topo::gpu_condition::{GpuConditions, GpuWatch};

use crate::fault::failure;

/// Opened devices.
pub struct Devices {
    platform: Arc<dyn Platform>,
    open: BTreeMap<TargetId, Box<dyn Device>>,
    watched: Vec<GpuWatch>,
    /// The device that was opened first.
    first: Option<TargetId>,
}

impl Devices {
    /// None is open yet but the `first`, where there is one: that of a rank's first case.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn new(platform: &Arc<dyn Platform>, first: Option<TargetId>) -> Result<Self, Failure> {
        let mut devices =
            Self { platform: Arc::clone(platform), open: BTreeMap::new(), watched: Vec::new(), first };
        first.map(|target| devices.open(target).map(|_| ())).transpose()?;
        Ok(devices)
    }

    /// A device, opened when it is first asked for.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&mut self, target: TargetId) -> Result<&dyn Device, Failure> {
        Ok(match self.open.entry(target) {
            Entry::Occupied(open) => &**open.into_mut(),
            Entry::Vacant(closed) => {
                let platform = &self.platform;
                let device = match target {
                    TargetId::Node(node) => platform.open(DeviceId::Node(node)),
                    TargetId::Gpu(pci) => {
                        // Opening an H200 takes 330 ms, and the library that it is watched by 14.
                        let (device, watch) = thread::scope(|scope| {
                            let watch = || watch(pci, platform.facts().kind);
                            let beside = thread::Builder::new().spawn_scoped(scope, watch);
                            let device = platform.open(DeviceId::Pci(pci));
                            // Where there can be no thread more (a limit of processes), it is opened after
                            // the device.
                            (device, beside.map_or_else(|_| Ok(watch()), thread::ScopedJoinHandle::join))
                        });
                        self.watched.extend(watch);
                        device
                    }
                };
                &**closed.insert(device.map_err(|error| failure(Stage::Open, &error))?)
            }
        })
    }

    /// Reads the links of those of these devices that are GPUs: they were used right before.
    pub fn read_links(&mut self, used: &[TargetId]) {
        let is_used = |watch: &&mut GpuWatch| used.contains(&TargetId::Gpu(watch.pci()));
        self.watched.iter_mut().filter(is_used).for_each(GpuWatch::read_link);
    }

    /// What was seen of the GPUs that are open; their counters are read again.
    pub fn conditions(&mut self) -> Vec<GpuConditions> {
        self.watched.iter_mut().for_each(GpuWatch::read);
        self.watched.iter().map(|watch| watch.seen().clone()).collect()
    }

    /// A device that is open.
    pub fn get(&self, target: TargetId) -> Option<&dyn Device> {
        self.open.get(&target).map(|device| &**device)
    }

    /// The latch of a device that is open; of the first one where none is named.
    pub fn latch(&self, target: Option<TargetId>) -> Option<Latch> {
        Some(self.get(target.or(self.first)?)?.capabilities().latch.clone())
    }

    /// The clock of what a device does that is open: its own, where it can hold a queue back.
    pub fn timing(&self, target: TargetId) -> Timing {
        match self.latch(Some(target)) {
            Some(Latch::StreamWait | Latch::SpinKernel) => Timing::Device,
            _ => Timing::Host,
        }
    }
}

fn watch(pci: PciAddress, kind: PlatformKind) -> GpuWatch {
    GpuWatch::open(pci, if kind == PlatformKind::Cuda { gpu_class::NVIDIA } else { gpu_class::AMD })
}
