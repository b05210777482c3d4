//! The driver's functions that this library calls by itself, behind safe ones. Handles are the driver's own,
//! from its calls or the program's; a driver without a function is one that refuses it.
//!
//! HIP has no contexts: a device stands for one, by its number, counted from [`FIRST_DEVICE`]. Such a number
//! is below any address that is a handle of CUDA's.

use core::convert::identity;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::gpu_api::GpuApi;
use crate::sys;

/// `CUDA_ERROR_NOT_READY`, `hipErrorNotReady`.
const NOT_READY: c_int = 600;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`, `hipStreamCaptureModeRelaxed`.
const RELAXED: c_int = 2;
/// What stands for a function that the driver has not got: `CUDA_ERROR_NOT_FOUND`, `hipErrorNotFound`.
const NOT_FOUND: c_int = 500;
/// HIP's first device, as a context.
const FIRST_DEVICE: usize = 16;
/// The first address that can be a handle.
const FIRST_ADDRESS: usize = 4096;
/// Streams up to this one are constants of HIP's, of which it knows no device: 0, the legacy one, a thread's.
const LAST_CONSTANT: usize = 2;

macro_rules! call {
    ($api:ident $prefix:literal $name:ident($($argument:expr => $type:ty),*) then $then:path) => {{
        static FOUND: AtomicUsize = AtomicUsize::new(0);
        let address = look_up(GpuApi::$api, &FOUND, concat!($prefix, stringify!($name), "\0"));
        if address == ABSENT {
            NOT_FOUND
        } else {
            // SAFETY: the driver's function of this name has this signature.
            let call = unsafe {
                core::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> c_int>(address)
            };
            // SAFETY: room for what is written lives for the call, and handles are the driver's.
            $then(unsafe { call($($argument),*) })
        }
    }};
}

macro_rules! cuda {
    ($name:ident $arguments:tt) => { call!(Cuda "cu" $name $arguments then identity) };
}

macro_rules! hip {
    ($name:ident $arguments:tt) => { call!(Hip "hip" $name $arguments then hidden) };
}

/// A function that both have, with the same arguments.
macro_rules! driver {
    ($api:expr, $name:ident $arguments:tt) => { driver!($api, $name | $name $arguments) };
    ($api:expr, $cuda:ident | $hip:ident $arguments:tt) => {
        match $api {
            GpuApi::Cuda => cuda!($cuda $arguments),
            GpuApi::Hip => hip!($hip $arguments),
        }
    };
}

/// Stands for a name that was not found.
const ABSENT: usize = 1;

fn look_up(api: GpuApi, found: &AtomicUsize, name: &'static str) -> usize {
    match found.load(Ordering::Acquire) {
        0 => {
            let name = CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default();
            let address = sys::driver_function(api, name).unwrap_or(ABSENT);
            found.store(address, Ordering::Release);
            address
        }
        known => known,
    }
}

/// A code of HIP's, which the program does not find later as its thread's last error.
fn hidden(code: c_int) -> c_int {
    if code != 0 {
        call!(Hip "hip" GetLastError() then identity);
    }
    code
}

/// Whether the calling thread's last error is one that the program has not asked for yet. To hide an error of
/// this library's would hide it too, so calls that fail in the common way of things are not made then. (In
/// ROCm 5 every call that succeeds ends it, the program's own copies too.)
fn is_error_pending() -> bool {
    const ABSENT_TOO: [c_int; 2] = [0, NOT_FOUND];
    !ABSENT_TOO.contains(&call!(Hip "hip" PeekAtLastError() then identity))
}

/// The context that a copy on this stream is made in: the calling thread's, or with HIP the stream's device;
/// 0 where there is none.
pub fn context(api: GpuApi, stream: usize) -> usize {
    match api {
        GpuApi::Cuda => {
            let mut handle = 0_usize;
            if cuda!(CtxGetCurrent(&raw mut handle => *mut usize)) == 0 { handle } else { 0 }
        }
        GpuApi::Hip => {
            let mut device = 0;
            let is_known = stream > LAST_CONSTANT
                && hip!(StreamGetDevice(stream => usize, &raw mut device => *mut c_int)) == 0;
            let device = if is_known { Some(device) } else { current_device(api) };
            device.and_then(|device| usize::try_from(device).ok()).map_or(0, |device| FIRST_DEVICE + device)
        }
    }
}

/// Whose context this is.
pub fn api_of(context: usize) -> GpuApi {
    if context < FIRST_ADDRESS { GpuApi::Hip } else { GpuApi::Cuda }
}

/// The device of the context that a copy is made in now.
pub fn device_of(context: usize) -> Option<c_int> {
    match api_of(context) {
        GpuApi::Cuda => current_device(GpuApi::Cuda),
        GpuApi::Hip => c_int::try_from(context.checked_sub(FIRST_DEVICE)?).ok(),
    }
}

/// Lets the calling thread query a context's events, also while another one captures a stream; whether that
/// worked.
pub fn enter_context(context: usize) -> bool {
    let (api, mut mode) = (api_of(context), RELAXED);
    driver!(api, ThreadExchangeStreamCaptureMode(&raw mut mode => *mut c_int));
    api == GpuApi::Hip || cuda!(CtxSetCurrent(context => usize)) == 0
}

/// The calling thread's device.
pub fn current_device(api: GpuApi) -> Option<c_int> {
    let mut device = 0;
    (driver!(api, CtxGetDevice | GetDevice(&raw mut device => *mut c_int)) == 0).then_some(device)
}

/// A device's PCI address, with a zero byte at its end.
pub fn pci_address(api: GpuApi, device: c_int) -> [u8; 32] {
    let mut text = [0_u8; 32];
    let to: *mut c_char = text.as_mut_ptr().cast();
    driver!(api, DeviceGetPCIBusId(to => *mut c_char, 31 => c_int, device => c_int));
    text
}

/// Whether a device's own context is held by anybody: CUDA's.
pub fn is_primary_active(device: c_int) -> bool {
    let (mut flags, mut is_active) = (0, 0);
    let code = cuda!(DevicePrimaryCtxGetState(
        device => c_int, &raw mut flags => *mut c_uint, &raw mut is_active => *mut c_int));
    code == 0 && is_active != 0
}

/// What CUDA's driver knows of an address; `None` where it knows nothing of it.
pub fn pointer_attribute(which: c_int, address: usize) -> Option<u64> {
    // The longest of the attributes that are asked for.
    let mut value = 0_u64;
    let code = cuda!(PointerGetAttribute(
        (&raw mut value).cast() => *mut c_void, which => c_int, address as u64 => u64));
    (code == 0).then_some(value)
}

/// What HIP knows of an address: where it is on a device, where in host memory, and whether it is managed;
/// `None` where it refuses, as ROCm 5 does of memory that it does not know. The type that it says is left
/// alone: its numbers changed from ROCm 5 to 6.
pub fn hip_pointer(address: usize) -> Option<(usize, usize, bool)> {
    // The words of `hipPointerAttribute_t`; of the last one half says whether it is managed.
    let mut words = [0_usize; 4];
    let code = hip!(PointerGetAttributes(words.as_mut_ptr() => *mut usize, address => usize));
    let [_, on_device, on_host, managed] = words;
    (code == 0).then_some((on_device, on_host, managed as c_int != 0))
}

/// The allocation that an address is in, as HIP knows it: start and bytes. Of memory that it does not know
/// the call fails.
pub fn hip_range(address: usize) -> Option<(u64, u64)> {
    if is_error_pending() {
        return None;
    }
    let (mut start, mut bytes) = (0_usize, 0_usize);
    let code = hip!(MemGetAddressRange(
        &raw mut start => *mut usize, &raw mut bytes => *mut usize, address => usize));
    // Of registered memory it says no start.
    let is_inside = address.checked_sub(start).is_some_and(|offset| offset < bytes);
    (code == 0 && is_inside).then_some((start as u64, bytes as u64))
}

/// A new event of the current context, if it is this one.
pub fn create_event(context: usize) -> Option<usize> {
    let mut handle = 0_usize;
    let api = api_of(context);
    if self::context(api, 0) != context {
        return None;
    }
    (driver!(api, EventCreate | EventCreateWithFlags
        (&raw mut handle => *mut usize, 0 => c_uint))
        == 0)
        .then_some(handle)
}

/// Records an event on a stream; whether that worked.
pub fn record_event(api: GpuApi, event: usize, stream: usize) -> bool {
    driver!(api, EventRecord(event => usize, stream => usize)) == 0
}

/// Whether an event was reached; an error is none that ever will be.
pub fn is_reached(api: GpuApi, event: usize) -> Result<bool, c_int> {
    match driver!(api, EventQuery(event => usize)) {
        0 => Ok(true),
        NOT_READY => Ok(false),
        code => Err(code),
    }
}

/// The time between two events that were reached.
pub fn elapsed_ns(api: GpuApi, first: usize, last: usize) -> Result<u64, c_int> {
    let mut milliseconds = 0_f32;
    let to = &raw mut milliseconds;
    match driver!(api, EventElapsedTime(to => *mut f32, first => usize, last => usize)) {
        0 => Ok((f64::from(milliseconds) * 1e6) as u64),
        code => Err(code),
    }
}

/// Whether a stream is being captured.
pub fn is_capturing(api: GpuApi, stream: usize) -> bool {
    let mut status = 0;
    driver!(api, StreamIsCapturing(stream => usize, &raw mut status => *mut c_int)) == 0 && status == 1
}

/// Writes the nodes of a graph; how many, or `None` where there are more than there is room for.
pub fn graph_nodes(api: GpuApi, graph: usize, nodes: &mut [usize]) -> Option<usize> {
    let mut count = 0_usize;
    let ask = |nodes: *mut usize, count: &mut usize| {
        let count = core::ptr::from_mut(count);
        driver!(api, GraphGetNodes(graph => usize, nodes => *mut usize, count => *mut usize))
    };
    if ask(core::ptr::null_mut(), &mut count) != 0 || count > nodes.len() {
        return None;
    }
    (count == 0 || ask(nodes.as_mut_ptr(), &mut count) == 0).then_some(count)
}

/// The type of a node.
pub fn node_type(api: GpuApi, node: usize) -> Option<c_int> {
    let mut kind = -1;
    (driver!(api, GraphNodeGetType(node => usize, &raw mut kind => *mut c_int)) == 0).then_some(kind)
}

/// The graph of a child graph's node.
pub fn child_graph(api: GpuApi, node: usize) -> Option<usize> {
    let mut graph = 0;
    (driver!(api, GraphChildGraphNodeGetGraph(node => usize, &raw mut graph => *mut usize)) == 0)
        .then_some(graph)
}

/// What a memcpy node of CUDA's copies: the words of `CUDA_MEMCPY3D`.
pub fn copy_of_node(node: usize) -> Option<[usize; 25]> {
    let mut words = [0_usize; 25];
    (cuda!(GraphMemcpyNodeGetParams(node => usize, words.as_mut_ptr() => *mut usize)) == 0).then_some(words)
}
