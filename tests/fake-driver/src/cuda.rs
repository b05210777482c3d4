//! The CUDA driver API, as far as the backend calls it: arguments in, integers out. What is done is done
//! elsewhere. Some 460 lines because it is one interface, a function a few lines.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::code::{
    ALREADY_REGISTERED, Answer, INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY,
    PEER_ALREADY_ENABLED, give, give_text,
};
use crate::context::{giving_back, on_device, outside};
use crate::copy::Copy;
use crate::devices::{self, Device};
use crate::event::Event;
use crate::flow::Direction;
use crate::stream::Stream;
use crate::wait_word::Rule;
use crate::{code, context, hold, memory, moving};

/// 12.4, as 1000 × major + 10 × minor.
const VERSION: c_int = 12040;
/// `CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID`.
const HOST_NUMA_ID: c_int = 134;
/// `CU_DEVICE_ATTRIBUTE_NUMA_CONFIG`, `_NUMA_ID`: whether its memory is a NUMA node, and which.
const NUMA_CONFIG: c_int = 130;
const NUMA_ID: c_int = 131;
/// `CU_DEVICE_ATTRIBUTE_INTEGRATED`.
const INTEGRATED: c_int = 18;
/// `CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS`, `_PAGEABLE_MEMORY_ACCESS`.
const CONCURRENT_MANAGED_ACCESS: c_int = 89;
const PAGEABLE_MEMORY_ACCESS: c_int = 88;
/// `CU_DEVICE_CPU`.
const CPU: c_int = -1;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const CAPABILITY: [c_int; 2] = [75, 76];
/// `CU_MEMHOSTALLOC_WRITECOMBINED`.
const WRITE_COMBINED: c_uint = 4;
/// A context's handle is this often the device's place, from 1.
pub const CONTEXT: usize = 0x1000;

fn visible() -> Vec<usize> {
    devices::visible(&[std::env::var("CUDA_VISIBLE_DEVICES").ok()])
}

