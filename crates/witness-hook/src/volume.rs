//! Copies of two and three dimensions, as the driver's structures describe them: all their fields are words.

use crate::memory_kind;
use crate::span::{Copy, Span, Way};

/// Words of `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`: those of the source, of the target, and three of the
/// size.
pub const WORDS: usize = 25;
/// Words of `CUDA_MEMCPY2D`, in the same order.
pub const PLANE_WORDS: usize = 16;
const SIDE: usize = 11;
const PLANE_SIDE: usize = 7;
/// `CU_MEMORYTYPE_HOST` and `_UNIFIED`.
const HOST: usize = 1;
const UNIFIED: usize = 4;

fn word(words: &[usize], at: usize) -> usize {
    words.get(at).copied().unwrap_or(0)
}

/// A copy of three dimensions.
pub fn copy(words: &[usize; WORDS]) -> Copy {
    let size = |at: usize| word(words, 2 * SIDE + at);
    let (row, rows, slices) = (size(0), size(1).max(1), size(2).max(1));
    let side = |from: usize| {
        let of = |at: usize| word(words, from + at);
        let pitch = if of(9) == 0 { row } else { of(9) };
        let slice_pitch = pitch.wrapping_mul(if of(10) == 0 { rows } else { of(10) });
        let offset =
            of(0).wrapping_add(of(1).wrapping_mul(pitch)).wrapping_add(of(2).wrapping_mul(slice_pitch));
        let address = host_address(of(4), of(5), of(6))?.wrapping_add(offset);
        Some(Span { address, row, rows, pitch, slices, slice_pitch })
    };

    let none = Span { address: 0, row, rows, pitch: row, slices, slice_pitch: row };
    let (way, span) = match (side(0), side(SIDE)) {
        (Some(from), None) => (Way::ToDevice, from),
        (None, Some(to)) => (Way::ToHost, to),
        (None, None) => (Way::Devices, none),
        (Some(from), Some(_)) => (Way::Host, from),
    };
    Copy { way, span }
}

/// A copy of two dimensions: one slice of three.
pub fn plane(words: &[usize; PLANE_WORDS]) -> Copy {
    let of = |at: usize| word(words, at);
    let side = |from: usize| {
        let (kind, host, unified, pitch) = (of(from + 2), of(from + 3), of(from + 4), of(from + 6));
        [of(from), of(from + 1), 0, 0, kind, host, unified, 0, 0, pitch, 0]
    };
    let size = [of(2 * PLANE_SIDE), of(2 * PLANE_SIDE + 1), 1];
    let values = side(0).into_iter().chain(side(PLANE_SIDE)).chain(size);
    let mut all = [0; WORDS];
    all.iter_mut().zip(values).for_each(|(word, value)| *word = value);
    copy(&all)
}

/// The side's base address, if it is in host memory. A type is 32 bits of its word.
fn host_address(kind: usize, host: usize, unified: usize) -> Option<usize> {
    match kind & 0xffff_ffff {
        HOST => Some(host),
        UNIFIED if !memory_kind::is_on_device(unified) => Some(unified),
        _ => None,
    }
}
