//! GPU drivers that fail, on eight stand-in devices: every single fault, and pairs of them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use report::Document;
use report::document::Status;

use super::Field;
use super::tried::{Random, Tally, run};

const CALLS: &[&str] = &[
    "cuInit",
    "cuDeviceGetCount",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuCtxSetCurrent",
    "cuMemGetInfo",
    "cuMemAlloc",
    "cuMemFree",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuMemcpyHtoD",
    "cuMemcpyDtoH",
    "cuMemcpyHtoDAsync",
    "cuMemcpyDtoHAsync",
    "cuStreamCreate",
    "cuStreamDestroy",
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuStreamWaitEvent",
    "cuStreamWaitValue32",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventElapsedTime",
];
const WHEN: &[&str] = &["1", "2", "9", "40+", "*"];
const CODES: &[&str] = &["1", "2", "999", "98765"];
const OTHERS: &[&str] = &[
    "corrupt 7 100",
    "corrupt * 0",
    "hang 30",
    "lose 25 719",
    "lose 1 999",
    "times 3 nan",
    "times * negative",
    "times 1 huge",
    "wait holds-nothing",
    "wait never-ends",
];

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let libraries = stand_in(field)?;
    let failing = CALLS.iter().flat_map(|call| WHEN.iter().map(move |when| (call, when)));
    let mut all: Vec<String> = failing
        .flat_map(|(call, when)| CODES.iter().map(move |code| format!("fail {call} {when} {code}")))
        .chain(OTHERS.iter().map(|&other| other.to_owned()))
        .collect();
    for fault in all.iter().skip(random.below(field.extent.single)).step_by(field.extent.single) {
        one(field, &libraries, fault, tally)?;
    }
    all.sort();
    for _ in 0..field.extent.pairs {
        let (first, second) = (random.of(&all).clone(), random.of(&all).clone());
        one(field, &libraries, &format!("{first};{second}"), tally)?;
    }
    Ok(())
}

/// The stand-in driver, compiled into a folder under the driver's name.
fn stand_in(field: &Field) -> Result<PathBuf> {
    let folder = field.folder.join("driver");
    fs::create_dir_all(&folder)?;
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "stand_in", "-o"]);
    rustc.arg(folder.join("libcuda.so.1")).arg(field.root.join("tests/fake-driver/src/lib.rs"));
    let made = rustc.output().context("rustc cannot be started")?;
    if !made.status.success() {
        bail!("the stand-in driver cannot be compiled: {}", String::from_utf8_lossy(&made.stderr));
    }
    Ok(folder)
}

fn one(field: &Field, libraries: &PathBuf, faults: &str, tally: &mut Tally) -> Result<()> {
    let devices: Vec<String> = (0..8).map(|bus| format!("device 0000:{:02x}:00.0; memory 64MiB", 0x10 + bus)).collect();
    let path = field.folder.join("faulty.json");
    drop(fs::remove_file(&path));
    let mut command = Command::new(field.binary);
    command.args(["pingpong", "--backend", "cuda", "--gpus", "all", "--size", "64KiB", "--reps", "4", "--quiet"]);
    // Ranks of eight devices share the processors there are.
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let cpus: Vec<String> = (0..8).map(|rank| (rank % processors).to_string()).collect();
    command.args(["--cpus", &cpus.join(","), "--timeout", "15s", "--json"]).arg(&path);
    command.env("LD_LIBRARY_PATH", libraries).env("FAKE_DEVICES", devices.join(";")).env("FAKE_FAULTS", faults);
    let ended = run(&mut command, &field.folder)?;
    let document = fs::read(&path).ok().map(|bytes| Document::from_json(&bytes));
    let said = ended.err.contains("error: ");
    let wrong = match (ended.code, document) {
        (None, _) => {
            Some(format!("ended by signal {:?} after {:.1} s: {}", ended.signal, ended.took.as_secs_f64(), ended.err))
        }
        _ if ended.err.contains("panicked") => Some(ended.err),
        (Some(_), Some(Err(error))) => Some(format!("the document cannot be read: {error}")),
        (Some(code), Some(Ok(document))) => {
            let agrees = document.exit_code.map(i32::from) == Some(code) && document.status != Status::Running;
            (!agrees)
                .then(|| format!("code {code}, and the document says {:?}, {:?}", document.status, document.exit_code))
        }
        // Before the run there is nothing to write, and a message.
        (Some(1 | 2 | 77), None) if said => None,
        (Some(code), None) => Some(format!("code {code} and no document: {}", ended.err)),
    };
    tally.count(faults, wrong);
    Ok(())
}
