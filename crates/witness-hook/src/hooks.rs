//! The driver's functions that are watched, each with its wrapper under the driver's own name.
//!
//! A function with a stream has two names: the second one takes a thread's own stream for stream 0. `since`
//! is the version of the driver's interface from which `cuGetProcAddress` gives this function for its name
//! without suffix (cudaTypedefs.h). Left out: the 32-bit functions of before CUDA 3.2, and copies between
//! arrays. Functions that open a device are in `openings`.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::hook::{self, Call, Hook};
use crate::layout::head;
use crate::span::{Copy, Way};
use crate::watch::{self, On};
use crate::{
    captures, contexts, driver, gate, graphs, memory_kind, openings, record, session, timing, volume, worker,
};

type Plane = *const [usize; volume::PLANE_WORDS];
type Solid = *const [usize; volume::WORDS];

/// A copy that returns when it is done, on the default stream.
fn blocking(default: usize, what: Copy) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| watch::copy(|| what, On { stream: default, blocks: true }, call)
}

/// A copy that is queued.
fn queued(default: usize, stream: usize, what: Copy) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| watch::copy(|| what, On { stream: or(stream, default), blocks: false }, call)
}

fn or(stream: usize, default: usize) -> usize {
    if stream == 0 { default } else { stream }
}

fn to_device(from: usize, bytes: usize) -> Copy {
    Copy::line(Way::ToDevice, from, bytes)
}

fn to_host(to: usize, bytes: usize) -> Copy {
    Copy::line(Way::ToHost, to, bytes)
}

fn devices(bytes: usize) -> Copy {
    Copy::line(Way::Devices, 0, bytes)
}

/// A copy between addresses of either side, which are asked for only if it is counted.
fn unified(to: usize, from: usize, bytes: usize, on: On) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| watch::copy(|| watch::unified(to, from, bytes), on, call)
}

/// A copy of two dimensions.
fn plane(words: Plane, on: On) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        // SAFETY: the driver reads the same structure of the program's.
        match unsafe { words.as_ref() } {
            Some(words) => watch::copy(|| volume::plane(words), on, call),
            None => call(),
        }
    }
}

/// A copy of three dimensions.
fn solid(words: Solid, on: On) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        // SAFETY: the driver reads the same structure of the program's.
        match unsafe { words.as_ref() } {
            Some(words) => watch::copy(|| volume::copy(words), on, call),
            None => call(),
        }
    }
}

/// The copies of a batch.
fn batch(
    to: *const usize,
    from: *const usize,
    sizes: *const usize,
    count: usize,
    stream: usize,
) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        // SAFETY: the driver has read so many of each.
        let copy = |at: usize| unsafe { watch::unified(*to.add(at), *from.add(at), *sizes.add(at)) };
        watch::copies((0..count).map(copy), On { stream, blocks: false }, call)
    }
}

/// A prefetch of managed memory: only counted, since its pages are elsewhere afterwards.
fn prefetch(bytes: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        let code = call();
        if let (0, Some(record)) = (code, session::begun()) {
            record.add(head::PREFETCHES, 1);
            record.add(head::PREFETCH_BYTES, bytes as u64);
        }
        code
    }
}

/// Whether the program has had managed memory.
static MANAGED: AtomicBool = AtomicBool::new(false);

fn allocating_managed(call: Call<'_>) -> c_int {
    MANAGED.store(true, Ordering::Release);
    pinning(call)
}

/// A call that frees memory of a device, or managed memory.
fn freeing(call: Call<'_>) -> c_int {
    if MANAGED.load(Ordering::Acquire) { pinning(call) } else { call() }
}

/// A call that changes what is pinned.
fn pinning(call: Call<'_>) -> c_int {
    let code = call();
    memory_kind::begin_generation();
    code
}

/// A call that ends a context, or all of a device: its events are not read any more.
fn ending(context: Option<usize>) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        gate::close();
        timing::forget(context);
        contexts::forget(context);
        let code = call();
        gate::open();
        code
    }
}

