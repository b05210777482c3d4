//! Prints the devices that HIP shows, or why there are none; exit code 1 then. Opens none.

use std::io;
use std::process::ExitCode;

fn main() -> io::Result<ExitCode> {
    backend_gpu::trial::probe(backend_hip::load(), &mut io::stdout().lock())
}
