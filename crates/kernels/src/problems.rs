//! The problems, one file each: input, launches, the CPU's own way, the check.

mod fft;
mod gemm;
mod md;
mod real;
mod reduction;
mod scan;
mod sort;
mod spmv;
mod stencil;
mod triad;

pub(crate) use fft::Fft;
pub(crate) use gemm::Gemm;
pub(crate) use md::Md;
pub(crate) use reduction::Reduction;
pub(crate) use scan::Scan;
pub(crate) use sort::Sort;
pub(crate) use spmv::Spmv;
pub(crate) use stencil::Stencil;
pub(crate) use triad::Triad;
