//! The kernels of [`crate::DriverKernel`]: one source for both drivers (`gpu/own.cu`), and the PTX that was
//! made of it (`cargo xtask kernels --nvrtc`).

use std::ffi::CStr;

/// A text that ends with its only zero byte: anything else does not compile.
const fn text(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the text ends with its only zero byte"),
    }
}

/// The source, for HIP.
pub const SOURCE: &CStr = text(concat!(include_str!("gpu/own.cu"), "\0"));

/// The PTX, for CUDA: every device from compute capability 5.0 on, and drivers of CUDA 12.0 and later.
pub const PTX: &CStr = text(concat!(include_str!("gpu/own.50.ptx"), "\0"));
