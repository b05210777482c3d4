//! Runs the device contract's checks on the CUDA driver of this machine and prints what it found: with each
//! latch in turn, or with those named as arguments (`auto`, `stream-wait`, `spin-kernel`, `none`).
//!
//! Exit code 1 when a check failed or a latch that was asked for could not be had; 77 when there is no driver
//! or device.

use std::process::ExitCode;
use std::{env, io};

fn main() -> io::Result<ExitCode> {
    let asked: Vec<String> = env::args().skip(1).collect();
    backend_gpu::trial::run(backend_cuda::load_with, &asked, &mut io::stdout().lock())
}
