//! ROCm's compiler at run time by way of CUDA's (nvrtc), whose functions take the same; its PTX is the code.
//! And HIP's modules.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem;
use std::sync::OnceLock;

use crate::driver::{found, open};
use crate::hip::on_device;

/// `HIPRTC_ERROR_INTERNAL_ERROR`: where there is no nvrtc.
const INTERNAL_ERROR: c_int = 11;
const NAMES: [&CStr; 3] = [c"libnvrtc.so.13", c"libnvrtc.so.12", c"libnvrtc.so"];

/// The address of a function of nvrtc, where there is one.
fn address(name: &CStr) -> Option<*mut c_void> {
    static LIBRARY: OnceLock<Option<usize>> = OnceLock::new();
    let library = *LIBRARY.get_or_init(|| open(&NAMES).map(|library| library as usize));
    found(library? as *mut c_void, name)
}

macro_rules! forwarded {
    ($($name:ident to $symbol:literal ($($argument:ident: $type:ty),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                let Some(address) = address($symbol) else { return INTERNAL_ERROR };
                let function: unsafe extern "C" fn($($type),*) -> c_int = unsafe { mem::transmute(address) };
                unsafe { function($($argument),*) }
            }
        )*
    };
}

forwarded! {
    hiprtcCreateProgram to c"nvrtcCreateProgram"
        (program: *mut usize, source: *const c_char, name: *const c_char, headers: c_int, texts: *mut *const c_char, names: *mut *const c_char);
    hiprtcCompileProgram to c"nvrtcCompileProgram" (program: usize, count: c_int, options: *mut *const c_char);
    hiprtcGetCodeSize to c"nvrtcGetPTXSize" (program: usize, size: *mut usize);
    hiprtcGetCode to c"nvrtcGetPTX" (program: usize, code: *mut c_char);
    hiprtcGetProgramLogSize to c"nvrtcGetProgramLogSize" (program: usize, size: *mut usize);
    hiprtcGetProgramLog to c"nvrtcGetProgramLog" (program: usize, log: *mut c_char);
    hiprtcDestroyProgram to c"nvrtcDestroyProgram" (program: *mut usize);
}

#[unsafe(no_mangle)]
extern "C" fn hiprtcGetErrorString(result: c_int) -> *const c_char {
    if result == INTERNAL_ERROR && address(c"nvrtcCreateProgram").is_none() {
        return c"there is no libnvrtc here".as_ptr();
    }
    let Some(address) = address(c"nvrtcGetErrorString") else { return std::ptr::null() };
    let text: unsafe extern "C" fn(c_int) -> *const c_char = unsafe { mem::transmute(address) };
    unsafe { text(result) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipModuleLoadData(module: *mut usize, image: *const c_void) -> c_int {
    on_device(|driver| unsafe { (driver.module_load)(module, image) })
}

#[unsafe(no_mangle)]
extern "C" fn hipModuleUnload(module: usize) -> c_int {
    on_device(|driver| unsafe { (driver.module_unload)(module) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> c_int {
    on_device(|driver| unsafe { (driver.module_function)(function, module, name) })
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the manual's signature")]
unsafe extern "C" fn hipModuleLaunchKernel(
    function: usize,
    blocks_x: c_uint,
    blocks_y: c_uint,
    blocks_z: c_uint,
    threads_x: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    shared_bytes: c_uint,
    stream: usize,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> c_int {
    on_device(|driver| unsafe {
        let launch = driver.launch;
        launch(
            function,
            blocks_x,
            blocks_y,
            blocks_z,
            threads_x,
            threads_y,
            threads_z,
            shared_bytes,
            stream,
            parameters,
            extra,
        )
    })
}
