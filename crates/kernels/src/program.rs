//! The GPU's kernels: their sources (`gpu/*.cu`, C++ that CUDA and HIP both take) and the PTX that was made
//! of them (`cargo xtask kernels --ptx`), a program for each source, so that a run loads what it measures and
//! no more.

use std::ffi::CStr;

use device::{KernelModule, MathLibrary};

/// A text that ends with its only zero byte: anything else does not compile.
const fn text(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the text ends with its only zero byte"),
    }
}

/// A program of the source `gpu/NAME.cu` and its PTX, each for a least compute capability.
macro_rules! program {
    ($name:literal, [$($least:literal: $ptx:literal),+], [$($kernel:literal),+]) => {
        KernelModule {
            name: $name,
            ptx: &[$(($least, text(concat!(include_str!(concat!("gpu/", $ptx)), "\0")))),+],
            source: text(concat!(
                include_str!("gpu/common.h"),
                include_str!(concat!("gpu/", $name, ".cu")),
                "\0"
            )),
            kernels: &[$($kernel),+],
            library: None,
        }
    };
}

/// What memory's rate bounds.
pub(crate) static STREAM: KernelModule = program!(
    "stream",
    [70: "stream.70.ptx"],
    [
        c"numabench_clear",
        c"numabench_triad",
        c"numabench_reduce",
        c"numabench_scan",
        c"numabench_stencil",
        c"numabench_spmv"
    ]
);
/// The numbers of its kernels.
pub(crate) const CLEAR: usize = 0;
pub(crate) const TRIAD: usize = 1;
pub(crate) const REDUCE: usize = 2;
pub(crate) const SCAN: usize = 3;
pub(crate) const STENCIL: usize = 4;
pub(crate) const SPMV: usize = 5;

/// The radix sort. It clears its counters too, with a kernel of its own source.
pub(crate) static SORT: KernelModule = program!(
    "sort",
    [70: "sort.70.ptx"],
    [c"numabench_sort_clear", c"numabench_sort_count", c"numabench_sort_begin", c"numabench_sort_pass"]
);
/// The numbers of its kernels.
pub(crate) const SORT_CLEAR: usize = 0;
pub(crate) const SORT_COUNT: usize = 1;
pub(crate) const SORT_BEGIN: usize = 2;
pub(crate) const SORT_PASS: usize = 3;

/// Dense matrices, single precision first. From compute capability 8.0 on one instruction multiplies small
/// matrices of double precision.
pub(crate) static GEMM: KernelModule =
    program!("gemm", [70: "gemm.70.ptx", 80: "gemm.80.ptx"], [c"numabench_sgemm", c"numabench_dgemm"]);

/// Fourier transforms, single precision first.
pub(crate) static FFT: KernelModule =
    program!("fft", [70: "fft.70.ptx"], [c"numabench_fft", c"numabench_fft_double"]);

/// Small pieces, by one kernel.
pub(crate) static PIECES: KernelModule = program!("pieces", [70: "pieces.70.ptx"], [c"numabench_pieces"]);

/// Memory that moves.
pub(crate) static MOVING: KernelModule = program!(
    "moving",
    [70: "moving.70.ptx"],
    [c"numabench_moving_write", c"numabench_moving_read", c"numabench_moving_add"]
);

/// A vendor's library in the place of a program: its routines have the numbers of the kernels whose work they
/// do.
macro_rules! library {
    ($name:literal, $library:ident) => {
        KernelModule {
            name: $name,
            ptx: &[],
            source: c"",
            kernels: &[c"single", c"double"],
            library: Some(MathLibrary::$library),
        }
    };
}

/// Dense matrices by the vendor's library.
pub(crate) static GEMM_LIBRARY: KernelModule = library!("the vendor's library of matrices", Blas);

/// Fourier transforms by the vendor's library.
pub(crate) static FFT_LIBRARY: KernelModule = library!("the vendor's library of transforms", Fft);

/// Forces between atoms, single precision first.
pub(crate) static MD: KernelModule =
    program!("md", [70: "md.70.ptx"], [c"numabench_md", c"numabench_md_double"]);

/// Jacobi's iteration, single precision first.
pub(crate) static JACOBI: KernelModule =
    program!("jacobi", [70: "jacobi.70.ptx"], [c"numabench_jacobi", c"numabench_jacobi_double"]);
