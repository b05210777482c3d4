//! One rank's memory: a range of the host on its node, and where it has a device, an area there beside pinned
//! host memory. Each has two halves, what is sent and what is received.

use device::{Buffer, Device, MemoryKind, PeerCopier};
use engine::{Bound, ObservedPlacement, PageCheck, PagesPerNode, PlacedMemory, PlacingRules};

use crate::fault::ExchangeFault;

/// Halves are apart by whole huge pages.
const ALIGN: usize = 2 << 20;

/// The memory of one rank.
pub struct MessageMemory {
    host: PlacedMemory,
    device: Option<Box<dyn Buffer>>,
    /// To the other rank's device, where this process sees it.
    pub(crate) peer: Option<Box<dyn PeerCopier>>,
    half: usize,
    node: u32,
    pu: u32,
}

impl MessageMemory {
    /// Memory for messages of so many bytes on `node`, for the thread that is bound to `pu`; on the device
    /// too, where there is one.
    ///
    /// # Errors
    /// The kernel or the device refused.
    pub fn new(
        bound: &Bound,
        device: Option<&dyn Device>,
        [pu, node]: [u32; 2],
        one_node: bool,
        bytes: usize,
    ) -> Result<Self, ExchangeFault> {
        let half = bytes.clamp(1, usize::MAX / 4).next_multiple_of(ALIGN);
        let rules = PlacingRules { one_node, huge_pages: true, ..PlacingRules::default() };
        let place = || PlacedMemory::new(bound, 2 * half, node, &rules);
        let host = place()?;
        let device = match device {
            None => None,
            Some(device) => {
                Some(device.buffer(device.adopt(MemoryKind::Pinned, Box::new(place()?.into_mapping()))?)?)
            }
        };
        Ok(Self { host, device, peer: None, half, node, pu })
    }

    /// Lets this rank copy to the device of the other by itself.
    pub fn reaches(&mut self, peer: Box<dyn PeerCopier>) {
        self.peer = Some(peer);
    }

    /// MPI was called, which may know the device too.
    pub(crate) fn shared_thread(&mut self) {
        self.device.iter_mut().for_each(|device| device.shared_thread());
    }

    /// Bytes from the beginning of what is sent to that of what is received.
    pub fn half(&self) -> usize {
        self.half
    }

    /// The host memory.
    pub(crate) fn host(&mut self) -> &mut [u8] {
        self.host.bytes_mut()
    }

    /// The address of the host memory.
    pub(crate) fn host_address(&mut self) -> usize {
        self.host.bytes_mut().as_mut_ptr().expose_provenance()
    }

    /// The device's area.
    pub(crate) fn device(&mut self) -> Result<&mut dyn Buffer, ExchangeFault> {
        match &mut self.device {
            Some(device) => Ok(&mut **device),
            None => Err(ExchangeFault::NoDevice),
        }
    }

    /// Where thread and memory are, and what of it is not as asked.
    ///
    /// # Errors
    /// The kernel does not say.
    pub(crate) fn look(
        &mut self,
        how: PageCheck,
    ) -> Result<(ObservedPlacement, Option<String>), ExchangeFault> {
        let mut seen = ObservedPlacement::thread()?;
        seen.pages = PagesPerNode::of(self.host.bytes(), how, true);
        if let Some(device) = &mut self.device {
            seen.pages.merge(PagesPerNode::of(device.host()?, how, false));
        }
        let mismatch = seen.mismatch(self.pu, self.node, None);
        Ok((seen, mismatch))
    }
}
