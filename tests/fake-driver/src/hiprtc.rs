//! ROCm's compiler at run time and HIP's modules, as far as the backend calls them. What is "compiled" here
//! is the list of the kernels that the source defines, in the words in which the driver takes them.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::code::{Answer, give};
use crate::context::outside;
use crate::hip::{giving_back, on_device};
use crate::hold;

/// `HIPRTC_ERROR_INVALID_INPUT`, `HIPRTC_ERROR_INVALID_PROGRAM`, `HIPRTC_ERROR_COMPILATION`.
const INVALID_INPUT: c_int = 3;
const INVALID_PROGRAM: c_int = 4;
const COMPILATION: c_int = 6;

/// A source and what became of it; both texts end with a zero byte.
struct Program {
    source: String,
    log: Vec<u8>,
    code: Vec<u8>,
}

/// The words before a kernel's name.
const KERNEL: &str = "extern \"C\" __global__ void ";

/// The words before the name of a kernel that computes, up to the number of its threads.
const COMPUTING: &str = "\nKERNEL(";

/// The kernels of a source, as PTX declares them.
fn compiled(source: &str) -> Result<Vec<u8>, String> {
    let count = |of: char| source.chars().filter(|letter| *letter == of).count();
    if count('{') != count('}') {
        return Err("numabench.hip:1:1: error: braces that do not match".to_owned());
    }
    let own = source.split(KERNEL).skip(1).filter_map(|rest| rest.split('(').next());
    let computing =
        source.split(COMPUTING).skip(1).filter_map(|rest| rest.split_once(") ")?.1.split('(').next());
    let names = own.chain(computing);
    let declared: String = names.map(|name| format!(".visible .entry {name}(\n")).collect();
    Ok(format!("{declared}}}\0").into_bytes())
}

/// The program of a handle.
unsafe fn program<'a>(handle: *mut Program) -> Answer<&'a mut Program> {
    unsafe { handle.as_mut() }.ok_or(INVALID_PROGRAM)
}

unsafe fn write(bytes: &[u8], to: *mut c_char) -> Answer {
    if to.is_null() {
        return Err(INVALID_INPUT);
    }
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), to, bytes.len()) };
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn hiprtcGetErrorString(result: c_int) -> *const c_char {
    let text: &CStr = match result {
        0 => c"HIPRTC_SUCCESS",
        INVALID_INPUT => c"HIPRTC_ERROR_INVALID_INPUT",
        INVALID_PROGRAM => c"HIPRTC_ERROR_INVALID_PROGRAM",
        COMPILATION => c"HIPRTC_ERROR_COMPILATION",
        _ => c"Invalid HIPRTC error code",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcCreateProgram(
    handle: *mut *mut Program,
    source: *const c_char,
    _name: *const c_char,
    headers: c_int,
    _texts: *mut *const c_char,
    _names: *mut *const c_char,
) -> c_int {
    outside("hiprtcCreateProgram", || {
        if source.is_null() || headers != 0 {
            return Err(INVALID_INPUT);
        }
        let source = unsafe { CStr::from_ptr(source) }.to_string_lossy().into_owned();
        give(handle, Ok(Box::into_raw(Box::new(Program { source, log: vec![0], code: Vec::new() }))))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcCompileProgram(
    handle: *mut Program,
    _count: c_int,
    _options: *mut *const c_char,
) -> c_int {
    outside("hiprtcCompileProgram", || {
        let program = unsafe { program(handle) }?;
        program.code = compiled(&program.source).map_err(|log| {
            program.log = format!("{log}\0").into_bytes();
            COMPILATION
        })?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcGetCodeSize(handle: *mut Program, size: *mut usize) -> c_int {
    outside("hiprtcGetCodeSize", || give(size, Ok(unsafe { program(handle) }?.code.len())))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcGetCode(handle: *mut Program, code: *mut c_char) -> c_int {
    outside("hiprtcGetCode", || unsafe { write(&program(handle)?.code, code) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcGetProgramLogSize(handle: *mut Program, size: *mut usize) -> c_int {
    outside("hiprtcGetProgramLogSize", || give(size, Ok(unsafe { program(handle) }?.log.len())))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcGetProgramLog(handle: *mut Program, log: *mut c_char) -> c_int {
    outside("hiprtcGetProgramLog", || unsafe { write(&program(handle)?.log, log) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hiprtcDestroyProgram(handle: *mut *mut Program) -> c_int {
    outside("hiprtcDestroyProgram", || {
        let program =
            unsafe { handle.as_mut() }.filter(|program| !program.is_null()).ok_or(INVALID_PROGRAM)?;
        drop(unsafe { Box::from_raw(*program) });
        *program = std::ptr::null_mut();
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipModuleLoadData(module: *mut usize, image: *const c_char) -> c_int {
    on_device("hipModuleLoadData", |_| give(module, unsafe { hold::load(image) }))
}

#[unsafe(no_mangle)]
extern "C" fn hipModuleUnload(module: usize) -> c_int {
    giving_back("hipModuleUnload", || hold::unload(module))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> c_int {
    on_device("hipModuleGetFunction", |_| give(function, unsafe { hold::function(module, name) }))
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the manual's signature")]
unsafe extern "C" fn hipModuleLaunchKernel(
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
    on_device("hipModuleLaunchKernel", |device| unsafe {
        hold::launch(device, function, grid_x, stream, parameters)
    })
}
