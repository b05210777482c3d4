//! The kernels of [`crate::DriverKernel`]: one source for both drivers (`gpu/own.cu`), and the PTX that was
//! made of it (`cargo xtask kernels --nvrtc`). Apart from them the one that newer NVIDIA GPUs alone can run
//! (`gpu/tma.cu`).

use std::ffi::CStr;

use device::KernelModule;

/// A text that ends with its only zero byte: anything else does not compile.
const fn text(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the text ends with its only zero byte"),
    }
}

/// The source, for HIP.
pub const SOURCE: &CStr = text(concat!(include_str!("gpu/own.cu"), "\0"));

/// The kernel that has the tensor memory accelerator copy: `to, from, bytes`, as the one of loads and stores.
/// For CUDA alone, whose devices have that accelerator.
pub static TMA: KernelModule = KernelModule {
    name: "TMA copies",
    ptx: &[(90, text(concat!(include_str!("gpu/tma.90.ptx"), "\0")))],
    source: c"",
    kernels: &[c"numabench_tma_copy"],
    library: None,
};

/// The PTX, for CUDA: every device from compute capability 5.0 on, and drivers of CUDA 12.0 and later.
pub const PTX: &CStr = text(concat!(include_str!("gpu/own.50.ptx"), "\0"));
