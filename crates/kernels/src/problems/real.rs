//! What single and double precision have in common for the problems that come in both.

use bytemuck::Pod;

/// A precision.
pub(crate) trait Real:
    Pod + Send + Sync + Into<f64> + std::ops::Mul<Output = Self> + std::ops::AddAssign
{
    /// Its place among a program's kernels.
    const KERNEL: usize;
    /// How far apart results of different orders of additions may be, as a part of the sum of what is added.
    const TOLERANCE: f64;
    /// The number nearest to this one.
    fn near(value: f64) -> Self;
}

impl Real for f32 {
    const KERNEL: usize = 0;
    const TOLERANCE: f64 = 1e-5;

    fn near(value: f64) -> Self {
        value as Self
    }
}

impl Real for f64 {
    const KERNEL: usize = 1;
    const TOLERANCE: f64 = 1e-13;

    fn near(value: f64) -> Self {
        value
    }
}
