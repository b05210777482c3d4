//! HIP's runtime API, as far as the backend calls it: arguments in, integers out. What is done is done
//! elsewhere.
//!
//! Where it differs from CUDA's driver, it is as ROCm has it: a device's handle is its number; a thread's
//! device is the first until it says otherwise, and nobody retains or releases it; the wait for a value
//! compares unsigned numbers in signal memory; a code that it does not know is `hipErrorUnknown`; a UUID is
//! 16 characters; every call's code becomes the thread's last error, until that is asked for. With
//! `FAKE_LEFTOVERS=say` it says at the process's end what was not given back. Over 400 lines because it is
//! one interface, a function a few lines.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::env;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, Once, PoisonError};

use crate::code::{
    ALREADY_REGISTERED, Answer, INVALID_DEVICE, INVALID_VALUE, NO_DEVICE, NOT_SUPPORTED, OUT_OF_MEMORY, give,
    give_text,
};
use crate::context;
use crate::copy::Copy;
use crate::devices::{self, Device};
use crate::event::Event;
use crate::flow::Direction;
use crate::stream::Stream;
use crate::wait_word::Rule;
use crate::{capture, hold, memory, moving};

/// 6.4.3 of ROCm, as 10000000 × major + 100000 × minor + patch.
const VERSION: c_int = 60_400_003;
/// `hipDeviceAttributeCanUseStreamWaitValue`.
const CAN_WAIT_VALUE: c_int = 10013;
/// `hipDeviceAttributeConcurrentManagedAccess`, `PageableMemoryAccess`.
const CONCURRENT_MANAGED_ACCESS: c_int = 9;
const PAGEABLE_MEMORY_ACCESS: c_int = 65;
/// `hipCpuDeviceId`.
const CPU: c_int = -1;
/// `hipDeviceAttributeIntegrated`.
const INTEGRATED: c_int = 16;
/// `hipHostMallocWriteCombined`.
const WRITE_COMBINED: c_uint = 4;
/// `hipMallocSignalMemory`, and the only size there is of it.
const SIGNAL_MEMORY: c_uint = 2;
const SIGNAL_BYTES: usize = 8;

/// The devices that the variables leave: ROCr's first, then HIP's own or, without it, CUDA's.
fn visible() -> Vec<usize> {
    let own =
        ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"].into_iter().find_map(|name| env::var(name).ok());
    devices::visible(&[env::var("ROCR_VISIBLE_DEVICES").ok(), own])
}

/// The place of a device in the description.
pub fn place(number: c_int) -> Answer<usize> {
    usize::try_from(number).ok().and_then(|at| visible().get(at).copied()).ok_or(INVALID_DEVICE)
}

fn device(number: c_int) -> Answer<&'static Device> {
    devices::all().devices.get(place(number)?).ok_or(INVALID_DEVICE)
}

/// The number of a device that is at this place.
pub fn number(place: usize) -> Answer<c_int> {
    visible().iter().position(|at| *at == place).map(|at| at as c_int).ok_or(INVALID_DEVICE)
}

thread_local! {
    /// The thread's last error that it has not asked for; with ROCm 5 the code of its last call.
    static LAST_ERROR: Cell<c_int> = const { Cell::new(0) };
}

pub fn is_of_rocm_5() -> bool {
    env::var("FAKE_ROCM").is_ok_and(|version| version == "5")
}

fn kept(code: c_int) -> c_int {
    if code != 0 || is_of_rocm_5() {
        LAST_ERROR.set(code);
    }
    code
}

#[unsafe(no_mangle)]
extern "C" fn hipPeekAtLastError() -> c_int {
    LAST_ERROR.get()
}

#[unsafe(no_mangle)]
extern "C" fn hipGetLastError() -> c_int {
    LAST_ERROR.replace(0)
}

/// Does a call that needs no device.
pub fn outside(call: &'static str, act: impl FnOnce() -> Answer) -> c_int {
    kept(context::outside(call, act))
}

/// Does a call on the thread's device, which is the first until it says otherwise.
pub fn on_device(call: &'static str, act: impl FnOnce(usize) -> Answer) -> c_int {
    choose_device();
    kept(context::on_device(call, act))
}

