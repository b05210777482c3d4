//! What programs ask of HIP beyond numabench's own backend: copies of every direction (`hipMemcpyKind`), of
//! rows and of boxes, what an address is, functions by name, captured streams and graphs of copies.
//!
//! With `FAKE_ROCM=5` it is as ROCm 5 was: types of memory have other numbers, and memory that it does not
//! know is an error. Either way a graph's node does not say what it copies, as with ROCm 6.2.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::capture::{Graph, captured};
use crate::code::{Answer, INVALID_HANDLE, INVALID_VALUE, NOT_FOUND, give};
use crate::copy::Copy;
use crate::flow::Direction;
use crate::hip::{is_of_rocm_5, number, on_device, outside};
use crate::stream::Stream;
use crate::{memory, moving};

/// `hipStreamLegacy` and `hipStreamPerThread`; streams here have other numbers.
const LAST_CONSTANT: usize = 2;
/// `hipMemcpyKind`.
const HOST_TO_HOST: c_int = 0;
const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;
const DEVICE_TO_DEVICE: c_int = 3;

/// The direction that a kind says, or that follows from the addresses; `None`: within host memory.
fn direction(kind: c_int, to: usize, from: usize) -> Option<Direction> {
    let is_on_device = |address| memory::device_of(address, 1).is_some();
    match (kind, is_on_device(to), is_on_device(from)) {
        (HOST_TO_HOST, ..) | (4, false, false) => None,
        (HOST_TO_DEVICE, ..) | (4, true, false) => Some(Direction::ToDevice),
        (DEVICE_TO_HOST, ..) | (4, false, true) => Some(Direction::ToHost),
        (DEVICE_TO_DEVICE, ..) | (4, true, true) => Some(Direction::Within),
        _ => None,
    }
}

/// Copies some bytes: on a stream, by its device, or before the call returns.
fn copy(device: usize, kind: c_int, to: usize, from: usize, len: usize, stream: Option<&Stream>) -> Answer {
    let device = stream.map_or(device, Stream::device);
    let copy = match direction(kind, to, from) {
        None => {
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, len) };
            return Ok(());
        }
        Some(Direction::Within) => {
            let there = |address| memory::device_of(address, len).ok_or(INVALID_VALUE);
            Copy::between(device, (there(to)?, to), (there(from)?, from), len)?
        }
        Some(direction) => Copy::new(device, direction, to, from, len)?,
    };
    match stream {
        Some(stream) => copy.queue(stream),
        None => copy.block(),
    }
}

/// The stream of a handle; `None`: the default one, on which a copy is done before the call returns.
unsafe fn stream<'a>(handle: usize) -> Answer<Option<&'a Stream>> {
    if handle <= LAST_CONSTANT { Ok(None) } else { unsafe { Stream::of(handle) }.map(Some) }
}

fn blocking(name: &'static str, to: usize, from: usize, len: usize, kind: c_int) -> c_int {
    on_device(name, |device| copy(device, kind, to, from, len, None))
}

#[unsafe(no_mangle)]
extern "C" fn hipMemcpy(to: usize, from: usize, len: usize, kind: c_int) -> c_int {
    blocking("hipMemcpy", to, from, len, kind)
}

#[unsafe(no_mangle)]
extern "C" fn hipMemcpy_spt(to: usize, from: usize, len: usize, kind: c_int) -> c_int {
    blocking("hipMemcpy", to, from, len, kind)
}

#[unsafe(no_mangle)]
extern "C" fn hipMemcpyDtoD(to: usize, from: usize, len: usize) -> c_int {
    blocking("hipMemcpyDtoD", to, from, len, DEVICE_TO_DEVICE)
}

#[unsafe(no_mangle)]
extern "C" fn hipMemcpyToSymbol(to: usize, from: usize, len: usize, offset: usize, kind: c_int) -> c_int {
    let kind = if kind == DEVICE_TO_DEVICE { kind } else { HOST_TO_DEVICE };
    symbol(to).map_or_else(|code| code, |to| blocking("hipMemcpyToSymbol", to + offset, from, len, kind))
}

