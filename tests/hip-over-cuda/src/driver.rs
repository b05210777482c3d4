//! The CUDA driver's functions, found once. A driver that lacks one of them counts as none.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem;
use std::sync::OnceLock;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Resolve everything at once, and keep the names to itself.
const RTLD_NOW: c_int = 2;

macro_rules! functions {
    ($($name:ident: $symbol:literal ($($type:ty),*);)*) => {
        /// The functions, by cuda.h's signatures, with results as the integers they are.
        pub struct Driver {
            $(pub $name: unsafe extern "C" fn($($type),*) -> c_int,)*
            /// Not of every driver.
            pub simulation: Option<unsafe extern "C" fn() -> *const c_char>,
        }

        impl Driver {
            unsafe fn load(library: *mut c_void) -> Option<Self> {
                Some(Self {
                    $($name: unsafe {
                        mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(found(library, $symbol)?)
                    },)*
                    simulation: unsafe {
                        found(library, c"numabench_simulation")
                            .map(|found| mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(found))
                    },
                })
            }
        }
    };
}

functions! {
    init: c"cuInit" (c_uint);
    error_name: c"cuGetErrorName" (c_int, *mut *const c_char);
    error_string: c"cuGetErrorString" (c_int, *mut *const c_char);
    version: c"cuDriverGetVersion" (*mut c_int);
    count: c"cuDeviceGetCount" (*mut c_int);
    device: c"cuDeviceGet" (*mut c_int, c_int);
    device_name: c"cuDeviceGetName" (*mut c_char, c_int, c_int);
    pci_bus_id: c"cuDeviceGetPCIBusId" (*mut c_char, c_int, c_int);
    uuid: c"cuDeviceGetUuid_v2" (*mut [u8; 16], c_int);
    total_mem: c"cuDeviceTotalMem_v2" (*mut usize, c_int);
    retain: c"cuDevicePrimaryCtxRetain" (*mut usize, c_int);
    set_current: c"cuCtxSetCurrent" (usize);
    can_access_peer: c"cuDeviceCanAccessPeer" (*mut c_int, c_int, c_int);
    enable_peer_access: c"cuCtxEnablePeerAccess" (usize, c_uint);
    queue_between: c"cuMemcpyPeerAsync" (u64, usize, u64, usize, usize, usize);
    mem_info: c"cuMemGetInfo_v2" (*mut usize, *mut usize);
    alloc: c"cuMemAlloc_v2" (*mut u64, usize);
    free: c"cuMemFree_v2" (u64);
    host_alloc: c"cuMemHostAlloc" (*mut usize, usize, c_uint);
    host_free: c"cuMemFreeHost" (usize);
    host_device_pointer: c"cuMemHostGetDevicePointer_v2" (*mut u64, usize, c_uint);
    host_register: c"cuMemHostRegister_v2" (usize, usize, c_uint);
    host_unregister: c"cuMemHostUnregister" (usize);
    to_device: c"cuMemcpyHtoD_v2" (u64, usize, usize);
    to_host: c"cuMemcpyDtoH_v2" (usize, u64, usize);
    queue_to_device: c"cuMemcpyHtoDAsync_v2" (u64, usize, usize, usize);
    queue_to_host: c"cuMemcpyDtoHAsync_v2" (usize, u64, usize, usize);
    stream_create: c"cuStreamCreate" (*mut usize, c_uint);
    stream_destroy: c"cuStreamDestroy_v2" (usize);
    stream_synchronize: c"cuStreamSynchronize" (usize);
    stream_query: c"cuStreamQuery" (usize);
    stream_wait_event: c"cuStreamWaitEvent" (usize, usize, c_uint);
    stream_wait_value: c"cuStreamWaitValue32_v2" (usize, u64, u32, c_uint);
    event_create: c"cuEventCreate" (*mut usize, c_uint);
    event_destroy: c"cuEventDestroy_v2" (usize);
    event_record: c"cuEventRecord" (usize, usize);
    event_query: c"cuEventQuery" (usize);
    event_elapsed: c"cuEventElapsedTime" (*mut f32, usize, usize);
    module_load: c"cuModuleLoadData" (*mut usize, *const c_void);
    module_unload: c"cuModuleUnload" (usize);
    module_function: c"cuModuleGetFunction" (*mut usize, usize, *const c_char);
    launch: c"cuLaunchKernel"
        (usize, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, usize, *mut *mut c_void, *mut *mut c_void);
}

/// An address of a library that was opened.
pub fn found(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    let address = unsafe { dlsym(library, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// A library by the first of these names that opens. Never closed.
pub fn open(names: &[&CStr]) -> Option<*mut c_void> {
    names.iter().map(|name| unsafe { dlopen(name.as_ptr(), RTLD_NOW) }).find(|library| !library.is_null())
}

/// The driver of this machine; `None` where there is none. Never closed.
pub fn driver() -> Option<&'static Driver> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    DRIVER.get_or_init(|| unsafe { Driver::load(open(&[c"libcuda.so.1"])?) }).as_ref()
}
