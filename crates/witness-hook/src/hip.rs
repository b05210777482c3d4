//! The functions of AMD's HIP library that are watched.
//!
//! A function has a second name that takes a thread's own stream for stream 0 (`_spt`). `hipGetProcAddress`
//! gives the function of a name, whatever the version. Left out: copies with arrays, which AMD's large GPUs
//! have no units for, and `hipDrvMemcpy3D`, whose structure changed from ROCm 5 to 6. A worker opens the
//! device that it uses first: by calls that allocate there or make a stream.

use core::ffi::{c_char, c_int, c_uint, c_void};

use crate::hook::Call;
use crate::hooks::{
    allocating_managed, batch, beginning_capture, copied, devices, ending, ending_capture, ending_stream,
    forgetting, freeing, hip_solid, instantiating, launching, of_kind, pinning, plane, prefetch, to_device,
    to_host,
};
use crate::openings::using;
use crate::span::{On, Span};
use crate::volume::{self, DEFAULT, DEVICE_TO_HOST, HOST_TO_DEVICE};

type Plane = *const [usize; volume::PLANE_WORDS];
type Solid = *const [usize; volume::HIP_WORDS];

/// Bytes without a gap, to and from.
fn line(kind: c_int, to: usize, from: usize, bytes: usize, on: On) -> impl FnOnce(Call<'_>) -> c_int {
    of_kind(kind, Span::line(to, bytes), Span::line(from, bytes), on)
}

/// So many rows of a width; each side has its address and its pitch.
fn rows(
    kind: c_int,
    to: (usize, usize),
    from: (usize, usize),
    [row, rows]: [usize; 2],
    on: On,
) -> impl FnOnce(Call<'_>) -> c_int {
    let side = |(address, pitch)| Span { address, row, rows, pitch, slices: 1, slice_pitch: 0 };
    of_kind(kind, side(to), side(from), on)
}

/// The kind of a copy with a symbol, which is on the device whatever its address here; `other` unless the
/// program says a kind.
fn with_symbol(kind: c_int, other: c_int) -> c_int {
    if kind == DEFAULT { other } else { kind }
}

/// A stream on which the copy is queued, and waited for.
fn waited(on: On, stream: usize) -> On {
    On { blocks: true, ..on.queued(stream) }
}

/// A call that does nothing more here.
fn only(call: Call<'_>) -> c_int {
    call()
}

