//! What programs ask of the CUDA driver beyond numabench's own backend: what an address is, copies between
//! addresses of either side, functions by name (`cuGetProcAddress`, as the static runtime asks), and graphs
//! of copies.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::code::{Answer, INVALID_HANDLE, INVALID_VALUE, NOT_FOUND, give};
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
            b"cuDevicePrimaryCtxRetain" => super::cuda::retain_address(),
            b"cuMemcpyHtoD" => super::cuda::to_device_address(),
            b"cuMemcpyDtoH" => super::cuda::to_host_address(),
            b"cuMemcpy" => cuMemcpy as extern "C" fn(u64, u64, usize) -> c_int as usize,
            _ => 0,
        };
        give(to, if found == 0 { Err(NOT_FOUND) } else { Ok(found) })
    })
}

/// A graph of memcpy nodes: each is the words of `CUDA_MEMCPY3D`, of which copies of one row are made.
#[derive(Clone, Default)]
struct Graph(Vec<[usize; 25]>);

fn graph<'g>(handle: usize) -> Answer<&'g mut Graph> {
    unsafe { (handle as *mut Graph).as_mut() }.ok_or(INVALID_HANDLE)
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphCreate(to: *mut usize, _flags: c_uint) -> c_int {
    outside("cuGraphCreate", || give(to, Ok(Box::into_raw(Box::<Graph>::default()) as usize)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphAddMemcpyNode(
    node: *mut usize,
    handle: usize,
    _after: *const usize,
    _count: usize,
    words: *const [usize; 25],
    _context: usize,
) -> c_int {
    outside("cuGraphAddMemcpyNode", || {
        let graph = graph(handle)?;
        graph.0.push(unsafe { words.as_ref() }.copied().ok_or(INVALID_VALUE)?);
        let own = Box::into_raw(Box::new(graph.0.last().copied().unwrap_or_default()));
        give(node, Ok(own as usize))?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphGetNodes(handle: usize, nodes: *mut usize, count: *mut usize) -> c_int {
    outside("cuGraphGetNodes", || {
        let graph = graph(handle)?;
        if !nodes.is_null() {
            for (at, words) in graph.0.iter().enumerate() {
                unsafe { nodes.add(at).write(std::ptr::from_ref(words).addr()) };
            }
        }
        give(count, Ok(graph.0.len()))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphNodeGetType(_node: usize, kind: *mut c_int) -> c_int {
    outside("cuGraphNodeGetType", || give(kind, Ok(1)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphMemcpyNodeGetParams(node: usize, words: *mut [usize; 25]) -> c_int {
    outside("cuGraphMemcpyNodeGetParams", || {
        give(words, unsafe { (node as *const [usize; 25]).as_ref() }.copied().ok_or(INVALID_HANDLE))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphInstantiateWithFlags(exec: *mut usize, handle: usize, _flags: u64) -> c_int {
    outside("cuGraphInstantiate", || {
        let copy = graph(handle)?.clone();
        give(exec, Ok(Box::into_raw(Box::new(copy)) as usize))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphExecMemcpyNodeSetParams(
    exec: usize,
    _node: usize,
    words: *const [usize; 25],
    _context: usize,
) -> c_int {
    outside("cuGraphExecMemcpyNodeSetParams", || {
        let words = unsafe { words.as_ref() }.copied().ok_or(INVALID_VALUE)?;
        graph(exec)?.0.first_mut().map(|first| *first = words).ok_or(INVALID_VALUE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(exec: usize, _stream: usize) -> c_int {
    on_device("cuGraphLaunch", |device| {
        for words in &graph(exec)?.0 {
            let start = |at: usize| if words[at] == 0 { words[at + 1] } else { words[at] };
            between(device, start(16) as u64, start(5) as u64, words[22])?.block()?;
        }
        Ok(())
    })
}
