//! What the examples run on: the platform and the size of problems that the command line asks for.

use std::error::Error;

use device::Platform;
use kernels::LARGEST_CLASS;

/// A platform, and the class of problems.
pub struct ExampleOptions {
    /// CUDA, or with `--hip` HIP.
    pub platform: Box<dyn Platform>,
    /// Of `--class N`; the largest where it is not given.
    pub class: u8,
    /// The other words.
    pub words: Vec<String>,
}

/// What the command line asks for.
///
/// # Errors
/// A class that is no number, or no driver.
pub fn options() -> Result<ExampleOptions, Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let hip = words.iter().position(|word| word == "--hip").map(|at| words.remove(at)).is_some();
    let class = match words.iter().position(|word| word == "--class") {
        Some(at) => words.drain(at..words.len().min(at + 2)).nth(1).unwrap_or_default().parse()?,
        None => LARGEST_CLASS,
    };

    let platform: Box<dyn Platform> =
        if hip { Box::new(backend_hip::load()?) } else { Box::new(backend_cuda::load()?) };
    Ok(ExampleOptions { platform, class, words })
}
