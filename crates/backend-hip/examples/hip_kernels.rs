//! Compiles the kernels with ROCm's compiler for the architectures named as arguments (`gfx90a`, `gfx942`),
//! no GPU needed, and prints how many bytes of code each makes and how long that took.
//!
//! Exit code 1 when one does not compile, 77 when there is no such compiler here.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;
use std::{env, io};

fn main() -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let mut failed = false;
    for architecture in env::args().skip(1) {
        let start = Instant::now();
        match backend_hip::compiled_for(&architecture) {
            Err(backend_hip::NotCompiled::NoCompiler(why)) => {
                writeln!(out, "{why}")?;
                return Ok(ExitCode::from(77));
            }
            Err(backend_hip::NotCompiled::Refused(why)) => {
                failed = true;
                writeln!(out, "{architecture}: {why}")?;
            }
            Ok(code) => {
                let milliseconds = start.elapsed().as_millis();
                writeln!(out, "{architecture}: {} bytes of code in {milliseconds} ms", code.len())?;
            }
        }
    }

    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
