//! An opened GPU: its context, what it can do, the memory and copiers it makes.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use device::{
    Answerer, Buffer, Capabilities, Chaser, Computer, Copier, Device, DeviceError, DeviceFacts, HostMemory,
    HostPair, KernelModule, Latch, MemoryInfo, MemoryKind, PeerCopier, PeerEnd,
};

use crate::answerer::GpuAnswerer;
use crate::buffer::GpuBuffer;
use crate::chaser::GpuChaser;
use crate::computer::GpuComputer;
use crate::context::Context;
use crate::copier::{GpuCopier, Tools};
use crate::driver::Driver;
use crate::host_memory::{Allocated, Reached, Registered};
use crate::idle_queues::IdleQueues;
use crate::kept_areas::KeptAreas;
use crate::latch::{LatchChoice, Mechanism};
use crate::modules::{Kernels, Programs};
use crate::pattern_kernels::PatternKernels;
use crate::peer::{GpuPeerCopier, PeerDevice};

/// A GPU, opened by one thread.
pub(crate) struct GpuDevice<D: Driver> {
    facts: DeviceFacts,
    capabilities: Capabilities,
    kept: KeptAreas<D>,
    tools: Tools<D>,
    context: Arc<Context<D>>,
}

impl<D: Driver> GpuDevice<D> {
    /// Retains the device's context, makes it the calling thread's, and tries the latch and the kernels for
    /// patterns.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn open(
        driver: Arc<D>,
        facts: DeviceFacts,
        handle: D::Device,
        choice: LatchChoice,
    ) -> Result<Self, DeviceError> {
        let context = Context::retain(driver, handle, format!("GPU {}", facts.id))?;
        let latch = Mechanism::choose(&context, choice);
        let loaded = Kernels::load(&context).map(Rc::new);
        let patterns =
            loaded.clone().and_then(|kernels| PatternKernels::new(&context, &kernels)).map(Rc::new);

        // A device that ran two of them wrong is not trusted with the others.
        let kernels = patterns.as_ref().map_err(String::clone).and(loaded);
        let (queues, programs) = (Rc::new(IdleQueues::new(&context)), Rc::new(Programs::new(&context)));
        let tools = Tools { latch, kernels, patterns, queues, programs };
        let latch = match &tools.latch {
            Ok(Mechanism::StreamWait) => Latch::StreamWait,
            Ok(Mechanism::SpinKernel(_)) => Latch::SpinKernel,
            Err(reason) => Latch::None { reason: reason.clone() },
        };
        let driver = context.enter().map_err(|error| error.to_string());
        let memory = MemoryKind::ALL.map(|kind| {
            let moves = |driver: &D| if kind.moves() { driver.can_move(handle, kind) } else { Ok(()) };
            (kind, driver.as_ref().map_err(String::clone).and_then(|driver| moves(driver)))
        });
        let capabilities = Capabilities {
            latch,
            patterns: tools.patterns.as_ref().map(drop).map_err(String::clone),
            loads: tools.kernels.as_ref().map(drop).map_err(String::clone),
            bidirectional: Ok(()),
            memory,
        };
        Ok(Self { facts, capabilities, kept: KeptAreas::new(), tools, context })
    }

    /// This device as one of the two that copies go between.
    fn end(&self) -> PeerDevice<'_, D> {
        PeerDevice { context: &self.context, tools: &self.tools, kept: &self.kept }
    }

    /// Another device of this driver.
    fn of_one_driver<'a>(&self, what: &'static str, other: &'a dyn Device) -> Result<&'a Self, DeviceError> {
        (other as &dyn Any).downcast_ref().ok_or_else(|| DeviceError::Unsupported {
            what,
            reason: format!("{} and {} are not of one driver", self.facts.id, other.facts().id),
        })
    }
}

impl<D: Driver> Device for GpuDevice<D> {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn memory(&self) -> Result<MemoryInfo, DeviceError> {
        Ok(self.context.memory()?)
    }

    fn adopt(
        &self,
        kind: MemoryKind,
        memory: Box<dyn HostMemory>,
    ) -> Result<Box<dyn HostMemory>, DeviceError> {
        match kind {
            MemoryKind::Pageable => Ok(memory),
            MemoryKind::Pinned => Ok(Box::new(Registered::new(&self.context, memory)?)),
            MemoryKind::System => match self.capabilities.memory(kind) {
                Ok(()) => Ok(Box::new(Reached(memory))),
                Err(reason) => Err(DeviceError::Unsupported { what: "system memory", reason }),
            },
            MemoryKind::PinnedDriver | MemoryKind::Managed => Err(DeviceError::Unsupported {
                what: "making memory of the driver's own of memory that is there",
                reason: "the driver allocates such memory itself".to_owned(),
            }),
        }
    }

    fn allocate_pinned(&self, len: usize) -> Result<Box<dyn HostMemory>, DeviceError> {
        Ok(Box::new(Allocated::pinned(&self.context, len)?))
    }

    fn allocate_managed(&self, len: usize) -> Result<Box<dyn HostMemory>, DeviceError> {
        match self.capabilities.memory(MemoryKind::Managed) {
            Ok(()) => Ok(Box::new(Allocated::managed(&self.context, len)?)),
            Err(reason) => Err(DeviceError::Unsupported { what: "managed memory", reason }),
        }
    }

    fn copier(&self, host: HostPair, bidirectional: bool) -> Result<Box<dyn Copier>, DeviceError> {
        Ok(Box::new(GpuCopier::new(&self.context, self.tools.clone(), host, bidirectional)?))
    }

    fn peer_copier(
        &self,
        destination: &dyn Device,
        by: PeerEnd,
        len: usize,
    ) -> Result<Box<dyn PeerCopier>, DeviceError> {
        let other = self.of_one_driver("a copy between these devices", destination)?;
        Ok(Box::new(GpuPeerCopier::new(self.end(), other.end(), by, len)?))
    }

    fn keep_areas(&self, keeps: bool) {
        self.kept.keep(keeps);
    }

    fn chaser(&self, memory: Box<dyn HostMemory>) -> Result<Box<dyn Chaser>, DeviceError> {
        Ok(Box::new(GpuChaser::over_host(&self.context, &self.tools, memory)?))
    }

    fn answerer(&self, memory: Box<dyn HostMemory>) -> Result<Box<dyn Answerer>, DeviceError> {
        Ok(Box::new(GpuAnswerer::new(&self.context, &self.tools, memory)?))
    }

    fn peer_chaser(&self, owner: &dyn Device, chain: &[u8]) -> Result<Box<dyn Chaser>, DeviceError> {
        let owner = self.of_one_driver("loads between these devices", owner)?;
        Ok(Box::new(GpuChaser::over_peer(&self.context, &self.tools, &owner.context, chain)?))
    }

    fn computer(
        &self,
        program: &KernelModule,
        host: Box<dyn HostMemory>,
        bytes: usize,
    ) -> Result<Box<dyn Computer>, DeviceError> {
        Ok(Box::new(GpuComputer::new(&self.context, &self.tools, program, host, bytes)?))
    }

    fn buffer(&self, host: Box<dyn HostMemory>) -> Result<Box<dyn Buffer>, DeviceError> {
        Ok(Box::new(GpuBuffer::new(&self.context, host)?))
    }
}
