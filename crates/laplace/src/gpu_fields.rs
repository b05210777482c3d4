//! A rank's two fields on its GPU, and iterations there: halos through a window of pinned host memory, or by
//! MPI from device memory. Some 410 lines because both ways of halos share the area and its order of queues.
//!
//! The memory begins with the window: words in which kernels keep the largest change (a word for each
//! iteration, in turn, so that no launch has to clear one), halos, and room for the rows that are filled or
//! checked. What must be computed before MPI sends is queued first, the inner rows behind it; what
//! MPI brought is queued behind those.

use std::ops::Range;

use device::{Computer, Device, DeviceError, MemoryKind, RoundStep};
use engine::{Bound, PlacedMemory, PlacingRules, clock};
use kernels::jacobi::{Cell, Field, Precision, launch, program};

use crate::fault::LaplaceFault;
use crate::grid::{RowShare, Solution};
use crate::halos::{Halos, Reached};
use crate::host_fields::Spent;
use crate::rows;
use crate::way::HaloWay;

/// Words of largest changes.
const WORDS: usize = 1024;
/// Bytes of one.
const WORD: usize = 8;
/// Bytes of the window that rows are filled and checked through.
const ROOM: usize = 16 << 20;
/// Parts begin at multiples of this.
const ALIGNED: usize = 256;
/// After so many starts the queue is drained.
const STARTS: usize = 192;
/// Iterations without halos that are queued at once.
const AT_ONCE: u32 = 32;

/// Where things lie, by offset of the area; up to `window` the host has the same.
#[derive(Clone, Copy, Debug)]
struct Layout {
    field: Field,
    kept: usize,
    halos: usize,
    halo: usize,
    room: usize,
    window: usize,
}

impl Layout {
    fn new(field: Field) -> Self {
        let kept = WORDS * WORD;
        let halos = kept + ALIGNED;
        let halo = field.row_bytes().next_multiple_of(ALIGNED);
        let room = halos + 4 * halo;
        let row = field.pitch() * field.precision.bytes();
        let window = (room + ROOM.min(field.bytes()).max(row)).next_multiple_of(ALIGNED);
        Self { field, kept, halos, halo, room, window }
    }

    fn bytes(self) -> usize {
        self.window + 2 * self.field.bytes()
    }

    fn field_at(self, second: bool) -> usize {
        self.window + usize::from(second) * self.field.bytes()
    }

    /// The halo of a side (0 above, 1 below) in the window: that which is sent, or that which comes.
    fn halo_of(self, side: usize, sent: bool) -> Range<usize> {
        let at = self.halos + (2 * side + usize::from(!sent)) * self.halo;
        at..at + self.field.row_bytes()
    }

    /// Inner rows that the room takes at once.
    fn rows_at_once(self) -> usize {
        ((self.window - self.room) / (self.field.pitch() * self.field.precision.bytes())).max(1)
    }
}

/// Bytes on the device, and of pinned memory on the host.
pub(crate) fn bytes_of(field: Field) -> [usize; 2] {
    let layout = Layout::new(field);
    [layout.bytes(), layout.window]
}

/// A rank's two fields on its GPU.
pub(crate) struct GpuFields {
    computer: Box<dyn Computer>,
    layout: Layout,
    pub(crate) share: RowShare,
    second: bool,
    word: usize,
    starts: usize,
    /// When the halo began whose copies back are under way.
    halo_began_ns: Option<u64>,
    pub(crate) iterations: u64,
}

impl GpuFields {
    /// Memory on the device, and a window on `node`.
    ///
    /// # Errors
    /// The kernel or the device refused.
    pub(crate) fn new(
        bound: &Bound,
        device: &dyn Device,
        share: RowShare,
        node: u32,
        rules: &PlacingRules,
    ) -> Result<Self, LaplaceFault> {
        let layout = Layout::new(share.field);
        let memory = PlacedMemory::new(bound, layout.window, node, rules)?;
        let memory = device.adopt(MemoryKind::Pinned, Box::new(memory.into_mapping()))?;
        Ok(Self::on(device.computer(program(), memory, layout.bytes())?, layout, share))
    }

