//! HIP's functions, each by way of the driver's that does the same.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::{Mutex, PoisonError};

use crate::driver::{Driver, driver};

const INVALID_VALUE: c_int = 1;
const NO_DEVICE: c_int = 100;
const NOT_SUPPORTED: c_int = 801;
/// `hipDeviceAttributeCanUseStreamWaitValue`.
const CAN_WAIT_VALUE: c_int = 10013;
/// `hipMallocSignalMemory`, and the only size there is of it.
const SIGNAL_MEMORY: c_uint = 2;
const SIGNAL_BYTES: usize = 8;
/// `CU_MEMHOSTALLOC_PORTABLE` and `_DEVICEMAP`; with `_WRITECOMBINED` they are the flags that HIP numbers
/// alike.
const PORTABLE_MAPPED: c_uint = 3;
const SHARED_FLAGS: c_uint = 7;
/// `CU_STREAM_WAIT_VALUE_GEQ`, and HIP's `hipStreamWaitValueGte`.
const GREATER_OR_EQUAL: c_uint = 0;

thread_local! {
    static CURRENT: Cell<Option<c_int>> = const { Cell::new(None) };
}

/// The codes of the driver's calls, where there is a driver.
fn with(call: impl FnOnce(&Driver) -> c_int) -> c_int {
    driver().map_or(NO_DEVICE, call)
}

/// The same on the thread's device, which is the first until it chooses another.
pub fn on_device(call: impl FnOnce(&Driver) -> c_int) -> c_int {
    if CURRENT.get().is_none() {
        let code = hipSetDevice(0);
        if code != 0 {
            return code;
        }
    }
    with(call)
}

/// The primary context of a device, retained once for good.
fn context(driver: &Driver, number: c_int) -> Result<usize, c_int> {
    static CONTEXTS: Mutex<Vec<(c_int, usize)>> = Mutex::new(Vec::new());
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, context)) = contexts.iter().find(|(of, _)| *of == number) {
        return Ok(*context);
    }
    let (handle, mut context) = (handle(driver, number)?, 0);
    match unsafe { (driver.retain)(&raw mut context, handle) } {
        0 => {
            contexts.push((number, context));
            Ok(context)
        }
        code => Err(code),
    }
}

fn handle(driver: &Driver, number: c_int) -> Result<c_int, c_int> {
    let mut handle = 0;
    match unsafe { (driver.device)(&raw mut handle, number) } {
        0 => Ok(handle),
        code => Err(code),
    }
}

/// A call on a device's handle.
fn of(number: c_int, call: impl FnOnce(&Driver, c_int) -> c_int) -> c_int {
    with(|driver| handle(driver, number).map_or_else(|code| code, |handle| call(driver, handle)))
}

fn signals<T>(look: impl FnOnce(&mut BTreeSet<usize>) -> T) -> T {
    static SIGNALS: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    look(&mut SIGNALS.lock().unwrap_or_else(PoisonError::into_inner))
}

fn text(
    result: c_int,
    of: impl FnOnce(&Driver) -> unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int,
) -> *const c_char {
    let mut text: *const c_char = std::ptr::null();
    let code = with(|driver| unsafe { of(driver)(result, &raw mut text) });
    if code == 0 && !text.is_null() { text } else { c"hipErrorUnknown".as_ptr() }
}

#[unsafe(no_mangle)]
extern "C" fn hipInit(flags: c_uint) -> c_int {
    with(|driver| unsafe { (driver.init)(flags) })
}

#[unsafe(no_mangle)]
extern "C" fn hipGetErrorName(result: c_int) -> *const c_char {
    text(result, |driver| driver.error_name)
}

#[unsafe(no_mangle)]
extern "C" fn hipGetErrorString(result: c_int) -> *const c_char {
    text(result, |driver| driver.error_string)
}

