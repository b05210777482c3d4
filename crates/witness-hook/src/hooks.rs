//! The driver's functions that are watched, each with its wrapper under the driver's own name.
//!
//! A function with a stream has two names: the second one takes a thread's own stream for stream 0. `since` is the
//! version of the driver's interface from which `cuGetProcAddress` gives this function for its name without suffix
//! (cudaTypedefs.h). Left out: the 32-bit functions of before CUDA 3.2, and copies between arrays.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use crate::graphs::{self, volume};
use crate::watch::{self, Copy, On, Way};
use crate::{contexts, driver, helper, lookup, memory_kind, record, timing};

/// A watched function.
pub struct Hook {
    /// Its exported name.
    pub name: &'static CStr,
    /// Its name without suffixes.
    pub base: &'static CStr,
    /// The interface's version from which the base name means it.
    pub since: c_int,
    /// Whether its stream 0 is the calling thread's own.
    pub per_thread: bool,
    /// The wrapper.
    pub ours: unsafe extern "C" fn(),
    /// The driver's function, once it is known.
    pub real: &'static AtomicUsize,
}

/// The stream that 0 stands for: the legacy one, or the thread's own.
const LEGACY: usize = 0;
const PER_THREAD: usize = 2;

/// Streams that are being captured.
static CAPTURES: AtomicU32 = AtomicU32::new(0);

/// Whether any stream is being captured.
pub fn is_any_captured() -> bool {
    CAPTURES.load(Ordering::Acquire) != 0
}

/// Whether this stream is being captured.
pub fn is_captured(stream: usize) -> bool {
    is_any_captured() && driver::is_capturing(stream)
}

/// Whether the driver says that its devices are simulated: the stand-in of numabench's own tests does.
pub fn is_simulated() -> bool {
    lookup::driver_function(c"numabench_simulation").is_some()
}

macro_rules! wrapper {
    ($base:literal $since:literal $per:literal $name:ident ($($arg:ident: $type:ty),*) $with:expr) => {
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the driver's signature")]
        unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
            let Some(real) = hook::$name.driver() else { return lookup::not_found() };
            // SAFETY: the driver's function of this name has this signature.
            let real = unsafe { core::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> c_int>(real) };
            // SAFETY: the program's own arguments.
            ($with)(&mut || unsafe { real($($arg),*) })
        }
    };
}

macro_rules! hooks {
    ($($base:literal $since:literal $per:literal $name:ident ($($arg:ident: $type:ty),*) => $with:expr;)*) => {
        $(wrapper!($base $since $per $name ($($arg: $type),*) $with);)*

        mod hook {
            #![allow(non_upper_case_globals, reason = "the driver's names")]
            use super::*;
            $(pub static $name: Hook = Hook {
                name: name(concat!(stringify!($name), "\0")),
                base: name(concat!($base, "\0")),
                since: $since,
                per_thread: $per,
                // SAFETY: only its address is used.
                ours: unsafe {
                    core::mem::transmute::<unsafe extern "C" fn($($type),*) -> c_int, unsafe extern "C" fn()>(
                        super::$name,
                    )
                },
                real: { static REAL: AtomicUsize = AtomicUsize::new(0); &REAL },
            };)*
        }

        /// All of them.
        pub static HOOKS: &[&Hook] = &[$(&hook::$name),*];
    };
}

const fn name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}

type Call<'c> = &'c mut dyn FnMut() -> c_int;

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
    move |call| watch::copy(|| Copy::unified(to, from, bytes), on, call)
}

/// A copy of two dimensions.
fn plane(words: *const [usize; volume::PLANE_WORDS], on: On) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        // SAFETY: the driver reads the same structure of the program's.
        match unsafe { words.as_ref() } {
            Some(words) => watch::copy(|| volume::plane(words), on, call),
            None => call(),
        }
    }
}

/// A copy of three dimensions.
fn solid(words: *const [usize; volume::WORDS], on: On) -> impl FnOnce(Call<'_>) -> c_int {
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
        let copy = |at: usize| unsafe { Copy::unified(*to.add(at), *from.add(at), *sizes.add(at)) };
        watch::copies((0..count).map(copy), On { stream, blocks: false }, call)
    }
}

