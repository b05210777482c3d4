//! Whose functions are watched: those of NVIDIA's driver (CUDA), or those of AMD's library (HIP). What both
//! have is called alike (`driver`), and copied by the same wrappers (`hooks`).

use crate::layout::context::{CUDA, HIP};

/// A driver, or the library that stands for one; as records have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum GpuApi {
    /// `libcuda`.
    Cuda = CUDA,
    /// `libamdhip64`.
    Hip = HIP,
}

impl GpuApi {
    /// All.
    pub const ALL: [Self; 2] = [Self::Cuda, Self::Hip];

    /// How the names of its functions begin.
    pub const fn prefix(self) -> &'static [u8] {
        match self {
            Self::Cuda => b"cu",
            Self::Hip => b"hip",
        }
    }

    /// How the name of its library's file begins: packages of Python have copies of HIP's under other names.
    pub const fn library(self) -> &'static [u8] {
        match self {
            Self::Cuda => b"libcuda.so",
            Self::Hip => b"libamdhip64",
        }
    }
}
