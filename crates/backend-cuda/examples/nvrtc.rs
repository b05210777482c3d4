//! Compiles a kernel source to PTX with NVIDIA's compiler at run time, which needs no GPU: `nvrtc LIBNVRTC
//! ARCHITECTURE SOURCE...` (`compute_70`; sources are put one behind the other) writes the PTX to standard
//! output, and what the compiler has to say to standard error.
//!
//! For `cargo xtask kernels --nvrtc`. A program of its own because calling a library is `unsafe`, which xtask
//! has none of.

use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int};
use std::io::Write;
use std::ptr;

use libloading::{Library, Symbol};

type Program = *mut std::ffi::c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type SizeOf = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Get = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let library = arguments.next().ok_or("which library?")?;
    let architecture =
        CString::new(format!("--gpu-architecture={}", arguments.next().ok_or("which architecture?")?))?;
    let mut source = String::new();
    for file in arguments {
        source += &std::fs::read_to_string(file)?;
    }
    let source = CString::new(source)?;

    // SAFETY: the caller's library, which is NVRTC.
    let library = unsafe { Library::new(library) }?;

    // SAFETY: the signature is that of nvrtc.h.
    let version: Symbol<Version> = unsafe { library.get("nvrtcVersion") }?;

    // SAFETY: as above.
    let create: Symbol<Create> = unsafe { library.get("nvrtcCreateProgram") }?;

    // SAFETY: as above.
    let compile: Symbol<Compile> = unsafe { library.get("nvrtcCompileProgram") }?;
    let (mut major, mut minor) = (0, 0);

    // SAFETY: both are valid to write.
    check("nvrtcVersion", unsafe { version(&raw mut major, &raw mut minor) })?;
    let (mut program, text_of, name): (Program, _, _) =
        (ptr::null_mut(), source.as_ptr(), c"kernels.cu".as_ptr());

    // SAFETY: texts that end with NUL, no headers, and a program to write to.
    let created = unsafe { create(&raw mut program, text_of, name, 0, ptr::null(), ptr::null()) };
    check("nvrtcCreateProgram", created)?;
    let options: [*const c_char; 2] = [architecture.as_ptr(), c"--std=c++14".as_ptr()];

    // SAFETY: the program is live, and so many options end with NUL.
    let compiled = unsafe { compile(program, options.len() as c_int, options.as_ptr()) };
    let log = text(&library, program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")?;
    if !log.trim().is_empty() {
        writeln!(std::io::stderr(), "{log}")?;
    }
    check("nvrtcCompileProgram", compiled)?;
    let ptx = text(&library, program, "nvrtcGetPTXSize", "nvrtcGetPTX")?;
    writeln!(std::io::stdout(), "// NVRTC {major}.{minor}\n{}", ptx.trim())?;
    Ok(())
}

fn check(call: &str, code: c_int) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("{call} failed with code {code}")) }
}

/// A text of this live program, of which one function tells the size and another gives all.
fn text(library: &Library, program: Program, size_of: &str, get: &str) -> Result<String, Box<dyn Error>> {
    let mut size = 0;
    // SAFETY: the signature is that of nvrtc.h.
    let tell: Symbol<SizeOf> = unsafe { library.get(size_of) }?;
    // SAFETY: the size is valid to write.
    check(size_of, unsafe { tell(program, &raw mut size) })?;
    let mut bytes = vec![0_u8; size];
    // SAFETY: the signature is that of nvrtc.h.
    let give: Symbol<Get> = unsafe { library.get(get) }?;
    // SAFETY: as many bytes are valid to write as it said.
    check(get, unsafe { give(program, bytes.as_mut_ptr().cast()) })?;
    Ok(CStr::from_bytes_until_nul(&bytes)?.to_string_lossy().into_owned())
}