/// A prefetch of managed memory: only counted, since its pages are elsewhere afterwards.
fn prefetch(bytes: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        let code = call();
        if let (0, Some(record)) = (code, record::begun()) {
            record.add(crate::layout::head::PREFETCHES, 1);
            record.add(crate::layout::head::PREFETCH_BYTES, bytes as u64);
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
        helper::close();
        timing::forget(context);
        contexts::forget(context);
        let code = call();
        helper::open();
        code
    }
}

/// A call that ends a device's own context, if nobody else holds it.
fn releasing(device: c_int) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        helper::close();
        let code = call();
        if !driver::is_primary_active(device) {
            timing::forget(None);
            contexts::forget(None);
        }
        helper::open();
        code
    }
}

fn beginning_capture(call: Call<'_>) -> c_int {
    CAPTURES.fetch_add(1, Ordering::AcqRel);
    let code = call();
    if code != 0 {
        CAPTURES.fetch_sub(1, Ordering::AcqRel);
    }
    code
}

fn ending_capture(call: Call<'_>) -> c_int {
    let code = call();
    let less = |count: u32| count.checked_sub(1);
    let _ = CAPTURES.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    code
}

fn instantiating(exec: *const usize, graph: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        let code = call();
        // SAFETY: where the driver has written the handle.
        if let (0, Some(exec)) = (code, unsafe { exec.as_ref() }) {
            graphs::instantiated(*exec, graph);
        }
        code
    }
}