/// Where a program's variable lies on the device: here its value is that address.
fn symbol(address: usize) -> Answer<usize> {
    unsafe { (address as *const usize).as_ref() }.copied().ok_or(INVALID_VALUE)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipMemcpyAsync(to: usize, from: usize, len: usize, kind: c_int, handle: usize) -> c_int {
    on_device("hipMemcpyAsync", |device| {
        let stream = unsafe { stream(handle) }?;
        if captured(|captured| captured.get_mut(&handle).map(|graph| graph.0.push([to, from, len]))).is_some()
        {
            return Ok(());
        }
        copy(device, kind, to, from, len, stream)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipMemcpyWithStream(
    to: usize,
    from: usize,
    len: usize,
    kind: c_int,
    handle: usize,
) -> c_int {
    on_device("hipMemcpyWithStream", |device| {
        let stream = unsafe { stream(handle) }?;
        copy(device, kind, to, from, len, stream)?;
        stream.into_iter().for_each(Stream::wait);
        Ok(())
    })
}

/// Rows of a width: each side has its address and its pitch.
fn rows(device: usize, kind: c_int, to: [usize; 2], from: [usize; 2], size: [usize; 2]) -> Answer {
    let [width, height] = size;
    (0..height)
        .try_for_each(|row| copy(device, kind, to[0] + row * to[1], from[0] + row * from[1], width, None))
}

#[unsafe(no_mangle)]
extern "C" fn hipMemcpy2D(
    to: usize,
    to_pitch: usize,
    from: usize,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
) -> c_int {
    on_device("hipMemcpy2D", |device| rows(device, kind, [to, to_pitch], [from, from_pitch], [width, height]))
}

/// `hip_Memcpy2D`, all of whose fields are words; the types of memory are told by the addresses.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipMemcpyParam2D(words: *const [usize; 16]) -> c_int {
    on_device("hipMemcpyParam2D", |device| {
        let [sx, sy, _, shost, sdevice, _, spitch, dx, dy, _, dhost, ddevice, _, dpitch, width, height] =
            unsafe { words.as_ref() }.copied().ok_or(INVALID_HANDLE)?;
        let start = |host: usize, device: usize| if host == 0 { device } else { host };
        let from = start(shost, sdevice) + sy * spitch + sx;
        let to = start(dhost, ddevice) + dy * dpitch + dx;
        rows(device, 4, [to, dpitch], [from, spitch], [width, height])
    })
}

/// `hipMemcpy3DParms`, all of whose fields are words but the kind.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipMemcpy3D(words: *const [usize; 20]) -> c_int {
    on_device("hipMemcpy3D", |device| {
        let words = unsafe { words.as_ref() }.copied().ok_or(INVALID_HANDLE)?;
        let side = |at: usize, slice: usize| {
            let [x, y, z, start, pitch] = [1, 2, 3, 4, 5].map(|field| words[at + field]);
            [start + x + y * pitch + (z + slice) * pitch * words[at + 7], pitch]
        };
        (0..words[18]).try_for_each(|slice| {
            let size = [words[16], words[17]];
            rows(device, words[19] as c_int, side(8, slice), side(0, slice), size)
        })
    })
}

/// `hipPointerAttribute_t`.
#[repr(C)]
struct Attributes {
    kind: c_int,
    device: c_int,
    on_device: usize,
    on_host: usize,
    is_managed: c_int,
    flags: c_uint,
}

#[unsafe(no_mangle)]
extern "C" fn hipPointerGetAttributes(to: *mut Attributes, address: usize) -> c_int {
    on_device("hipPointerGetAttributes", |current| {
        let is_managed = moving::range_of(address).is_some();
        let on_device = memory::device_of(address, 1);
        let is_known = is_managed || on_device.is_some() || memory::is_pinned(address, 1);
        if !is_known && is_of_rocm_5() {
            return Err(INVALID_VALUE);
        }
        // Unregistered, host, device, managed; ROCm 5 had host, device, array, unified, managed.
        let kind = match (is_of_rocm_5(), is_known, is_managed, on_device) {
            (false, false, ..) | (true, _, false, None) => 0,
            (false, _, true, _) => 3,
            (true, _, true, _) => 4,
            (false, _, _, None) | (true, _, _, Some(_)) => 1,
            (false, _, _, Some(_)) => 2,
        };
        let device = if is_known { number(on_device.unwrap_or(current))? } else { -2 };
        give(
            to,
            Ok(Attributes {
                kind,
                device,
                on_device: if is_known { address } else { 0 },
                on_host: if is_known && on_device.is_none() && !is_managed { address } else { 0 },
                is_managed: c_int::from(is_managed),
                flags: 0,
            }),
        )
    })
}

/// The start is that of memory which HIP allocated: of registered memory it says none.
#[unsafe(no_mangle)]
extern "C" fn hipMemGetAddressRange(start: *mut usize, bytes: *mut usize, address: usize) -> c_int {
    on_device("hipMemGetAddressRange", |_| {
        let (known, len) =
            moving::range_of(address).or_else(|| memory::range_of(address)).ok_or(NOT_FOUND)?;
        give(start, Ok(if memory::is_registered(address) { 0 } else { known }))?;
        give(bytes, Ok(len))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipStreamGetDevice(handle: usize, device: *mut c_int) -> c_int {
    on_device("hipStreamGetDevice", |current| {
        let place = unsafe { stream(handle) }?.map_or(current, Stream::device);
        give(device, number(place))
    })
}

/// As ROCm 6.2: whatever the version and the flags, the function of this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipGetProcAddress(
    symbol: *const c_char,
    to: *mut usize,
    _version: c_int,
    _flags: u64,
    _status: *mut c_int,
) -> c_int {
    type Copying = extern "C" fn(usize, usize, usize, c_int) -> c_int;
    outside("hipGetProcAddress", || {
        let found = match unsafe { CStr::from_ptr(symbol) }.to_bytes() {
            b"hipMemcpy" => hipMemcpy as Copying as usize,
            b"hipMemcpy_spt" => hipMemcpy_spt as Copying as usize,
            _ => 0,
        };
        give(to, if found == 0 { Err(INVALID_VALUE) } else { Ok(found) })
    })
}

fn graph<'g>(handle: usize) -> Answer<&'g mut Graph> {
    unsafe { (handle as *mut Graph).as_mut() }.ok_or(INVALID_HANDLE)
}

fn handle(graph: Graph) -> usize {
    Box::into_raw(Box::new(graph)) as usize
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamBeginCapture(handle: usize, _mode: c_int) -> c_int {
    outside("hipStreamBeginCapture", || {
        captured(|captured| captured.insert(handle, Graph::default()));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamIsCapturing(handle: usize, status: *mut c_int) -> c_int {
    outside("hipStreamIsCapturing", || {
        give(status, Ok(c_int::from(captured(|captured| captured.contains_key(&handle)))))
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipStreamEndCapture(stream: usize, to: *mut usize) -> c_int {
    outside("hipStreamEndCapture", || {
        give(to, captured(|captured| captured.remove(&stream)).map(handle).ok_or(INVALID_HANDLE))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipGraphGetNodes(handle: usize, nodes: *mut usize, count: *mut usize) -> c_int {
    outside("hipGraphGetNodes", || {
        let graph = graph(handle)?;
        if !nodes.is_null() {
            for (at, copy) in graph.0.iter().enumerate() {
                unsafe { nodes.add(at).write(std::ptr::from_ref(copy).addr()) };
            }
        }
        give(count, Ok(graph.0.len()))
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipGraphNodeGetType(_node: usize, kind: *mut c_int) -> c_int {
    outside("hipGraphNodeGetType", || give(kind, Ok(1)))
}

#[unsafe(no_mangle)]
extern "C" fn hipGraphInstantiateWithFlags(exec: *mut usize, of: usize, _flags: u64) -> c_int {
    outside("hipGraphInstantiate", || give(exec, Ok(handle(graph(of)?.clone()))))
}

#[unsafe(no_mangle)]
extern "C" fn hipGraphLaunch(exec: usize, _stream: usize) -> c_int {
    on_device("hipGraphLaunch", |device| {
        graph(exec)?.0.iter().try_for_each(|[to, from, len]| copy(device, 4, *to, *from, *len, None))
    })
}
