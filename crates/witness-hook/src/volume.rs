//! Copies as the driver's arguments and structures describe them: which way they go, and of two and three
//! dimensions. All fields of the structures are words.

use core::ffi::c_int;

use crate::gpu_api::GpuApi;
use crate::memory_kind;
use crate::span::{Copy, Span, Way};

/// Words of `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`: those of the source, of the target, and three of the
/// size.
pub const WORDS: usize = 25;
/// Words of `CUDA_MEMCPY2D`, in the same order, and of `hip_Memcpy2D`.
pub const PLANE_WORDS: usize = 16;
/// Words of `hipMemcpy3DParms`: those of the source (an array, a position, a pointer with its pitch and
/// sizes), of the target, the size, and the kind.
pub const HIP_WORDS: usize = 20;
const SIDE: usize = 11;
const PLANE_SIDE: usize = 7;
/// `CU_MEMORYTYPE_HOST` and `_UNIFIED`.
const HOST: usize = 1;
const UNIFIED: usize = 4;

fn word(words: &[usize], at: usize) -> usize {
    words.get(at).copied().unwrap_or(0)
}

/// `hipMemcpyHostToDevice`, `_DeviceToHost`, `_Default`: of this the addresses tell.
pub const HOST_TO_DEVICE: c_int = 1;
pub const DEVICE_TO_HOST: c_int = 2;
pub const DEFAULT: c_int = 4;

/// A copy whose way follows from the two addresses; `to` and `from` are of the same size.
pub fn unified(api: GpuApi, to: Span, from: Span) -> Copy {
    let is_on_device = |span: &Span| memory_kind::is_on_device(api, span.address);
    match (is_on_device(&to), is_on_device(&from)) {
        (true, true) => Copy { way: Way::Devices, span: to },
        (true, false) => Copy { way: Way::ToDevice, span: from },
        (false, true) => Copy { way: Way::ToHost, span: to },
        (false, false) => Copy { way: Way::Host, span: to },
    }
}

/// A copy by HIP of this `hipMemcpyKind`; `to` and `from` are of the same size.
pub fn of_kind(kind: c_int, to: Span, from: Span) -> Copy {
    match kind {
        0 => Copy { way: Way::Host, span: to },
        HOST_TO_DEVICE => Copy { way: Way::ToDevice, span: from },
        DEVICE_TO_HOST => Copy { way: Way::ToHost, span: to },
        // Between devices, by their units or without.
        3 | 1024 => Copy { way: Way::Devices, span: to },
        _ => unified(GpuApi::Hip, to, from),
    }
}

/// A copy by HIP of three dimensions; `None` where an array takes part, whose elements have no known size.
pub fn of_hip(words: &[usize; HIP_WORDS]) -> Option<Copy> {
    let of = |at: usize| word(words, at);
    let side = |from: usize| {
        let [array, x, y, z, start, pitch, _, height] = [0, 1, 2, 3, 4, 5, 6, 7].map(|at| of(from + at));
        let slice_pitch = pitch.wrapping_mul(height);
        let offset = x.wrapping_add(y.wrapping_mul(pitch)).wrapping_add(z.wrapping_mul(slice_pitch));
        let address = start.wrapping_add(offset);
        (array == 0).then_some(Span {
            address,
            row: of(16),
            rows: of(17),
            pitch,
            slices: of(18),
            slice_pitch,
        })
    };

    // The kind is 32 bits of its word.
    Some(of_kind(of(19) as c_int, side(8)?, side(0)?))
}

/// A copy of three dimensions.
pub fn copy(api: GpuApi, words: &[usize; WORDS]) -> Copy {
    let size = |at: usize| word(words, 2 * SIDE + at);
    let (row, rows, slices) = (size(0), size(1).max(1), size(2).max(1));
    let side = |from: usize| {
        let of = |at: usize| word(words, from + at);
        let pitch = if of(9) == 0 { row } else { of(9) };
        let slice_pitch = pitch.wrapping_mul(if of(10) == 0 { rows } else { of(10) });
        let offset =
            of(0).wrapping_add(of(1).wrapping_mul(pitch)).wrapping_add(of(2).wrapping_mul(slice_pitch));
        let address = host_address(api, of(4), of(5), of(6))?.wrapping_add(offset);
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
pub fn plane(api: GpuApi, words: &[usize; PLANE_WORDS]) -> Copy {
    let of = |at: usize| word(words, at);
    let side = |from: usize| {
        let (kind, host, device, pitch) = (of(from + 2), of(from + 3), of(from + 4), of(from + 6));
        // HIP's numbers of memory types changed from ROCm 5 to 6: the address tells.
        let (kind, unified) = match api {
            GpuApi::Cuda => (kind, device),
            GpuApi::Hip => (UNIFIED, if host == 0 { device } else { host }),
        };
        [of(from), of(from + 1), 0, 0, kind, host, unified, 0, 0, pitch, 0]
    };
    let size = [of(2 * PLANE_SIDE), of(2 * PLANE_SIDE + 1), 1];
    let values = side(0).into_iter().chain(side(PLANE_SIDE)).chain(size);
    let mut all = [0; WORDS];
    all.iter_mut().zip(values).for_each(|(word, value)| *word = value);
    copy(api, &all)
}

/// The side's base address, if it is in host memory. A type is 32 bits of its word.
fn host_address(api: GpuApi, kind: usize, host: usize, unified: usize) -> Option<usize> {
    match kind & 0xffff_ffff {
        HOST => Some(host),
        UNIFIED if unified != 0 && !memory_kind::is_on_device(api, unified) => Some(unified),
        _ => None,
    }
}
