//! What a vendor calls its libraries of dense matrices and Fourier transforms and their functions: CUDA's and
//! HIP's have the same ones under other names.

use std::ffi::c_int;

/// What a vendor calls a library and its functions.
#[derive(Clone, Copy, Debug)]
pub struct MathNames {
    /// The library, as messages name it.
    pub name: &'static str,
    /// The files that are looked for, the first one first.
    pub files: &'static [&'static str],
    /// What comes with it: the reason to look there.
    pub from: &'static str,
    /// Makes a handle, or a plan of many transforms.
    pub make: &'static str,
    /// Gives it back.
    pub destroy: &'static str,
    /// The stream that its calls are queued on.
    pub set_stream: &'static str,
    /// The routines, single precision first.
    pub routines: [&'static str; 2],
    /// A part of the version's number by its place, where there is such a function.
    pub property: &'static str,
    /// The library's number for a matrix that is taken as it is; of no meaning for transforms.
    pub not_transposed: c_int,
}
