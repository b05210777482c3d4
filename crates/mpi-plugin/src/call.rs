//! Calling MPI: its result codes as errors with the call's name and MPI's own words.

use std::ffi::{c_char, c_int};
use std::fmt;

use mpi_sys::{MPI_Error_string, MPI_Get_library_version};

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

/// Turns a call's result into an error. The communicators here return errors; MPI's own default is to end the process.
pub(crate) fn check(call: &'static str, code: c_int) -> Result<(), Trouble> {
    if code == mpi_sys::MPI_SUCCESS as c_int {
        return Ok(());
    }
    // SAFETY: MPI_Error_string writes at most MPI_MAX_ERROR_STRING characters and the length, of any code; an unknown one is an error.
    let text = string::<{ mpi_sys::MPI_MAX_ERROR_STRING as usize }>(|text, length| unsafe {
        MPI_Error_string(code, text, length)
    });
    Err(Trouble::new(call, text.unwrap_or_else(|| format!("error code {code}"))))
}

/// MPI's own description of itself. MPI-3.1 (section 8.1.1) lets it be asked before MPI_Init.
pub(crate) fn library_version() -> String {
    // SAFETY: MPI_Get_library_version writes at most MPI_MAX_LIBRARY_VERSION_STRING characters and the length.
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
