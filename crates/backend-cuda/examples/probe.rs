//! Prints the devices that the CUDA driver shows, or why there are none; exit code 1 then. Makes no context.

use std::io;
use std::process::ExitCode;

fn main() -> io::Result<ExitCode> {
    backend_gpu::trial::probe(backend_cuda::load(), &mut io::stdout().lock())
}
