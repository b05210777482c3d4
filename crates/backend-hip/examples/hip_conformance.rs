//! Runs the device contract's checks on the HIP of this machine and prints what it found: with each latch
//! that there is for HIP in turn, or with those named as arguments (`auto`, `stream-wait`, `spin-kernel`,
//! `none`).
//!
//! Exit code 1 when a check failed or a latch that was asked for could not be had; 77 when there is no HIP or
//! no device.

use std::process::ExitCode;
use std::{env, io};

fn main() -> io::Result<ExitCode> {
    let mut asked: Vec<String> = env::args().skip(1).collect();
    if asked.is_empty() {
        asked.extend(["auto", "stream-wait", "none"].map(str::to_owned));
    }
    backend_gpu::trial::run(backend_hip::load_with, &asked, &mut io::stdout().lock())
}