    fn on(computer: Box<dyn Computer>, layout: Layout, share: RowShare) -> Self {
        Self {
            computer,
            layout,
            share,
            second: false,
            word: 0,
            starts: 0,
            halo_began_ns: None,
            iterations: 0,
        }
    }

    /// The window, to be looked at.
    pub(crate) fn window(&mut self) -> &[u8] {
        self.computer.host()
    }

    /// Both fields as they are before the first iteration, and the words of the window cleared.
    ///
    /// # Errors
    /// What the device says.
    pub(crate) fn fill(&mut self, solution: &Solution) -> Result<(), LaplaceFault> {
        match self.layout.field.precision {
            Precision::Single => self.fill_as::<f32>(solution),
            Precision::Double => self.fill_as::<f64>(solution),
        }
    }

    fn fill_as<T: Cell>(&mut self, solution: &Solution) -> Result<(), LaplaceFault> {
        let (layout, share) = (self.layout, self.share);
        let row_bytes = layout.field.pitch() * size_of::<T>();
        let wave = solution.wave_after(0);
        for row in (0..layout.field.rows + 2).step_by(layout.rows_at_once()) {
            let rows = row..(row + layout.rows_at_once()).min(layout.field.rows + 2);
            let range = layout.room..layout.room + rows.len() * row_bytes;
            let into = lent(self.computer.host(), range.clone())?;
            rows::fill(solution, &share, rows, wave, bytemuck::cast_slice_mut::<u8, T>(into));
            let to = [false, true].map(|second| {
                RoundStep::ToDeviceAt(range.clone(), layout.field_at(second) + row * row_bytes)
            });
            self.computer.round(&to)?;
        }

        self.computer.round(&[RoundStep::ToDevice(0..WORDS * WORD)])?;
        (self.second, self.iterations, self.word, self.starts, self.halo_began_ns) = (false, 0, 0, 0, None);
        Ok(())
    }

    /// Holds every cell against what it should be: how many bytes, or the first that is wrong, in words.
    ///
    /// # Errors
    /// What the device says.
    pub(crate) fn check(&mut self, solution: &Solution) -> Result<Result<u64, String>, LaplaceFault> {
        match self.layout.field.precision {
            Precision::Single => self.check_as::<f32>(solution),
            Precision::Double => self.check_as::<f64>(solution),
        }
    }

    fn check_as<T: Cell>(&mut self, solution: &Solution) -> Result<Result<u64, String>, LaplaceFault> {
        let (layout, share) = (self.layout, self.share);
        let row_bytes = layout.field.pitch() * size_of::<T>();
        for row in (1..layout.field.rows + 1).step_by(layout.rows_at_once()) {
            let rows = row..(row + layout.rows_at_once()).min(layout.field.rows + 1);
            let range = layout.room..layout.room + rows.len() * row_bytes;
            self.computer.round(&[RoundStep::ToHostFrom(
                range.clone(),
                layout.field_at(self.second) + row * row_bytes,
            )])?;
            let from = lent(self.computer.host(), range)?;
            if let Err(wrong) =
                rows::check(solution, &share, rows, self.iterations, bytemuck::cast_slice::<u8, T>(from))
            {
                return Ok(Err(wrong));
            }
        }

        Ok(Ok((layout.field.rows * layout.field.row_bytes()) as u64))
    }