hooks! {
    Hip;
    [hipMemcpy, hipMemcpy_spt] (to, from, bytes, kind: c_int) => |on| line(kind, to, from, bytes, on);
    [hipMemcpyAsync, hipMemcpyAsync_spt] (to, from, bytes, kind: c_int, stream)
        => |on| line(kind, to, from, bytes, on.queued(stream));
    [hipMemcpyWithStream] (to, from, bytes, kind: c_int, stream)
        => |on| line(kind, to, from, bytes, waited(on, stream));
    [hipMemcpyHtoD] (to, from, bytes) => |on| copied(to_device(from, bytes), on);
    [hipMemcpyDtoH] (to, from, bytes) => |on| copied(to_host(to, bytes), on);
    [hipMemcpyDtoD] (to, from, bytes) => |on| copied(devices(bytes), on);
    [hipMemcpyHtoDAsync] (to, from, bytes, stream) => |on| copied(to_device(from, bytes), on.queued(stream));
    [hipMemcpyDtoHAsync] (to, from, bytes, stream) => |on| copied(to_host(to, bytes), on.queued(stream));
    [hipMemcpyDtoDAsync] (to, from, bytes, stream) => |on| copied(devices(bytes), on.queued(stream));
    [hipMemcpyPeer] (to, to_device: c_int, from, from_device: c_int, bytes)
        => |on| copied(devices(bytes), on);
    [hipMemcpyPeerAsync] (to, to_device: c_int, from, from_device: c_int, bytes, stream)
        => |on| copied(devices(bytes), on.queued(stream));
    [hipMemcpyToSymbol, hipMemcpyToSymbol_spt] (symbol, from, bytes, offset, kind: c_int)
        => |on| line(with_symbol(kind, HOST_TO_DEVICE), symbol, from, bytes, on);
    [hipMemcpyToSymbolAsync, hipMemcpyToSymbolAsync_spt] (symbol, from, bytes, offset, kind: c_int, stream)
        => |on| line(with_symbol(kind, HOST_TO_DEVICE), symbol, from, bytes, on.queued(stream));
    [hipMemcpyFromSymbol, hipMemcpyFromSymbol_spt] (to, symbol, bytes, offset, kind: c_int)
        => |on| line(with_symbol(kind, DEVICE_TO_HOST), to, symbol, bytes, on);
    [hipMemcpyFromSymbolAsync, hipMemcpyFromSymbolAsync_spt] (to, symbol, bytes, offset, kind: c_int, stream)
        => |on| line(with_symbol(kind, DEVICE_TO_HOST), to, symbol, bytes, on.queued(stream));
    [hipMemcpy2D, hipMemcpy2D_spt] (to, to_pitch, from, pitch, width, height, kind: c_int)
        => |on| rows(kind, (to, to_pitch), (from, pitch), [width, height], on);
    [hipMemcpy2DAsync, hipMemcpy2DAsync_spt] (to, to_pitch, from, pitch, width, height, kind: c_int, stream)
        => |on| rows(kind, (to, to_pitch), (from, pitch), [width, height], on.queued(stream));
    [hipMemcpyParam2D] (words: Plane) => |on| plane(words, on);
    [hipDrvMemcpy2DUnaligned] (words: Plane) => |on| plane(words, on);
    [hipMemcpyParam2DAsync] (words: Plane, stream) => |on| plane(words, on.queued(stream));
    [hipMemcpy3D, hipMemcpy3D_spt] (words: Solid) => |on| hip_solid(words, on);
    [hipMemcpy3DAsync, hipMemcpy3DAsync_spt] (words: Solid, stream)
        => |on| hip_solid(words, on.queued(stream));
    [hipMemcpyBatchAsync]
        (to: *const usize, from: *const usize, sizes: *const usize, count, attributes: *const c_void,
        indices: *const usize, kinds, failed: *mut usize, stream)
        => |on| batch([to, from, sizes], count, on.queued(stream));
    [hipMemPrefetchAsync] (at, bytes, device: c_int, stream) => |_on| prefetch(bytes);
    [hipHostMalloc] (to: *mut usize, bytes, flags: c_uint) => |_on| using(pinning);
    [hipHostAlloc] (to: *mut usize, bytes, flags: c_uint) => |_on| using(pinning);
    [hipMallocHost] (to: *mut usize, bytes) => |_on| using(pinning);
    [hipMemAllocHost] (to: *mut usize, bytes) => |_on| using(pinning);
    [hipHostFree] (at) => |_on| pinning;
    [hipFreeHost] (at) => |_on| pinning;
    [hipHostRegister] (at, bytes, flags: c_uint) => |_on| using(pinning);
    [hipHostUnregister] (at) => |_on| pinning;
    [hipMallocManaged] (to: *mut usize, bytes, flags: c_uint) => |_on| using(allocating_managed);
    [hipFree] (at) => |_on| freeing;
    [hipMalloc] (to: *mut usize, bytes) => |_on| using(only);
    [hipExtMallocWithFlags] (to: *mut usize, bytes, flags: c_uint) => |_on| using(only);
    [hipMallocAsync] (to: *mut usize, bytes, stream) => |_on| using(only);
    [hipStreamCreate] (stream: *mut usize) => |_on| using(only);
    [hipStreamCreateWithFlags] (stream: *mut usize, flags: c_uint) => |_on| using(only);
    [hipStreamCreateWithPriority] (stream: *mut usize, flags: c_uint, priority: c_int) => |_on| using(only);
    [hipStreamDestroy] (stream) => |_on| ending_stream(stream);
    [hipDeviceReset] () => |_on| ending(None);
    [hipDevicePrimaryCtxReset] (device: c_int) => |_on| ending(None);
    [hipStreamBeginCapture, hipStreamBeginCapture_spt] (stream, mode: c_int) => |_on| beginning_capture;
    [hipStreamBeginCaptureToGraph]
        (stream, graph, nodes: *const usize, data: *const c_void, count, mode: c_int)
        => |_on| beginning_capture;
    [hipStreamEndCapture, hipStreamEndCapture_spt] (stream, graph: *mut usize) => |_on| ending_capture;
    [hipGraphInstantiate] (exec: *mut usize, graph, node: *mut usize, log: *mut c_char, size)
        => |on| instantiating(on.api, exec, graph);
    [hipGraphInstantiateWithFlags] (exec: *mut usize, graph, flags: u64)
        => |on| instantiating(on.api, exec, graph);
    [hipGraphInstantiateWithParams] (exec: *mut usize, graph, parameters: *mut c_void)
        => |on| instantiating(on.api, exec, graph);
    [hipGraphLaunch, hipGraphLaunch_spt] (exec, stream) => |on| launching(on.queued(stream), exec);
    [hipGraphExecDestroy] (exec) => |_on| forgetting(exec);
}
