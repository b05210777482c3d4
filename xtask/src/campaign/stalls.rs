//! Drivers whose calls never return, at every call, with an exit handler that waits for them: each command ends within its limit and two seconds, by itself, and what it kept
//! is whole.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use report::Document;

use super::tried::{Random, Tally, run};
use super::{Field, build};

/// What is run on two devices, and the calls that stall under it beside those of all.
type Stalled = (&'static [&'static str], &'static [&'static str]);

const COMMANDS: &[Stalled] = &[
    (&["pingpong", "--size", "64KiB"], &["cuMemHostRegister", "cuMemHostUnregister"]),
    (&["peer", "--size", "64KiB"], &["cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess", "cuMemcpyPeerAsync"]),
    (&["matrix", "--size", "64KiB", "--rows", "node"], &["cuMemHostRegister", "cuMemHostUnregister"]),
    (&["latency", "--between", "gpus"], &["cuMemHostGetDevicePointer", "cuLaunchKernel"]),
    (&["sweep", "--size", "4KiB..64KiB"], &["cuMemcpyHtoDAsync"]),
    (&["contend", "--size", "64KiB"], &["cuMemcpyDtoHAsync"]),
];
const CALLS: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceTotalMem",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease",
    "cuCtxSetCurrent",
    "cuMemGetInfo",
    "cuMemAlloc",
    "cuMemFree",
    "cuStreamCreate",
    "cuStreamDestroy",
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuEventCreate",
    "cuEventDestroy",
    "cuEventRecord",
    "cuEventElapsedTime",
    "cuModuleLoadData",
    "cuModuleUnload",
];
const WHEN: &[&str] = &["1", "2", "7"];
/// What the commands are told, and what they may take: the limit, two seconds, and what a loaded machine takes to start a process.
const LIMIT: Duration = Duration::from_secs(2);
const LATEST: Duration = Duration::from_secs(10);

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let libraries = field.folder.join("driver");
    build::library(&libraries, "libcuda.so.1", &field.root.join("tests/fake-driver/src/lib.rs"))?;
    let mut all = Vec::new();
    for (command, own) in COMMANDS {
        for call in CALLS.iter().chain(*own) {
            all.extend(WHEN.iter().map(|when| (*command, format!("stall {call} {when}"))));
        }
    }
    for (command, fault) in all.iter().skip(random.below(field.extent.single)).step_by(field.extent.single) {
        one(field, &libraries, command, fault, tally)?;
    }
    Ok(())
}

fn one(field: &Field, libraries: &Path, what: &[&str], fault: &str, tally: &mut Tally) -> Result<()> {
    let path = field.folder.join("stalled.json");
    drop(fs::remove_file(&path));
    let mut command = Command::new(field.binary);
    command.args(what).args(["--backend", "cuda", "--gpus", "all", "--reps", "4", "--quiet"]);
    command.args(["--timeout", &format!("{}s", LIMIT.as_secs()), "--json"]).arg(&path);
    command.env("LD_LIBRARY_PATH", libraries).env("FAKE_FAULTS", format!("{fault};exit waits"));
    command.env("FAKE_DEVICES", "device 0000:10:00.0; memory 64MiB;device 0000:11:00.0; memory 64MiB");
    let ended = run(&mut command, &field.folder)?;
    let document = fs::read(&path).ok().map(|bytes| Document::from_json(&bytes).map(|document| document.exit_code));
    let wrong = match (ended.code, document) {
        (None, _) => Some(format!("it went on for {:.1} s: {}", ended.took.as_secs_f64(), ended.err)),
        _ if ended.took > LATEST => Some(format!("it took {:.1} s", ended.took.as_secs_f64())),
        _ if ended.err.contains("panicked") => Some(ended.err),
        (_, Some(Err(error))) => Some(format!("the document cannot be read: {error}")),
        // Ended from outside of the run: what was kept is of a run that goes on.
        (Some(code), Some(Ok(said))) => (said.is_some() && said.map(i32::from) != Some(code))
            .then(|| format!("code {code}, and the document says {said:?}")),
        (Some(1 | 77 | 124), None) if ended.err.contains("error: ") => None,
        (Some(code), None) => Some(format!("code {code} and no document: {}", ended.err)),
    };
    tally.count(&format!("{}: {fault}", what.join(" ")), wrong);
    Ok(())
}