    /// So many iterations; all have ended.
    ///
    /// # Errors
    /// What MPI or the device says.
    pub(crate) fn iterate(
        &mut self,
        halos: &Halos,
        (way, overlap): (HaloWay, bool),
        iterations: u32,
    ) -> Result<Spent, LaplaceFault> {
        let mut spent = Spent::default();
        let mut left = iterations;
        while left > 0 {
            match way {
                HaloWay::Gpu | HaloWay::Cpu => {
                    let some = left.min(AT_ONCE);
                    let (all, mut steps) = (self.all_rows(), Vec::new());
                    for _ in 0..some {
                        steps.extend(self.step(std::slice::from_ref(&all)));
                        self.second = !self.second;
                    }
                    self.start(&steps)?;
                    left -= some;
                    continue;
                }
                HaloWay::Staged if overlap => self.staged_beside(halos)?,
                HaloWay::Staged => spent.halo_ns += self.staged(halos)?,
                HaloWay::GpuAware if overlap => self.aware_beside(halos)?,
                HaloWay::GpuAware => spent.halo_ns += self.aware(halos)?,
            }
            self.second = !self.second;
            left -= 1;
        }

        spent.halo_ns += self.finish_halo()?;
        self.settle()?;
        self.iterations += u64::from(iterations);
        if iterations > 0 {
            spent.residual = self.residual()?;
        }
        Ok(spent)
    }

    /// Goes on with messages that mean nothing until there were so many exchanges: neighbours whose own
    /// iterations did not fail wait for them.
    pub(crate) fn serve_neighbours(&mut self, halos: &Halos, exchanges: u32) {
        while halos.exchanges() < exchanges {
            if self.messages(halos).is_err() {
                return;
            }
        }
    }

    /// Every inner row.
    fn all_rows(&self) -> Range<usize> {
        1..self.layout.field.rows + 1
    }

    /// The kernels of one iteration over these rows, whose largest change goes to a word that is 0 so far.
    fn step(&mut self, rows: &[Range<usize>]) -> Vec<RoundStep> {
        self.word = (self.word + 1) % WORDS;
        // The window's words are 0 and stay it.
        let clear = (self.word == 0).then_some(RoundStep::ToDevice(0..WORDS * WORD));
        clear.into_iter().chain(self.kernels(rows)).collect()
    }

    fn kernels(&self, rows: &[Range<usize>]) -> Vec<RoundStep> {
        let fields = [self.second, !self.second].map(|second| self.layout.field_at(second));
        rows.iter()
            .filter_map(|rows| launch(self.layout.field, fields, rows.clone(), self.word * WORD))
            .collect()
    }

    fn start(&mut self, steps: &[RoundStep]) -> Result<(), DeviceError> {
        if self.starts >= STARTS {
            self.settle()?;
        }
        self.starts += 1;
        self.computer.start(steps)
    }

    fn settle(&mut self) -> Result<(), DeviceError> {
        self.starts = 0;
        self.computer.settle()
    }

    /// The largest change of the last iteration.
    fn residual(&mut self) -> Result<f64, LaplaceFault> {
        let range = self.layout.kept..self.layout.kept + WORD;
        self.computer.round(&[RoundStep::ToHostFrom(range.clone(), self.word * WORD)])?;
        let bytes = lent(self.computer.host(), range)?;
        Ok(match self.layout.field.precision {
            Precision::Single => f64::from(bytemuck::pod_read_unaligned::<f32>(&bytes[..4])),
            Precision::Double => bytemuck::pod_read_unaligned::<f64>(bytes),
        })
    }

    /// The rows that go to neighbours and those that come, with the halo of each in the window.
    fn halo_rows(&self, sent: bool) -> Vec<(usize, Range<usize>)> {
        let rows = self.layout.field.rows;
        let [above, below] = if sent { [1, rows] } else { [0, rows + 1] };
        let of = |is: bool, row: usize, side: usize| is.then(|| (row, self.layout.halo_of(side, sent)));
        of(self.share.above.is_some(), above, 0)
            .into_iter()
            .chain(of(self.share.below.is_some(), below, 1))
            .collect()
    }

    /// Copies of halos between the newer field and the window.
    fn halo_copies(&self, sent: bool) -> Vec<RoundStep> {
        let newer = self.layout.field_at(!self.second);
        let copy = |(row, range): (usize, Range<usize>)| {
            let at = newer + self.layout.field.row_at(row);
            if sent { RoundStep::ToHostFrom(range, at) } else { RoundStep::ToDeviceAt(range, at) }
        };
        self.halo_rows(sent).into_iter().map(copy).collect()
    }

