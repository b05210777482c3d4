//! Runs the device contract's checks on this machine's driver and writes what it found: with each latch in
//! turn, or with those named (`auto`, `stream-wait`, `spin-kernel`, `none`), and all checks or those with a
//! word in their name that is given as `check=WORD`. The `conformance` program of each backend.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use device::conformance::{self, CheckOutcome};
use device::{DeviceError, Platform};

use crate::driver::Driver;
use crate::latch::LatchChoice;
use crate::platform::GpuPlatform;

const LATCHES: [(&str, LatchChoice); 4] = [
    ("auto", LatchChoice::Auto),
    ("stream-wait", LatchChoice::StreamWait),
    ("spin-kernel", LatchChoice::SpinKernel),
    ("none", LatchChoice::None),
];

/// Runs the checks `asked` for with the latches `asked` for, or with all. The exit code is 1 when a check
/// failed or a latch that was asked for could not be had or no check has such a word, and 77 when there is no
/// driver or device.
///
/// # Errors
/// `out` cannot be written.
pub fn run<D: Driver>(
    load: impl Fn(LatchChoice) -> Result<GpuPlatform<D>, DeviceError>,
    asked: &[String],
    out: &mut impl Write,
) -> io::Result<ExitCode> {
    let mut failed = 0;
    let words: Vec<&str> = asked.iter().filter_map(|asked| asked.strip_prefix("check=")).collect();
    for (name, choice) in LATCHES {
        if asked.len() > words.len() && !asked.iter().any(|asked| asked == name) {
            continue;
        }
        let platform = match load(choice) {
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
        let findings = conformance::check_only(&platform, &words);
        if findings.is_empty() {
            failed += 1;
            writeln!(out, "FAILED  no check has any of these in its name: {}", words.join(", "))?;
        }
        for finding in findings {
            let device = finding.device.map_or("platform".to_owned(), |id| id.to_string());
            match finding.outcome {
                CheckOutcome::Passed => writeln!(out, "passed  {device}  {}", finding.check)?,
                CheckOutcome::Skipped(reason) => {
                    writeln!(out, "skipped {device}  {}: {reason}", finding.check)?
                }
                CheckOutcome::Failed(text) => {
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

/// Writes the devices that the driver shows, or why there are none: the `probe` program of each backend.
/// Makes no context. The exit code is 1 where there is none.
///
/// # Errors
/// `out` cannot be written.
pub fn probe<D: Driver>(
    found: Result<GpuPlatform<D>, DeviceError>,
    out: &mut impl Write,
) -> io::Result<ExitCode> {
    match found {
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
