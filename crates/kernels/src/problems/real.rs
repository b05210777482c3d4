//! What single and double precision have in common for the problems that come in both.

use bytemuck::Pod;

/// A precision.
pub(crate) trait Real:
    Pod + Send + Sync + Into<f64> + std::ops::Mul<Output = Self> + std::ops::AddAssign
{
    /// Its place among a program's kernels.
    const KERNEL: usize;
    /// The distance from 1 to the next larger number.
    const EPSILON: f64;
    /// The number nearest to this one.
    fn near(value: f64) -> Self;
}

impl Real for f32 {
    const KERNEL: usize = 0;
    const EPSILON: f64 = f32::EPSILON as f64;

    fn near(value: f64) -> Self {
        value as Self
    }
}

impl Real for f64 {
    const KERNEL: usize = 1;
    const EPSILON: f64 = f64::EPSILON;

    fn near(value: f64) -> Self {
        value
    }
}