/// CUDA's 1000 × major + 10 × minor in HIP's way, 10000000 × major + 100000 × minor.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipDriverGetVersion(to: *mut c_int) -> c_int {
    let mut version = 0;
    let code = with(|driver| unsafe { (driver.version)(&raw mut version) });
    if code == 0 {
        unsafe { to.write(version / 1000 * 10_000_000 + version % 1000 / 10 * 100_000) };
    }
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipGetDeviceCount(to: *mut c_int) -> c_int {
    match with(|driver| unsafe { (driver.count)(to) }) {
        0 if unsafe { *to } == 0 => NO_DEVICE,
        code => code,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipDeviceGet(to: *mut c_int, ordinal: c_int) -> c_int {
    of(ordinal, |_, _| {
        unsafe { to.write(ordinal) };
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipDeviceGetName(to: *mut c_char, len: c_int, number: c_int) -> c_int {
    of(number, |driver, handle| unsafe { (driver.device_name)(to, len, handle) })
}

/// CUDA writes the address in capitals.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipDeviceGetPCIBusId(to: *mut c_char, len: c_int, number: c_int) -> c_int {
    let code = of(number, |driver, handle| unsafe { (driver.pci_bus_id)(to, len, handle) });
    if code == 0 {
        let written = unsafe { CStr::from_ptr(to) }.to_bytes().len();
        unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), written) }.make_ascii_lowercase();
    }
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipDeviceGetUuid(to: *mut [u8; 16], number: c_int) -> c_int {
    of(number, |driver, handle| unsafe { (driver.uuid)(to, handle) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipDeviceTotalMem(to: *mut usize, number: c_int) -> c_int {
    of(number, |driver, handle| unsafe { (driver.total_mem)(to, handle) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipDeviceGetAttribute(to: *mut c_int, attribute: c_int, number: c_int) -> c_int {
    of(number, |_, _| {
        if attribute != CAN_WAIT_VALUE {
            return INVALID_VALUE;
        }
        unsafe { to.write(1) };
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipSetDevice(number: c_int) -> c_int {
    with(|driver| {
        let code = match context(driver, number) {
            Ok(context) => unsafe { (driver.set_current)(context) },
            Err(code) => code,
        };
        if code == 0 {
            CURRENT.set(Some(number));
        }
        code
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipGetDevice(to: *mut c_int) -> c_int {
    on_device(|_| {
        unsafe { to.write(CURRENT.get().unwrap_or(0)) };
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> c_int {
    on_device(|driver| unsafe { (driver.mem_info)(free, total) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipMalloc(to: *mut u64, len: usize) -> c_int {
    on_device(|driver| unsafe { (driver.alloc)(to, len) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipExtMallocWithFlags(to: *mut usize, len: usize, flags: c_uint) -> c_int {
    if flags != SIGNAL_MEMORY || len != SIGNAL_BYTES {
        return INVALID_VALUE;
    }
    let code = on_device(|driver| unsafe { (driver.host_alloc)(to, len, PORTABLE_MAPPED) });
    if code == 0 {
        signals(|signals| signals.insert(unsafe { *to }));
    }
    code
}

#[unsafe(no_mangle)]
extern "C" fn hipFree(address: usize) -> c_int {
    let signal = signals(|signals| signals.remove(&address));
    on_device(|driver| unsafe {
        if signal { (driver.host_free)(address) } else { (driver.free)(address as u64) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipHostMalloc(to: *mut usize, len: usize, flags: c_uint) -> c_int {
    on_device(|driver| unsafe { (driver.host_alloc)(to, len, flags & SHARED_FLAGS) })
}

#[unsafe(no_mangle)]
extern "C" fn hipHostFree(address: usize) -> c_int {
    on_device(|driver| unsafe { (driver.host_free)(address) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipHostGetDevicePointer(to: *mut u64, address: usize, flags: c_uint) -> c_int {
    on_device(|driver| unsafe { (driver.host_device_pointer)(to, address, flags) })
}

#[unsafe(no_mangle)]
extern "C" fn hipHostRegister(address: usize, len: usize, flags: c_uint) -> c_int {
    on_device(|driver| unsafe { (driver.host_register)(address, len, flags & PORTABLE_MAPPED) })
}

#[unsafe(no_mangle)]
extern "C" fn hipHostUnregister(address: usize) -> c_int {
    on_device(|driver| unsafe { (driver.host_unregister)(address) })
}

#[unsafe(no_mangle)]
extern "C" fn hipMemcpyHtoD(to: u64, from: usize, len: usize) -> c_int {
    on_device(|driver| unsafe { (driver.to_device)(to, from, len) })
}

#[unsafe(no_mangle)]
extern "C" fn hipMemcpyDtoH(to: usize, from: u64, len: usize) -> c_int {
    on_device(|driver| unsafe { (driver.to_host)(to, from, len) })
}

#[unsafe(no_mangle)]
extern "C" fn hipMemcpyHtoDAsync(to: u64, from: usize, len: usize, stream: usize) -> c_int {
    on_device(|driver| unsafe { (driver.queue_to_device)(to, from, len, stream) })
}

#[unsafe(no_mangle)]
extern "C" fn hipMemcpyDtoHAsync(to: usize, from: u64, len: usize, stream: usize) -> c_int {
    on_device(|driver| unsafe { (driver.queue_to_host)(to, from, len, stream) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipDeviceCanAccessPeer(to: *mut c_int, number: c_int, peer: c_int) -> c_int {
    of(number, |driver, device| match handle(driver, peer) {
        Ok(peer) => unsafe { (driver.can_access_peer)(to, device, peer) },
        Err(code) => code,
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) -> c_int {
    on_device(|driver| match context(driver, peer) {
        Ok(context) => unsafe { (driver.enable_peer_access)(context, flags) },
        Err(code) => code,
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipMemcpyPeerAsync(
    to: u64,
    to_device: c_int,
    from: u64,
    from_device: c_int,
    len: usize,
    stream: usize,
) -> c_int {
    on_device(|driver| match (context(driver, to_device), context(driver, from_device)) {
        (Ok(to_context), Ok(from_context)) => unsafe {
            (driver.queue_between)(to, to_context, from, from_context, len, stream)
        },
        (Err(code), _) | (_, Err(code)) => code,
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipStreamCreateWithFlags(to: *mut usize, flags: c_uint) -> c_int {
    on_device(|driver| unsafe { (driver.stream_create)(to, flags) })
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamDestroy(stream: usize) -> c_int {
    on_device(|driver| unsafe { (driver.stream_destroy)(stream) })
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamSynchronize(stream: usize) -> c_int {
    on_device(|driver| unsafe { (driver.stream_synchronize)(stream) })
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamQuery(stream: usize) -> c_int {
    on_device(|driver| unsafe { (driver.stream_query)(stream) })
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamWaitEvent(stream: usize, event: usize, flags: c_uint) -> c_int {
    on_device(|driver| unsafe { (driver.stream_wait_event)(stream, event, flags) })
}

/// CUDA compares by a signed difference and HIP by size: for words that only count up the same.
#[unsafe(no_mangle)]
extern "C" fn hipStreamWaitValue32(
    stream: usize,
    address: usize,
    value: u32,
    flags: c_uint,
    mask: u32,
) -> c_int {
    if flags != GREATER_OR_EQUAL || mask != u32::MAX {
        return NOT_SUPPORTED;
    }
    if !signals(|signals| signals.contains(&address)) {
        return INVALID_VALUE;
    }
    on_device(|driver| {
        let mut on_device = 0;
        match unsafe { (driver.host_device_pointer)(&raw mut on_device, address, 0) } {
            0 => unsafe { (driver.stream_wait_value)(stream, on_device, value, GREATER_OR_EQUAL) },
            code => code,
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipEventCreateWithFlags(to: *mut usize, flags: c_uint) -> c_int {
    on_device(|driver| unsafe { (driver.event_create)(to, flags) })
}

#[unsafe(no_mangle)]
extern "C" fn hipEventDestroy(event: usize) -> c_int {
    on_device(|driver| unsafe { (driver.event_destroy)(event) })
}

#[unsafe(no_mangle)]
extern "C" fn hipEventRecord(event: usize, stream: usize) -> c_int {
    on_device(|driver| unsafe { (driver.event_record)(event, stream) })
}

#[unsafe(no_mangle)]
extern "C" fn hipEventQuery(event: usize) -> c_int {
    on_device(|driver| unsafe { (driver.event_query)(event) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize) -> c_int {
    on_device(|driver| unsafe { (driver.event_elapsed)(milliseconds, start, end) })
}
