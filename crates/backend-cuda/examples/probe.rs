//! Prints the devices that the CUDA driver shows, or why there are none; exit code 1 then. Makes no context.

use std::io::{self, Write};
use std::process::ExitCode;

use device::Platform;

fn main() -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    match backend_cuda::load() {
        Ok(platform) => {
            writeln!(out, "{:?}", platform.facts())?;
            for device in platform.devices() {
                writeln!(out, "{device:?}")?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            writeln!(out, "{error:?}\n{error}")?;
            Ok(ExitCode::FAILURE)
        }
    }
}
