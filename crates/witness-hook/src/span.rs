//! What is copied: which way, and the host memory of it; and where the copy is queued.

use crate::gpu_api::GpuApi;

/// Host memory of a copy: rows of bytes at a distance, slices of rows at another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// The first byte.
    pub address: usize,
    /// Bytes of a row.
    pub row: usize,
    /// Rows of a slice.
    pub rows: usize,
    /// From row to row.
    pub pitch: usize,
    /// Slices.
    pub slices: usize,
    /// From slice to slice.
    pub slice_pitch: usize,
}

impl Span {
    /// Bytes without a gap.
    pub fn line(address: usize, row: usize) -> Self {
        Self { address, row, rows: 1, pitch: row, slices: 1, slice_pitch: row }
    }

    /// Bytes of all rows.
    pub fn bytes(&self) -> u64 {
        self.row.wrapping_mul(self.rows).wrapping_mul(self.slices) as u64
    }

    /// The address behind the last byte.
    pub fn end(&self) -> usize {
        let last = |count: usize, pitch: usize| count.saturating_sub(1).wrapping_mul(pitch);
        let offset = last(self.slices, self.slice_pitch).wrapping_add(last(self.rows, self.pitch));
        self.address.wrapping_add(offset).wrapping_add(self.row)
    }

    /// Where each row begins.
    pub fn row_addresses(&self) -> impl Iterator<Item = usize> {
        let Self { address, rows, pitch, slices, slice_pitch, .. } = *self;
        (0..slices).flat_map(move |slice| {
            let first = address.wrapping_add(slice.wrapping_mul(slice_pitch));
            (0..rows).map(move |row| first.wrapping_add(row.wrapping_mul(pitch)))
        })
    }

    /// As words of a queue.
    pub fn words(&self) -> [usize; 6] {
        [self.address, self.row, self.rows, self.pitch, self.slices, self.slice_pitch]
    }

    /// From words of a queue.
    pub fn from_words([address, row, rows, pitch, slices, slice_pitch]: [usize; 6]) -> Self {
        Self { address, row, rows, pitch, slices, slice_pitch }
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From host memory to a device.
    ToDevice,
    /// From a device to host memory.
    ToHost,
    /// Between devices, or within one.
    Devices,
    /// Within host memory.
    Host,
}

/// What is copied.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// Which way.
    pub way: Way,
    /// The host memory; of other ways only its size counts.
    pub span: Span,
}

impl Copy {
    /// Bytes without a gap.
    pub fn line(way: Way, address: usize, bytes: usize) -> Self {
        Self { way, span: Span::line(address, bytes) }
    }
}

/// Where a copy is queued.
#[derive(Clone, Copy, Debug)]
pub struct On {
    /// Whose stream it is.
    pub api: GpuApi,
    /// The stream.
    pub stream: usize,
    /// Whether the call returns after the copy.
    pub blocks: bool,
}

impl On {
    /// Queued on a stream, for which 0 stands as in the function that was called.
    pub fn queued(self, stream: usize) -> Self {
        Self { stream: if stream == 0 { self.stream } else { stream }, blocks: false, ..self }
    }
}
