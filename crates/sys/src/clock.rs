//! The one clock that all ranks of a node share.

/// Now on CLOCK_MONOTONIC_RAW, nanoseconds: not slewed by NTP.
#[inline]
pub fn monotonic_raw_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec to a live one. It cannot fail: the clock exists since Linux
    // 2.6.28.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