    /// Messages from window to window.
    fn messages(&mut self, halos: &Halos) -> Result<(), LaplaceFault> {
        let window = Reached { start: self.computer.host_address(), len: self.layout.window };
        // Nothing that is queued reads or writes the halos in it: what is sent has come, and what is received
        // is queued behind.
        let ended = halos.exchange(window, |side, _, sent| self.layout.halo_of(side, sent).start, || {});
        // An MPI that knows the GPU may have made another one the thread's.
        self.computer.shared_thread();
        ended
    }

    /// An iteration; the time of the halo that ended in it, which is the one before its own.
    fn staged(&mut self, halos: &Halos) -> Result<u64, LaplaceFault> {
        let all = self.all_rows();
        let steps = self.step(std::slice::from_ref(&all));
        self.start(&steps)?;
        let halo_ns = self.finish_halo()?;
        self.settle()?;

        self.halo_began_ns = Some(clock::now_ns());
        let (out, back) = (self.halo_copies(true), self.halo_copies(false));
        self.start(&out)?;
        self.settle()?;
        self.messages(halos)?;
        self.start(&back)?;
        Ok(halo_ns)
    }

    /// Waits for the copies back of a staged halo, behind which the next kernel may be queued already: how
    /// long that halo took, copies included.
    fn finish_halo(&mut self) -> Result<u64, DeviceError> {
        let Some(began_ns) = self.halo_began_ns.take() else { return Ok(0) };
        // They were the first that was started since everything had ended.
        self.computer.wait_for(1)?;
        Ok(clock::now_ns() - began_ns)
    }

    fn staged_beside(&mut self, halos: &Halos) -> Result<(), LaplaceFault> {
        let (edges, inner) = halos.parts();
        let mut first = self.step(&edges);
        first.extend(self.halo_copies(true));
        self.start(&first)?;
        let edges_at = self.starts;
        let behind = self.kernels(std::slice::from_ref(&inner));
        self.computer.start(&behind)?;
        self.starts += 1;
        self.computer.wait_for(edges_at)?;
        self.messages(halos)?;
        let back = self.halo_copies(false);
        self.start(&back)?;
        Ok(())
    }

    /// Messages from field to field.
    fn device_messages(&mut self, halos: &Halos) -> Result<(), LaplaceFault> {
        let start = self.computer.address() + self.layout.field_at(!self.second);
        let newer = Reached { start, len: self.layout.field.bytes() };
        // The rows are computed, and no kernel under way reads or writes them: the inner rows are others.
        let ended = halos.exchange(newer, |_, row, _| self.layout.field.row_at(row), || {});
        // An MPI that knows the GPU may have made another one the thread's.
        self.computer.shared_thread();
        ended
    }

    fn aware(&mut self, halos: &Halos) -> Result<u64, LaplaceFault> {
        let all = self.all_rows();
        let steps = self.step(std::slice::from_ref(&all));
        self.start(&steps)?;
        self.settle()?;
        let began = clock::now_ns();
        self.device_messages(halos)?;
        Ok(clock::now_ns() - began)
    }

    fn aware_beside(&mut self, halos: &Halos) -> Result<(), LaplaceFault> {
        let (edges, inner) = halos.parts();
        let first = self.step(&edges);
        self.start(&first)?;
        let edges_at = self.starts;
        let behind = self.kernels(std::slice::from_ref(&inner));
        self.computer.start(&behind)?;
        self.starts += 1;
        self.computer.wait_for(edges_at)?;
        self.device_messages(halos)
    }
}

/// A part of the window, which a computer lends unless waiting for it failed.
fn lent(window: &mut [u8], range: Range<usize>) -> Result<&mut [u8], DeviceError> {
    window.get_mut(range).ok_or_else(|| DeviceError::Unsupported {
        what: "using host memory again",
        reason: "waiting for earlier work failed, so the driver may still use it".to_owned(),
    })
}

#[cfg(test)]
pub(crate) mod stand_in;
