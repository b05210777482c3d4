//! Runs the device contract's checks on the CUDA driver of this machine and prints what it found: with each latch in turn, or
//! with those named as arguments (`auto`, `stream-wait`, `spin-kernel`, `none`).
//!
//! Exit code 1 when a check failed or a latch that was asked for could not be had; 77 when there is no driver or device.

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use backend_cuda::LatchChoice;
use device::Platform;
use device::conformance::{self, Outcome};

const LATCHES: [(&str, LatchChoice); 4] = [
    ("auto", LatchChoice::Auto),
    ("stream-wait", LatchChoice::StreamWait),
    ("spin-kernel", LatchChoice::SpinKernel),
    ("none", LatchChoice::None),
];

fn main() -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let mut failed = 0;
    let asked: Vec<String> = env::args().skip(1).collect();
    for (name, choice) in LATCHES {
        if !asked.is_empty() && !asked.iter().any(|asked| asked == name) {
            continue;
        }
        let platform = match backend_cuda::load_with(choice) {
            Ok(platform) => platform,
            Err(error) => {
                writeln!(out, "{error}")?;
                return Ok(ExitCode::from(77));
            }
        };
        writeln!(out, "== latch {choice:?}; {:?}", platform.facts())?;
        for facts in platform.devices() {
            match platform.open(facts.id) {
                Ok(device) => {
                    writeln!(out, "{facts:?}\n{:?}", device.capabilities())?;
                    let got = device.capabilities().latch.name();
                    if choice != LatchChoice::Auto && got != name {
                        failed += 1;
                        writeln!(out, "FAILED  the latch in use is {got}")?;
                    }
                }
                Err(error) => writeln!(out, "{facts:?}\ndoes not open: {error}")?,
            }
        }
        let start = Instant::now();
        for finding in conformance::check(&platform) {
            let device = finding.device.map_or("platform".to_owned(), |id| id.to_string());
            match finding.outcome {
                Outcome::Passed => writeln!(out, "passed  {device}  {}", finding.check)?,
                Outcome::Skipped(reason) => writeln!(out, "skipped {device}  {}: {reason}", finding.check)?,
                Outcome::Failed(text) => {
                    failed += 1;
                    writeln!(out, "FAILED  {device}  {}: {text}", finding.check)?;
                }
            }
            out.flush()?;
        }
        writeln!(out, "   in {:.1} s", start.elapsed().as_secs_f64())?;
    }
    writeln!(out, "{failed} failed")?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