fn launching(exec: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        let code = call();
        if code == 0 {
            graphs::launched(exec);
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

fn wait(stream: usize) -> On {
    On { stream, blocks: true }
}

fn queue(default: usize, stream: usize) -> On {
    On { stream: or(stream, default), blocks: false }
}

hooks! {
    "cuMemcpy" 4000 false cuMemcpy(to: usize, from: usize, bytes: usize) => unified(to, from, bytes, wait(LEGACY));
    "cuMemcpy" 7000 true cuMemcpy_ptds(to: usize, from: usize, bytes: usize)
        => unified(to, from, bytes, wait(PER_THREAD));
    "cuMemcpyAsync" 4000 false cuMemcpyAsync(to: usize, from: usize, bytes: usize, stream: usize)
        => unified(to, from, bytes, queue(LEGACY, stream));
    "cuMemcpyAsync" 7000 true cuMemcpyAsync_ptsz(to: usize, from: usize, bytes: usize, stream: usize)
        => unified(to, from, bytes, queue(PER_THREAD, stream));
    "cuMemcpyHtoD" 3020 false cuMemcpyHtoD_v2(to: usize, from: usize, bytes: usize)
        => blocking(LEGACY, to_device(from, bytes));
    "cuMemcpyHtoD" 7000 true cuMemcpyHtoD_v2_ptds(to: usize, from: usize, bytes: usize)
        => blocking(PER_THREAD, to_device(from, bytes));
    "cuMemcpyDtoH" 3020 false cuMemcpyDtoH_v2(to: usize, from: usize, bytes: usize)
        => blocking(LEGACY, to_host(to, bytes));
    "cuMemcpyDtoH" 7000 true cuMemcpyDtoH_v2_ptds(to: usize, from: usize, bytes: usize)
        => blocking(PER_THREAD, to_host(to, bytes));
    "cuMemcpyHtoDAsync" 3020 false cuMemcpyHtoDAsync_v2(to: usize, from: usize, bytes: usize, stream: usize)
        => queued(LEGACY, stream, to_device(from, bytes));
    "cuMemcpyHtoDAsync" 7000 true cuMemcpyHtoDAsync_v2_ptsz(to: usize, from: usize, bytes: usize, stream: usize)
        => queued(PER_THREAD, stream, to_device(from, bytes));
    "cuMemcpyDtoHAsync" 3020 false cuMemcpyDtoHAsync_v2(to: usize, from: usize, bytes: usize, stream: usize)
        => queued(LEGACY, stream, to_host(to, bytes));
    "cuMemcpyDtoHAsync" 7000 true cuMemcpyDtoHAsync_v2_ptsz(to: usize, from: usize, bytes: usize, stream: usize)
        => queued(PER_THREAD, stream, to_host(to, bytes));
    "cuMemcpyDtoD" 3020 false cuMemcpyDtoD_v2(to: usize, from: usize, bytes: usize)
        => blocking(LEGACY, devices(bytes));
    "cuMemcpyDtoD" 7000 true cuMemcpyDtoD_v2_ptds(to: usize, from: usize, bytes: usize)
        => blocking(PER_THREAD, devices(bytes));
    "cuMemcpyDtoDAsync" 3020 false cuMemcpyDtoDAsync_v2(to: usize, from: usize, bytes: usize, stream: usize)
        => queued(LEGACY, stream, devices(bytes));
    "cuMemcpyDtoDAsync" 7000 true cuMemcpyDtoDAsync_v2_ptsz(to: usize, from: usize, bytes: usize, stream: usize)
        => queued(PER_THREAD, stream, devices(bytes));
    "cuMemcpyPeer" 4000 false
        cuMemcpyPeer(to: usize, to_context: usize, from: usize, from_context: usize, bytes: usize)
        => blocking(LEGACY, devices(bytes));
    "cuMemcpyPeer" 7000 true
        cuMemcpyPeer_ptds(to: usize, to_context: usize, from: usize, from_context: usize, bytes: usize)
        => blocking(PER_THREAD, devices(bytes));
    "cuMemcpyPeerAsync" 4000 false cuMemcpyPeerAsync(
        to: usize, to_context: usize, from: usize, from_context: usize, bytes: usize, stream: usize)
        => queued(LEGACY, stream, devices(bytes));
    "cuMemcpyPeerAsync" 7000 true cuMemcpyPeerAsync_ptsz(
        to: usize, to_context: usize, from: usize, from_context: usize, bytes: usize, stream: usize)
        => queued(PER_THREAD, stream, devices(bytes));
    "cuMemcpyHtoA" 3020 false cuMemcpyHtoA_v2(to: usize, offset: usize, from: usize, bytes: usize)
        => blocking(LEGACY, to_device(from, bytes));
    "cuMemcpyAtoH" 3020 false cuMemcpyAtoH_v2(to: usize, from: usize, offset: usize, bytes: usize)
        => blocking(LEGACY, to_host(to, bytes));
    "cuMemcpyHtoAAsync" 3020 false
        cuMemcpyHtoAAsync_v2(to: usize, offset: usize, from: usize, bytes: usize, stream: usize)
        => queued(LEGACY, stream, to_device(from, bytes));
    "cuMemcpyAtoHAsync" 3020 false
        cuMemcpyAtoHAsync_v2(to: usize, from: usize, offset: usize, bytes: usize, stream: usize)
        => queued(LEGACY, stream, to_host(to, bytes));
    "cuMemcpy2D" 3020 false cuMemcpy2D_v2(words: *const [usize; volume::PLANE_WORDS]) => plane(words, wait(LEGACY));
    "cuMemcpy2D" 7000 true cuMemcpy2D_v2_ptds(words: *const [usize; volume::PLANE_WORDS])
        => plane(words, wait(PER_THREAD));
    "cuMemcpy2DUnaligned" 3020 false cuMemcpy2DUnaligned_v2(words: *const [usize; volume::PLANE_WORDS])
        => plane(words, wait(LEGACY));
    "cuMemcpy2DUnaligned" 7000 true cuMemcpy2DUnaligned_v2_ptds(words: *const [usize; volume::PLANE_WORDS])
        => plane(words, wait(PER_THREAD));
    "cuMemcpy2DAsync" 3020 false
        cuMemcpy2DAsync_v2(words: *const [usize; volume::PLANE_WORDS], stream: usize)
        => plane(words, queue(LEGACY, stream));
    "cuMemcpy2DAsync" 7000 true
        cuMemcpy2DAsync_v2_ptsz(words: *const [usize; volume::PLANE_WORDS], stream: usize)
        => plane(words, queue(PER_THREAD, stream));
    "cuMemcpy3D" 3020 false cuMemcpy3D_v2(words: *const [usize; volume::WORDS]) => solid(words, wait(LEGACY));
    "cuMemcpy3D" 7000 true cuMemcpy3D_v2_ptds(words: *const [usize; volume::WORDS])
        => solid(words, wait(PER_THREAD));
    "cuMemcpy3DAsync" 3020 false cuMemcpy3DAsync_v2(words: *const [usize; volume::WORDS], stream: usize)
        => solid(words, queue(LEGACY, stream));
    "cuMemcpy3DAsync" 7000 true cuMemcpy3DAsync_v2_ptsz(words: *const [usize; volume::WORDS], stream: usize)
        => solid(words, queue(PER_THREAD, stream));
    "cuMemcpy3DPeer" 4000 false cuMemcpy3DPeer(words: *const [usize; volume::WORDS]) => solid(words, wait(LEGACY));
    "cuMemcpy3DPeer" 7000 true cuMemcpy3DPeer_ptds(words: *const [usize; volume::WORDS])
        => solid(words, wait(PER_THREAD));
    "cuMemcpy3DPeerAsync" 4000 false cuMemcpy3DPeerAsync(words: *const [usize; volume::WORDS], stream: usize)
        => solid(words, queue(LEGACY, stream));
    "cuMemcpy3DPeerAsync" 7000 true cuMemcpy3DPeerAsync_ptsz(words: *const [usize; volume::WORDS], stream: usize)
        => solid(words, queue(PER_THREAD, stream));
    "cuMemcpyBatchAsync" 12080 false cuMemcpyBatchAsync(
        to: *const usize, from: *const usize, sizes: *const usize, count: usize, attributes: *const c_void,
        indices: *const usize, kinds: usize, failed: *mut usize, stream: usize)
        => batch(to, from, sizes, count, or(stream, LEGACY));
    "cuMemcpyBatchAsync" 12080 true cuMemcpyBatchAsync_ptsz(
        to: *const usize, from: *const usize, sizes: *const usize, count: usize, attributes: *const c_void,
        indices: *const usize, kinds: usize, failed: *mut usize, stream: usize)
        => batch(to, from, sizes, count, or(stream, PER_THREAD));
    "cuMemcpyBatchAsync" 13000 false cuMemcpyBatchAsync_v2(
        to: *const usize, from: *const usize, sizes: *const usize, count: usize, attributes: *const c_void,
        indices: *const usize, kinds: usize, stream: usize)
        => batch(to, from, sizes, count, or(stream, LEGACY));
    "cuMemcpyBatchAsync" 13000 true cuMemcpyBatchAsync_v2_ptsz(
        to: *const usize, from: *const usize, sizes: *const usize, count: usize, attributes: *const c_void,
        indices: *const usize, kinds: usize, stream: usize)
        => batch(to, from, sizes, count, or(stream, PER_THREAD));

    "cuMemPrefetchAsync" 8000 false cuMemPrefetchAsync(at: usize, bytes: usize, device: c_int, stream: usize)
        => prefetch(bytes);
    "cuMemPrefetchAsync" 8000 true cuMemPrefetchAsync_ptsz(at: usize, bytes: usize, device: c_int, stream: usize)
        => prefetch(bytes);
    "cuMemPrefetchAsync" 12020 false
        cuMemPrefetchAsync_v2(at: usize, bytes: usize, location: u64, flags: c_uint, stream: usize) => prefetch(bytes);
    "cuMemPrefetchAsync" 12020 true
        cuMemPrefetchAsync_v2_ptsz(at: usize, bytes: usize, location: u64, flags: c_uint, stream: usize)
        => prefetch(bytes);

    "cuMemHostAlloc" 2020 false cuMemHostAlloc(to: *mut usize, bytes: usize, flags: c_uint) => pinning;
    "cuMemAllocHost" 3020 false cuMemAllocHost_v2(to: *mut usize, bytes: usize) => pinning;
    "cuMemFreeHost" 2000 false cuMemFreeHost(at: usize) => pinning;
    "cuMemHostRegister" 6050 false cuMemHostRegister_v2(at: usize, bytes: usize, flags: c_uint) => pinning;
    "cuMemHostUnregister" 4000 false cuMemHostUnregister(at: usize) => pinning;
    "cuMemAllocManaged" 6000 false cuMemAllocManaged(to: *mut usize, bytes: usize, flags: c_uint)
        => allocating_managed;
    "cuMemFree" 3020 false cuMemFree_v2(at: usize) => freeing;

    "cuCtxDestroy" 4000 false cuCtxDestroy_v2(context: usize) => ending(Some(context));
    "cuDevicePrimaryCtxReset" 11000 false cuDevicePrimaryCtxReset_v2(device: c_int) => ending(None);
    "cuDevicePrimaryCtxRelease" 11000 false cuDevicePrimaryCtxRelease_v2(device: c_int) => releasing(device);

    "cuStreamBeginCapture" 10000 false cuStreamBeginCapture(stream: usize) => beginning_capture;
    "cuStreamBeginCapture" 10000 true cuStreamBeginCapture_ptsz(stream: usize) => beginning_capture;
    "cuStreamBeginCapture" 10010 false cuStreamBeginCapture_v2(stream: usize, mode: c_int) => beginning_capture;
    "cuStreamBeginCapture" 10010 true cuStreamBeginCapture_v2_ptsz(stream: usize, mode: c_int) => beginning_capture;
    "cuStreamBeginCaptureToGraph" 12030 false cuStreamBeginCaptureToGraph(
        stream: usize, graph: usize, nodes: *const usize, data: *const c_void, count: usize, mode: c_int)
        => beginning_capture;
    "cuStreamBeginCaptureToGraph" 12030 true cuStreamBeginCaptureToGraph_ptsz(
        stream: usize, graph: usize, nodes: *const usize, data: *const c_void, count: usize, mode: c_int)
        => beginning_capture;
    "cuStreamEndCapture" 10000 false cuStreamEndCapture(stream: usize, graph: *mut usize) => ending_capture;
    "cuStreamEndCapture" 10000 true cuStreamEndCapture_ptsz(stream: usize, graph: *mut usize) => ending_capture;

    "cuGraphInstantiate" 10000 false cuGraphInstantiate(
        exec: *mut usize, graph: usize, node: *mut usize, log: *mut c_char, size: usize) => instantiating(exec, graph);
    "cuGraphInstantiate" 11000 false cuGraphInstantiate_v2(
        exec: *mut usize, graph: usize, node: *mut usize, log: *mut c_char, size: usize) => instantiating(exec, graph);
    "cuGraphInstantiateWithFlags" 11040 false
        cuGraphInstantiateWithFlags(exec: *mut usize, graph: usize, flags: u64) => instantiating(exec, graph);
    "cuGraphInstantiateWithParams" 12000 false
        cuGraphInstantiateWithParams(exec: *mut usize, graph: usize, parameters: *mut c_void)
        => instantiating(exec, graph);
    "cuGraphInstantiateWithParams" 12000 true
        cuGraphInstantiateWithParams_ptsz(exec: *mut usize, graph: usize, parameters: *mut c_void)
        => instantiating(exec, graph);
    "cuGraphLaunch" 10000 false cuGraphLaunch(exec: usize, stream: usize) => launching(exec);
    "cuGraphLaunch" 10000 true cuGraphLaunch_ptsz(exec: usize, stream: usize) => launching(exec);
    "cuGraphExecDestroy" 10000 false cuGraphExecDestroy(exec: usize) => |call: Call<'_>| {
        graphs::forget(exec);
        call()
    };
    "cuGraphExecMemcpyNodeSetParams" 10020 false
        cuGraphExecMemcpyNodeSetParams(exec: usize, node: usize, parameters: *const c_void, context: usize)
        => changing(exec);
    "cuGraphExecChildGraphNodeSetParams" 11010 false
        cuGraphExecChildGraphNodeSetParams(exec: usize, node: usize, child: usize) => changing(exec);
    "cuGraphExecNodeSetParams" 12020 false
        cuGraphExecNodeSetParams(exec: usize, node: usize, parameters: *const c_void) => changing(exec);
    "cuGraphNodeSetEnabled" 11060 false cuGraphNodeSetEnabled(exec: usize, node: usize, enabled: c_uint)
        => changing(exec);
    "cuGraphExecUpdate" 10020 false
        cuGraphExecUpdate(exec: usize, graph: usize, node: *mut usize, result: *mut c_int) => changing(exec);
    "cuGraphExecUpdate" 12000 false cuGraphExecUpdate_v2(exec: usize, graph: usize, result: *mut c_void)
        => changing(exec);

    "cuGetProcAddress" 11030 false
        cuGetProcAddress(symbol: *const c_char, answer: *mut usize, version: c_int, flags: u64)
        => |call: Call<'_>| {
            let code = call();
            // SAFETY: the program's arguments, and the driver's answer.
            unsafe { lookup::replace(code, symbol, answer, version, flags) };
            code
        };
    "cuGetProcAddress" 12000 false
        cuGetProcAddress_v2(symbol: *const c_char, answer: *mut usize, version: c_int, flags: u64, status: *mut c_int)
        => |call: Call<'_>| {
            let code = call();
            // SAFETY: the program's arguments, and the driver's answer.
            unsafe { lookup::replace(code, symbol, answer, version, flags) };
            code
        };
}