/// The device of a handle, which is its place in the description.
fn device(handle: c_int) -> Answer<(usize, &'static Device)> {
    let place = usize::try_from(handle).map_err(|_| INVALID_DEVICE)?;
    devices::all().devices.get(place).map(|device| (place, device)).ok_or(INVALID_DEVICE)
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> c_int {
    outside("cuInit", || Ok(()))
}

/// A code's name. Not one exported function by way of another: a copy of this library may lack any.
fn name(result: c_int) -> Answer<*const c_char> {
    let name: &CStr = match result {
        INVALID_VALUE => c"CUDA_ERROR_INVALID_VALUE",
        OUT_OF_MEMORY => c"CUDA_ERROR_OUT_OF_MEMORY",
        700 => c"CUDA_ERROR_ILLEGAL_ADDRESS",
        ALREADY_REGISTERED => c"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
        PEER_ALREADY_ENABLED => c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
        719 => c"CUDA_ERROR_LAUNCH_FAILED",
        NOT_SUPPORTED => c"CUDA_ERROR_NOT_SUPPORTED",
        _ => return Err(INVALID_VALUE),
    };
    Ok(name.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorName(result: c_int, text: *mut *const c_char) -> c_int {
    code::of(give(text, name(result)))
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorString(result: c_int, text: *mut *const c_char) -> c_int {
    code::of(give(text, name(result)))
}

#[unsafe(no_mangle)]
extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    outside("cuDriverGetVersion", || give(version, Ok(VERSION)))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    outside("cuDeviceGetCount", || give(count, Ok(visible().len() as c_int)))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGet(handle: *mut c_int, ordinal: c_int) -> c_int {
    outside("cuDeviceGet", || {
        let place = usize::try_from(ordinal).ok().and_then(|at| visible().get(at).copied());
        give(handle, place.map(|place| place as c_int).ok_or(INVALID_DEVICE))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetName(text: *mut c_char, len: c_int, handle: c_int) -> c_int {
    outside("cuDeviceGetName", || give_text(&device(handle)?.1.name, text, len))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, handle: c_int) -> c_int {
    outside("cuDeviceGetPCIBusId", || give_text(&device(handle)?.1.address.to_ascii_uppercase(), text, len))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetUuid(uuid: *mut [u8; 16], handle: c_int) -> c_int {
    outside("cuDeviceGetUuid", || give(uuid, device(handle)?.1.uuid.ok_or(NOT_SUPPORTED)))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], handle: c_int) -> c_int {
    outside("cuDeviceGetUuid", || {
        let device = device(handle)?.1;
        give(uuid, device.part.or(device.uuid).ok_or(NOT_SUPPORTED))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, handle: c_int) -> c_int {
    outside("cuDeviceTotalMem", || give(bytes, Ok(device(handle)?.1.memory)))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, handle: c_int) -> c_int {
    outside("cuDeviceGetAttribute", || {
        let device = device(handle)?.1;
        let number = |node: Option<u32>| node.and_then(|node| c_int::try_from(node).ok()).unwrap_or(-1);
        let answer = match attribute {
            HOST_NUMA_ID => Ok(number(device.host_node)),
            NUMA_CONFIG => Ok(c_int::from(device.memory_node.is_some())),
            NUMA_ID => Ok(number(device.memory_node)),
            INTEGRATED => Ok(c_int::from(device.shared)),
            CONCURRENT_MANAGED_ACCESS => Ok(1),
            PAGEABLE_MEMORY_ACCESS => Ok(c_int::from(device.system)),
            major_or_minor => {
                let part = CAPABILITY.iter().position(|part| *part == major_or_minor);
                part.map(|at| device.capability[at]).ok_or(INVALID_VALUE)
            }
        };
        give(value, answer)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceCanAccessPeer(can: *mut c_int, handle: c_int, peer: c_int) -> c_int {
    outside("cuDeviceCanAccessPeer", || {
        let (peer, _) = device(peer)?;
        give(can, Ok(c_int::from(device(handle)?.1.peers.contains(&peer))))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRetain(to: *mut usize, handle: c_int) -> c_int {
    outside("cuDevicePrimaryCtxRetain", || {
        let place = context::alive(device(handle)?.0)?;
        context::retain(place);
        give(to, Ok(CONTEXT * (1 + place)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxCreate_v2(to: *mut usize, _flags: c_uint, handle: c_int) -> c_int {
    outside("cuCtxCreate", || {
        let place = context::alive(device(handle)?.0)?;
        context::retain(place);
        context::set_current(Some(place));
        give(to, Ok(CONTEXT * (1 + place)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(handle: c_int) -> c_int {
    outside("cuDevicePrimaryCtxRelease", || context::release(device(handle)?.0))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(handle: usize) -> c_int {
    outside("cuCtxSetCurrent", || {
        let place = (handle / CONTEXT).checked_sub(1);
        context::set_current(place);
        let known = place.is_none_or(|place| place < devices::all().devices.len() && context::is_used(place));
        if known { Ok(()) } else { Err(INVALID_CONTEXT) }
    })
}

/// The place of a context's handle.
fn place(handle: usize) -> Answer<usize> {
    let place = (handle / CONTEXT).checked_sub(1).filter(|place| *place < devices::all().devices.len());
    place.filter(|place| context::is_used(*place)).ok_or(INVALID_CONTEXT)
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxEnablePeerAccess(peer: usize, _flags: c_uint) -> c_int {
    on_device("cuCtxEnablePeerAccess", |device| context::enable_reach(device, place(peer)?))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyPeerAsync(
    to: u64,
    to_context: usize,
    from: u64,
    from_context: usize,
    len: usize,
    stream: usize,
) -> c_int {
    on_device("cuMemcpyPeerAsync", |device| {
        let (to, from) = ((place(to_context)?, to as usize), (place(from_context)?, from as usize));
        Copy::between(device, to, from, len)?.queue_on(unsafe { Stream::of(stream) }?, device)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, len: usize, stream: usize) -> c_int {
    on_device("cuMemcpyDtoDAsync", |device| {
        let (to, from) = ((device, to as usize), (device, from as usize));
        Copy::between(device, to, from, len)?.queue_on(unsafe { Stream::of(stream) }?, device)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_int {
    on_device("cuMemGetInfo", |device| {
        let info = memory::info(device);
        give(free, Ok(info.0))?;
        give(total, Ok(info.1))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAlloc_v2(address: *mut u64, len: usize) -> c_int {
    on_device("cuMemAlloc", |device| {
        give(address, memory::allocate(device, len).map(|address| address as u64))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: u64) -> c_int {
    giving_back("cuMemFree", || {
        moving::free(address as usize).map_or_else(|| memory::free(address as usize), Ok)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAllocManaged(address: *mut u64, len: usize, flags: c_uint) -> c_int {
    on_device("cuMemAllocManaged", |_| {
        let made = if flags == 1 { moving::allocate(len) } else { Err(INVALID_VALUE) };
        give(address, made.map(|address| address as u64))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemPrefetchAsync(address: u64, len: usize, to: c_int, stream: usize) -> c_int {
    on_device("cuMemPrefetchAsync", |current| {
        let to = if to == CPU { None } else { Some(device(to)?.0) };
        moving::prefetch(to.unwrap_or(current), address as usize, len, to.is_some(), unsafe {
            Stream::of(stream)
        }?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostAlloc(address: *mut usize, len: usize, flags: c_uint) -> c_int {
    on_device("cuMemHostAlloc", |_| {
        give(
            address,
            if flags & WRITE_COMBINED == 0 { memory::allocate_host(len) } else { Err(INVALID_VALUE) },
        )
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(address: usize) -> c_int {
    giving_back("cuMemFreeHost", || memory::free_host(address))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostGetDevicePointer_v2(to: *mut u64, address: usize, _flags: c_uint) -> c_int {
    on_device("cuMemHostGetDevicePointer", |_| {
        give(to, if memory::is_pinned(address, 1) { Ok(address as u64) } else { Err(INVALID_VALUE) })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostRegister_v2(address: usize, len: usize, _flags: c_uint) -> c_int {
    on_device("cuMemHostRegister", |_| memory::register(address, len))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostUnregister(address: usize) -> c_int {
    giving_back("cuMemHostUnregister", || memory::unregister(address))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoD_v2(to: u64, from: usize, len: usize) -> c_int {
    on_device("cuMemcpyHtoD", |device| {
        Copy::new(device, Direction::ToDevice, to as usize, from, len)?.block()
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoH_v2(to: usize, from: u64, len: usize) -> c_int {
    on_device("cuMemcpyDtoH", |device| Copy::new(device, Direction::ToHost, to, from as usize, len)?.block())
}

/// Where these functions are, for those who ask the driver for a name.
pub fn retain_address() -> usize {
    cuDevicePrimaryCtxRetain as extern "C" fn(*mut usize, c_int) -> c_int as usize
}

/// See [`retain_address`].
pub fn to_device_address() -> usize {
    cuMemcpyHtoD_v2 as extern "C" fn(u64, usize, usize) -> c_int as usize
}

/// See [`retain_address`].
pub fn to_host_address() -> usize {
    cuMemcpyDtoH_v2 as extern "C" fn(usize, u64, usize) -> c_int as usize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: usize, len: usize, stream: usize) -> c_int {
    on_device("cuMemcpyHtoDAsync", |device| {
        Copy::new(device, Direction::ToDevice, to as usize, from, len)?.queue(unsafe { Stream::of(stream) }?)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoHAsync_v2(to: usize, from: u64, len: usize, stream: usize) -> c_int {
    on_device("cuMemcpyDtoHAsync", |device| {
        Copy::new(device, Direction::ToHost, to, from as usize, len)?.queue(unsafe { Stream::of(stream) }?)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyBatchAsync_v2(
    to: *const usize,
    from: *const usize,
    sizes: *const usize,
    count: usize,
    attributes: *const c_uint,
    first: *const usize,
    kinds: usize,
    stream: usize,
) -> c_int {
    on_device("cuMemcpyBatchAsync", |device| {
        // One kind of copies from the first on, whose sources are read in the stream's order (1).
        if kinds != 1 || unsafe { *first } != 0 || unsafe { *attributes } != 1 {
            return Err(INVALID_VALUE);
        }
        unsafe { Copy::batch(device, (to, from, sizes), count, Stream::of(stream)?) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreate(handle: *mut usize, _flags: c_uint) -> c_int {
    on_device("cuStreamCreate", |device| give(handle, Ok(Stream::create(device))))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamDestroy_v2(handle: usize) -> c_int {
    giving_back("cuStreamDestroy", || unsafe { Stream::destroy(handle) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamSynchronize(handle: usize) -> c_int {
    on_device("cuStreamSynchronize", |device| {
        unsafe { Stream::of(handle) }?.wait();
        context::alive(device).map(drop)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamQuery(handle: usize) -> c_int {
    on_device("cuStreamQuery", |_| unsafe { Stream::of(handle) }?.query())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamWaitEvent(handle: usize, event: usize, _flags: c_uint) -> c_int {
    on_device("cuStreamWaitEvent", |_| unsafe { Event::of(event)?.hold_back(Stream::of(handle)?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamWaitValue32_v2(handle: usize, address: u64, value: u32, flags: c_uint) -> c_int {
    on_device("cuStreamWaitValue32", |_| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        hold::wait_value(unsafe { Stream::of(handle) }?, address as usize, value, Rule::Difference)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventCreate(handle: *mut usize, _flags: c_uint) -> c_int {
    on_device("cuEventCreate", |_| give(handle, Ok(Event::create())))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventDestroy_v2(handle: usize) -> c_int {
    giving_back("cuEventDestroy", || unsafe { Event::destroy(handle) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventRecord(handle: usize, on: usize) -> c_int {
    on_device("cuEventRecord", |_| unsafe { Event::of(handle)?.record(Stream::of(on)?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventQuery(handle: usize) -> c_int {
    on_device("cuEventQuery", |_| unsafe { Event::of(handle) }?.query())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize) -> c_int {
    on_device("cuEventElapsedTime", |_| unsafe {
        give(milliseconds, Event::elapsed(&*Event::of(start)?, &*Event::of(end)?))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadData(module: *mut usize, image: *const c_char) -> c_int {
    on_device("cuModuleLoadData", |_| give(module, unsafe { hold::load(image) }))
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: usize) -> c_int {
    giving_back("cuModuleUnload", || hold::unload(module))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> c_int {
    on_device("cuModuleGetFunction", |_| give(function, unsafe { hold::function(module, name) }))
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the manual's signature")]
unsafe extern "C" fn cuLaunchKernel(
    function: usize,
    grid_x: c_uint,
    _grid_y: c_uint,
    _grid_z: c_uint,
    _block_x: c_uint,
    _block_y: c_uint,
    _block_z: c_uint,
    _shared_bytes: c_uint,
    stream: usize,
    parameters: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> c_int {
    on_device("cuLaunchKernel", |device| unsafe {
        hold::launch(device, function, grid_x, stream, parameters)
    })
}
