//! What the wrappers of watched functions do; the functions stand in `cuda`, `hip`, `openings` and
//! `asked`.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::gpu_api::GpuApi;
use crate::hook::Call;
use crate::layout::head;
use crate::span::{Copy, On, Span, Way};
use crate::{captures, contexts, driver, gate, graphs, memory_kind, session, timing, volume, watch};

/// From host memory to a device.
pub fn to_device(from: usize, bytes: usize) -> Copy {
    Copy::line(Way::ToDevice, from, bytes)
}

/// From a device to host memory.
pub fn to_host(to: usize, bytes: usize) -> Copy {
    Copy::line(Way::ToHost, to, bytes)
}

/// Between devices.
pub fn devices(bytes: usize) -> Copy {
    Copy::line(Way::Devices, 0, bytes)
}

/// A copy.
pub fn copied(what: Copy, on: On) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| watch::copy(|| Some(what), on, call)
}

/// A copy between addresses of either side, which are asked for only if it is counted.
pub fn unified(to: usize, from: usize, bytes: usize, on: On) -> impl FnOnce(Call<'_>) -> c_int {
    let [to, from] = [to, from].map(|address| Span::line(address, bytes));
    move |call| watch::copy(|| Some(volume::unified(on.api, to, from)), on, call)
}

/// A copy by HIP of this `hipMemcpyKind`.
pub fn of_kind(kind: c_int, to: Span, from: Span, on: On) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| watch::copy(|| Some(volume::of_kind(kind, to, from)), on, call)
}

/// A copy of two dimensions.
pub fn plane(words: *const [usize; volume::PLANE_WORDS], on: On) -> impl FnOnce(Call<'_>) -> c_int {
    described(words, on, move |words| Some(volume::plane(on.api, words)))
}

/// A copy of three dimensions.
pub fn solid(words: *const [usize; volume::WORDS], on: On) -> impl FnOnce(Call<'_>) -> c_int {
    described(words, on, move |words| Some(volume::copy(on.api, words)))
}

/// A copy of three dimensions by HIP.
pub fn hip_solid(words: *const [usize; volume::HIP_WORDS], on: On) -> impl FnOnce(Call<'_>) -> c_int {
    described(words, on, volume::of_hip)
}

/// A copy that a structure describes; `None`: it is not counted.
fn described<const WORDS: usize>(
    words: *const [usize; WORDS],
    on: On,
    what: impl FnOnce(&[usize; WORDS]) -> Option<Copy>,
) -> impl FnOnce(Call<'_>) -> c_int {
    // SAFETY: the driver reads the same structure of the program's.
    move |call| watch::copy(|| unsafe { words.as_ref() }.and_then(what), on, call)
}

/// The copies of a batch: where to, where from, and how many bytes of each.
pub fn batch([to, from, sizes]: [*const usize; 3], count: usize, on: On) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        // SAFETY: the driver has read so many of each.
        let copy = |at: usize| unsafe {
            let bytes = *sizes.add(at);
            volume::unified(on.api, Span::line(*to.add(at), bytes), Span::line(*from.add(at), bytes))
        };
        watch::copies((0..count).map(copy), on, call)
    }
}

/// A prefetch of managed memory: only counted, since its pages are elsewhere afterwards.
pub fn prefetch(bytes: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        watch::outermost(call, |record, call| {
            let code = call();
            if code == 0 {
                record.add(head::PREFETCHES, 1);
                record.add(head::PREFETCH_BYTES, bytes as u64);
            }
            code
        })
    }
}

/// Whether the program has had managed memory.
static MANAGED: AtomicBool = AtomicBool::new(false);

/// A call that allocates managed memory.
pub fn allocating_managed(call: Call<'_>) -> c_int {
    MANAGED.store(true, Ordering::Release);
    pinning(call)
}

/// A call that frees memory of a device, or managed memory.
pub fn freeing(call: Call<'_>) -> c_int {
    if MANAGED.load(Ordering::Acquire) { pinning(call) } else { call() }
}

/// A call that changes what is pinned.
pub fn pinning(call: Call<'_>) -> c_int {
    let code = call();
    memory_kind::begin_generation();
    code
}

/// A call that ends a context, or all of a device: its events are not read any more.
pub fn ending(context: Option<usize>) -> impl FnOnce(Call<'_>) -> c_int {
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
pub fn releasing(device: c_int) -> impl FnOnce(Call<'_>) -> c_int {
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

/// A call that ends a stream of HIP's, whose events know the stream that they were recorded on.
pub fn ending_stream(stream: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        gate::close();
        timing::forget_stream(GpuApi::Hip, stream);
        let code = call();
        gate::open();
        code
    }
}

/// A call that begins a stream's capture. Nobody queries an event meanwhile: with HIP (ROCm 6.2) that would
/// end the capture, if the event was last recorded on that stream.
pub fn beginning_capture(call: Call<'_>) -> c_int {
    gate::close();
    captures::begin();
    gate::open();
    let code = call();
    if code != 0 {
        captures::end();
    }
    code
}

/// A call that ends a capture.
pub fn ending_capture(call: Call<'_>) -> c_int {
    let code = call();
    captures::end();
    code
}

/// A call that instantiates a graph.
pub fn instantiating(api: GpuApi, exec: *const usize, graph: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        let code = call();
        // SAFETY: where the driver has written the handle.
        if let (0, Some(exec), Some(_)) = (code, unsafe { exec.as_ref() }, session::begun()) {
            graphs::instantiated(api, *exec, graph);
        }
        code
    }
}

/// A call that launches a graph.
pub fn launching(on: On, exec: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        watch::outermost(call, |record, call| {
            let code = call();
            if code == 0 {
                let seen = graphs::copies_of(exec, |copy| watch::count(record, &copy, on));
                record.add(if seen { head::GRAPHS } else { head::GRAPHS_UNSEEN }, 1);
            }
            code
        })
    }
}

/// A call that changes an instantiated graph.
pub fn changing(exec: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        let code = call();
        graphs::changed(exec);
        code
    }
}

/// A call that destroys an instantiated graph.
pub fn forgetting(exec: usize) -> impl FnOnce(Call<'_>) -> c_int {
    move |call| {
        graphs::forget(exec);
        call()
    }
}