/// A call that ends a device's own context, if nobody else holds it.
fn releasing(device: c_int) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        gate::close();
        let code = call();
        if !driver::is_primary_active(device) {
            timing::forget(None);
            contexts::forget(None);
        }
        gate::open();
        code
    }
}

fn beginning_capture(call: Call<'_>) -> c_int {
    captures::begin();
    let code = call();
    if code != 0 {
        captures::end();
    }
    code
}

fn ending_capture(call: Call<'_>) -> c_int {
    let code = call();
    captures::end();
    code
}

fn instantiating(exec: *const usize, graph: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        let code = call();
        // SAFETY: where the driver has written the handle.
        if let (0, Some(exec), Some(_)) = (code, unsafe { exec.as_ref() }, session::begun()) {
            graphs::instantiated(*exec, graph);
        }
        code
    }
}

fn launching(exec: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        let code = call();
        if let (0, Some(record)) = (code, session::begun()) {
            let seen = graphs::copies_of(exec, |copy| watch::count(record, &copy));
            record.add(if seen { head::GRAPHS } else { head::GRAPHS_UNSEEN }, 1);
        }
        code
    }
}

fn changing(exec: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        let code = call();
        graphs::changed(exec);
        code
    }
}

/// The functions that are wrapped in this process.
pub fn watched() -> impl Iterator<Item = &'static Hook> + Clone {
    let is_asked_for = |hook: &&Hook| record::is_wanted() || hook.base == c"cuGetProcAddress";
    let copies = HOOKS.iter().copied().filter(is_asked_for);
    copies.chain(openings::HOOKS.iter().copied().filter(|_| worker::is_wanted()))
}

fn asking(
    symbol: *const c_char,
    answer: *mut usize,
    version: c_int,
    flags: u64,
) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        let code = call();
        // SAFETY: the program's arguments, and the driver's answer.
        unsafe { hook::replace(watched(), code, symbol, answer, version, flags) };
        code
    }
}

fn wait(stream: usize) -> On {
    On { stream, blocks: true }
}

fn queue(default: usize, stream: usize) -> On {
    On { stream: or(stream, default), blocks: false }
}

