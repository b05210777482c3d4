//! What programs ask of the CUDA driver beyond numabench's own backend: what an address is, copies between addresses
//! of either side, and functions by name (`cuGetProcAddress`, as the static runtime asks).

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::code::{Answer, INVALID_HANDLE, INVALID_VALUE, give};
use crate::context::{self, on_device, outside};
use crate::copy::Copy;
use crate::flow::Direction;
use crate::stream::Stream;
use crate::{memory, moving};

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`, `_IS_MANAGED`, `_RANGE_START_ADDR`, `_RANGE_SIZE`.
const MEMORY_TYPE: c_int = 2;
const IS_MANAGED: c_int = 8;
const RANGE_START: c_int = 11;
const RANGE_BYTES: c_int = 12;
/// `CUDA_ERROR_NOT_FOUND`.
const NOT_FOUND: c_int = 500;

/// What an address is; an error where nobody knows it, as the driver answers of pageable memory.
fn attribute(which: c_int, address: usize) -> Answer<u64> {
    let on_device = memory::device_of(address, 1).is_some();
    let managed = moving::range_of(address).is_some();
    if !on_device && !managed && !memory::is_pinned(address, 1) {
        return Err(INVALID_VALUE);
    }
    let range = || moving::range_of(address).or_else(|| memory::range_of(address)).ok_or(INVALID_VALUE);
    match which {
        MEMORY_TYPE => Ok(if on_device { 2 } else { 1 }),
        IS_MANAGED => Ok(u64::from(managed)),
        RANGE_START => range().map(|(start, _)| start as u64),
        RANGE_BYTES => range().map(|(_, len)| len as u64),
        _ => Err(INVALID_VALUE),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuPointerGetAttribute(to: *mut c_void, which: c_int, address: u64) -> c_int {
    on_device("cuPointerGetAttribute", |_| {
        let value = attribute(which, address as usize)?;
        match which {
            MEMORY_TYPE => give(to.cast::<c_uint>(), Ok(value as c_uint)),
            IS_MANAGED => give(to.cast::<u8>(), Ok(value as u8)),
            _ => give(to.cast::<u64>(), Ok(value)),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetCurrent(handle: *mut usize) -> c_int {
    outside("cuCtxGetCurrent", || {
        give(handle, Ok(context::current().map_or(0, |place| crate::cuda::CONTEXT * (1 + place))))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetDevice(handle: *mut c_int) -> c_int {
    on_device("cuCtxGetDevice", |device| give(handle, Ok(device as c_int)))
}

/// A copy whose direction follows from the addresses.
fn between(device: usize, to: u64, from: u64, len: usize) -> Answer<Copy> {
    let (to, from) = (to as usize, from as usize);
    match (memory::device_of(to, len), memory::device_of(from, len)) {
        (Some(there), Some(here)) => Copy::between(device, (there, to), (here, from), len),
        (Some(_), None) => Copy::new(device, Direction::ToDevice, to, from, len),
        _ => Copy::new(device, Direction::ToHost, to, from, len),
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpy(to: u64, from: u64, len: usize) -> c_int {
    on_device("cuMemcpy", |device| between(device, to, from, len)?.block())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyAsync(to: u64, from: u64, len: usize, stream: usize) -> c_int {
    on_device("cuMemcpyAsync", |device| {
        between(device, to, from, len)?.queue_on(unsafe { Stream::of(stream) }?, device)
    })
}

/// `CUDA_MEMCPY2D`, all of whose fields are words.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpy2D_v2(words: *const [usize; 16]) -> c_int {
    on_device("cuMemcpy2D", |device| {
        let [sx, sy, _, shost, sdevice, _, spitch, dx, dy, _, dhost, ddevice, _, dpitch, width, height] =
            unsafe { words.as_ref() }.copied().ok_or(INVALID_HANDLE)?;
        let start = |host: usize, device: usize| if host == 0 { device } else { host };
        for row in 0..height {
            let from = start(shost, sdevice) + (sy + row) * spitch + sx;
            let to = start(dhost, ddevice) + (dy + row) * dpitch + dx;
            between(device, to as u64, from as u64, width)?.block()?;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetProcAddress_v2(
    symbol: *const c_char,
    to: *mut usize,
    _version: c_int,
    _flags: u64,
    _status: *mut c_int,
) -> c_int {
    outside("cuGetProcAddress", || {
        let found = match unsafe { CStr::from_ptr(symbol) }.to_bytes() {
            b"cuMemcpyHtoD" => super::cuda::to_device_address(),
            b"cuMemcpyDtoH" => super::cuda::to_host_address(),
            b"cuMemcpy" => cuMemcpy as extern "C" fn(u64, u64, usize) -> c_int as usize,
            _ => 0,
        };
        give(to, if found == 0 { Err(NOT_FOUND) } else { Ok(found) })
    })
}
