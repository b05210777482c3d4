//! What MPI says: its result codes as errors with the call's name and its own words, its version, and what it
//! says of its own support of GPUs.
//!
//! Of the last none is proof: Open MPI's query compares a component's name, and UCX may copy device memory
//! under an Open MPI that says 0. The queries are extensions that not every library has, so they are looked
//! for by name. MPICH before 4 ends the process in MPIX_Query_cuda_support where it was built without GPUs,
//! so its own newer query is asked first, and alone where it is there.

use std::ffi::{CStr, c_char, c_int};
use std::fmt;

use mpi_sys::{
    MPI_Comm_get_info, MPI_Error_string, MPI_Get_library_version, MPI_Info_free, MPI_Info_get,
    RSMPI_COMM_WORLD, RSMPI_INFO_NULL,
};

/// A call that failed. Its text is two lines: the call, and what it said.
#[derive(Debug)]
pub(crate) struct Trouble {
    call: &'static str,
    message: String,
}

impl Trouble {
    pub fn new(call: &'static str, message: impl Into<String>) -> Self {
        Self { call, message: message.into() }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.call, self.message)
    }
}

/// Turns a call's result into an error. The communicators here return errors; MPI's own default is to end the
/// process.
pub(crate) fn check(call: &'static str, code: c_int) -> Result<(), Trouble> {
    if code == mpi_sys::MPI_SUCCESS as c_int {
        return Ok(());
    }
    // SAFETY: MPI_Error_string writes at most MPI_MAX_ERROR_STRING characters and the length, of any code; an
    // unknown one is an error.
    let text = string::<{ mpi_sys::MPI_MAX_ERROR_STRING as usize }>(|text, length| unsafe {
        MPI_Error_string(code, text, length)
    });
    Err(Trouble::new(call, text.unwrap_or_else(|| format!("error code {code}"))))
}

/// MPI's own description of itself. MPI-3.1 (section 8.1.1) lets it be asked before MPI_Init.
pub(crate) fn library_version() -> String {
    // SAFETY: MPI_Get_library_version writes at most MPI_MAX_LIBRARY_VERSION_STRING characters and the
    // length.
    string::<{ mpi_sys::MPI_MAX_LIBRARY_VERSION_STRING as usize }>(|text, length| unsafe {
        MPI_Get_library_version(text, length)
    })
    .unwrap_or_default()
}

/// Text of a call that writes up to `MOST` characters and their number.
fn string<const MOST: usize>(call: impl FnOnce(*mut c_char, *mut c_int) -> c_int) -> Option<String> {
    // One more than MPI says: whether its figure counts the terminating NUL differs between its languages.
    let mut text = vec![0_u8; MOST + 1];
    let mut length = 0;
    if call(text.as_mut_ptr().cast(), &raw mut length) != mpi_sys::MPI_SUCCESS as c_int {
        return None;
    }
    text.truncate(usize::try_from(length).unwrap_or(0));
    Some(String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned())
}

/// `MPIX_GPU_SUPPORT_CUDA`, `_ZE` and `_HIP` of MPICH's mpi_proto.h.
const KINDS: [(c_int, &str); 3] = [(0, "cuda"), (1, "ze"), (2, "hip")];
/// The key of MPI 4.1 (section 12.4.2).
const ALLOC_KINDS: &CStr = c"mpi_memory_alloc_kinds";

type OfKind = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
type Query = unsafe extern "C" fn() -> c_int;

/// What the library says of GPUs, one line each.
pub(crate) fn of_gpus() -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(address) = symbol(c"MPIX_GPU_query_support") {
        // SAFETY: the name belongs to MPICH's extension, which has this type.
        let query: OfKind = unsafe { std::mem::transmute(address) };
        for (kind, name) in KINDS {
            let mut flag = 0;
            // SAFETY: an integer to write to; an unknown kind is an error code.
            let code = unsafe { query(kind, &raw mut flag) };
            if code == mpi_sys::MPI_SUCCESS as c_int {
                lines.push(format!("MPIX_GPU_query_support({name}) {flag}"));
            }
        }
    } else {
        for name in [c"MPIX_Query_cuda_support", c"MPIX_Query_rocm_support"] {
            let Some(address) = symbol(name) else { continue };
            // SAFETY: the names belong to Open MPI's extensions, which have this type and no argument.
            let query: Query = unsafe { std::mem::transmute(address) };
            // SAFETY: it may be called between MPI_Init and MPI_Finalize.
            lines.push(format!("{} {}", name.to_string_lossy(), unsafe { query() }));
        }
    }

    lines.extend(alloc_kinds().map(|kinds| format!("mpi_memory_alloc_kinds {kinds}")));
    lines
}

/// The kinds of memory that the library says it takes, where it follows MPI 4.1.
fn alloc_kinds() -> Option<String> {
    let mut value = [0_u8; 256];
    let mut flag = 0;
    // SAFETY: reading a constant of the MPI library.
    let mut info = unsafe { RSMPI_INFO_NULL };

    // SAFETY: as above.
    let world = unsafe { RSMPI_COMM_WORLD };

    // SAFETY: a handle to write to.
    if unsafe { MPI_Comm_get_info(world, &raw mut info) } != mpi_sys::MPI_SUCCESS as c_int {
        return None;
    }
    let room = value.len() as c_int - 1;
    let key: *const c_char = ALLOC_KINDS.as_ptr();

    // SAFETY: a key that ends with NUL, and room for as many characters as are said and the NUL.
    unsafe { MPI_Info_get(info, key, room, value.as_mut_ptr().cast(), &raw mut flag) };

    // SAFETY: the handle is ours, and freed once.
    unsafe { MPI_Info_free(&raw mut info) };
    let text = CStr::from_bytes_until_nul(&value).ok()?;
    (flag != 0).then(|| text.to_string_lossy().into_owned())
}

fn symbol(name: &CStr) -> Option<*mut std::ffi::c_void> {
    // SAFETY: a name that ends with NUL; the libraries that are open in this process are searched.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}
