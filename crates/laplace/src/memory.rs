//! One rank's memory: the fields on its host and on its GPU that the ways of a launch need, and how many
//! bytes they are.

use device::Device;
use engine::{Bound, ObservedPlacement, PageCheck, PagesPerNode, PlacingRules};

use crate::fault::LaplaceFault;
use crate::gpu_fields::{GpuFields, bytes_of};
use crate::grid::{RowShare, Solution};
use crate::halos::Halos;
use crate::host_fields::{HostFields, Spent};
use crate::way::{HaloWay, WayVariant};

/// Host memory that a rank needs, bytes, on its NUMA node, and on its device.
pub fn bytes_needed(share: &RowShare, variants: &[WayVariant]) -> [u64; 2] {
    let host =
        if variants.iter().any(|variant| !variant.way.has_gpu()) { 2 * share.field.bytes() } else { 0 };
    let [device, window] =
        if variants.iter().any(|variant| variant.way.has_gpu()) { bytes_of(share.field) } else { [0, 0] };
    [(host + window) as u64, device as u64]
}

/// A rank's memory.
pub struct LaplaceMemory {
    host: Option<HostFields>,
    gpu: Option<GpuFields>,
    pub(crate) share: RowShare,
    place: [u32; 2],
}

impl LaplaceMemory {
    /// Memory for these variants of a share, for the thread that is bound to the first of `place`, a PU, on
    /// the second, a NUMA node.
    ///
    /// # Errors
    /// The kernel or the device refused.
    pub fn new(
        bound: &Bound,
        device: Option<&dyn Device>,
        place: [u32; 2],
        share: RowShare,
        variants: &[WayVariant],
        rules: &PlacingRules,
    ) -> Result<Self, LaplaceFault> {
        let needs = |gpu: bool| variants.iter().any(|variant| variant.way.has_gpu() == gpu);
        let host = needs(false).then(|| HostFields::new(bound, share, place[1], rules)).transpose()?;
        let gpu = device
            .filter(|_| needs(true))
            .map(|device| GpuFields::new(bound, device, share, place[1], rules));
        Ok(Self { host, gpu: gpu.transpose()?, share, place })
    }

    /// Memory of a device that a test has made.
    #[cfg(test)]
    pub(crate) fn of_gpu(gpu: GpuFields) -> Self {
        let share = gpu.share;
        Self { host: None, gpu: Some(gpu), share, place: [0, 0] }
    }

    pub(crate) fn look(
        &mut self,
        how: PageCheck,
    ) -> Result<(ObservedPlacement, Option<String>), LaplaceFault> {
        let mut seen = ObservedPlacement::thread()?;
        if let Some(host) = &self.host {
            seen.pages = PagesPerNode::of(host.bytes(), how, true);
        }
        if let Some(gpu) = &mut self.gpu {
            seen.pages.merge(PagesPerNode::of(gpu.window(), how, false));
        }
        let mismatch = seen.mismatch(self.place[0], self.place[1], None);
        Ok((seen, mismatch))
    }

    pub(crate) fn fill(&mut self, variant: WayVariant, solution: &Solution) -> Result<(), LaplaceFault> {
        match (variant.way, &mut self.host, &mut self.gpu) {
            (HaloWay::Cpu, Some(host), _) => host.fill(solution),
            (way, _, Some(gpu)) if way.has_gpu() => gpu.fill(solution)?,
            (way, ..) => return Err(LaplaceFault::NoMemory(way.name())),
        }
        Ok(())
    }

    pub(crate) fn iterate(
        &mut self,
        halos: &Halos,
        variant: WayVariant,
        iterations: u32,
    ) -> Result<Spent, LaplaceFault> {
        match (variant.way, &mut self.host, &mut self.gpu) {
            (HaloWay::Cpu, Some(host), _) => host.iterate(halos, variant.overlap, iterations),
            (way, _, Some(gpu)) if way.has_gpu() => gpu.iterate(halos, (way, variant.overlap), iterations),
            (way, ..) => Err(LaplaceFault::NoMemory(way.name())),
        }
    }

    /// After a failure of this rank's own: see [`GpuFields::serve_neighbours`]. A core fails in MPI's calls
    /// alone.
    pub(crate) fn serve_neighbours(&mut self, halos: &Halos, variant: WayVariant, exchanges: u32) {
        if let Some(gpu) = self.gpu.as_mut().filter(|_| variant.way.has_gpu()) {
            gpu.serve_neighbours(halos, exchanges);
        }
    }

    pub(crate) fn check(
        &mut self,
        variant: WayVariant,
        solution: &Solution,
    ) -> Result<Result<u64, String>, LaplaceFault> {
        match (variant.way, &self.host, &mut self.gpu) {
            (HaloWay::Cpu, Some(host), _) => Ok(host.check(solution)),
            (way, _, Some(gpu)) if way.has_gpu() => gpu.check(solution),
            (way, ..) => Err(LaplaceFault::NoMemory(way.name())),
        }
    }
}
