//! What the MPI library says of its own support of GPUs. None of it is proof: Open MPI's query compares a component's name, and UCX may copy device memory under an
//! Open MPI that says 0.
//!
//! The queries are extensions that not every library has, so they are looked for by name. MPICH before 4 ends the process in
//! MPIX_Query_cuda_support where it was built without GPUs, so its own newer query is asked first, and alone where it is there.

use std::ffi::{CStr, c_char, c_int};

use mpi_sys::{MPI_Comm_get_info, MPI_Info_free, MPI_Info_get, RSMPI_COMM_WORLD, RSMPI_INFO_NULL};

/// `MPIX_GPU_SUPPORT_CUDA`, `_ZE` and `_HIP` of MPICH's mpi_proto.h.
const KINDS: [(c_int, &str); 3] = [(0, "cuda"), (1, "ze"), (2, "hip")];
/// The key of MPI 4.1 (section 12.4.2).
const ALLOC_KINDS: &CStr = c"mpi_memory_alloc_kinds";

type OfKind = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
type Query = unsafe extern "C" fn() -> c_int;

/// One line each.
pub(crate) fn lines() -> Vec<String> {
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
    // SAFETY: handles to write to; a key that ends with NUL, and room for as many characters as are said and the NUL.
    unsafe {
        let mut info = RSMPI_INFO_NULL;
        if MPI_Comm_get_info(RSMPI_COMM_WORLD, &raw mut info) != mpi_sys::MPI_SUCCESS as c_int {
            return None;
        }
        let room = value.len() as c_int - 1;
        let key: *const c_char = ALLOC_KINDS.as_ptr();
        MPI_Info_get(info, key, room, value.as_mut_ptr().cast(), &raw mut flag);
        MPI_Info_free(&raw mut info);
    }
    let text = CStr::from_bytes_until_nul(&value).ok()?;
    (flag != 0).then(|| text.to_string_lossy().into_owned())
}

fn symbol(name: &CStr) -> Option<*mut std::ffi::c_void> {
    // SAFETY: a name that ends with NUL; the libraries that are open in this process are searched.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}
