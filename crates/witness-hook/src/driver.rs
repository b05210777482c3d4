//! The driver's functions that this library calls by itself, behind safe ones. Handles are the driver's own,
//! from its calls or the program's; a driver without a function is one that refuses it.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sys;

/// `CUDA_ERROR_NOT_READY`.
const NOT_READY: c_int = 600;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
const RELAXED: c_int = 2;
/// What stands for a function that the driver has not got: `CUDA_ERROR_NOT_FOUND`.
const NOT_FOUND: c_int = 500;

macro_rules! driver {
    ($name:ident($($argument:expr => $type:ty),*)) => {{
        static FOUND: AtomicUsize = AtomicUsize::new(0);
        let address = look_up(&FOUND, concat!(stringify!($name), "\0"));
        if address == ABSENT {
            NOT_FOUND
        } else {
            // SAFETY: the driver's function of this name has this signature.
            let call = unsafe {
                core::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> c_int>(address)
            };
            // SAFETY: room for what is written lives for the call, and handles are the driver's.
            unsafe { call($($argument),*) }
        }
    }};
}

/// Stands for a name that was not found.
const ABSENT: usize = 1;

fn look_up(found: &AtomicUsize, name: &'static str) -> usize {
    match found.load(Ordering::Acquire) {
        0 => {
            let name = CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default();
            let address = sys::driver_function(name).unwrap_or(ABSENT);
            found.store(address, Ordering::Release);
            address
        }
        known => known,
    }
}

/// The calling thread's context; 0 where there is none.
pub fn current_context() -> usize {
    let mut handle = 0_usize;
    if driver!(cuCtxGetCurrent(&raw mut handle => *mut usize)) == 0 { handle } else { 0 }
}

/// Makes a context the calling thread's; whether that worked.
pub fn enter_context(handle: usize) -> bool {
    driver!(cuCtxSetCurrent(handle => usize)) == 0
}

/// The current context's device.
pub fn current_device() -> Option<c_int> {
    let mut device = 0;
    (driver!(cuCtxGetDevice(&raw mut device => *mut c_int)) == 0).then_some(device)
}

/// A device's PCI address, with a zero byte at its end.
pub fn pci_address(device: c_int) -> [u8; 32] {
    let mut text = [0_u8; 32];
    driver!(cuDeviceGetPCIBusId(text.as_mut_ptr().cast() => *mut c_char, 31 => c_int, device => c_int));
    text
}

/// Whether a device's own context is held by anybody.
pub fn is_primary_active(device: c_int) -> bool {
    let (mut flags, mut is_active) = (0, 0);
    let code = driver!(cuDevicePrimaryCtxGetState(
        device => c_int, &raw mut flags => *mut c_uint, &raw mut is_active => *mut c_int));
    code == 0 && is_active != 0
}

/// What the driver knows of an address; `None` where it knows nothing of it.
pub fn pointer_attribute(which: c_int, address: usize) -> Option<u64> {
    // The longest of the attributes that are asked for.
    let mut value = 0_u64;
    let code = driver!(cuPointerGetAttribute(
        (&raw mut value).cast() => *mut c_void, which => c_int, address as u64 => u64));
    (code == 0).then_some(value)
}

/// A new event of the current context.
pub fn create_event() -> Option<usize> {
    let mut handle = 0_usize;
    (driver!(cuEventCreate(&raw mut handle => *mut usize, 0 => c_uint)) == 0).then_some(handle)
}

/// Records an event on a stream; whether that worked.
pub fn record_event(event: usize, stream: usize) -> bool {
    driver!(cuEventRecord(event => usize, stream => usize)) == 0
}

/// Whether an event was reached; an error is none that ever will be.
pub fn is_reached(event: usize) -> Result<bool, c_int> {
    match driver!(cuEventQuery(event => usize)) {
        0 => Ok(true),
        NOT_READY => Ok(false),
        code => Err(code),
    }
}

/// The time between two events that were reached.
pub fn elapsed_ns(first: usize, last: usize) -> Result<u64, c_int> {
    let mut milliseconds = 0_f32;
    match driver!(cuEventElapsedTime(&raw mut milliseconds => *mut f32, first => usize, last => usize)) {
        0 => Ok((f64::from(milliseconds) * 1e6) as u64),
        code => Err(code),
    }
}

/// Whether a stream is being captured.
pub fn is_capturing(stream: usize) -> bool {
    let mut status = 0;
    driver!(cuStreamIsCapturing(stream => usize, &raw mut status => *mut c_int)) == 0 && status == 1
}

/// Lets the calling thread query events while another one captures a stream.
pub fn relax_captures() {
    let mut mode = RELAXED;
    driver!(cuThreadExchangeStreamCaptureMode(&raw mut mode => *mut c_int));
}

/// Writes the nodes of a graph; how many, or `None` where there are more than there is room for.
pub fn graph_nodes(graph: usize, nodes: &mut [usize]) -> Option<usize> {
    let mut count = 0_usize;
    let none = core::ptr::null_mut();
    let code = driver!(cuGraphGetNodes(graph => usize, none => *mut usize, &raw mut count => *mut usize));
    if code != 0 || count > nodes.len() {
        return None;
    }
    let code = match count {
        0 => 0,
        _ => driver!(cuGraphGetNodes(
            graph => usize, nodes.as_mut_ptr() => *mut usize, &raw mut count => *mut usize)),
    };
    (code == 0).then_some(count)
}

/// The type of a node.
pub fn node_type(node: usize) -> Option<c_int> {
    let mut kind = -1;
    (driver!(cuGraphNodeGetType(node => usize, &raw mut kind => *mut c_int)) == 0).then_some(kind)
}

/// The graph of a child graph's node.
pub fn child_graph(node: usize) -> Option<usize> {
    let mut graph = 0;
    (driver!(cuGraphChildGraphNodeGetGraph(node => usize, &raw mut graph => *mut usize)) == 0)
        .then_some(graph)
}

/// What a memcpy node copies: the words of `CUDA_MEMCPY3D`.
pub fn copy_of_node(node: usize) -> Option<[usize; 25]> {
    let mut words = [0_usize; 25];
    (driver!(cuGraphMemcpyNodeGetParams(node => usize, words.as_mut_ptr() => *mut usize)) == 0)
        .then_some(words)
}
