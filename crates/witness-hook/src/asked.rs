//! How a program finds the driver's functions by asking the driver (`cuGetProcAddress`, `hipGetProcAddress`):
//! the answer is a wrapper, if the function is watched.

use core::ffi::{c_char, c_int};

use crate::hook::{Hook, asking};
use crate::{cuda, hip, openings};

/// All watched functions.
pub fn watched() -> impl Iterator<Item = &'static Hook> + Clone {
    let tables = [cuda::HOOKS, hip::HOOKS, openings::HOOKS, of_cuda::HOOKS, of_hip::HOOKS];
    tables.into_iter().flatten().copied()
}

mod of_cuda {
    use super::{asking, c_char, c_int, watched};

    hooks! {
        Cuda;
        "cuGetProcAddress" 11030 [cuGetProcAddress]
            (symbol: *const c_char, answer: *mut usize, version: c_int, flags: u64)
            => |_on| asking(watched(), symbol, answer, version, flags);
        "cuGetProcAddress" 12000 [cuGetProcAddress_v2]
            (symbol: *const c_char, answer: *mut usize, version: c_int, flags: u64, status: *mut c_int)
            => |_on| asking(watched(), symbol, answer, version, flags);
    }
}

mod of_hip {
    use super::{asking, c_char, c_int, watched};

    hooks! {
        Hip;
        [hipGetProcAddress]
            (symbol: *const c_char, answer: *mut usize, version: c_int, flags: u64, status: *mut c_int)
            => |_on| asking(watched(), symbol, answer, version, flags);
    }
}