hooks! {
    "cuMemcpy" 4000 [cuMemcpy, cuMemcpy_ptds] (to: usize, from: usize, bytes: usize)
        => |default| unified(to, from, bytes, wait(default));
    "cuMemcpyAsync" 4000 [cuMemcpyAsync, cuMemcpyAsync_ptsz]
        (to: usize, from: usize, bytes: usize, stream: usize)
        => |default| unified(to, from, bytes, queue(default, stream));
    "cuMemcpyHtoD" 3020 [cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds] (to: usize, from: usize, bytes: usize)
        => |default| blocking(default, to_device(from, bytes));
    "cuMemcpyDtoH" 3020 [cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds] (to: usize, from: usize, bytes: usize)
        => |default| blocking(default, to_host(to, bytes));
    "cuMemcpyHtoDAsync" 3020 [cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz]
        (to: usize, from: usize, bytes: usize, stream: usize)
        => |default| queued(default, stream, to_device(from, bytes));
    "cuMemcpyDtoHAsync" 3020 [cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz]
        (to: usize, from: usize, bytes: usize, stream: usize)
        => |default| queued(default, stream, to_host(to, bytes));
    "cuMemcpyDtoD" 3020 [cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds] (to: usize, from: usize, bytes: usize)
        => |default| blocking(default, devices(bytes));
    "cuMemcpyDtoDAsync" 3020 [cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz]
        (to: usize, from: usize, bytes: usize, stream: usize)
        => |default| queued(default, stream, devices(bytes));
    "cuMemcpyPeer" 4000 [cuMemcpyPeer, cuMemcpyPeer_ptds]
        (to: usize, to_context: usize, from: usize, from_context: usize, bytes: usize)
        => |default| blocking(default, devices(bytes));
    "cuMemcpyPeerAsync" 4000 [cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz]
        (to: usize, to_context: usize, from: usize, from_context: usize, bytes: usize, stream: usize)
        => |default| queued(default, stream, devices(bytes));
    "cuMemcpyHtoA" 3020 [cuMemcpyHtoA_v2] (to: usize, offset: usize, from: usize, bytes: usize)
        => |default| blocking(default, to_device(from, bytes));
    "cuMemcpyAtoH" 3020 [cuMemcpyAtoH_v2] (to: usize, from: usize, offset: usize, bytes: usize)
        => |default| blocking(default, to_host(to, bytes));
    "cuMemcpyHtoAAsync" 3020 [cuMemcpyHtoAAsync_v2]
        (to: usize, offset: usize, from: usize, bytes: usize, stream: usize)
        => |default| queued(default, stream, to_device(from, bytes));
    "cuMemcpyAtoHAsync" 3020 [cuMemcpyAtoHAsync_v2]
        (to: usize, from: usize, offset: usize, bytes: usize, stream: usize)
        => |default| queued(default, stream, to_host(to, bytes));
    "cuMemcpy2D" 3020 [cuMemcpy2D_v2, cuMemcpy2D_v2_ptds] (words: Plane)
        => |default| plane(words, wait(default));
    "cuMemcpy2DUnaligned" 3020 [cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds] (words: Plane)
        => |default| plane(words, wait(default));
    "cuMemcpy2DAsync" 3020 [cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz] (words: Plane, stream: usize)
        => |default| plane(words, queue(default, stream));
    "cuMemcpy3D" 3020 [cuMemcpy3D_v2, cuMemcpy3D_v2_ptds] (words: Solid)
        => |default| solid(words, wait(default));
    "cuMemcpy3DAsync" 3020 [cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz] (words: Solid, stream: usize)
        => |default| solid(words, queue(default, stream));
    "cuMemcpy3DPeer" 4000 [cuMemcpy3DPeer, cuMemcpy3DPeer_ptds] (words: Solid)
        => |default| solid(words, wait(default));
    "cuMemcpy3DPeerAsync" 4000 [cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz] (words: Solid, stream: usize)
        => |default| solid(words, queue(default, stream));
    "cuMemcpyBatchAsync" 12080 [cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz]
        (to: *const usize, from: *const usize, sizes: *const usize, count: usize, attributes: *const c_void,
        indices: *const usize, kinds: usize, failed: *mut usize, stream: usize)
        => |default| batch(to, from, sizes, count, or(stream, default));
    "cuMemcpyBatchAsync" 13000 [cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz]
        (to: *const usize, from: *const usize, sizes: *const usize, count: usize, attributes: *const c_void,
        indices: *const usize, kinds: usize, stream: usize)
        => |default| batch(to, from, sizes, count, or(stream, default));
    "cuMemPrefetchAsync" 8000 [cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz]
        (at: usize, bytes: usize, device: c_int, stream: usize)
        => |_default| prefetch(bytes);
    "cuMemPrefetchAsync" 12020 [cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz]
        (at: usize, bytes: usize, location: u64, flags: usize, stream: usize)
        => |_default| prefetch(bytes);
    "cuMemHostAlloc" 2020 [cuMemHostAlloc] (to: *mut usize, bytes: usize, flags: c_uint)
        => |_default| pinning;
    "cuMemAllocHost" 3020 [cuMemAllocHost_v2] (to: *mut usize, bytes: usize) => |_default| pinning;
    "cuMemFreeHost" 2000 [cuMemFreeHost] (at: usize) => |_default| pinning;
    "cuMemHostRegister" 6050 [cuMemHostRegister_v2] (at: usize, bytes: usize, flags: c_uint)
        => |_default| pinning;
    "cuMemHostUnregister" 4000 [cuMemHostUnregister] (at: usize) => |_default| pinning;
    "cuMemAllocManaged" 6000 [cuMemAllocManaged] (to: *mut usize, bytes: usize, flags: c_uint)
        => |_default| allocating_managed;
    "cuMemFree" 3020 [cuMemFree_v2] (at: usize) => |_default| freeing;
    "cuCtxDestroy" 4000 [cuCtxDestroy_v2] (context: usize) => |_default| ending(Some(context));
    "cuDevicePrimaryCtxReset" 11000 [cuDevicePrimaryCtxReset_v2] (device: c_int) => |_default| ending(None);
    "cuDevicePrimaryCtxRelease" 11000 [cuDevicePrimaryCtxRelease_v2] (device: c_int)
        => |_default| releasing(device);
    "cuStreamBeginCapture" 10000 [cuStreamBeginCapture, cuStreamBeginCapture_ptsz] (stream: usize)
        => |_default| beginning_capture;
    "cuStreamBeginCapture" 10010 [cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz]
        (stream: usize, mode: c_int)
        => |_default| beginning_capture;
    "cuStreamBeginCaptureToGraph" 12030 [cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz]
        (stream: usize, graph: usize, nodes: *const usize, data: *const c_void, count: usize, mode: c_int)
        => |_default| beginning_capture;
    "cuStreamEndCapture" 10000 [cuStreamEndCapture, cuStreamEndCapture_ptsz]
        (stream: usize, graph: *mut usize)
        => |_default| ending_capture;
    "cuGraphInstantiate" 10000 [cuGraphInstantiate]
        (exec: *mut usize, graph: usize, node: *mut usize, log: *mut c_char, size: usize)
        => |_default| instantiating(exec, graph);
    "cuGraphInstantiate" 11000 [cuGraphInstantiate_v2]
        (exec: *mut usize, graph: usize, node: *mut usize, log: *mut c_char, size: usize)
        => |_default| instantiating(exec, graph);
    "cuGraphInstantiate" 12000 [cuGraphInstantiateWithFlags]
        (exec: *mut usize, graph: usize, flags: u64)
        => |_default| instantiating(exec, graph);
    "cuGraphInstantiateWithParams" 12000 [cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz]
        (exec: *mut usize, graph: usize, parameters: *mut c_void)
        => |_default| instantiating(exec, graph);
    "cuGraphLaunch" 10000 [cuGraphLaunch, cuGraphLaunch_ptsz] (exec: usize, stream: usize)
        => |_default| launching(exec);
    "cuGraphExecDestroy" 10000 [cuGraphExecDestroy] (exec: usize)
        => |_default| |call: Call<'_>| {
        graphs::forget(exec);
        call()
        };
    "cuGraphExecMemcpyNodeSetParams" 10020 [cuGraphExecMemcpyNodeSetParams]
        (exec: usize, node: usize, parameters: *const c_void, context: usize)
        => |_default| changing(exec);
    "cuGraphExecChildGraphNodeSetParams" 11010 [cuGraphExecChildGraphNodeSetParams]
        (exec: usize, node: usize, child: usize)
        => |_default| changing(exec);
    "cuGraphExecNodeSetParams" 12020 [cuGraphExecNodeSetParams]
        (exec: usize, node: usize, parameters: *const c_void)
        => |_default| changing(exec);
    "cuGraphNodeSetEnabled" 11060 [cuGraphNodeSetEnabled] (exec: usize, node: usize, enabled: c_uint)
        => |_default| changing(exec);
    "cuGraphExecUpdate" 10020 [cuGraphExecUpdate]
        (exec: usize, graph: usize, node: *mut usize, result: *mut c_int)
        => |_default| changing(exec);
    "cuGraphExecUpdate" 12000 [cuGraphExecUpdate_v2] (exec: usize, graph: usize, result: *mut c_void)
        => |_default| changing(exec);
    "cuGetProcAddress" 11030 [cuGetProcAddress]
        (symbol: *const c_char, answer: *mut usize, version: c_int, flags: u64)
        => |_default| asking(symbol, answer, version, flags);
    "cuGetProcAddress" 12000 [cuGetProcAddress_v2]
        (symbol: *const c_char, answer: *mut usize, version: c_int, flags: u64, status: *mut c_int)
        => |_default| asking(symbol, answer, version, flags);
}
