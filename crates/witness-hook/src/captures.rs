//! Streams that are being captured: what is queued on one becomes part of a graph, and is no copy yet.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::driver;
use crate::gpu_api::GpuApi;

/// Streams that are being captured.
static CAPTURES: AtomicU32 = AtomicU32::new(0);

/// Whether any stream is being captured.
pub fn is_any_captured() -> bool {
    CAPTURES.load(Ordering::Acquire) != 0
}

/// Whether this stream is being captured.
pub fn is_captured(api: GpuApi, stream: usize) -> bool {
    is_any_captured() && driver::is_capturing(api, stream)
}

/// Counts a capture that begins.
pub fn begin() {
    CAPTURES.fetch_add(1, Ordering::AcqRel);
}

/// Counts one that ends.
pub fn end() {
    let less = |count: u32| count.checked_sub(1);
    let _ = CAPTURES.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
}
