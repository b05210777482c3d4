//! ROCm's compiler at run time (hiprtc): source text in, code for the calling thread's device out.
//!
//! Up to ROCm 6 its functions are in HIP's own library, since ROCm 7 in one of their own; it is opened when a
//! kernel is first asked for. Without an architecture among its options it compiles for the device that is
//! current.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use backend_gpu::{library, optional};
use libloading::Library;

use crate::bindings::{self, hiprtcProgram, hiprtcResult};

type Create = unsafe extern "C" fn(
    *mut hiprtcProgram,
    *const c_char,
    *const c_char,
    c_int,
    *mut *const c_char,
    *mut *const c_char,
) -> hiprtcResult;
type Compile = unsafe extern "C" fn(hiprtcProgram, c_int, *mut *const c_char) -> hiprtcResult;
type SizeOf = unsafe extern "C" fn(hiprtcProgram, *mut usize) -> hiprtcResult;
type Get = unsafe extern "C" fn(hiprtcProgram, *mut c_char) -> hiprtcResult;
type Destroy = unsafe extern "C" fn(*mut hiprtcProgram) -> hiprtcResult;
type TextOf = unsafe extern "C" fn(hiprtcResult) -> *const c_char;

// The compiler's word that these are the header's signatures. The declarations are never linked.
const _: () = {
    let _: Create = bindings::hiprtcCreateProgram;
    let _: Compile = bindings::hiprtcCompileProgram;
    let _: [SizeOf; 2] = [bindings::hiprtcGetCodeSize, bindings::hiprtcGetProgramLogSize];
    let _: [Get; 2] = [bindings::hiprtcGetCode, bindings::hiprtcGetProgramLog];
    let _: Destroy = bindings::hiprtcDestroyProgram;
    let _: TextOf = bindings::hiprtcGetErrorString;
};

/// Its functions.
pub(crate) struct Compiler {
    create: Create,
    compile: Compile,
    code_size: SizeOf,
    code: Get,
    log_size: SizeOf,
    log: Get,
    destroy: Destroy,
    text: TextOf,
}

impl Compiler {
    /// Finds them in HIP's library, else in their own.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn find(hip: &Library) -> Result<Self, String> {
        if let Some(found) = Self::of(hip) {
            return Ok(found);
        }
        let advice = "it comes with ROCm's HIP runtime, as a package of its own since ROCm 7 (hiprtc)";
        let own = library::open(&["libhiprtc.so.7", "libhiprtc.so"], "libhiprtc.so", advice);
        let own = own.map_err(|error| error.to_string())?;
        Self::of(own).ok_or_else(|| "libhiprtc.so lacks functions of ROCm 4.2".to_owned())
    }

    fn of(library: &Library) -> Option<Self> {
        // SAFETY: these are the header's signatures (see above).
        let size_of = |name| unsafe { optional::<SizeOf>(library, name) };
        // SAFETY: as above.
        let get = |name| unsafe { optional::<Get>(library, name) };

        Some(Self {
            // SAFETY: as above.
            create: unsafe { optional(library, "hiprtcCreateProgram") }?,
            // SAFETY: as above.
            compile: unsafe { optional(library, "hiprtcCompileProgram") }?,
            code_size: size_of("hiprtcGetCodeSize")?,
            code: get("hiprtcGetCode")?,
            log_size: size_of("hiprtcGetProgramLogSize")?,
            log: get("hiprtcGetProgramLog")?,
            // SAFETY: as above.
            destroy: unsafe { optional(library, "hiprtcDestroyProgram") }?,
            // SAFETY: as above.
            text: unsafe { optional(library, "hiprtcGetErrorString") }?,
        })
    }

    /// Code of a source text, as hipModuleLoadData takes it.
    ///
    /// # Errors
    /// Why not, with the compiler's own words.
    pub(crate) fn compile(&self, source: &CStr, options: &[&CStr]) -> Result<Vec<u8>, String> {
        let mut program = ptr::null_mut();
        // SAFETY: both texts end with a zero byte, there are no headers, and `program` is valid to write.
        let created = unsafe {
            let (headers, names) = (ptr::null_mut(), ptr::null_mut());
            (self.create)(&raw mut program, source.as_ptr(), c"numabench.hip".as_ptr(), 0, headers, names)
        };
        self.check("hiprtcCreateProgram", created)?;
        let compiled = self.compile_program(program, options);
        // SAFETY: created above, destroyed once, and not used after.
        let destroyed = unsafe { (self.destroy)(&raw mut program) };
        let code = compiled?;
        self.check("hiprtcDestroyProgram", destroyed)?;
        Ok(code)
    }

    fn compile_program(&self, program: hiprtcProgram, options: &[&CStr]) -> Result<Vec<u8>, String> {
        let mut options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program is live; so many options, each ending with a zero byte, which are only read.
        let compiled = unsafe { (self.compile)(program, options.len() as c_int, options.as_mut_ptr()) };
        if let Err(why) = self.check("hiprtcCompileProgram", compiled) {
            let log = self.given(program, "hiprtcGetProgramLog", self.log_size, self.log).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            let first = log.trim_end_matches('\0').lines().find(|line| !line.trim().is_empty());
            return Err(first.map_or(why.clone(), |first| format!("{why}: {first}")));
        }
        self.given(program, "hiprtcGetCode", self.code_size, self.code)
    }

    /// The bytes of which one function tells the size and another gives all.
    fn given(
        &self,
        program: hiprtcProgram,
        call: &str,
        size_of: SizeOf,
        get: Get,
    ) -> Result<Vec<u8>, String> {
        let mut size = 0_usize;
        // SAFETY: the program is live and the size valid to write.
        self.check(call, unsafe { size_of(program, &raw mut size) })?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: the program is live, and as many bytes are valid to write as it said.
        self.check(call, unsafe { get(program, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }

    fn check(&self, call: &str, code: hiprtcResult) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the code is passed as the integer it is.
        let text = unsafe { (self.text)(code) };
        if text.is_null() {
            return Err(format!("{call} failed with code {code}"));
        }
        // SAFETY: a text that is not null is one of the library's static strings.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        Err(format!("{call} failed with code {code} ({text})"))
    }
}