/// The same of a call that gives something back.
pub fn giving_back(call: &'static str, act: impl FnOnce() -> Answer) -> c_int {
    choose_device();
    kept(context::giving_back(call, act))
}

fn choose_device() {
    if context::current().is_none() {
        context::set_current(visible().first().copied());
    }
}

/// Signal memory that lives.
fn signals<T>(look: impl FnOnce(&mut BTreeSet<usize>) -> T) -> T {
    static SIGNALS: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    look(&mut SIGNALS.lock().unwrap_or_else(PoisonError::into_inner))
}

#[unsafe(no_mangle)]
extern "C" fn hipInit(_flags: c_uint) -> c_int {
    static ONCE: Once = Once::new();
    unsafe extern "C" {
        fn atexit(act: extern "C" fn()) -> c_int;
    }
    extern "C" fn at_the_end() {
        memory::say_what_is_left(moving::left());
    }
    if env::var("FAKE_LEFTOVERS").is_ok_and(|value| value == "say") {
        ONCE.call_once(|| {
            unsafe { atexit(at_the_end) };
        });
    }
    outside("hipInit", || Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn hipGetErrorName(result: c_int) -> *const c_char {
    let name: &CStr = match result {
        0 => c"hipSuccess",
        INVALID_VALUE => c"hipErrorInvalidValue",
        OUT_OF_MEMORY => c"hipErrorOutOfMemory",
        NO_DEVICE => c"hipErrorNoDevice",
        INVALID_DEVICE => c"hipErrorInvalidDevice",
        700 => c"hipErrorIllegalAddress",
        ALREADY_REGISTERED => c"hipErrorHostMemoryAlreadyRegistered",
        719 => c"hipErrorLaunchFailure",
        NOT_SUPPORTED => c"hipErrorNotSupported",
        _ => c"hipErrorUnknown",
    };
    name.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn hipGetErrorString(result: c_int) -> *const c_char {
    let text: &CStr = match result {
        0 => c"no error",
        INVALID_VALUE => c"invalid argument",
        OUT_OF_MEMORY => c"out of memory",
        _ => c"unknown error",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn hipDriverGetVersion(version: *mut c_int) -> c_int {
    outside("hipDriverGetVersion", || give(version, Ok(VERSION)))
}

#[unsafe(no_mangle)]
extern "C" fn hipGetDeviceCount(count: *mut c_int) -> c_int {
    outside("hipGetDeviceCount", || {
        let visible = visible().len();
        give(count, Ok(visible as c_int))?;
        if visible == 0 { Err(NO_DEVICE) } else { Ok(()) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipDeviceGet(handle: *mut c_int, ordinal: c_int) -> c_int {
    outside("hipDeviceGet", || give(handle, place(ordinal).map(|_| ordinal)))
}

#[unsafe(no_mangle)]
extern "C" fn hipDeviceGetName(text: *mut c_char, len: c_int, number: c_int) -> c_int {
    outside("hipDeviceGetName", || give_text(&device(number)?.name, text, len))
}

#[unsafe(no_mangle)]
extern "C" fn hipDeviceGetPCIBusId(text: *mut c_char, len: c_int, number: c_int) -> c_int {
    outside("hipDeviceGetPCIBusId", || {
        let address = device(number)?.address.to_ascii_lowercase();
        if usize::try_from(len).is_ok_and(|room| room > address.len()) {
            return give_text(&address, text, len);
        }
        Err(INVALID_VALUE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipDeviceGetUuid(uuid: *mut [u8; 16], number: c_int) -> c_int {
    outside("hipDeviceGetUuid", || {
        let device = device(number)?;
        let own = device.part.or(device.uuid).ok_or(NOT_SUPPORTED)?;
        // The last eight bytes, as 16 digits.
        let digits = format!("{:016x}", u128::from_be_bytes(own) as u64);
        give(uuid, digits.as_bytes().try_into().map_err(|_| INVALID_VALUE))
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipDeviceTotalMem(bytes: *mut usize, number: c_int) -> c_int {
    outside("hipDeviceTotalMem", || give(bytes, Ok(device(number)?.memory)))
}

#[unsafe(no_mangle)]
extern "C" fn hipDeviceGetAttribute(value: *mut c_int, attribute: c_int, number: c_int) -> c_int {
    outside("hipDeviceGetAttribute", || {
        let device = device(number)?;
        let answer = match attribute {
            CAN_WAIT_VALUE => Ok(1),
            INTEGRATED => Ok(c_int::from(device.shared)),
            CONCURRENT_MANAGED_ACCESS => Ok(1),
            PAGEABLE_MEMORY_ACCESS => Ok(c_int::from(device.system)),
            _ => Err(INVALID_VALUE),
        };
        give(value, answer)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipDeviceCanAccessPeer(can: *mut c_int, number: c_int, peer: c_int) -> c_int {
    outside("hipDeviceCanAccessPeer", || {
        let peer = place(peer)?;
        give(can, Ok(c_int::from(device(number)?.peers.contains(&peer))))
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipSetDevice(number: c_int) -> c_int {
    outside("hipSetDevice", || {
        context::set_current(Some(place(number)?));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipGetDevice(to: *mut c_int) -> c_int {
    on_device("hipGetDevice", |device| give(to, number(device)))
}

#[unsafe(no_mangle)]
extern "C" fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> c_int {
    on_device("hipMemGetInfo", |device| {
        let info = memory::info(device);
        give(free, Ok(info.0))?;
        give(total, Ok(info.1))
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipMalloc(address: *mut usize, len: usize) -> c_int {
    on_device("hipMalloc", |device| give(address, memory::allocate(device, len)))
}

#[unsafe(no_mangle)]
extern "C" fn hipMallocManaged(address: *mut usize, len: usize, flags: c_uint) -> c_int {
    on_device("hipMallocManaged", |_| {
        give(address, if flags == 1 { moving::allocate(len) } else { Err(INVALID_VALUE) })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipMemPrefetchAsync(address: usize, len: usize, to: c_int, stream: usize) -> c_int {
    on_device("hipMemPrefetchAsync", |current| {
        let to = if to == CPU { None } else { Some(place(to)?) };
        moving::prefetch(to.unwrap_or(current), address, len, to.is_some(), unsafe { Stream::of(stream) }?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipExtMallocWithFlags(address: *mut usize, len: usize, flags: c_uint) -> c_int {
    on_device("hipExtMallocWithFlags", |_| {
        if flags != SIGNAL_MEMORY || len != SIGNAL_BYTES {
            return Err(INVALID_VALUE);
        }
        let signal = memory::allocate_host(len)?;
        signals(|signals| signals.insert(signal));
        // ROCr's signals begin at 1.
        unsafe { (signal as *mut u64).write(1) };
        give(address, Ok(signal))
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipFree(address: usize) -> c_int {
    giving_back("hipFree", || {
        if signals(|signals| signals.remove(&address)) {
            return memory::free_host(address);
        }
        moving::free(address).map_or_else(|| memory::free(address), Ok)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipHostMalloc(address: *mut usize, len: usize, flags: c_uint) -> c_int {
    on_device("hipHostMalloc", |_| {
        give(
            address,
            if flags & WRITE_COMBINED == 0 { memory::allocate_host(len) } else { Err(INVALID_VALUE) },
        )
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipHostFree(address: usize) -> c_int {
    giving_back("hipHostFree", || memory::free_host(address))
}

#[unsafe(no_mangle)]
extern "C" fn hipHostGetDevicePointer(to: *mut usize, address: usize, flags: c_uint) -> c_int {
    on_device("hipHostGetDevicePointer", |_| {
        give(to, if flags == 0 && memory::is_pinned(address, 1) { Ok(address) } else { Err(INVALID_VALUE) })
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipHostRegister(address: usize, len: usize, _flags: c_uint) -> c_int {
    on_device("hipHostRegister", |_| memory::register(address, len))
}

#[unsafe(no_mangle)]
extern "C" fn hipHostUnregister(address: usize) -> c_int {
    giving_back("hipHostUnregister", || memory::unregister(address))
}

#[unsafe(no_mangle)]
extern "C" fn hipMemcpyHtoD(to: usize, from: usize, len: usize) -> c_int {
    on_device("hipMemcpyHtoD", |device| Copy::new(device, Direction::ToDevice, to, from, len)?.block())
}

#[unsafe(no_mangle)]
extern "C" fn hipMemcpyDtoH(to: usize, from: usize, len: usize) -> c_int {
    on_device("hipMemcpyDtoH", |device| Copy::new(device, Direction::ToHost, to, from, len)?.block())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipMemcpyHtoDAsync(to: usize, from: usize, len: usize, stream: usize) -> c_int {
    on_device("hipMemcpyHtoDAsync", |device| {
        Copy::new(device, Direction::ToDevice, to, from, len)?.queue(unsafe { Stream::of(stream) }?)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipMemcpyBatchAsync(
    to: *const usize,
    from: *const usize,
    sizes: *const usize,
    count: usize,
    _attributes: usize,
    _first: usize,
    kinds: usize,
    _failed: *mut usize,
    stream: usize,
) -> c_int {
    on_device("hipMemcpyBatchAsync", |device| {
        if kinds != 0 {
            return Err(INVALID_VALUE);
        }
        unsafe { Copy::batch(device, (to, from, sizes), count, Stream::of(stream)?) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipMemcpyDtoHAsync(to: usize, from: usize, len: usize, stream: usize) -> c_int {
    on_device("hipMemcpyDtoHAsync", |device| {
        Copy::new(device, Direction::ToHost, to, from, len)?.queue(unsafe { Stream::of(stream) }?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipDeviceEnablePeerAccess(peer: c_int, _flags: c_uint) -> c_int {
    on_device("hipDeviceEnablePeerAccess", |device| context::enable_reach(device, place(peer)?))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipMemcpyPeerAsync(
    to: usize,
    to_device: c_int,
    from: usize,
    from_device: c_int,
    len: usize,
    stream: usize,
) -> c_int {
    on_device("hipMemcpyPeerAsync", |device| {
        let (to, from) = ((place(to_device)?, to), (place(from_device)?, from));
        Copy::between(device, to, from, len)?.queue_on(unsafe { Stream::of(stream) }?, device)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamCreateWithFlags(handle: *mut usize, _flags: c_uint) -> c_int {
    on_device("hipStreamCreateWithFlags", |device| give(handle, Ok(Stream::create(device))))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipStreamDestroy(handle: usize) -> c_int {
    giving_back("hipStreamDestroy", || unsafe { Stream::destroy(handle) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipStreamSynchronize(handle: usize) -> c_int {
    on_device("hipStreamSynchronize", |device| {
        unsafe { Stream::of(handle) }?.wait();
        context::alive(device).map(drop)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipStreamQuery(handle: usize) -> c_int {
    on_device("hipStreamQuery", |_| unsafe { Stream::of(handle) }?.query())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipStreamWaitEvent(handle: usize, event: usize, _flags: c_uint) -> c_int {
    on_device("hipStreamWaitEvent", |_| unsafe { Event::of(event)?.hold_back(Stream::of(handle)?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipStreamWaitValue32(
    handle: usize,
    address: *mut c_void,
    value: u32,
    flags: c_uint,
    mask: u32,
) -> c_int {
    on_device("hipStreamWaitValue32", |_| {
        let word = address as usize;
        if flags != 0 || mask != u32::MAX || !signals(|signals| signals.contains(&word)) {
            return Err(INVALID_VALUE);
        }
        hold::wait_value(unsafe { Stream::of(handle) }?, word, value, Rule::Unsigned)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipEventCreateWithFlags(handle: *mut usize, _flags: c_uint) -> c_int {
    on_device("hipEventCreateWithFlags", |_| give(handle, Ok(Event::create())))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipEventDestroy(handle: usize) -> c_int {
    giving_back("hipEventDestroy", || unsafe { Event::destroy(handle) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipEventRecord(handle: usize, on: usize) -> c_int {
    on_device("hipEventRecord", |_| {
        capture::record(handle, on);
        unsafe { Event::of(handle)?.record(Stream::of(on)?) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipEventQuery(handle: usize) -> c_int {
    on_device("hipEventQuery", |_| {
        capture::query(handle)?;
        unsafe { Event::of(handle) }?.query()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize) -> c_int {
    on_device("hipEventElapsedTime", |_| unsafe {
        give(milliseconds, Event::elapsed(&*Event::of(start)?, &*Event::of(end)?))
    })
}
